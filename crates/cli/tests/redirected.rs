//! Another user cannot redirect what root writes, what is derived from a private recording stays private, and an end by a
//! signal leaves nothing behind.

use crate::tool::{ANECHOIC, Done, anechoic, arg, command, run, signal, spawn, start, wait};
use anechoic_lab::builders::{clock, cpu_run};
use anechoic_lab::note;
use anechoic_recording::{Detour, Recorder, methods};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

pub(crate) const STRANGER: u32 = 65_534;

pub(crate) fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/before")
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").mode() & 0o777
}

/// Returns whether this test can be another user, or notes why not.
pub(crate) fn may_be_another() -> bool {
    let root = command("id", &["-u"]).out.trim() == "0" && std::env::var("SUDO_UID").is_err();
    if !root {
        note::skipped("needs root, whom links could harm");
    }
    root
}

/// A place that the stranger may enter, with a directory `theirs` of the stranger.
pub(crate) fn place() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).expect("own");
    fs::create_dir(dir.path().join("theirs")).expect("a directory");
    chown(dir.path().join("theirs"), Some(STRANGER), Some(STRANGER)).expect("root may");
    dir
}

/// A recording with this many detours, without causes.
fn large(dir: &Path, detours: u64) {
    let cpu = cpu_run(0, (0, 1_000 * (detours + 1)), 20);
    let run = anechoic_lab::builders::run(methods::DETOURS, clock(1_000_000_000), vec![cpu]);
    let mut recorder = Recorder::create(dir, &run).expect("a new directory");
    let rows: Vec<Detour> = (1..=detours)
        .map(|at| Detour { cpu: 0, start_ticks: 1_000 * at, end_ticks: 1_000 * at + 300 })
        .collect();
    recorder.append(&rows).expect("in order");
    recorder.finish(&run).expect("written");
}

/// Every command that writes refuses, as root, a place below a stranger's directory, also one of root's own: the stranger
/// could exchange it at any time.
#[test]
fn root_writes_nothing_below_a_strangers_directory() {
    if !may_be_another() {
        return;
    }
    let (dir, before) = (place(), example());
    let ours = dir.path().join("theirs/ours");
    fs::create_dir(&ours).expect("a directory");
    let csv = dir.path().join("in.csv");
    fs::write(&csv, "start_ns,duration_ns,cpu\n1000,500,0\n").expect("a file");
    let (target, before, csv) = (arg(&ours).to_owned() + "/new", arg(&before), arg(&csv));
    let short = ["-q", "-d", "50ms", "-c", "0", "-o", &target];
    let writers: [&[&str]; 15] = [
        &["run"],
        &["run", "--repeat", "2"],
        &["run", "--rank-from-env"],
        &["measure", "fwq", "-q", "-c", "0", "--repetitions", "100", "-o", &target],
        &["record", "-q", "-o", &target, "--", "true"],
        &["suite", "ticks", "-q", "-o", &target],
        &["ab", "true", "true", "--pairs", "2"],
        &[
            "inject", "--kind", "thread", "--rate", "10hz", "--for", "50ms", "--verify", "-q",
            "-o", &target,
        ],
        &["merge", before, "-o", &target],
        &["man", &target],
        &["report", before, "--figures", &target],
        &["report", before, "-o", &target],
        &["export", "csv", before, "-o", &target],
        &["summary", before, "-o", &target],
        &["import", "csv", csv, "-o", &target],
    ];
    for writer in writers {
        let measures = ["run", "ab"].contains(&writer[0]);
        let rest = if measures { &short[..] } else { &[] };
        let mut asked = Command::new(ANECHOIC);
        asked.args([writer, rest].concat()).env("ANECHOIC_RANK", "0").env("ANECHOIC_SIZE", "1");
        let done = run(&mut asked);
        assert_eq!(done.code, Some(73), "{writer:?}: {} {}", done.out, done.err);
        assert!(done.err.contains("theirs belongs to user 65534"), "{writer:?}: {}", done.err);
        assert_eq!(done.err.lines().filter(|line| line.contains("belongs to")).count(), 1);
        let left = fs::read_dir(&ours).expect("own").count();
        assert_eq!(left, 0, "{writer:?} wrote");
    }
}

