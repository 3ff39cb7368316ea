//! The file system that a kernel of the laboratory starts with: busybox, the tool, old recordings, the checks.

use super::checks::CHECKS;
use super::debian::{output, run};
use anyhow::{Context, ensure};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// PID 1.
const INIT: &str = include_str!("init.sh");
/// Where busybox is, which needs no libraries (package busybox-static).
const BUSYBOX: &str = "/bin/busybox";

/// Where packages have programs, and these their libraries, seen from there.
const PROGRAMS: [&str; 2] = ["usr/bin", "sbin"];
const LIBRARIES: [&str; 2] = ["../lib/x86_64-linux-gnu", "../usr/lib/x86_64-linux-gnu"];

/// Writes the file system with this tool, and what was unpacked to `others`, to `dir`. Returns the archive's path.
///
/// # Errors
/// A program or a file is missing.
pub fn build(
    repository: &Path,
    tool: &Path,
    others: &[PathBuf],
    dir: &Path,
) -> anyhow::Result<PathBuf> {
    let root = dir.join("root");
    if root.exists() {
        fs::remove_dir_all(&root)?;
    }
    for of in ["bin", "proc", "sys", "dev", "tmp", "root", "etc", "lab"] {
        fs::create_dir_all(root.join(of))?;
    }
    ensure!(libraries(Path::new(BUSYBOX))?.is_empty(), "{BUSYBOX}: not static; busybox-static is");
    fs::copy(BUSYBOX, root.join("bin/busybox")).context(BUSYBOX)?;
    add(tool, "anechoic", &root)?;
    // That of busybox cannot take capabilities away.
    add(Path::new("/usr/bin/setpriv"), "setpriv", &root)?;
    for dir in others.iter().flat_map(|dir| PROGRAMS.map(|of| dir.join(of))) {
        for program in fs::read_dir(dir).into_iter().flatten().flatten() {
            add(&program.path(), &program.file_name().to_string_lossy(), &root)?;
        }
    }
    run(Command::new("cp").arg("-a").arg(repository.join("fixtures")).arg(&root))?;
    for check in CHECKS {
        fs::write(root.join("lab").join(check.name), check.script)?;
    }
    fs::write(root.join("init"), INIT)?;
    fs::set_permissions(root.join("init"), fs::Permissions::from_mode(0o755))?;
    let archive = dir.join("initramfs");
    pack(&root, &archive)?;
    Ok(archive)
}

/// Adds a program under this name, and its libraries.
fn add(program: &Path, name: &str, root: &Path) -> anyhow::Result<()> {
    fs::copy(program, root.join("bin").join(name))
        .with_context(|| program.display().to_string())?;
    for library in libraries(program)? {
        // One that was unpacked beside its program has its place in the system's directory.
        let path = library.to_string_lossy();
        let to = root.join(path.rsplit("/../").next().unwrap_or(&path).trim_start_matches('/'));
        fs::create_dir_all(to.parent().context("a library has a directory")?)?;
        fs::copy(&library, to)?;
    }
    Ok(())
}

/// Returns the libraries that a program needs, its loader too; none of a static one. Those beside it come first.
fn libraries(program: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let beside = LIBRARIES.map(|of| program.with_file_name(of).display().to_string()).join(":");
    let mut ldd = Command::new("ldd");
    ldd.arg(program).env("LD_LIBRARY_PATH", beside).stderr(Stdio::null());
    let listed = ldd.output().context("ldd")?;
    if !listed.status.success() {
        return Ok(Vec::new()); // "not a dynamic executable"
    }
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    Ok(text.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect())
}

/// Adds a kernel to the file system, as `/lab/vmlinuz`: the kernel unpacks one archive after the other. Returns the path
/// of both.
///
/// # Errors
/// A file cannot be read or written.
pub fn with_kernel(archive: &Path, kernel: &Path, dir: &Path) -> anyhow::Result<PathBuf> {
    let root = dir.join("kernel");
    fs::create_dir_all(root.join("lab"))?;
    fs::copy(kernel, root.join("lab/vmlinuz"))?;
    let own = dir.join("initramfs-kernel");
    pack(&root, &own)?;
    let both = [fs::read(archive)?, fs::read(&own)?].concat();
    fs::write(&own, both)?;
    Ok(own)
}

/// Packs a directory as the kernel expects it. It is not compressed: an emulated CPU would take seconds to undo that.
fn pack(root: &Path, archive: &Path) -> anyhow::Result<()> {
    let names = output(Command::new("find").arg(".").current_dir(root))?;
    let list = archive.with_extension("list");
    fs::write(&list, names)?;
    let mut cpio = Command::new("cpio");
    cpio.args(["-o", "-H", "newc", "-R", "0:0", "--quiet"]).current_dir(root);
    run(cpio.stdin(fs::File::open(&list)?).stdout(fs::File::create(archive)?))
}
