//! An initramfs whose first process is this program: a file system in memory, for which a kernel needs no disk and no
//! module. The form is cpio's *newc* (Documentation/driver-api/early-userspace/buffer-format.rst).

use super::{Kernel, MinimalArgs, PORT, end_in_words, for_shell, measurement, parameters};
use crate::files::write_whole;
use crate::{exit, terminal};
use anechoic_recording::{Problem, ProblemKind};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Directories that are there from the start.
const DIRECTORIES: [&str; 6] = ["dev", "proc", "sys", "tmp", "lib", "lib64"];
/// Kinds and rights of a file (stat(2)).
const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const DEVICE: u32 = 0o020_600;
const LINK: u32 = 0o120_777;
/// The name after which nothing follows.
const LAST: &str = "TRAILER!!!";

/// An archive that is being written.
struct Archive<'a> {
    out: &'a mut dyn Write,
    number: u32,
    /// The directories that it has.
    directories: BTreeSet<PathBuf>,
}

impl Archive<'_> {
    /// Adds a file with this content; `device` is the number of a device, major and minor.
    fn add(&mut self, name: &str, mode: u32, device: [u32; 2], bytes: &[u8]) -> io::Result<()> {
        let length = u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let name_length = name.len() as u32 + 1;
        let [major, minor] = device;
        let fields = [self.number, mode, 0, 0, 1, 0, length, 0, 0, major, minor, name_length, 0];
        self.number += 1;
        write!(self.out, "070701")?;
        for field in fields {
            write!(self.out, "{field:08x}")?;
        }
        write!(self.out, "{name}\0")?;
        self.pad(6 + 8 * fields.len() + name.len() + 1)?;
        self.out.write_all(bytes)?;
        self.pad(bytes.len())
    }

    /// Adds a directory and those above it.
    fn add_directory(&mut self, path: &Path) -> io::Result<()> {
        let mut above: Vec<&Path> =
            path.ancestors().filter(|path| !path.as_os_str().is_empty()).collect();
        above.reverse();
        for path in above {
            if self.directories.insert(path.to_owned()) {
                self.add(&path.to_string_lossy(), DIRECTORY, [0; 2], &[])?;
            }
        }
        Ok(())
    }

    /// Fills up to a multiple of four bytes.
    fn pad(&mut self, length: usize) -> io::Result<()> {
        self.out.write_all(&[0; 3][..length.next_multiple_of(4) - length])
    }
}

/// Writes the archive: the program as `/init`, and the libraries where they are here.
fn write(out: &mut dyn Write, program: &Path, libraries: &[PathBuf]) -> io::Result<()> {
    let mut archive = Archive { out, number: 1, directories: BTreeSet::new() };
    for name in DIRECTORIES {
        archive.add_directory(Path::new(name))?;
    }
    // What the first process prints goes there.
    archive.add("dev/console", DEVICE, [5, 1], &[])?;
    archive.add("init", PROGRAM, [0; 2], &fs::read(program)?)?;
    for library in libraries {
        let inside = library.strip_prefix("/").unwrap_or(library);
        let target = Path::new("/").join(inside);
        inside.parent().map_or(Ok(()), |parent| archive.add_directory(parent))?;
        archive.add(&inside.to_string_lossy(), PROGRAM, [0; 2], &fs::read(library)?)?;
        for link in links(library) {
            let link = link.strip_prefix("/").unwrap_or(&link);
            if link != inside {
                archive.add(
                    &link.to_string_lossy(),
                    LINK,
                    [0; 2],
                    target.as_os_str().as_bytes(),
                )?;
            }
        }
    }
    archive.add(LAST, 0, [0; 2], &[])
}

/// Returns the other names by which programs look for a library: the links beside it, and for the loader the paths that
/// programs name, which are links where distributions have merged /usr.
fn links(library: &Path) -> Vec<PathBuf> {
    let beside = library.parent().and_then(|dir| fs::read_dir(dir).ok()).into_iter().flatten();
    let is_link = |path: &PathBuf| {
        path.is_symlink() && fs::canonicalize(path).is_ok_and(|leads_to| leads_to == library)
    };
    let mut links: Vec<PathBuf> =
        beside.flatten().map(|entry| entry.path()).filter(is_link).collect();
    let name = library.file_name().unwrap_or_default();
    if name.to_string_lossy().starts_with("ld-") {
        links.extend(["/lib", "/lib64"].map(|dir| Path::new(dir).join(name)));
    }
    links.sort();
    links.dedup();
    links
}

