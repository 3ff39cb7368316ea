//! `anechoic minimal`: measures a kernel on which nothing else runs.

mod initramfs;
mod send;

use crate::{exit, terminal};
use anechoic_recording::{Problem, ProblemKind, create_dir_all, create_file};
use anechoic_system::init::{self, End};
use clap::ValueEnum;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

/// Measure a kernel without services: anechoic is its first and only process
///
/// Started by hand, it checks what that needs and prints the commands that boot the running kernel once more with
/// anechoic in the place of init. There it measures, writes the recording to a directory of the root file system, and
/// restarts the machine, which then comes up as usual. Such a recording has no noise of services and daemons; what it
/// has is the kernel's, the hardware's and the hypervisor's.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct MinimalArgs {
    /// Directory for the recording, on the root file system
    #[arg(long, short, value_name = "DIR", default_value = "/var/lib/anechoic")]
    output: PathBuf,
    /// What follows the measurement
    #[arg(long, value_enum, default_value_t = AtEnd::Restart, value_name = "WHAT")]
    at_end: AtEnd,
    /// Shell command between the measurement and the end, for example one that copies the recording elsewhere
    #[arg(long, value_name = "COMMAND")]
    then: Option<String>,
    /// Serial port to which the recording is sent after the measurement, as a tar archive [default with --initramfs: /dev/ttyS1]
    #[arg(long, value_name = "DEVICE")]
    send: Option<PathBuf>,
    /// Write an initramfs with this program, which needs neither a root file system nor modules
    #[arg(long, value_name = "FILE", conflicts_with = "then")]
    initramfs: Option<PathBuf>,
    /// Image of the kernel that it is for, instead of the running one
    #[arg(long, value_name = "IMAGE", requires = "initramfs")]
    kernel: Option<PathBuf>,
    /// Overwrite an existing initramfs
    #[arg(long, requires = "initramfs")]
    force: bool,
    /// What measures: a command of anechoic with its options [default: run --duration 60s]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "MEASUREMENT")]
    measurement: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AtEnd {
    /// The machine starts again.
    Restart,
    /// It is switched off.
    PowerOff,
    /// The process ends, for containers: a kernel whose first process ends panics.
    Exit,
}

const EXAMPLES: &str = "Examples:
  anechoic minimal                                    how to boot it, with a run of a minute
  anechoic minimal measure fwq --cpus 1               the same with another measurement
  anechoic minimal --initramfs noise.img              for kexec, a USB stick or QEMU
  anechoic compare anechoic-before /var/lib/anechoic  what the services cost";

/// The command that measures where none is given.
const USUAL: [&str; 3] = ["run", "--duration", "60s"];
/// What the measurement prints, beside its recording.
const LOG: &str = "minimal.log";
/// How long an error stands on the screen before the machine restarts.
const TO_READ: Duration = Duration::from_secs(20);
/// The kernel panics if its first process gets more words than this (`CONFIG_INIT_ENV_ARG_LIMIT`).
const MOST_WORDS: usize = 30;
/// Letters that GRUB replaces, also in double quotes.
const CHANGED_BY_LOADERS: [char; 3] = ['\'', '$', '\\'];
/// Parameters of the running kernel that the next one must not have.
const NOT_AGAIN: [&str; 5] = ["BOOT_IMAGE=", "initrd=", "init=", "rdinit=", "panic="];
/// Where the recording goes from a machine without a file system.
const PORT: &str = "/dev/ttyS1";

impl MinimalArgs {
    /// Returns the port that the recording is sent to, if it is.
    fn device(&self) -> Option<&Path> {
        self.send.as_deref().or(self.initramfs.is_some().then_some(Path::new(PORT)))
    }
}

/// Returns the arguments of this process; of the first process without the words before `minimal` that are not for it. A
/// kernel passes on those of its command line that it does not know (`splash`), and dracut's initramfs without systemd
/// the `--`.
pub(crate) fn arguments(all: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let all: Vec<OsString> = all.collect();
    if init::is_first() { without_foreign(all) } else { all }
}

