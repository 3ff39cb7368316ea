//! The laboratory: boots kernels in QEMU's emulation with the tool, and runs checks inside.
//!
//! Kernels, machines, command lines, boots and checks are rows of tables below `lab/`. Timings under emulation mean
//! nothing; counts are what the checks judge.

mod boots;
mod checks;
mod debian;
mod evidence;
mod guest;
mod kernels;
mod machines;
mod qemu;
mod results;

use anyhow::Context;
use boots::Boot;
use checks::{CHECKS, Check};
use debian::{Debian, output};
use evidence::Evidence;
use qemu::Emulator;
use results::{Ktap, Row, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

/// What the laboratory runs.
const PROGRAMS: &[&str] = &[
    "qemu-system-x86_64",
    "busybox",
    "cpio",
    "zstd",
    "xz",
    "ldd",
    "tar",
    "timeout",
    "apt-get",
    "apt-cache",
    "dpkg-deb",
];

/// What the boots have in common.
struct Laboratory {
    repository: PathBuf,
    /// Where kernels, file systems and results are kept.
    dir: PathBuf,
    tool: PathBuf,
    debian: Debian,
    initramfs: PathBuf,
    /// The checks whose programs cannot be had, and why.
    missing: BTreeMap<&'static str, String>,
    /// The installed emulator.
    emulator: Emulator,
    /// The rate of this machine's counter.
    counter_khz: u64,
    /// Whether to judge what earlier boots left, and boot nothing.
    judges_only: bool,
}

/// Runs `lab TOOL [--fast] [--store] [--judge] [TEXT]`: the boots whose name contains the text, with this tool; with
/// `--judge` what they left the last time is judged again. The checks fail if one of them does; where there is no
/// emulator, or no kernel can be had, they are skipped with the reason.
///
/// # Errors
/// The arguments are wrong, or the file system for the machines cannot be made.
pub fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let (options, texts): (Vec<&str>, Vec<&str>) =
        arguments.iter().map(String::as_str).partition(|argument| argument.starts_with("--"));
    let tool = texts.first().context("lab TOOL [--fast] [--store] [TEXT]")?;
    let boots = boots::boots(options.contains(&"--fast"), texts.get(1).unwrap_or(&""));
    anyhow::ensure!(!boots.is_empty(), "no boot has this in its name: {:?}", texts.get(1));
    if let Some(program) = PROGRAMS.iter().find(|program| !installed(program)) {
        println!("skipped: {program} is not installed (make lab-packages)");
        return Ok(ExitCode::SUCCESS);
    }
    let judges_only = options.contains(&"--judge");
    let laboratory = Laboratory { judges_only, ..Laboratory::open(Path::new(tool), &boots)? };
    let mut ktap = Ktap::begin(boots.iter().map(|boot| boot.checks.len()).sum());
    let mut failed = false;
    for boot in &boots {
        ktap.note(&format!("booting {}", boot.name()));
        let began = Instant::now();
        let rows = laboratory.boot(boot);
        rows.iter().for_each(|row| ktap.add(row));
        ktap.note(&format!("this took {} s", began.elapsed().as_secs()));
        if options.contains(&"--store") {
            results::store(&laboratory.repository, &rows)?;
        }
        failed |= rows.iter().any(|row| matches!(row.verdict, Verdict::Failed(_)));
    }
    fs::write(laboratory.dir.join("results.ktap"), ktap.text())?;
    Ok(ExitCode::from(u8::from(failed)))
}

impl Laboratory {
    /// Makes the file system for the machines.
    fn open(tool: &Path, boots: &[Boot]) -> anyhow::Result<Laboratory> {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("a parent")?;
        let dir = repository.join("target/laboratory");
        fs::create_dir_all(&dir)?;
        let tool = tool.canonicalize().with_context(|| tool.display().to_string())?;
        let debian = Debian::new(dir.join("debian"));
        let (mut programs, mut missing) = (Vec::new(), BTreeMap::new());
        let checks: BTreeSet<_> = boots.iter().flat_map(|boot| boot.checks).copied().collect();
        for check in checks {
            match debian.programs(check) {
                Ok(dir) => programs.extend(dir),
                Err(why) => _ = missing.insert(check, format!("its programs: {why:#}")),
            }
        }
        Ok(Laboratory {
            repository: repository.to_owned(),
            debian,
            initramfs: guest::build(repository, &tool, &programs, &dir)?,
            counter_khz: counter_khz(&tool)?,
            dir,
            tool,
            missing,
            emulator: Emulator::installed()?,
            judges_only: false,
        })
    }

