//! The laboratory: boots kernels in QEMU's emulation with the tool, and runs checks inside.
//!
//! Kernels, machines, command lines, boots and checks are rows of tables below `lab/`. Timings under emulation mean
//! nothing; counts are what the checks judge.

mod architectures;
mod boots;
mod checks;
mod debian;
mod evidence;
mod guest;
mod kernels;
mod machines;
mod qemu;
mod results;

use anyhow::{Context, anyhow};
use architectures::{Architecture, X86_64};
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
    /// The tool as it runs here.
    tool: PathBuf,
    debian: Debian,
    /// What machines of each architecture start with, or why nothing can be started there.
    guests: BTreeMap<&'static str, Result<Guest, String>>,
    /// The rate of this machine's counter.
    counter_khz: u64,
    /// Whether to judge what earlier boots left, and boot nothing.
    judges_only: bool,
}

/// What the boots of an architecture have in common.
struct Guest {
    initramfs: PathBuf,
    /// The checks whose programs cannot be had, and why.
    missing: BTreeMap<&'static str, String>,
    /// The installed emulator.
    emulator: Emulator,
}

/// Runs `lab TOOL [--fast] [--store] [--judge] [--aarch64=TOOL] [TEXT]`: the boots whose name contains the text, with
/// this tool; with `--judge` what they left the last time is judged again. The checks fail if one of them does; where
/// there is no emulator, no kernel or no tool of the architecture, they are skipped with the reason.
///
/// # Errors
/// The arguments are wrong, or the file system for the machines cannot be made.
pub fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let (options, texts): (Vec<&str>, Vec<&str>) =
        arguments.iter().map(String::as_str).partition(|argument| argument.starts_with("--"));
    let tool = texts.first().context("lab TOOL [--fast] [--store] [--aarch64=TOOL] [TEXT]")?;
    let boots = boots::boots(options.contains(&"--fast"), texts.get(1).unwrap_or(&""));
    anyhow::ensure!(!boots.is_empty(), "no boot has this in its name: {:?}", texts.get(1));
    if let Some(program) = PROGRAMS.iter().find(|program| !installed(program)) {
        println!("skipped: {program} is not installed (make lab-packages)");
        return Ok(ExitCode::SUCCESS);
    }
    let judges_only = options.contains(&"--judge");
    let of_others = |name: &str| {
        let mut values = options.iter().filter_map(|option| option.strip_prefix("--"));
        values.find_map(|option| option.strip_prefix(name)?.strip_prefix('=')).map(PathBuf::from)
    };
    let laboratory =
        Laboratory { judges_only, ..Laboratory::open(Path::new(tool), of_others, &boots)? };
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
    /// Makes the file systems for the machines, with the tools that run here and on other architectures.
    fn open(
        tool: &Path,
        of_others: impl Fn(&str) -> Option<PathBuf>,
        boots: &[Boot],
    ) -> anyhow::Result<Laboratory> {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("a parent")?;
        let dir = repository.join("target/laboratory");
        fs::create_dir_all(&dir)?;
        let tool = tool.canonicalize().with_context(|| tool.display().to_string())?;
        let all = [&X86_64].into_iter().chain(boots.iter().map(|boot| boot.kernel.architecture));
        let all: BTreeMap<&str, &'static Architecture> =
            all.map(|known| (known.name, known)).collect();
        let debian =
            Debian::new(dir.join("debian"), all.values().map(|known| known.debian).collect());
        let mut laboratory = Laboratory {
            repository: repository.to_owned(),
            counter_khz: counter_khz(&tool)?,
            tool,
            dir,
            debian,
            guests: BTreeMap::new(),
            judges_only: false,
        };
        for architecture in all.into_values() {
            let guest = match (architecture.name == X86_64.name, of_others(architecture.name)) {
                (true, _) => Ok(laboratory.guest(architecture, &laboratory.tool, boots)?),
                (false, Some(tool)) => {
                    anyhow::ensure!(tool.is_file(), "{}: no such file", tool.display());
                    laboratory.guest(architecture, &tool, boots)
                }
                (false, None) => Err(anyhow!("no tool was built for it")),
            };
            let guest = guest.map_err(|why| format!("{}: {why:#}", architecture.name));
            laboratory.guests.insert(architecture.name, guest);
        }
        Ok(laboratory)
    }

    /// Makes the file system for the machines of an architecture.
    fn guest(
        &self,
        architecture: &'static Architecture,
        tool: &Path,
        boots: &[Boot],
    ) -> anyhow::Result<Guest> {
        let name = architecture.name;
        let emulator = architecture.emulator;
        anyhow::ensure!(installed(emulator), "{emulator} is not installed");
        let (mut programs, mut missing) = (Vec::new(), BTreeMap::new());
        if name != X86_64.name {
            programs.push(self.debian.system(architecture)?);
        }
        let here = boots.iter().filter(|boot| boot.kernel.architecture.name == name);
        let checks: BTreeSet<_> = here.flat_map(|boot| boot.checks).copied().collect();
        for check in checks {
            match self.debian.programs(check, architecture) {
                Ok(dir) => programs.extend(dir),
                Err(why) => _ = missing.insert(check, format!("its programs: {why:#}")),
            }
        }
        let initramfs = guest::build(architecture, &self.repository, tool, &programs, &self.dir)?;
        Ok(Guest { initramfs, missing, emulator: Emulator::installed(architecture)? })
    }

    /// Boots, and judges what each check left.
    fn boot(&self, boot: &Boot) -> Vec<Row> {
        let slug = boot.name().replace(", ", "_").replace(' ', "-");
        let results = self.dir.join("results").join(slug);
        let (guest, emulator, image) = match self.parts(boot) {
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
            self.start(boot, guest, &emulator, &image, &results)
        };
        rows(boot, &image.release, |check| {
            let missing = guest.missing.get(check.name).map(String::as_str);
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
        guest: &Guest,
        emulator: &Emulator,
        image: &debian::Image,
        results: &Path,
    ) -> anyhow::Result<()> {
        let initramfs = match boot.checks.contains(&"kexec") {
            true => guest::with_kernel(&guest.initramfs, &image.packed, &self.dir)?,
            false => guest.initramfs.clone(),
        };
        emulator.boot(boot, image, &initramfs, self.counter_khz, results)
    }

    /// Returns what a boot needs, or why it cannot be booted here.
    fn parts(&self, boot: &Boot) -> anyhow::Result<(&Guest, Emulator, debian::Image)> {
        let architecture = boot.kernel.architecture;
        let guest = self.guests.get(architecture.name).context("no such machine is prepared")?;
        let guest = guest.as_ref().map_err(|why| anyhow!("{why}"))?;
        let mut emulator = guest.emulator.clone();
        let since = boot.machine.since;
        if emulator.version < since {
            let dir = self.debian.emulator(architecture).context("no newer emulator can be had")?;
            emulator = Emulator::unpacked(&dir, architecture)?;
        }
        let version = emulator.version;
        anyhow::ensure!(version >= since, "needs QEMU {since}, this is {version}");
        let image = self.debian.kernel(boot.kernel).context("the kernel cannot be had")?;
        Ok((guest, emulator, image))
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