/// Returns the words without those between the program and `minimal`, if none of these is a command or an option.
fn without_foreign(mut words: Vec<OsString>) -> Vec<OsString> {
    let known = crate::command_line();
    let foreign = |word: &OsString| {
        let word = word.to_string_lossy();
        word == "--" || !word.starts_with('-') && known.find_subcommand(&*word).is_none()
    };
    let at = words.iter().position(|word| word == "minimal").unwrap_or(0);
    if at > 1 && words[1..at].iter().all(foreign) {
        words.drain(1..at);
    }
    words
}

pub fn run(args: &MinimalArgs) -> Result<ExitCode, Problem> {
    match init::is_first() {
        true => Ok(first_process(args)),
        false => match &args.initramfs {
            Some(file) => initramfs::make(args, file),
            None => explain(args),
        },
    }
}

/// Returns the command that measures, without the program.
fn measurement(args: &MinimalArgs) -> Vec<String> {
    match args.measurement.is_empty() {
        true => USUAL.map(String::from).to_vec(),
        false => args.measurement.clone(),
    }
}

/// Measures as the first process, and ends the machine.
fn first_process(args: &MinimalArgs) -> ExitCode {
    for problem in init::mount_missing() {
        exit::print_error(&problem);
    }
    let (read_only, done) = match init::make_root_writable() {
        Ok(made) => (made, measure(args)),
        Err(problem) => (false, Err(problem)),
    };
    let sent = args.device().filter(|_| done.is_ok()).map(|to| (to, send::send(&args.output, to)));
    let mut code = done.unwrap_or_else(|problem| exit::print_error(&problem));
    match sent {
        Some((to, Ok(bytes))) => {
            terminal::print_note(format_args!("anechoic: sent {bytes} bytes to {}", to.display()))
        }
        Some((_, Err(problem))) => code = code.max(exit::print_error(&problem)),
        None => {}
    }
    if code > exit::WARNING && args.at_end != AtEnd::Exit {
        terminal::print_note(format_args!(
            "anechoic: there is no usable result; the machine ends in {} s",
            TO_READ.as_secs()
        ));
        std::thread::sleep(TO_READ);
    }
    init::leave_disks(read_only);
    let end = match args.at_end {
        AtEnd::Restart => End::Restart,
        AtEnd::PowerOff => End::PowerOff,
        AtEnd::Exit => return code.into(),
    };
    exit::print_error(&init::end(end)).into()
}

/// Runs the measurement in the directory of the recordings, and what follows it. Returns the exit code of the
/// measurement.
fn measure(args: &MinimalArgs) -> Result<u8, Problem> {
    let (dir, words) = (&args.output, measurement(args));
    create_dir_all(dir).map_err(|error| Problem::unwritable(dir, &error))?;
    terminal::print_note(format_args!(
        "anechoic {} in {}: the machine ends afterwards",
        words.join(" "),
        dir.display()
    ));
    let place = dir.join(LOG);
    let unwritable = |error: io::Error| Problem::unwritable(&place, &error);
    let log = create_file(&place).map_err(unwritable)?;
    let mut command = Command::new("/proc/self/exe");
    command.args(words).current_dir(dir).env_clear();
    command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    command.stdout(log.try_clone().map_err(unwritable)?).stderr(log);
    let not_started = |error: io::Error| {
        ProblemKind::Unavailable.problem(format!("cannot start a process: {error}"), "")
    };
    let status = command.status().map_err(not_started)?;
    let _ = io::stderr().write_all(&fs::read(&place).unwrap_or_default()); // the log has it
    if let Some(then) = &args.then {
        let after = Command::new("/bin/sh").args(["-c", then]).current_dir(dir).status();
        if !after.is_ok_and(|status| status.success()) {
            terminal::print_note(format_args!("anechoic: failed: {then}"));
        }
    }
    // A signal that ended the measurement has no code of ours.
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(exit::NO_VERDICT))
}

