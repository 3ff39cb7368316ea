//! The whole command on changed files. Its exit code is a known one, it takes little memory and time, and parsers that
//! others wrote read what it writes.

use super::recordings::{self, Changed, part_of, runs};
use super::{MOST_MEMORY, Reader};
use crate::faults::KNOWN;
use crate::tool::parsers::Parsers;
use crate::tool::{self, ANECHOIC, Done, arg};
use anechoic_lab::note;
use anechoic_lab::two_cpus::{self, SECOND};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Most seconds of processor time that a command takes on what is small; a valid file takes a tenth, a page a quarter of
/// one. The kernel then ends it.
const SLOW_S: u64 = 10;

/// A command that reads the recording `recording`, the file in which its output is (standard output if it is empty), and
/// the kind of that.
type Output = (&'static str, &'static str, &'static str);

/// Outputs of every kind.
const OUTPUTS: [Output; 18] = [
    ("summary recording --json", "", "json"),
    ("summary recording --all", "", "text"),
    ("sources recording --json", "", "json"),
    ("longest recording --json", "", "json"),
    ("longest recording", "", "text"),
    ("list . --json", "", "json"),
    ("gate recording --max-noise 1% --max-detour 1ms --junit out --force", "out", "xml"),
    ("gate recording --max-rate thread:*=5/s --markdown out", "out", "text"),
    ("gate recording --max-noise 1% --json", "", "json"),
    ("report recording -o out --force", "out", "html"),
    ("report recording --redact -o out --force", "out", "html"),
    ("report recording --figures figures", "figures", "xml"),
    ("export csv recording", "", "csv"),
    ("export prometheus recording", "", "prometheus"),
    ("export openmetrics recording", "", "openmetrics"),
    ("export bencher recording", "", "json"),
    ("export github-benchmark recording", "", "json"),
    ("attribute recording", "recording/activities/part-00000.parquet", "parquet"),
];

/// Runs commands in a directory and has their outputs read.
struct Runner {
    dir: PathBuf,
    parsers: Option<Parsers>,
}

impl Runner {
    fn new(dir: &Path) -> Self {
        let parsers = Parsers::start();
        if parsers.is_none() {
            note::skipped("no Python with html5lib, prometheus_client and pyarrow (make notebook)");
        }
        Self { dir: dir.to_owned(), parsers }
    }

    /// Runs a command whose words no space is in.
    fn run(&self, command: &str) -> Done {
        let limits = [format!("--data={MOST_MEMORY}"), format!("--cpu={SLOW_S}:{SLOW_S}")];
        let mut limited = Command::new("prlimit");
        limited.args(limits).arg(ANECHOIC).args(command.split(' ')).current_dir(&self.dir);
        // As the other targets do, it takes no turn: its time would be that of what measures meanwhile.
        let done = tool::wait(tool::spawn(&mut limited));
        let code = done.code.filter(|code| KNOWN.contains(code));
        assert!(
            code.is_some(),
            "{command}: {:?}, perhaps for its time or memory: {}",
            done.code,
            done.err
        );
        assert!(!done.err.contains("panicked"), "{command}: {}", done.err);
        done
    }

    /// Runs a command and has its output read, if it has written one. Errors are texts without control characters.
    fn check(&mut self, (command, file, kind): Output) {
        let file = Some(self.dir.join(file)).filter(|_| !file.is_empty());
        if let Some(file) = &file {
            let _ = fs::remove_file(file).or_else(|_| fs::remove_dir_all(file));
        }
        let done = self.run(command);
        let mut written = match file {
            None => vec![done.out.into_bytes()],
            Some(file) if file.is_dir() => pictures(&file),
            Some(file) => fs::read(file).into_iter().collect(),
        };
        written.retain(|content| !content.is_empty());
        let Some(parsers) = &mut self.parsers else { return };
        let err = ("text", done.err.into_bytes());
        for (kind, content) in written.into_iter().map(|content| (kind, content)).chain([err]) {
            let objection = parsers.objection(kind, &content);
            assert_eq!(objection, None, "{command}: {}", String::from_utf8_lossy(&content));
        }
    }
}

/// Returns what is in the pictures of a directory that consist of XML.
fn pictures(dir: &Path) -> Vec<Vec<u8>> {
    let files = fs::read_dir(dir).expect("a directory").flatten().map(|entry| entry.path());
    let pictures = files.filter(|file| file.extension().is_some_and(|ending| ending == "svg"));
    pictures.map(|file| fs::read(file).expect("it was written")).collect()
}

/// Returns a number that follows from the bytes of an input.
fn chosen(input: &[u8], among: usize) -> usize {
    // FNV-1a (Fowler, Noll & Vo)
    let hash = input.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    (hash >> 32) as usize % among
}

/// Writes a file of a recording anew, which the input names, and reads one of the outputs; of the first input all.
fn outputs(dir: &Path, file: impl Fn(&[u8]) -> (String, Vec<u8>) + 'static) -> Reader {
    let (changed, mut runner) = (Changed::new(dir), Runner::new(dir));
    let mut is_first = true;
    Box::new(move |input| {
        let (name, content) = file(input);
        changed.with(&name, &content);
        let one = chosen(input, OUTPUTS.len());
        let all = std::mem::take(&mut is_first);
        let wanted = |(number, _): &(usize, Output)| all || *number == one;
        for (_, output) in OUTPUTS.into_iter().enumerate().filter(wanted) {
            runner.check(output);
        }
    })
}

pub fn read_run(dir: &Path) -> Reader {
    outputs(dir, |input| ("run.json".into(), input.to_vec()))
}

pub fn read_attribution(dir: &Path) -> Reader {
    outputs(dir, |input| ("attribution.json".into(), input.to_vec()))
}

pub fn read_part(dir: &Path) -> Reader {
    outputs(dir, |input| {
        let (&number, content) = input.split_first().unwrap_or((&0, &[]));
        (part_of(number), content.to_vec())
    })
}

pub fn read_recipe(dir: &Path) -> Reader {
    outputs(dir, recordings::cooked)
}

pub fn rules() -> Vec<Vec<u8>> {
    let all = "# limits\nmax-noise = \"1%\"\nmax-rate = [\"thread:*=5/s\", \">50us=1/min\"]\nmax-detour = '200us'\n\
               min-time = \"10s\"\nmax-lost = \"0.1%\"\nmax-misaligned = \"\"\"5%\"\"\"\n";
    let baseline = "baseline = \"recording\"\nmax-increase = \"10%\"\n\"max-noise\" = [\"thread:\\u0061*=1%\"]\n";
    [all, baseline].iter().map(|text| text.as_bytes().to_vec()).collect()
}

pub fn read_rules(dir: &Path) -> Reader {
    let (mut runner, file) = (Runner::new(dir), dir.join("rules.toml"));
    Changed::new(dir).with("run.json", runs().last().expect("the last is unchanged"));
    Box::new(move |input| {
        fs::write(&file, input).expect("there is space");
        let ways: [Output; 3] = [
            ("gate recording --config rules.toml --json", "", "json"),
            ("gate recording --config rules.toml --junit out", "out", "xml"),
            ("gate recording --config rules.toml --markdown out", "out", "text"),
        ];
        runner.check(ways[chosen(input, ways.len())]);
    })
}

pub fn plans() -> Vec<Vec<u8>> {
    let plan = r#"{"commands": ["a", "b \u003e c"], "during": false, "after": null, "seed": 1, "duet": null, "swapped": [false, true], "complete": []}"#;
    let duet = plan
        .replace("\"duet\": null", "\"duet\": [[0], [1]]")
        .replace("null", "\"sysctl a=1\"")
        .replace("false,", "true,");
    vec![plan.as_bytes().to_vec(), duet.into_bytes()]
}

pub fn read_plan(dir: &Path) -> Reader {
    let (mut runner, file) = (Runner::new(dir), dir.join("trials/ab.json"));
    for (number, part) in (0..).zip(["a/001", "b/001", "b/002", "a/002"]) {
        record(&dir.join("trials").join(part), "host", number);
    }
    Box::new(move |input| {
        fs::write(&file, input).expect("there is space");
        let ways: [Output; 3] = [
            ("ab --show trials", "", "text"),
            ("ab --show trials --json", "", "json"),
            ("report trials -o out --force", "out", "html"),
        ];
        runner.check(ways[chosen(input, ways.len())]);
    })
}

/// Writes a short recording of two CPUs, the one that was started as the `number`th.
fn record(dir: &Path, host: &str, number: u64) {
    fs::create_dir_all(dir.parent().expect("a directory")).expect("directories");
    let mut run = two_cpus::run(SECOND);
    run.machine.host = host.into();
    run.start_utc = format!("2026-05-09T07:{number:02}:00.000000Z");
    run.end_utc = Some(format!("2026-05-09T07:{number:02}:01.000000Z"));
    let ticks = (0..90).map(|tick| (0.005 + tick as f64 / 100.0, 3e-5 + number as f64 * 1e-6));
    let _ = two_cpus::record(dir, &run, &[("timer-tick", ticks.collect())]);
}

fn hosts(dir: &Path) {
    for (number, host) in (0..).zip(["one", "two"]) {
        record(&dir.join("data").join(format!("host={host}")), host, number);
    }
}

/// The merged result of two hosts.
pub fn clusters() -> Vec<Vec<u8>> {
    let place = tempfile::tempdir().expect("a directory");
    hosts(place.path());
    let data = place.path().join("data");
    tool::anechoic(&["merge", arg(&data)]);
    vec![fs::read(data.join("cluster.json")).expect("it was merged")]
}

pub fn read_cluster(dir: &Path) -> Reader {
    let (mut runner, file) = (Runner::new(dir), dir.join("data/cluster.json"));
    hosts(dir);
    Box::new(move |input| {
        fs::write(&file, input).expect("there is space");
        runner.check(("report data -o out --force", "out", "html"));
    })
}

/// What a killed process notes for the next start: how to undo its changes.
pub fn notes() -> Vec<Vec<u8>> {
    let pool = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
    let transparent = "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled";
    let note = format!("write inherit never {transparent}\nsubtract 3 7 {pool}\n");
    let elsewhere = "subtract 3 2 /run/outside\nsubtract 3 2 /sys/kernel/mm/../../../run/outside\n";
    [note.clone(), note + elsewhere].into_iter().map(String::into_bytes).collect()
}

/// Has a start undo what is in a note, with settings that are files of this test. Nothing else may change.
pub fn read_note(dir: &Path) -> Reader {
    let (dir, possible) =
        (dir.to_owned(), tool::command("unshare", &["-m", "true"]).code == Some(0));
    if !possible {
        note::skipped("may not mount (unshare -m)");
    }
    let script = "mount --bind run /run && mount --bind mm /sys/kernel/mm && exec \"$@\"";
    Box::new(move |input| {
        if !possible {
            return;
        }
        for (file, content) in [
            ("mm/hugepages/hugepages-2048kB/nr_hugepages", "10\n"),
            ("mm/transparent_hugepage/hugepages-64kB/enabled", "always inherit madvise [never]\n"),
            ("run/outside", "5"),
        ] {
            let file = dir.join(file);
            fs::create_dir_all(file.parent().expect("a directory")).expect("directories");
            fs::write(file, content).expect("there is space");
        }
        // No process has a number above that limit.
        fs::write(dir.join("run/anechoic-4194305-1-0"), input).expect("there is space");
        let mut start = Command::new("unshare");
        start.args(["-m", "sh", "-c", script, "sh", ANECHOIC, "completions", "bash"]);
        let done = tool::wait(tool::spawn(start.current_dir(&dir)));
        assert_eq!((done.code, &*done.err), (Some(0), ""));
        let outside = fs::read_to_string(dir.join("run/outside")).expect("a file");
        assert_eq!(outside, "5", "no setting of huge pages");
    })
}