/// A directory that is exchanged during a run, in a place where that was possible and where it is not.
#[test]
fn a_swap_during_a_run_reaches_no_recording_of_roots() {
    if !may_be_another() {
        return;
    }
    let dir = place();
    let precious = dir.path().join("precious");
    large(&precious, 10);
    let content = |name: &str| fs::read(precious.join(name)).expect("a file");
    let before = (content("run.json"), content("SHA256SUMS"));
    for _ in 0..3 {
        let target = dir.path().join("theirs/r");
        let child = start(&["run", "-q", "-d", "1s", "-c", "0", "-o", arg(&target)]);
        std::thread::sleep(Duration::from_millis(300));
        let swap = format!("cd {}/theirs && mv r old; ln -s {} r", arg(dir.path()), arg(&precious));
        let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", &swap];
        command("setpriv", &nobody);
        assert_eq!(wait(child).code, Some(73));
        assert!(target.is_symlink(), "the stranger could exchange it");
        fs::remove_file(&target).expect("a link");
        assert_eq!((content("run.json"), content("SHA256SUMS")), before);
    }
    assert_eq!(fs::read_dir(&precious).expect("own").count(), 3, "nothing else is in it");
}

#[test]
fn root_derives_nothing_in_a_strangers_recording() {
    if !may_be_another() {
        return;
    }
    let dir = place();
    let (theirs, target) = (dir.path().join("theirs/r"), dir.path().join("target"));
    command("cp", &["-r", arg(&example()), arg(&theirs)]);
    command("chown", &["-R", "65534:65534", arg(&theirs)]);
    fs::create_dir(&target).expect("a directory");
    symlink(&target, theirs.join(".activities.new")).expect("a link");
    let done = anechoic(&["attribute", arg(&theirs)]);
    assert_eq!(done.code, Some(73), "{}", done.err);
    assert!(done.err.contains("belongs to user 65534") && done.is_one_clear_line(), "{}", done.err);
    assert_eq!(fs::read_dir(&target).expect("own").count(), 0);
    assert!(matches!(anechoic(&["summary", arg(&theirs)]).code, Some(0 | 1)), "it can be read");
}