    /// Boots, and judges what each check left.
    fn boot(&self, boot: &Boot) -> Vec<Row> {
        let slug = boot.name().replace(", ", "_").replace(' ', "-");
        let results = self.dir.join("results").join(slug);
        let (emulator, image) = match self.parts(boot) {
            Ok(parts) => parts,
            Err(why) => {
                let skipped = |_: &_| Verdict::Skipped(format!("{why:#}"));
                return rows(boot, "", skipped);
            }
        };
        let booted = if self.judges_only {
            Ok(())
        } else {
            fs::remove_dir_all(&results).ok();
            self.start(boot, &emulator, &image, &results)
        };
        rows(boot, &image.release, |check| {
            let missing = self.missing.get(check.name).map(String::as_str);
            if let Some(why) = (check.skipped)(boot).or(missing) {
                return Verdict::Skipped(why.to_owned());
            }
            if let Err(why) = &booted {
                if qemu::emulation_failed(&results) {
                    let why = "QEMU's emulation of several CPUs ran into a breakpoint that the kernel had removed";
                    return Verdict::Skipped(why.to_owned());
                }
                return Verdict::Failed(format!("{why:#}"));
            }
            let evidence = Evidence {
                dir: results.join(check.name),
                boot,
                image: &image,
                tool: &self.tool,
                repository: &self.repository,
            };
            match (check.judge)(&evidence) {
                Ok(seen) => Verdict::Passed(seen),
                Err(why) => Verdict::Failed(format!("{why:#}")),
            }
        })
    }

    /// Starts the machine and waits for its end.
    fn start(
        &self,
        boot: &Boot,
        emulator: &Emulator,
        image: &debian::Image,
        results: &Path,
    ) -> anyhow::Result<()> {
        let initramfs = match boot.checks.contains(&"kexec") {
            true => guest::with_kernel(&self.initramfs, &image.packed, &self.dir)?,
            false => self.initramfs.clone(),
        };
        emulator.boot(boot, image, &initramfs, self.counter_khz, results)
    }

    /// Returns the emulator and the kernel of a boot, or why it cannot be booted here.
    fn parts(&self, boot: &Boot) -> anyhow::Result<(Emulator, debian::Image)> {
        let mut emulator = self.emulator.clone();
        let since = boot.machine.since;
        if emulator.version < since {
            let dir = self.debian.emulator().context("no newer emulator can be had")?;
            emulator = Emulator::unpacked(&dir)?;
        }
        let version = emulator.version;
        anyhow::ensure!(version >= since, "needs QEMU {since}, this is {version}");
        let image = self.debian.kernel(boot.kernel).context("the kernel cannot be had")?;
        Ok((emulator, image))
    }
}

/// Returns a row for each check of a boot.
fn rows(boot: &Boot, release: &str, verdict: impl Fn(&Check) -> Verdict) -> Vec<Row> {
    let name = [boot.kernel.name, release, boot.machine.name, boot.command_line.name];
    let checks = boot.checks.iter().map(|name| boots::named(CHECKS, name, |check| check.name));
    let row = |check: &'static Check| Row {
        boot: name.map(str::to_owned),
        check: check.name.to_owned(),
        verdict: verdict(check),
    };
    checks.map(row).collect()
}

/// Returns the rate of this machine's counter, as the tool finds it.
fn counter_khz(tool: &Path) -> anyhow::Result<u64> {
    let check = output(Command::new(tool).args(["check", "--json"]))?;
    let check: serde_json::Value = serde_json::from_str(&check)?;
    let found = evidence::rows(&check, "/findings").iter();
    let mut found = found.filter(|finding| finding["what"] == "frequency");
    let mhz = found.next().and_then(|finding| finding["found"].as_str()?.split(' ').next());
    Ok((mhz.context("no rate of the counter")?.parse::<f64>()? * 1000.0) as u64)
}

/// Returns whether a program can be started.
fn installed(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|path| path.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_names_what_there_is_and_no_boot_occurs_twice() {
        let all = boots::boots(false, "");
        let mut names: Vec<_> = all.iter().map(Boot::name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all.len());
        assert!(!boots::boots(true, "").is_empty());
        for boot in &all {
            assert_eq!(rows(boot, "", |_| Verdict::Passed(String::new())).len(), boot.checks.len());
        }
    }
}
