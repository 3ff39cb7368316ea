//! One boot: a machine in QEMU's emulation, which ends by itself and leaves its results.

use super::architectures::Architecture;
use super::boots::{Boot, named};
use super::checks::{CHECKS, Check};
use super::debian::{Image, output};
use super::evidence::RECORDING;
use anyhow::{Context, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The longest that one machine may run, in seconds: one that hangs is ended, and its checks have failed.
const LIMIT_S: u32 = 1_800;
/// How a kernel ends when it meets a breakpoint that is no longer there. Kernels place breakpoints while they patch their
/// own code, as they do to switch an event on; the emulation of several CPUs at the same time sometimes executes one that
/// was removed. Such a machine is started again, so many times in all.
const EMULATION_FAILED: &str = "int3: 0000";
const ATTEMPTS: u32 = 3;
/// The parameters of every kernel. Real-time kernels would take the quick interrupts of an emulated serial port for a
/// fault.
const ALWAYS: &str = "panic=-1 quiet mitigations=off noirqdebug";

/// Where the firmware is that QEMU's packages do not have (package seabios).
const FIRMWARE: &str = "/usr/share/seabios";

/// QEMU as it is started.
#[derive(Debug, Clone)]
pub struct Emulator {
    program: PathBuf,
    /// Where it has its own files, if not where it looks for them.
    data: Option<PathBuf>,
    /// Its first number.
    pub version: u32,
}

impl Emulator {
    /// Returns the one that is installed.
    ///
    /// # Errors
    /// It cannot be started, or prints another version than expected.
    pub fn installed(architecture: &Architecture) -> anyhow::Result<Self> {
        let program = PathBuf::from(architecture.emulator);
        Ok(Self { version: version(&program)?, program, data: None })
    }

    /// Returns one that was unpacked to `dir`.
    ///
    /// # Errors
    /// It cannot be started, or prints another version than expected.
    pub fn unpacked(dir: &Path, architecture: &Architecture) -> anyhow::Result<Self> {
        let program = dir.join("usr/bin").join(architecture.emulator);
        let data = Some(dir.join("usr/share/qemu"));
        Ok(Self { version: version(&program)?, program, data })
    }

    /// Boots, waits for the end, and unpacks the results into `results`. The console's output lies beside them.
    ///
    /// # Errors
    /// The machine did not end in time, or left no results: the last line of its console is in the message.
    pub fn boot(
        &self,
        boot: &Boot,
        image: &Image,
        initramfs: &Path,
        counter_khz: u64,
        results: &Path,
    ) -> anyhow::Result<()> {
        for _ in 1..ATTEMPTS {
            let result = self.start(boot, image, initramfs, counter_khz, results);
            if result.is_ok() || !emulation_failed(results) {
                return result;
            }
        }
        self.start(boot, image, initramfs, counter_khz, results)
    }

    /// Prepares the command that runs the emulator for a limited time.
    fn command(&self, limit_s: u32) -> Command {
        let mut qemu = Command::new("timeout");
        qemu.arg(limit_s.to_string()).arg(&self.program);
        if let Some(data) = &self.data {
            qemu.arg("-L").arg(data).args(["-L", FIRMWARE]);
        }
        qemu
    }

    fn start(
        &self,
        boot: &Boot,
        image: &Image,
        initramfs: &Path,
        counter_khz: u64,
        results: &Path,
    ) -> anyhow::Result<()> {
        fs::create_dir_all(results)?;
        let archive = results.join(ARCHIVE);
        let mut qemu = self.command(LIMIT_S);
        qemu.args(boot.kernel.architecture.machine);
        qemu.args(["-nodefaults", "-display", "none", "-no-reboot", "-monitor", "none"]);
        qemu.args(["-m", &boot.machine.memory_mib.to_string()]).args(boot.machine.options);
        qemu.args(match (boot.machine.exact, boot.machine.in_turns) {
            (true, _) => &["-accel", "tcg,thread=single", "-icount", "shift=2,sleep=off"][..],
            (false, true) => &["-accel", "tcg,thread=single"],
            (false, false) => &["-accel", "tcg,thread=multi"],
        });
        qemu.args(ports(boot.kernel.architecture, [CONSOLE, ARCHIVE, RECORDING], results));
        qemu.arg("-kernel").arg(&image.vmlinux).arg("-initrd").arg(initramfs);
        let status =
            qemu.args(["-append", &command_line(boot, image, counter_khz)]).stdin(Stdio::null());
        let status = status.status().context("timeout")?;
        let unpacked = Command::new("tar")
            .arg("-xzf")
            .arg(&archive)
            .current_dir(results)
            .stderr(Stdio::null())
            .status()
            .context("tar")?;
        let text = console(results);
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
        ensure!(status.success(), "the machine did not end in {LIMIT_S} s ({status}): {last}");
        ensure!(unpacked.success(), "the machine left no results: {last}");
        Ok(fs::remove_file(archive)?)
    }
}

/// Returns the options by which what arrives at the first three serial ports becomes these files in a directory. Where
/// the machine has only one port, which the console takes, the others are the second and third of a device.
fn ports(architecture: &Architecture, files: [&str; 3], dir: &Path) -> Vec<String> {
    let path = |file: &str| dir.join(file).display().to_string();
    let Some(device) = architecture.ports else {
        return files
            .iter()
            .flat_map(|file| ["-serial".into(), format!("file:{}", path(file))])
            .collect();
    };
    let [console, second, third] = files.map(path);
    let options = [
        ("-serial", format!("file:{console}")),
        ("-chardev", "null,id=first".into()),
        ("-chardev", format!("file,id=second,path={second}")),
        ("-chardev", format!("file,id=third,path={third}")),
        ("-chardev", "null,id=fourth".into()),
        (
            "-device",
            format!("{device},chardev1=first,chardev2=second,chardev3=third,chardev4=fourth"),
        ),
    ];
    options.into_iter().flat_map(|(option, value)| [option.to_owned(), value]).collect()
}

/// Returns whether it was the emulation that ended the last machine.
pub fn emulation_failed(results: &Path) -> bool {
    console(results).contains(EMULATION_FAILED)
}

/// Returns the version of an emulator.
fn version(program: &Path) -> anyhow::Result<u32> {
    let text = output(Command::new(program).arg("--version"))?;
    let version = text.split_whitespace().nth(3).and_then(|version| version.split('.').next());
    Ok(version.context("QEMU has no version")?.parse()?)
}

/// The file with what the machine printed, and that with its results.
const CONSOLE: &str = "console";
const ARCHIVE: &str = "results.tar.gz";

fn console(results: &Path) -> String {
    let bytes = fs::read(results.join(CONSOLE)).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the kernel command line.
fn command_line(boot: &Boot, image: &Image, counter_khz: u64) -> String {
    let time = match boot.machine.exact {
        true => "nokaslr".to_owned(),
        false => (boot.kernel.architecture.time)(counter_khz, image.hertz),
    };
    let runs = |name: &&&str| {
        let check = named(CHECKS, name, |check: &Check| check.name);
        (check.skipped)(boot).is_none()
    };
    let checks: Vec<&str> = boot.checks.iter().filter(runs).copied().collect();
    let (words, line) = (boot.kernel.architecture.words, boot.command_line.words);
    format!("{ALWAYS} {words} {time} {line} lab.checks={}", checks.join(","))
}
