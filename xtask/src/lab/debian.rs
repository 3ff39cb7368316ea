//! Kernels and programs from Debian's packages, kept in a directory of their own: nothing is installed, and the
//! system's list of sources stays as it is.

use super::architectures::{Architecture, X86_64};
use super::kernels::Kernel;
use anyhow::{Context, ensure};
use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where the packages' signatures are checked against.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// The suites that have the kernels and programs.
const SUITES: &[&str] = &["bookworm", "bookworm-backports", "trixie", "trixie-backports"];
/// The packages of a check's programs and of their libraries, of the oldest suite: they run with the C library of that
/// system and of all newer ones. Each with the directory that has what is needed of it.
const PROGRAMS: &[(&str, &[[&str; 2]])] = &[
    ("osnoise", RTLA),
    ("timerlat", RTLA),
    (
        "kexec",
        &[
            ["kexec-tools", "./sbin"],
            ["libxenmisc4.17", "./usr"],
            ["libxencall1", "./usr"],
            ["libxendevicemodel1", "./usr"],
            ["libxenevtchn1", "./usr"],
            ["libxenforeignmemory1", "./usr"],
            ["libxengnttab1", "./usr"],
            ["libxentoolcore1", "./usr"],
            ["libxentoollog1", "./usr"],
        ],
    ),
];
/// What has `rtla`, which starts the kernel's tracers.
const RTLA: &[[&str; 2]] =
    &[["rtla", "./usr"], ["libtracefs1", "./usr"], ["libtraceevent1", "./usr"]];
/// What a machine of another architecture starts with, which this one's own programs cannot be: a shell, what takes
/// capabilities away, and the libraries of the programs of every check.
const SYSTEM: &[[&str; 2]] = &[
    ["busybox-static", "./bin"],
    ["util-linux", "./usr/bin"],
    ["libcap-ng0", "./lib"],
    ["libc6", "./lib"],
];

/// A directory of packages and what was unpacked of them.
pub struct Debian {
    dir: PathBuf,
    /// The architectures of the packages, as Debian calls them.
    architectures: Vec<&'static str>,
    updated: OnceCell<()>,
}

/// A kernel that can be booted.
pub struct Image {
    /// The kernel without its wrapping, an ELF file: it boots by PVH, some seconds faster.
    pub vmlinux: PathBuf,
    /// The same kernel as distributions boot it, and as kexec does.
    pub packed: PathBuf,
    /// Its release, as `uname -r` calls it.
    pub release: String,
    /// Its timer ticks per second (CONFIG_HZ).
    pub hertz: u64,
}

impl Debian {
    /// Keeps what it fetches in `dir`. Its packages are of these architectures, as Debian calls them.
    #[must_use]
    pub fn new(dir: PathBuf, architectures: Vec<&'static str>) -> Self {
        Debian { dir, architectures, updated: OnceCell::new() }
    }

    /// Returns the kernel, from an earlier time or from the archive.
    ///
    /// # Errors
    /// The archive cannot be reached, or has another kind of package than expected.
    pub fn kernel(&self, kernel: &Kernel) -> anyhow::Result<Image> {
        let dir = self.dir.join(kernel.name);
        let image = dir.join("vmlinux");
        if !image.exists() {
            self.unpack_kernel(kernel, &dir)?;
            let packed = unpacked(&dir)?.packed;
            match is_bare(&packed)? {
                true => _ = fs::copy(packed, &image)?,
                false => extract(&packed, &image)?,
            }
        }
        let Unpacked { release, packed, configuration } = unpacked(&dir)?;
        let configuration = fs::read_to_string(configuration)?;
        let hertz = configuration.lines().find_map(|line| line.strip_prefix("CONFIG_HZ="));
        let hertz = hertz.context("the kernel has no tick rate")?.parse()?;
        Ok(Image { vmlinux: image, packed, release, hertz })
    }

    /// Unpacks the newest kernel of its kind below `dir`. The package names another one; in newer suites that one has
    /// its files in packages of their own.
    fn unpack_kernel(&self, kernel: &Kernel, dir: &Path) -> anyhow::Result<()> {
        let source = Source { architecture: kernel.architecture, suite: kernel.suite };
        let named = |package: &str, prefixes: [&str; 2]| -> anyhow::Result<Vec<String>> {
            let depends = self.shown(package, &source, "Depends: ")?;
            let words = depends.split([',', ' ', '|']).map(str::to_owned);
            let is_one = |word: &String| prefixes.iter().any(|prefix| word.starts_with(prefix));
            Ok(words.filter(is_one).collect())
        };
        let images = named(kernel.package, ["linux-image-"; 2])?;
        let image = images.last().context("the package depends on no image")?;
        let parts = named(image, ["linux-binary-", "linux-base-"])?;
        if parts.is_empty() {
            return self.unpack(image, &source, dir, &["./boot"]);
        }
        parts.iter().try_for_each(|part| self.unpack(part, &source, dir, &["./usr/lib/modules"]))
    }