/// The kernel that runs, as its files are called, and its command line.
struct Kernel {
    image: Option<PathBuf>,
    initramfs: Option<PathBuf>,
    command_line: String,
}

impl Kernel {
    /// Finds the files of the running kernel where distributions put them.
    fn running() -> Self {
        let release = rustix::system::uname().release().to_string_lossy().into_owned();
        let found = |names: &[String]| names.iter().map(PathBuf::from).find(|path| path.exists());
        let modules = format!("/lib/modules/{release}");
        Self {
            image: found(&[format!("/boot/vmlinuz-{release}"), format!("{modules}/vmlinuz")]),
            initramfs: found(&[
                format!("/boot/initrd.img-{release}"),
                format!("/boot/initramfs-{release}.img"),
                format!("/boot/initrd-{release}"),
            ]),
            command_line: fs::read_to_string("/proc/cmdline").unwrap_or_default(),
        }
    }

    /// Returns what would prevent kexec.
    fn warnings(&self) -> Vec<String> {
        let mut warnings = vec![];
        if self.image.is_none() {
            warnings.push("the running kernel's image is not in /boot: put its path in the place of KERNEL (and INITRAMFS)".into());
        }
        let denied = fs::read_to_string("/proc/sys/kernel/kexec_load_disabled");
        if denied.is_ok_and(|value| value.trim() != "0") {
            warnings.push(
                "kernel.kexec_load_disabled is set until the next boot: use the boot loader".into(),
            );
        }
        warnings
    }
}

/// Returns the parameters that boot this program as the first process: the one on the root file system, or that of an
/// initramfs, which the kernel finds by itself.
///
/// # Errors
/// The kernel's command line cannot have them.
fn parameters(
    args: &MinimalArgs,
    program: Option<&Path>,
    running: &str,
) -> Result<String, Problem> {
    let kept = running.split_whitespace().take_while(|word| *word != "--");
    let kept = kept.filter(|word| !NOT_AGAIN.iter().any(|name| word.starts_with(name)));
    let mut words: Vec<String> = kept.map(String::from).collect();
    words.push("panic=30".to_owned());
    words.extend(program.map(|program| format!("init={}", program.display())));
    words.push("--".to_owned());
    let own = own_words(args);
    if own.len() > MOST_WORDS {
        let why =
            format!("the kernel passes {MOST_WORDS} words to its first process, not {}", own.len());
        return Err(ProblemKind::Usage.problem(why, "use fewer options"));
    }
    for word in own {
        words.push(quoted(&word)?);
    }
    Ok(words.join(" "))
}

/// Returns the words that the first process gets.
fn own_words(args: &MinimalArgs) -> Vec<String> {
    let mut words = vec!["minimal".to_owned()];
    if args.output != Path::new("/var/lib/anechoic") {
        words.extend(["--output".to_owned(), output(args).display().to_string()]);
    }
    if args.at_end == AtEnd::PowerOff {
        words.extend(["--at-end", "power-off"].map(String::from));
    }
    words.extend(
        args.device().iter().flat_map(|to| ["--send".to_owned(), to.display().to_string()]),
    );
    words.extend(args.then.iter().flat_map(|then| ["--then".to_owned(), then.clone()]));
    words.extend(measurement(args));
    words
}

/// Returns the directory for the recording, whatever the current one is when it is written.
fn output(args: &MinimalArgs) -> PathBuf {
    std::path::absolute(&args.output).unwrap_or_else(|_| args.output.clone())
}