/// Returns the libraries of this process, its loader too; none of a static program.
fn libraries() -> io::Result<Vec<PathBuf>> {
    Ok(mapped(&fs::read_to_string("/proc/self/maps")?))
}

/// Returns the libraries that a process has in its memory (`/proc/PID/maps`).
fn mapped(maps: &str) -> Vec<PathBuf> {
    let paths = maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..]));
    let libraries = paths.map(PathBuf::from).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".so") || name.contains(".so.")
    });
    let mut libraries: Vec<PathBuf> = libraries.collect();
    libraries.sort();
    libraries.dedup();
    libraries
}

/// Writes the initramfs, and prints how to boot it.
pub(super) fn make(args: &MinimalArgs, file: &Path) -> Result<ExitCode, Problem> {
    let mut kernel = Kernel::running();
    if let Some(image) = &args.kernel {
        fs::metadata(image).map_err(|error| Problem::unreadable(image, &error))?;
        kernel.image = Some(image.clone());
    }
    let here = parameters(args, None, &kernel.command_line)?;
    let elsewhere = parameters(args, None, "console=ttyS0")?;
    let program = std::env::current_exe().and_then(|program| Ok((program, libraries()?)));
    let (program, libraries) = program.map_err(|error| {
        ProblemKind::Unavailable.problem(format!("cannot find this program: {error}"), "")
    })?;
    let bytes = write_whole(file, args.force, |out| Ok(write(out, &program, &libraries)?))?;
    let mut out = terminal::stdout();
    let (file, device) = (file.display(), args.device().unwrap_or(Path::new(PORT)));
    let size = bytes.div_ceil(1 << 20);
    writeln!(
        out,
        "{file}, {size} MiB, boots anechoic as the first and only process of a kernel. It runs\n"
    )?;
    writeln!(out, "  anechoic {}\n", measurement(args).join(" "))?;
    writeln!(
        out,
        "in memory, sends the recording to {} as a tar archive, and {}.\n",
        device.display(),
        end_in_words(args)
    )?;
    let warnings = warnings(device, &kernel);
    for warning in &warnings {
        writeln!(out, "! {warning}")?;
    }
    if !warnings.is_empty() {
        writeln!(out)?;
    }
    let image = kernel.image.map_or("KERNEL".to_owned(), |image| image.display().to_string());
    writeln!(out, "Now, by kexec (package kexec-tools); everything that runs ends:\n")?;
    writeln!(
        out,
        "  sudo kexec -l {image} --initrd={file} \\\n    --command-line={}",
        for_shell(&here)
    )?;
    writeln!(out, "  sudo systemctl kexec\n")?;
    writeln!(
        out,
        "On another machine, by a boot loader on its disk or a USB stick: the same two files, and the line\n"
    )?;
    writeln!(out, "  {elsewhere}\n")?;
    writeln!(out, "In a virtual machine:\n")?;
    writeln!(
        out,
        "  qemu-system-x86_64 -accel kvm -cpu host -m 1G -nodefaults -display none -no-reboot \\"
    )?;
    writeln!(
        out,
        "    -serial stdio -serial file:recording.tar -kernel {image} -initrd {file} \\"
    )?;
    writeln!(out, "    -append {}\n", for_shell(&elsewhere))?;
    writeln!(out, "Afterwards: tar -xf recording.tar; anechoic list .")?;
    out.flush()?;
    Ok(if warnings.is_empty() { ExitCode::SUCCESS } else { exit::WARNING.into() })
}