    /// Returns the directory of the programs that a check needs beside the tool, with their libraries, from an earlier
    /// time or from the archive; none if it needs none.
    ///
    /// # Errors
    /// The archive cannot be reached.
    pub fn programs(
        &self,
        check: &str,
        architecture: &'static Architecture,
    ) -> anyhow::Result<Option<PathBuf>> {
        let source = Source { architecture, suite: SUITES[0] };
        let needed = PROGRAMS.iter().find(|(program, _)| *program == check);
        needed.map(|(_, packages)| self.unpacked(check, packages, &source)).transpose()
    }

    /// Returns the directory of what a machine of another architecture starts with.
    ///
    /// # Errors
    /// The archive cannot be reached.
    pub fn system(&self, architecture: &'static Architecture) -> anyhow::Result<PathBuf> {
        self.unpacked("system", SYSTEM, &Source { architecture, suite: SUITES[0] })
    }

    /// Returns the directory of an emulator that is newer than that of the oldest suite.
    ///
    /// # Errors
    /// None is known, or the archive cannot be reached.
    pub fn emulator(&self, emulated: &Architecture) -> anyhow::Result<PathBuf> {
        ensure!(
            !emulated.newer.is_empty(),
            "no packages of a newer {} are known",
            emulated.emulator
        );
        let source = Source { architecture: &X86_64, suite: SUITES[1] };
        self.unpacked(emulated.emulator, emulated.newer, &source)
    }

    /// Returns the directory of unpacked packages, from an earlier time or from the archive.
    fn unpacked(
        &self,
        name: &str,
        packages: &[[&str; 2]],
        source: &Source,
    ) -> anyhow::Result<PathBuf> {
        let dir = self.dir.join("programs").join(format!("{name}-{}", source.architecture.name));
        if !dir.exists() {
            let partial = dir.with_extension("partial");
            for [package, path] in packages {
                self.unpack(package, source, &partial, &[path])?;
            }
            fs::rename(partial, &dir)?;
        }
        Ok(dir)
    }

    /// Unpacks the files of a package below `into` whose path begins with one of `paths`.
    fn unpack(
        &self,
        package: &str,
        source: &Source,
        into: &Path,
        paths: &[&str],
    ) -> anyhow::Result<()> {
        fs::create_dir_all(into)?;
        self.update()?;
        println!("# fetching {package} of {}", source.suite);
        let word = source.package(package);
        run(self.apt("apt-get").args(["download", "--quiet", &word]).current_dir(into))?;
        let mut files = fs::read_dir(into)?.flatten().map(|entry| entry.path());
        let is_package = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(&format!("{package}_")) && name.ends_with(".deb")
        };
        let archive = files.find(is_package).context("apt-get left no package")?;
        let mut unpacking = Command::new("dpkg-deb");
        unpacking.arg("--fsys-tarfile").arg(&archive).stdout(Stdio::piped());
        let mut unpacking = unpacking.spawn().context("dpkg-deb")?;
        let tar = unpacking.stdout.take().context("a pipe")?;
        run(Command::new("tar").args(["-x"]).args(paths).current_dir(into).stdin(tar))?;
        ensure!(unpacking.wait()?.success(), "dpkg-deb: {} is damaged", archive.display());
        Ok(fs::remove_file(archive)?)
    }

    /// Returns a field of a package's description.
    fn shown(&self, package: &str, source: &Source, field: &str) -> anyhow::Result<String> {
        self.update()?;
        let shown = output(self.apt("apt-cache").args(["show", &source.package(package)]))?;
        let value = shown.lines().find_map(|line| line.strip_prefix(field));
        Ok(value.with_context(|| format!("{} has no {field}", source.package(package)))?.to_owned())
    }

    /// Fetches the lists of packages once.
    fn update(&self) -> anyhow::Result<()> {
        if self.updated.get().is_some() {
            return Ok(());
        }
        let apt = self.dir.join("apt");
        for dir in ["lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(apt.join(dir))?;
        }
        let from = archive()?;
        let source = |suite| format!("deb [signed-by={KEYRING}] {from} {suite} main\n");
        fs::write(apt.join("sources.list"), SUITES.iter().map(source).collect::<String>())?;
        let path = apt.display();
        let configuration = format!(
            "Dir::Etc::SourceList \"{path}/sources.list\";\nDir::Etc::SourceParts \"/dev/null\";\n\
             Dir::State::Lists \"{path}/lists\";\nDir::Cache \"{path}/cache\";\n\
             Acquire::Languages \"none\";\nAcquire::IndexTargets::deb::DEP-11::DefaultEnabled \"false\";\n\
             APT::Sandbox::User \"root\";\nAPT::Update::Error-Mode \"any\";\n\
             APT::Architectures {{ {} }};\n",
            self.architectures
                .iter()
                .map(|architecture| format!("\"{architecture}\"; "))
                .collect::<String>()
        );
        fs::write(apt.join("apt.conf"), configuration)?;
        run(self.apt("apt-get").args(["update", "--quiet", "--quiet"]))?;
        let _ = self.updated.set(());
        Ok(())
    }

    /// Prepares a command of apt with the laboratory's own sources.
    fn apt(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("APT_CONFIG", self.dir.join("apt/apt.conf"));
        command
    }
}