/// Writes a word so that the kernel's command line, and that of a boot loader, has it as one. The kernel knows double
/// quotes only, and no way to write one.
///
/// # Errors
/// The word has a double quote, or a character that ends the line.
fn quoted(word: &str) -> Result<String, Problem> {
    if word.contains('"') || word.contains(char::is_control) {
        let why = format!(
            "{word:?} has a double quote or a line break, which the kernel's command line cannot have"
        );
        return Err(ProblemKind::Usage.problem(why, "write the command to a script, and name that"));
    }
    let plain = |letter: char| letter.is_alphanumeric() || "-_./=:,@%+".contains(letter);
    let is_plain = !word.is_empty() && word.chars().all(plain);
    Ok(if is_plain { word.into() } else { format!("\"{word}\"") })
}

/// Writes a text as one word of a shell, in single quotes.
fn for_shell(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Prints how to boot it.
fn explain(args: &MinimalArgs) -> Result<ExitCode, Problem> {
    let program = std::env::current_exe().map_err(|error| {
        ProblemKind::Unavailable.problem(format!("cannot find this program: {error}"), "")
    })?;
    let kernel = Kernel::running();
    let line = parameters(args, Some(&program), &kernel.command_line)?;
    let mut out = terminal::stdout();
    writeln!(
        out,
        "This boots the running kernel with anechoic as its first and only process. It runs\n"
    )?;
    writeln!(out, "  anechoic {}\n", measurement(args).join(" "))?;
    let end = end_in_words(args);
    writeln!(out, "writes the recording to {}, and {end}.", output(args).display())?;
    writeln!(out, "Everything that runs now ends: services, logins, connections.\n")?;
    let warnings = warnings(args, &program, &kernel);
    for warning in &warnings {
        writeln!(out, "! {warning}")?;
    }
    if !warnings.is_empty() {
        writeln!(out)?;
    }
    let name = |path: &Option<PathBuf>, unknown: &str| {
        path.as_ref().map_or(unknown.to_owned(), |path| path.display().to_string())
    };
    let image = name(&kernel.image, "KERNEL");
    writeln!(out, "Now, by kexec (package kexec-tools):\n")?;
    let initramfs = match (&kernel.image, &kernel.initramfs) {
        (Some(_), None) => String::new(),
        (_, initramfs) => format!(" --initrd={}", name(initramfs, "INITRAMFS")),
    };
    writeln!(
        out,
        "  sudo kexec -l {image}{initramfs} \\\n    --command-line={}",
        for_shell(&line)
    )?;
    writeln!(out, "  sudo systemctl kexec\n")?;
    let own = line.find("panic=30").map_or(&*line, |at| &line[at..]);
    if own.contains(CHANGED_BY_LOADERS) {
        writeln!(
            out,
            "Not from the menu of the boot loader, which changes ', $ and \\. A script has no such limit.\n"
        )?;
    } else {
        writeln!(
            out,
            "Or once, from the menu of the boot loader: end the line of the kernel with\n"
        )?;
        writeln!(out, "  {own}\n")?;
    }
    writeln!(out, "Afterwards: anechoic list {}", output(args).display())?;
    out.flush()?;
    Ok(if warnings.is_empty() { ExitCode::SUCCESS } else { exit::WARNING.into() })
}

/// Returns what follows the measurement.
fn end_in_words(args: &MinimalArgs) -> &'static str {
    match args.at_end {
        AtEnd::PowerOff => "switches the machine off",
        AtEnd::Restart | AtEnd::Exit => "restarts the machine, which comes up as usual",
    }
}

/// Returns what would prevent it.
fn warnings(args: &MinimalArgs, program: &Path, kernel: &Kernel) -> Vec<String> {
    let mut warnings = vec![];
    let root = device(Path::new("/"));
    if device(program) != root {
        warnings.push(format!(
            "{} is not on the root file system, where the kernel looks for it: copy it to /usr/local/bin, and start it there",
            program.display()
        ));
    }
    let output = output(args);
    let parent = output.ancestors().find(|path| path.exists());
    if parent.is_none_or(|parent| device(parent) != root) {
        warnings.push(format!(
            "{} is not on the root file system, the only one that is mounted then: name another directory (--output)",
            output.display()
        ));
    }
    warnings.extend(kernel.warnings());
    warnings
}

