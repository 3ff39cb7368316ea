//! What was measured, on its way out of a machine that has no disk: an archive of tar on a serial port.

use anechoic_recording::{Problem, ProblemKind};
use rustix::termios::{self, OptionalActions};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Tar's unit: a header is one, and contents are filled up to whole ones.
const BLOCK: usize = 512;
/// The longest name that a header has room for.
const NAME: usize = 100;
/// Bits per second of a port.
const SPEED: u32 = 115_200;

/// Sends all files below a directory to a device, and returns when the last byte has left. A terminal, which serial
/// ports are, passes them on unchanged. Returns the number of bytes.
///
/// # Errors
/// The device is none, or something cannot be read or written.
pub(super) fn send(dir: &Path, device: &Path) -> Result<usize, Problem> {
    let file = open(device)?;
    let archive = archive(dir)?;
    let mut out = BufWriter::new(&file);
    let unwritable = |error: io::Error| Problem::unwritable(device, &error);
    out.write_all(&archive).and_then(|()| out.flush()).map_err(unwritable)?;
    if termios::isatty(&file) {
        termios::tcdrain(&file).map_err(|error| unwritable(error.into()))?;
    }
    Ok(archive.len())
}

/// Opens a device that takes bytes in their order.
fn open(device: &Path) -> Result<File, Problem> {
    let unwritable = |error: io::Error| Problem::unwritable(device, &error);
    if !fs::metadata(device).map_err(unwritable)?.file_type().is_char_device() {
        let why = format!("{} is not a serial port", device.display());
        return Err(ProblemKind::Usage.problem(why, "name one, such as /dev/ttyS1"));
    }
    let file = OpenOptions::new().write(true).read(true).open(device).map_err(unwritable)?;
    if termios::isatty(&file) {
        let raw = termios::tcgetattr(&file).and_then(|mut settings| {
            settings.make_raw();
            settings.set_speed(SPEED)?;
            termios::tcsetattr(&file, OptionalActions::Now, &settings)
        });
        raw.map_err(|error| unwritable(error.into()))?;
    }
    Ok(file)
}

/// Returns the archive of all files below a directory.
fn archive(dir: &Path) -> Result<Vec<u8>, Problem> {
    let mut archive = Vec::new();
    add(&mut archive, dir, Path::new(""))?;
    archive.resize(archive.len() + 2 * BLOCK, 0); // the end
    Ok(archive)
}

/// Adds what is in a directory, in the order of the names.
fn add(archive: &mut Vec<u8>, dir: &Path, name: &Path) -> Result<(), Problem> {
    let unreadable = |error: io::Error| Problem::unreadable(dir, &error);
    let entries = fs::read_dir(dir).map_err(unreadable)?.collect::<io::Result<Vec<_>>>();
    let mut entries = entries.map_err(unreadable)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), name.join(entry.file_name()));
        let kind = entry.file_type().map_err(unreadable)?;
        if kind.is_dir() {
            add(archive, &path, &name)?;
        } else if kind.is_file() {
            let bytes = fs::read(&path).map_err(|error| Problem::unreadable(&path, &error))?;
            archive.extend(header(&name.to_string_lossy(), bytes.len())?);
            archive.extend(&bytes);
            archive.resize(archive.len().next_multiple_of(BLOCK), 0);
        }
    }
    Ok(())
}

/// Returns the header of a file (POSIX, *ustar*).
fn header(name: &str, length: usize) -> Result<[u8; BLOCK], Problem> {
    if name.len() > NAME {
        let why = format!("{name} is longer than the {NAME} letters that tar has for a name");
        return Err(ProblemKind::Usage.problem(why, "name a directory with a shorter name"));
    }
    let mut header = [0; BLOCK];
    let mut put =
        |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, "0000644\0");
    put(108, "0000000\0"); // user
    put(116, "0000000\0"); // group
    put(124, &format!("{length:011o}\0"));
    put(136, "00000000000\0"); // time
    put(148, "        "); // the sum is over blanks in its own place
    put(156, "0");
    put(257, "ustar\x0000");
    let sum: u32 = header.iter().copied().map(u32::from).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn tar_reads_the_archive() {
        let dir = tempfile::tempdir().expect("a directory");
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("rec/detours")).expect("directories");
        let bytes: Vec<u8> = (0..=255).cycle().take(1_000).collect();
        fs::write(at("rec/detours/0.parquet"), &bytes).expect("a file");
        fs::write(at("minimal.log"), "measured\n").expect("a file");
        let archive = archive(dir.path()).expect("an archive");
        assert_eq!(send(dir.path(), Path::new("/dev/null")).expect("it is sent"), archive.len());

        let unpacked = tempfile::tempdir().expect("a directory");
        let mut tar = Command::new("tar");
        let mut tar =
            tar.arg("-x").current_dir(&unpacked).stdin(Stdio::piped()).spawn().expect("tar");
        tar.stdin.take().expect("a pipe").write_all(&archive).expect("tar reads");
        assert!(tar.wait().expect("tar").success());
        let read = |name: &str| fs::read(unpacked.path().join(name)).expect("a file");
        assert_eq!(read("rec/detours/0.parquet"), bytes);
        assert_eq!(read("minimal.log"), b"measured\n");
    }

    #[test]
    fn what_is_no_port_is_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("file");
        fs::write(&file, "precious").expect("a file");
        let problem = send(dir.path(), &file).expect_err("a file");
        assert!(problem.to_string().contains("not a serial port"), "{problem}");
        assert_eq!(fs::read(&file).expect("a file"), b"precious");
        assert!(send(dir.path(), Path::new("/dev/absent")).is_err());
        assert!(header(&"x".repeat(101), 0).is_err());
    }
}