/// Where packages are from.
struct Source {
    architecture: &'static Architecture,
    suite: &'static str,
}

impl Source {
    /// Returns the words by which apt finds a package.
    fn package(&self, name: &str) -> String {
        format!("{name}:{}/{}", self.architecture.debian, self.suite)
    }
}

/// The files of an unpacked kernel.
struct Unpacked {
    release: String,
    packed: PathBuf,
    configuration: PathBuf,
}

/// Finds the files of the kernel in `dir`: in newer packages beside its modules, in older ones in `boot`.
fn unpacked(dir: &Path) -> anyhow::Result<Unpacked> {
    let [modules, boot] = ["usr/lib/modules", "boot"].map(|prefix| dir.join(prefix));
    if let Some(release) = first_suffix(&modules, "") {
        let [packed, configuration] =
            ["vmlinuz", "config"].map(|file| modules.join(&release).join(file));
        return Ok(Unpacked { release, packed, configuration });
    }
    let release = first_suffix(&boot, "config-").context("the package has no configuration")?;
    let [packed, configuration] =
        ["vmlinuz", "config"].map(|file| boot.join(format!("{file}-{release}")));
    Ok(Unpacked { release, packed, configuration })
}

/// Returns what follows `prefix` in the first name in `dir` that begins with it.
fn first_suffix(dir: &Path, prefix: &str) -> Option<String> {
    let mut names = fs::read_dir(dir).ok()?.flatten().map(|entry| entry.file_name());
    names.find_map(|name| Some(name.to_str()?.strip_prefix(prefix)?.to_owned()))
}

/// Returns the address of the Debian archive that this system's apt uses.
fn archive() -> anyhow::Result<String> {
    let format = "$(CREATED_BY) $(ORIGIN) $(CODENAME) $(REPO_URI)";
    let targets = output(Command::new("apt-get").args(["indextargets", "--format", format]))?;
    let main = targets.lines().find_map(|line| {
        let rest = line.strip_prefix("Packages Debian ")?;
        let (suite, address) = rest.split_once(' ')?;
        (!suite.contains('-')).then(|| address.trim_end_matches('/').to_owned())
    });
    main.context("apt on this machine knows no archive of Debian")
}

/// Returns whether a kernel has no wrapping, as those for AArch64 (Documentation/arch/arm64/booting.rst: `magic`).
fn is_bare(vmlinuz: &Path) -> anyhow::Result<bool> {
    Ok(fs::read(vmlinuz)?.get(0x38..0x3c) == Some(b"ARM\x64"))
}

/// Returns the little-endian number in the four bytes at `at`.
fn word(bytes: &[u8], at: usize) -> anyhow::Result<usize> {
    let bytes = bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    bytes.map(|bytes| u32::from_le_bytes(bytes) as usize).context("vmlinuz is cut short")
}

/// Takes the kernel out of its wrapping (Documentation/arch/x86/boot.rst: `payload_offset`, `payload_length`).
fn extract(vmlinuz: &Path, vmlinux: &Path) -> anyhow::Result<()> {
    let bytes = fs::read(vmlinuz)?;
    let sectors = usize::from(*bytes.get(0x1f1).context("vmlinuz is cut short")?);
    let begin = (sectors + 1) * 512 + word(&bytes, 0x248)?;
    // The length of the kernel stands behind what is packed.
    let end = begin + word(&bytes, 0x24c)? - 4;
    let packed = bytes.get(begin..end).context("vmlinuz is cut short")?;
    let tool: &[&str] = match packed {
        [0x28, 0xb5, 0x2f, 0xfd, ..] => &["zstd", "-dc"],
        [0xfd, b'7', b'z', ..] => &["xz", "-dc"],
        _ => anyhow::bail!("vmlinuz is packed neither by zstd nor by xz"),
    };
    let (payload, partial) = (vmlinux.with_extension("packed"), vmlinux.with_extension("partial"));
    fs::write(&payload, packed)?;
    let mut unpack = Command::new(tool[0]);
    unpack.args(&tool[1..]).stdin(fs::File::open(&payload)?).stdout(fs::File::create(&partial)?);
    run(&mut unpack)?;
    fs::remove_file(payload)?;
    Ok(fs::rename(partial, vmlinux)?)
}

/// Runs a command to its end.
pub(super) fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("{:?}", command.get_program()))?;
    ensure!(status.success(), "{:?} failed: {status}", command.get_program());
    Ok(())
}

/// Returns what a command prints.
pub(super) fn output(command: &mut Command) -> anyhow::Result<String> {
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("{:?}", command.get_program()))?;
    ensure!(output.status.success(), "{:?} failed: {}", command.get_program(), output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