/// Returns the file system of a path.
fn device(path: &Path) -> Option<u64> {
    path.metadata().ok().map(|metadata| metadata.dev())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits a command line as the kernel does (`next_arg` in lib/cmdline.c): double quotes hold words together and are
    /// removed at the ends.
    fn words_of_kernel(line: &str) -> Vec<String> {
        let (mut words, mut word, mut in_quotes) = (vec![], String::new(), false);
        for letter in line.chars().chain([' ']) {
            match letter {
                ' ' if !in_quotes && !word.is_empty() => {
                    let bare = word.strip_prefix('"').and_then(|word| word.strip_suffix('"'));
                    words.push(bare.unwrap_or(&word).to_owned());
                    word.clear();
                }
                ' ' if !in_quotes => {}
                letter => {
                    in_quotes ^= letter == '"';
                    word.push(letter);
                }
            }
        }
        words
    }

    fn args(then: &str, measurement: &[&str]) -> MinimalArgs {
        MinimalArgs {
            output: "/var/lib/my recordings".into(),
            at_end: AtEnd::PowerOff,
            then: Some(then.into()),
            send: None,
            initramfs: None,
            kernel: None,
            force: false,
            measurement: measurement.iter().map(|word| (*word).to_owned()).collect(),
        }
    }

    #[test]
    fn the_first_process_gets_the_words_that_were_given() {
        let running = "BOOT_IMAGE=/vmlinuz root=/dev/sda1 quiet init=/bin/x -- single";
        let measurement = ["run", "--stop-on", "detour>1ms", "--cpus", "1-3", "-d", "1 min"];
        let args = args("echo it's $HOME; sync", &measurement);
        let line = parameters(&args, Some(Path::new("/bin/anechoic")), running).expect("a line");
        let words = words_of_kernel(&line);
        let expected: Vec<&str> =
            ["root=/dev/sda1", "quiet", "panic=30", "init=/bin/anechoic", "--"]
                .into_iter()
                .chain(["minimal", "--output", "/var/lib/my recordings", "--at-end", "power-off"])
                .chain(["--then", "echo it's $HOME; sync"])
                .chain(measurement)
                .collect();
        assert_eq!(words, expected, "{line}");
        let prints = format!("printf %s {}", for_shell(&line));
        let printed = Command::new("sh").args(["-c", &prints]).output().expect("a shell");
        assert_eq!(String::from_utf8_lossy(&printed.stdout), line);
    }

    #[test]
    fn words_that_the_kernel_does_not_know_are_left_out() {
        let cases = [
            ("minimal run", "minimal run"),
            ("-- minimal run", "minimal run"),
            ("splash single minimal run", "minimal run"),
            ("run --cpus 1", "run --cpus 1"),
            ("inject -- minimal", "inject -- minimal"),
            ("splash", "splash"),
            ("", ""),
        ];
        for (words, expected) in cases {
            let arguments = |text: &str| -> Vec<OsString> {
                let words = text.split_whitespace();
                ["/init"].into_iter().chain(words).map(OsString::from).collect()
            };
            assert_eq!(without_foreign(arguments(words)), arguments(expected), "{words}");
        }
    }

    #[test]
    fn what_the_kernel_cannot_pass_on_is_refused() {
        let many = vec!["-q"; MOST_WORDS];
        let cases: [(&str, &[&str], &str); 3] = [
            (r#"echo "a""#, &["run"], "double quote"),
            ("a\nb", &["run"], "line break"),
            ("true", &many, "30 words"),
        ];
        for (then, measurement, expected) in cases {
            let found = parameters(&args(then, measurement), None, "");
            let problem = found.expect_err(expected);
            assert!(problem.to_string().contains(expected), "{problem}");
        }
    }
}
