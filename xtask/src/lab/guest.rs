//! The file system that a kernel of the laboratory starts with: busybox, the tool, old recordings, the checks.

use super::architectures::{Architecture, X86_64};
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

/// Where packages have programs and libraries.
const PROGRAMS: [&str; 3] = ["bin", "usr/bin", "sbin"];
const LIBRARIES: [&str; 2] = ["lib", "usr/lib"];

/// Writes the file system of an architecture with this tool, and what was unpacked to `others`, to `dir`. Returns the
/// archive's path. What a machine of this architecture starts with is copied from this machine; that of others is among
/// what was unpacked.
///
/// # Errors
/// A program or a file is missing.
pub fn build(
    architecture: &Architecture,
    repository: &Path,
    tool: &Path,
    others: &[PathBuf],
    dir: &Path,
) -> anyhow::Result<PathBuf> {
    let root = dir.join(format!("root-{}", architecture.name));
    if root.exists() {
        fs::remove_dir_all(&root)?;
    }
    for name in ["bin", "proc", "sys", "dev", "tmp", "root", "etc", "lab"] {
        fs::create_dir_all(root.join(name))?;
    }
    add(tool, "anechoic", &root)?;
    if architecture.name == X86_64.name {
        ensure!(
            libraries(Path::new(BUSYBOX))?.is_empty(),
            "{BUSYBOX}: not static; busybox-static is"
        );
        add(Path::new(BUSYBOX), "busybox", &root)?;
        // That of busybox cannot take capabilities away.
        add(Path::new("/usr/bin/setpriv"), "setpriv", &root)?;
    }
    for library in LIBRARIES {
        let to = root.join(library);
        fs::create_dir_all(&to)?;
        for from in others.iter().map(|dir| dir.join(library)).filter(|from| from.is_dir()) {
            run(Command::new("cp").arg("-a").arg(from.join(".")).arg(&to))?;
        }
    }
    for dir in others.iter().flat_map(|dir| PROGRAMS.map(|program| dir.join(program))) {
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
    let archive = dir.join(format!("initramfs-{}", architecture.name));
    pack(&root, &archive)?;
    Ok(archive)
}

/// Adds a program under this name, and the libraries that it has on this machine.
fn add(program: &Path, name: &str, root: &Path) -> anyhow::Result<()> {
    fs::copy(program, root.join("bin").join(name))
        .with_context(|| program.display().to_string())?;
    for library in libraries(program)? {
        let to = root.join(library.strip_prefix("/")?);
        fs::create_dir_all(to.parent().context("a library has a directory")?)?;
        fs::copy(&library, to)?;
    }
    Ok(())
}

/// Returns the libraries on this machine that a program needs, its loader too; none of a static one or of one for
/// another architecture.
fn libraries(program: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let listed = Command::new("ldd").arg(program).stderr(Stdio::null()).output().context("ldd")?;
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