/// What the kernel refuses to the shell's `>` (`fs.protected_symlinks`), `--force` does not do either.
#[test]
fn force_follows_no_planted_link_and_keeps_what_private_files_are() {
    if !may_be_another() {
        return;
    }
    let dir = place();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("shared")).expect("a directory");
    fs::set_permissions(at("shared"), Permissions::from_mode(0o1777)).expect("own");
    let tool = at("anechoic"); // where everybody may read it
    fs::copy(ANECHOIC, &tool).expect("a copy");
    let before = at("before");
    command("cp", &["-r", arg(&example()), arg(&before)]);
    command("chmod", &["-R", "a+rX", arg(&before)]);
    let other = ["--reuid=65533", "--regid=65533", "--clear-groups", arg(&tool)];
    let forms: [&[&str]; 5] = [
        &["export", "csv", arg(&before), "--force", "-o"],
        &["report", arg(&before), "--force", "-o"],
        &["summary", arg(&before), "--force", "-o"],
        &["list", arg(dir.path()), "--force", "-o"],
        &["gate", arg(&before), "--max-noise", "100%", "--force", "--junit"],
    ];
    for (name, owner) in [("as root", 0), ("as another user", 65_533)] {
        let secret = at(&format!("secret-{owner}"));
        fs::write(&secret, "precious").expect("a file");
        fs::set_permissions(&secret, Permissions::from_mode(0o600)).expect("own");
        chown(&secret, Some(owner), Some(owner)).expect("root may");
        let link = at("shared/x");
        symlink(&secret, &link).expect("a link");
        lchown(&link, Some(STRANGER), Some(STRANGER)).expect("root may");
        for form in forms {
            let args = [form, &[arg(&link)]].concat();
            let done = match owner {
                0 => anechoic(&args),
                _ => command("setpriv", &[&other[..], &args].concat()),
            };
            assert_eq!(done.code, Some(73), "{name}: {form:?}: {} {}", done.out, done.err);
            assert!(done.err.contains("belongs to user 65534"), "{name}: {form:?}: {}", done.err);
            assert_eq!(fs::read_to_string(&secret).expect("own"), "precious", "{name}: {form:?}");
            assert_eq!(mode(&secret), 0o600, "{name}");
        }
        fs::remove_file(&link).expect("a link");
    }
    // An own link is followed, and the file behind it keeps its owner and permissions.
    fs::write(at("kept"), "old").expect("a file");
    fs::set_permissions(at("kept"), Permissions::from_mode(0o640)).expect("own");
    chown(at("kept"), Some(4711), Some(4712)).expect("root may");
    symlink("kept", at("link")).expect("a link");
    for form in forms {
        let done = anechoic(&[form, &[arg(&at("link"))]].concat());
        assert!(matches!(done.code, Some(0 | 1)), "{form:?}: {}", done.err);
        let about = fs::metadata(at("kept")).expect("it is there");
        assert_eq!((mode(&at("kept")), about.uid(), about.gid()), (0o640, 4711, 4712), "{form:?}");
        assert!(at("link").is_symlink() && fs::read(at("kept")).is_ok_and(|text| text != b"old"));
    }
}

/// A new file is open to those who may read all recordings that it was made of.
#[test]
fn what_is_derived_from_a_private_recording_is_private() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    let recording = at("data/r");
    fs::create_dir(at("data")).expect("a directory");
    command("cp", &["-r", arg(&example()), arg(&recording)]);
    let plain = at("plain");
    fs::write(&plain, "").expect("a file");
    let (open, root) = (mode(&plain), command("id", &["-u"]).out.trim() == "0");
    for (dir_mode, expected) in [(0o755, open), (0o750, open & 0o640), (0o700, open & 0o600)] {
        fs::set_permissions(&recording, Permissions::from_mode(dir_mode)).expect("own");
        let forms: [&[&str]; 4] = [
            &["export", "prometheus", arg(&recording)],
            &["report", arg(&recording)],
            &["summary", arg(&recording)],
            &["compare", arg(&recording), arg(&recording), "--json"],
        ];
        for form in forms {
            let file = at("file");
            let done = anechoic(&[form, &["-o", arg(&file)]].concat());
            if file.exists() {
                assert_eq!(mode(&file), expected, "{form:?} of {dir_mode:o}");
                fs::remove_file(&file).expect("own");
            } else {
                assert_eq!(form[0], "compare", "{form:?}: {}", done.err);
            }
        }
    }
    assert_eq!(anechoic(&["merge", arg(&at("data"))]).code, Some(0));
    if root {
        assert_eq!(mode(&at("data/cluster.json")), 0o600);
    }
}