/// Returns what would prevent it on this machine.
fn warnings(device: &Path, kernel: &Kernel) -> Vec<String> {
    let mut warnings = kernel.warnings();
    let port = Path::new("/sys/class/tty").join(device.file_name().unwrap_or_default());
    let is = |file: &str, value: &str| {
        fs::read_to_string(port.join(file)).is_ok_and(|text| text.trim() == value)
    };
    // The driver has a name for ports that are not there; they are of type 0.
    if !port.exists() || is("type", "0") {
        warnings.push(format!(
            "this machine has no port {}: name another one for it (--send)",
            device.display()
        ));
    } else if is("console", "Y") {
        warnings.push(format!(
            "{} is the console, whose messages would damage the archive: name another port (--send)",
            device.display()
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_those_in_memory_once() {
        let maps = "\
55d0-55d1 r--p 00000000 00:1f 12 /usr/bin/anechoic
7f00-7f01 r--p 00000000 00:1f 13 /usr/lib/x86_64-linux-gnu/libc.so.6
7f01-7f02 r-xp 00001000 00:1f 13 /usr/lib/x86_64-linux-gnu/libc.so.6
7f03-7f04 r--p 00000000 00:1f 14 /usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2
7f05-7f06 rw-p 00000000 00:00 0
7ffd-7ffe rw-p 00000000 00:00 0 [stack]
";
        let expected = ["ld-linux-x86-64.so.2", "libc.so.6"];
        let expected = expected.map(|name| Path::new("/usr/lib/x86_64-linux-gnu").join(name));
        assert_eq!(mapped(maps), expected);
        assert!(mapped("55d0-55d1 r--p 00000000 00:1f 12 /usr/bin/anechoic\n").is_empty());
    }

    /// The bytes of an archive as cpio(5) describes them; that a kernel takes it is a check of the laboratory.
    #[test]
    fn an_archive_has_what_was_put_into_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let at = |name: &str| dir.path().join(name);
        fs::write(at("program"), "12345").expect("a file");
        fs::write(at("ld-linux.so.2"), "loader").expect("a file");
        fs::write(at("libc-2.31.so"), "library").expect("a file");
        std::os::unix::fs::symlink("libc-2.31.so", at("libc.so.6")).expect("a link");
        std::os::unix::fs::symlink("program", at("other.so")).expect("a link");
        let mut bytes = Vec::new();
        let libraries = [at("ld-linux.so.2"), at("libc-2.31.so")];
        write(&mut bytes, &at("program"), &libraries).expect("an archive");
        let names = entries(&bytes);
        let inside = |name| at(name).display().to_string()[1..].to_owned();
        let other = inside("other.so");
        assert!(names.iter().all(|entry| entry.0 != other), "it leads to no library");
        let (library, link) = (inside("libc-2.31.so"), inside("libc.so.6"));
        let inside = inside("ld-linux.so.2");
        let expected: [(&str, u32, &[u8]); 8] = [
            (&library, PROGRAM, b"library"),
            (&link, LINK, format!("/{library}").leak().as_bytes()),
            ("dev", DIRECTORY, b""),
            ("dev/console", DEVICE, b""),
            ("init", PROGRAM, b"12345"),
            (&inside, PROGRAM, b"loader"),
            ("lib64/ld-linux.so.2", LINK, format!("/{inside}").leak().as_bytes()),
            (LAST, 0, b""),
        ];
        for (name, mode, content) in expected {
            let found = names.iter().find(|entry| entry.0 == name);
            assert_eq!(found, Some(&(name.to_owned(), mode, content.to_vec())), "{name}");
        }
    }

    /// Reads an archive: names, modes, contents.
    fn entries(bytes: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let (mut at, mut found) = (0, vec![]);
        while at < bytes.len() {
            assert_eq!(&bytes[at..at + 6], b"070701");
            let field = |number: usize| {
                let digits = &bytes[at + 6 + 8 * number..at + 14 + 8 * number];
                u32::from_str_radix(std::str::from_utf8(digits).expect("digits"), 16).expect("hex")
            };
            let (mode, length, name) = (field(1), field(6) as usize, field(11) as usize);
            let begin = (at + 110 + name).next_multiple_of(4);
            let text = String::from_utf8_lossy(&bytes[at + 110..at + 109 + name]).into_owned();
            found.push((text, mode, bytes[begin..begin + length].to_vec()));
            at = (begin + length).next_multiple_of(4);
        }
        found
    }
}
