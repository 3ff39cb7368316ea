//! One boot: a machine in QEMU's emulation, which ends by itself and leaves its results.

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
/// The parameters of every kernel. A busy host would make the kernel's tests of its timers fail; real-time kernels would
/// take the quick interrupts of an emulated serial port for a fault.
const ALWAYS: &str =
    "console=ttyS0 panic=-1 quiet mitigations=off no_timer_check tsc=reliable noirqdebug";

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
    pub fn installed() -> anyhow::Result<Self> {
        let program = PathBuf::from("qemu-system-x86_64");
        Ok(Self { version: version(&program)?, program, data: None })
    }

    /// Returns one that was unpacked to `dir`.
    ///
    /// # Errors
    /// It cannot be started, or prints another version than expected.
    pub fn unpacked(dir: &Path) -> anyhow::Result<Self> {
        let program = dir.join("usr/bin/qemu-system-x86_64");
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
        let archive = results.join("results.tar.gz");
        let mut qemu = self.command(LIMIT_S);
        qemu.args(["-M", "q35", "-cpu", "max"]);
        qemu.args(["-nodefaults", "-display", "none", "-no-reboot", "-monitor", "none"]);
        qemu.args(["-m", &boot.machine.memory_mib.to_string()]).args(boot.machine.options);
        qemu.args(match (boot.machine.exact, boot.machine.in_turns) {
            (true, _) => &["-accel", "tcg,thread=single", "-icount", "shift=2,sleep=off"][..],
            (false, true) => &["-accel", "tcg,thread=single"],
            (false, false) => &["-accel", "tcg,thread=multi"],
        });
        for file in [&results.join(CONSOLE), &archive, &results.join(RECORDING)] {
            qemu.arg("-serial").arg(format!("file:{}", file.display()));
        }
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

/// The file with what the machine printed.
const CONSOLE: &str = "console";

fn console(results: &Path) -> String {
    let bytes = fs::read(results.join(CONSOLE)).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the kernel command line. Where the time is that of the host, the rate of the counter is given too, and what
/// each CPU would measure with it: a kernel that measures them on a busy host is far off, and takes long with many CPUs.
fn command_line(boot: &Boot, image: &Image, counter_khz: u64) -> String {
    let time = match boot.machine.exact {
        true => "nokaslr".to_owned(),
        false => {
            let loops = counter_khz * 1_000 / image.hertz;
            format!("tsc_early_khz={counter_khz} lpj={loops}")
        }
    };
    let runs = |name: &&&str| {
        let check = named(CHECKS, name, |check: &Check| check.name);
        (check.skipped)(boot).is_none()
    };
    let checks: Vec<&str> = boot.checks.iter().filter(runs).copied().collect();
    format!("{ALWAYS} {time} {} lab.checks={}", boot.command_line.words, checks.join(","))
}