/// Waits until `ready` holds; the test fails if it never does.
fn until(what: &str, ready: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !ready() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Signals of users, batch systems and power supplies, each of which ends a command.
const SIGNALS: [&str; 6] = ["INT", "TERM", "HUP", "USR1", "XCPU", "PWR"];

#[test]
fn a_signal_during_an_export_or_import_leaves_nothing() {
    let place = tempfile::tempdir().expect("a place");
    let at = |name: &str| place.path().join(name);
    large(&at("r"), 3_000_000);
    let csv = at("in.csv");
    let line = |at: u64| format!("{},300,0\n", 1_000 * at);
    fs::write(&csv, (0..3_000_000).map(line).collect::<String>()).expect("a file");
    fs::create_dir(at("out")).expect("a directory");
    let hidden = || fs::read_dir(at("out")).expect("own").count() > 0;
    for (number, name) in SIGNALS.into_iter().enumerate() {
        let file = at("out/file.csv");
        let export = start(&["export", "csv", arg(&at("r")), "-o", arg(&file)]);
        until("a file is begun", hidden);
        signal(&export, name);
        ended_by(wait(export), name);
        let left = fs::read_dir(at("out")).expect("own").count();
        assert_eq!(left, 0, "{name}: something is left");
        let import = at(&format!("import-{number}"));
        let child = start(&["import", "csv", arg(&csv), "-o", arg(&import)]);
        until("a recording is begun", || import.join("run.json").exists());
        signal(&child, name);
        ended_by(wait(child), name);
        assert!(!import.exists(), "{name}: a part of a recording is left");
        // The user's own empty directory stays, also behind a link.
        let (own, link) = (at(&format!("own-{number}")), at(&format!("link-{number}")));
        fs::create_dir(&own).expect("a directory");
        std::os::unix::fs::symlink(&own, &link).expect("a link");
        let child = start(&["import", "csv", arg(&csv), "-o", arg(&link)]);
        until("a recording is begun", || own.join("run.json").exists());
        signal(&child, name);
        ended_by(wait(child), name);
        assert!(link.is_symlink(), "{name}: the link is gone");
        assert_eq!(fs::read_dir(&own).expect("it stays").count(), 0, "{name}");
    }
    // A file that was there stays as it was.
    fs::write(at("out/file.csv"), "old").expect("a file");
    let export =
        start(&["export", "csv", arg(&at("r")), "--force", "-o", arg(&at("out/file.csv"))]);
    until("a file is begun", || fs::read_dir(at("out")).expect("own").count() > 1);
    signal(&export, "TERM");
    ended_by(wait(export), "TERM");
    assert_eq!(fs::read_to_string(at("out/file.csv")).expect("it is there"), "old");
    assert_eq!(fs::read_dir(at("out")).expect("own").count(), 1);
}

fn ended_by(done: Done, name: &str) {
    // No library can end a process with SIGPWR, so the exit code has its number.
    if name == "PWR" {
        assert_eq!(done.code, Some(128 + 30), "{} {}", done.out, done.err);
        return;
    }
    assert_eq!(done.code, None, "{name} ends it as a signal: {} {}", done.out, done.err);
}

#[test]
fn what_reads_and_attributes_at_once_ends_well() {
    let place = tempfile::tempdir().expect("a place");
    let recording = place.path().join("data/r");
    fs::create_dir(place.path().join("data")).expect("a directory");
    command("cp", &["-r", arg(&example()), arg(&recording)]);
    let (data, one) = (arg(place.path()).to_owned() + "/data", arg(&recording));
    for round in 0..3 {
        let children: Vec<_> = (0..7)
            .map(|number| {
                let page = place.path().join(format!("{round}-{number}.html"));
                let mut asked = Command::new(ANECHOIC);
                match number % 3 {
                    0 => asked.args(["attribute", one]),
                    1 => asked.args(["merge", &data]),
                    _ => asked.args(["report", one, "-o", arg(&page)]),
                };
                spawn(&mut asked)
            })
            .collect();
        for child in children {
            let done = wait(child);
            assert_eq!(done.code, Some(0), "round {round}: {} {}", done.out, done.err);
        }
    }
    let verified = command("sh", &["-c", &format!("cd {one} && sha256sum -c --quiet SHA256SUMS")]);
    assert_eq!(verified.code, Some(0), "{} {}", verified.out, verified.err);
    let hidden = fs::read_dir(&recording).expect("own").flatten();
    let hidden = hidden.filter(|entry| entry.file_name().to_string_lossy().starts_with('.'));
    assert_eq!(hidden.count(), 0, "nothing is left beside the tables");
}

#[test]
fn paths_control_no_terminal() {
    let place = tempfile::tempdir().expect("a place");
    let recording = place.path().join("n\u{1b}[31m\u{202e}gnp");
    command("cp", &["-r", arg(&example()), arg(&recording)]);
    let (name, page) = (arg(&recording), place.path().join("\u{202e}x\u{9b}.csv"));
    let forms: [&[&str]; 8] = [
        &["attribute", name],
        &["summary", name],
        &["list", arg(place.path())],
        &["export", "csv", name, "-o", arg(&page)],
        &["report", name, "-o", arg(&page)],
        &["--\u{1b}[31m\u{202e}"],
        &["run", "\u{1b}]0;x\u{7}"],
        &["summary", "\u{1b}[31m\u{2066}"],
    ];
    for form in forms {
        let done = anechoic(form);
        for text in [&done.out, &done.err] {
            let wrong = text.chars().find(|&c| c != '\n' && anechoic_recording::is_control(c));
            assert_eq!(wrong, None, "{form:?}: {text:?}");
        }
    }
}

#[test]
fn what_is_in_the_way_is_named() {
    let place = tempfile::tempdir().expect("a place");
    let at = |name: &str| place.path().join(name);
    fs::write(at("file"), "").expect("a file");
    symlink("nowhere", at("dangling")).expect("a link");
    fs::create_dir_all(at("full/x")).expect("directories");
    let (before, file, dangling) = (example(), at("file"), at("dangling"));
    let (before, file, dangling) = (arg(&before), arg(&file), arg(&dangling));
    let fifo = at("fifo");
    command("mkfifo", &[arg(&fifo)]);
    let (fifo, full, new) = (arg(&fifo), at("full"), at("new"));
    let cases: [(&[&str], i32, &str); 11] = [
        (&["export", "csv", before, before, "-o", file], 64, "is not a directory"),
        (&["man", file], 73, "it is not a directory"),
        (&["man", dangling], 73, "leads nowhere"),
        (&["report", before, "--figures", file], 73, "is not a directory"),
        (&["report", before, "--figures", dangling], 73, "leads nowhere"),
        (&["import", "netgauge", fifo, "-o", arg(&new)], 64, "is not a regular file"),
        (&["import", "csv", "/dev/zero", "-o", arg(&new)], 64, "is not a regular file"),
        (&["import", "trace-cmd", fifo, "-o", arg(&new)], 64, "is not a regular file"),
        (&["predict", "ticks", "--times", fifo, "--costs", fifo], 65, "not a regular file"),
        (
            &["predict", "ticks", "--times", "/dev/zero", "--costs", "/dev/zero"],
            65,
            "not a regular",
        ),
        (
            &[
                "inject",
                "--kind",
                "thread",
                "--rate",
                "10hz",
                "--for",
                "50ms",
                "--verify",
                "-o",
                arg(&full),
            ],
            73,
            "is not empty",
        ),
    ];
    for (args, code, says) in cases {
        let done = command("timeout", &[&["20", ANECHOIC], args].concat());
        assert_eq!(done.code, Some(code), "{args:?}: {}", done.err);
        assert!(done.err.contains(says) && !done.err.contains("dmesg"), "{args:?}: {}", done.err);
    }
}

/// On a full disk the older file stays, and the error names it.
#[test]
fn a_result_that_does_not_fit_leaves_the_older_one() {
    if !may_be_another() {
        return;
    }
    let script = format!(
        "mount -t tmpfs -o size=64k none /mnt && cd /mnt && echo old >file && \
         dd if=/dev/zero of=fill bs=1k count=56 2>/dev/null; \
         {ANECHOIC} export csv {} --force -o file; echo code $?; cat file; ls -A",
        arg(&example())
    );
    let done = command("unshare", &["-m", "sh", "-c", &script]);
    assert!(done.out.contains("code 73"), "{} {}", done.out, done.err);
    assert!(done.out.ends_with("old\nfile\nfill\n"), "{}", done.out);
    assert!(
        done.err.contains("/mnt/file") || done.err.contains("cannot write file"),
        "{}",
        done.err
    );
}
