//! Tests `--work ./FILE.so:FUNCTION`: what a user's own function takes, does besides computing, and how it may fail.

use crate::tool::{self, anechoic, arg, may_trace, signal, start, until_running, wait};
use anechoic_lab::attempt::{ensure, one_of};
use anechoic_lab::note;
use anechoic_recording::paging::counts::{FAULTS, SYSTEM_CALLS, VOLUNTARY_SWITCHES};
use anechoic_recording::run::{Ended, RunState};
use anechoic_recording::{Activity, CpuRow, Recording, Sample};
use anechoic_system::cpus;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

fn last_cpu() -> String {
    cpus::allowed().last().expect("a CPU").to_string()
}

/// Builds a shared object with one call of a compiler.
fn built(compiler: &str, options: &[&str], source: &Path, dir: &Path) -> PathBuf {
    let out = dir.join(source.file_stem().expect("a name")).with_extension("so");
    let done = Command::new(compiler).args(options).arg("-o").arg(&out).arg(source).output();
    let done = done.unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    out
}

const C: [&str; 5] = ["-O2", "-shared", "-fPIC", "-Wall", "-Werror"];
const RUST: [&str; 5] = ["-O", "--edition", "2024", "--crate-type", "cdylib"];

/// The functions of `own_work.c`, in a directory of their own.
struct Functions(tempfile::TempDir);

impl Functions {
    fn build() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/measuring/own_work.c");
        built("cc", &C, &source, dir.path());
        Functions(dir)
    }

    fn name(&self, function: &str) -> String {
        format!("{}:{function}", arg(&self.0.path().join("own_work.so")))
    }

    fn dir(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

fn samples(recording: &Recording, series: u32) -> Vec<Sample> {
    let all = recording.rows::<Sample>().flat_map(|batch| batch.expect("readable"));
    all.filter(|sample| sample.series == series).collect()
}

fn rows<R: CpuRow>(recording: &Recording, cpu: u32) -> Vec<R> {
    recording.rows_of_cpu::<R>(cpu).flat_map(|batch| batch.expect("readable")).collect()
}

/// The examples of the documents are built by one call of a compiler, and measured by every method that takes them.
#[test]
fn the_examples_are_measured_by_every_method() {
    let _alone = tool::alone();
    let dir = tempfile::tempdir().expect("a directory");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/work");
    let matrix = built("cc", &C, &examples.join("matrix.c"), dir.path());
    let sort = built("rustc", &RUST, &examples.join("sort.rs"), dir.path());
    for source in ["matrix.c", "sort.rs"] {
        let text = std::fs::read_to_string(examples.join(source)).expect("an example");
        assert!(text.lines().count() <= 42, "{source} is long");
    }
    let cpu = last_cpu();
    let methods: &[&[&str]] = &[
        &["fwq", "--repetitions", "50"],
        &["ftq", "--window", "5ms", "-d", "200ms"],
        &["tick", "--repetition", "500us", "--repetitions", "50"],
        &["loops", "--samples", "50"],
        &["interference", "--repetition", "500us", "--repetitions", "50", "--source", &cpu],
        &["memory", "--quick", "--point-time", "50ms"],
    ];
    for (number, (method, file)) in
        methods.iter().zip([&matrix, &sort].into_iter().cycle()).enumerate()
    {
        if method[0] == "interference" && !may_trace() {
            continue;
        }
        let (work, out) = (format!("{}:step", arg(file)), dir.path().join(number.to_string()));
        let given = ["--work", &work, "--cpus", &cpu, "-q", "-o", arg(&out)];
        let done = anechoic(&[&["measure"], *method, &given].concat());
        let recording =
            Recording::open(&out).unwrap_or_else(|error| panic!("{error} {}", done.err));
        let (series, outcome) = recording.series().expect("readable").remove(0);
        assert_eq!((&series.variant, outcome.wrong), (&work, 0), "{method:?}");
        assert!(outcome.samples > 0 && outcome.ended == Ended::Complete, "{method:?} {outcome:?}");
        let library = series.parameters.library.expect("its file");
        let sum = tool::command("sha256sum", &[arg(file)]).out;
        assert!(sum.starts_with(&library.sha256) && library.sha256.len() == 64, "{sum}");
        assert_eq!(library.file, file.file_name().expect("a name").to_string_lossy());
    }
}

/// The same multiplications take the same time in a user's function as in the tool's own kernel.
#[test]
fn the_same_work_takes_the_same_time_as_in_the_tool() {
    let _alone = tool::alone();
    let functions = Functions::build();
    let mut number = 0;
    one_of(6, || {
        number += 1;
        let (out, work) = (functions.dir(&number.to_string()), functions.name("chain"));
        let both = format!("intmul-chain,{work}");
        let args = ["measure", "fwq", "--work", &both, "--grain", "250us", "--repetitions", "2000"];
        let done = anechoic(&[&args[..], &["--cpus", &last_cpu(), "-q", "-o", arg(&out)]].concat());
        let recording =
            Recording::open(&out).unwrap_or_else(|error| panic!("{error} {}", done.err));
        let units: Vec<f64> = recording
            .series()
            .expect("readable")
            .iter()
            .map(|(series, _)| {
                let all = samples(&recording, series.series);
                let shortest = all.iter().map(|sample| sample.end_ticks - sample.start_ticks).min();
                shortest.expect("samples") as f64 / series.parameters.iterations as f64
            })
            .collect();
        let ratio = units[1] / units[0];
        println!(
            "ticks for 512 multiplications: own kernel {:.1}, user's {:.1}",
            units[0], units[1]
        );
        let calm = recording.run().notes.iter().all(|note| !note.contains("alibrat"));
        ensure((ratio - 1.0).abs() < 0.02, calm, || format!("ratio {ratio:.4}"))
    });
}

/// What the caches cost a function is what it costs a program of its own that does the same.
#[test]
fn a_call_after_a_disturbance_takes_as_long_as_in_a_program_of_its_own() {
    let _alone = tool::alone();
    let functions = Functions::build();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/measuring/own_work.c");
    let program = functions.dir("walker");
    let built = ["-O2", "-DWALKER", "-o", arg(&program), arg(&source)];
    assert!(tool::command("cc", &built).code == Some(0), "no program");
    let allowed = cpus::allowed();
    let [other, .., cpu] = allowed[..] else { return note::skipped("there is only one CPU") };
    let machine = anechoic_system::machine::describe();
    let caches = machine.cpus.iter().find(|known| known.cpu == cpu).map(|known| &known.caches);
    let last = caches.into_iter().flatten().map(|cache| cache.size_bytes).max();
    let last = last.unwrap_or(32 << 20);
    // How much of a function's lines stays in a cache after as many bytes as it holds were written varies with all that others
    // do to it, up to three times the call's time; half as many leave more of them, twice as many fewer.
    let alone = |bytes: u64| -> Vec<f64> {
        let words = [cpu.to_string(), bytes.to_string(), other.to_string()];
        let done = tool::command(arg(&program), &words.each_ref().map(String::as_str));
        done.out.lines().map(|line| line.parse().expect("a time")).collect()
    };
    let ids = ["bandwidth-own-warm", "bandwidth-own-dirty", "migration-own-"];
    let mut beside: [[Vec<f64>; 2]; 3] = Default::default();
    let mut number = 0;
    // Neighbours of the host use the same caches: the medians of several pairs count.
    one_of(7, || {
        number += 1;
        let (out, work) = (functions.dir(&format!("walk{number}")), functions.name("walk"));
        let args =
            ["measure", "memory", "--work", &work, "--experiments", "*-warm,*-dirty,migration-*"];
        let half = alone(last / 2);
        let done =
            anechoic(&[&args[..], &["--cpus", &cpu.to_string(), "-q", "-o", arg(&out)]].concat());
        let twice = alone(last * 2);
        let recording =
            Recording::open(&out).unwrap_or_else(|error| panic!("{error} {}", done.err));
        let own = anechoic_analyze::memory(&recording).expect("readable").own.expect("its calls");
        assert_eq!((own.bytes, &own.work), (512 << 10, &work));
        for (at, id) in ids.into_iter().enumerate() {
            let calls = own.calls.iter().find(|calls| calls.experiment.starts_with(id));
            let Some(calls) = calls else { continue }; // a CPU without a common cache
            let (least, most) = (half[at].min(twice[at]), half[at].max(twice[at]));
            let name = &calls.experiment;
            println!("{name}: {:.0} ns, the program {least:.0} to {most:.0} ns", calls.median_ns);
            for (ratios, theirs) in beside[at].iter_mut().zip([least, most]) {
                ratios.push(calls.median_ns / theirs);
                ratios.sort_by(f64::total_cmp);
            }
        }
        let found = beside.iter().filter(|[ratios, _]| !ratios.is_empty());
        assert!(found.clone().count() >= 2, "{own:?}");
        let [least, most] =
            [0, 1].map(|at| found.clone().map(move |both| both[at][both[at].len() / 2]));
        let near =
            least.min_by(f64::total_cmp) > Some(0.8) && most.max_by(f64::total_cmp) < Some(1.25);
        ensure(near, true, || format!("ratios {beside:?}"))
    });
}

/// A function that measures itself agrees with the samples: they hold its calls, and a few ns for each.
#[cfg(target_arch = "x86_64")]
#[test]
fn samples_hold_the_calls_that_a_function_measured_itself() {
    let _alone = tool::alone();
    let functions = Functions::build();
    let (out, times) = (functions.dir("out"), functions.dir("times"));
    let args = ["measure", "fwq", "--grain", "250us", "--repetitions", "1000", "--pure", "-q"];
    let mut command = Command::new(tool::ANECHOIC);
    command.args(args).args(["--work", &functions.name("timed"), "--cpus", &last_cpu()]);
    let done = tool::run(command.args(["-o", arg(&out)]).env("OWN_TIMES", &times));
    let recording = Recording::open(&out).unwrap_or_else(|error| panic!("{error} {}", done.err));
    let bytes = std::fs::read(&times).expect("its own times");
    let calls: Vec<[u64; 2]> = bytes
        .chunks_exact(16)
        .map(|call| [0, 8].map(|at| u64::from_ne_bytes(call[at..at + 8].try_into().expect("8"))))
        .collect();
    let all = samples(&recording, 0);
    assert_eq!(all.len(), 1_000);
    let mut over: Vec<u64> = Vec::new();
    for sample in all {
        let inside =
            |call: &&[u64; 2]| sample.start_ticks <= call[0] && call[1] <= sample.end_ticks;
        let inside: Vec<_> = calls.iter().filter(inside).collect();
        assert_eq!(inside.len(), 1, "a sample is one call");
        over.push(sample.end_ticks - sample.start_ticks - (inside[0][1] - inside[0][0]));
    }
    over.sort_unstable();
    let median_ns = recording.run().clock.ns(over[over.len() / 2]);
    println!("a sample is {median_ns} ns longer than what its function measured");
    assert!(median_ns < 200, "{median_ns} ns");
}

/// System calls, switches and page faults of a function are counted exactly, and the result reports them.
#[test]
fn what_a_function_does_besides_computing_is_counted() {
    let _alone = tool::alone();
    let functions = Functions::build();
    let cases: [(&str, &[&str], &[&str]); 3] = [
        ("rests", &["--grain", "20ms", "--repetitions", "10"], &[SYSTEM_CALLS, VOLUNTARY_SWITCHES]),
        ("touches", &["--grain", "500us", "--repetitions", "100"], &[FAULTS]),
        ("chain", &["--grain", "500us", "--repetitions", "100"], &[]),
    ];
    for (function, given, counted) in cases {
        let (out, work) = (functions.dir(function), functions.name(function));
        let args = ["measure", "fwq", "--work", &work, "--cpus", &last_cpu(), "-o", arg(&out)];
        let done = anechoic(&[&args[..], given].concat());
        let recording =
            Recording::open(&out).unwrap_or_else(|error| panic!("{error} {}", done.err));
        let (series, outcome) = recording.series().expect("readable").remove(0);
        let units = outcome.samples * series.parameters.iterations;
        let may_count = outcome.counts.contains_key(SYSTEM_CALLS);
        println!("{function}: {units} units, {:?}", outcome.counts);
        for &name in counted.iter().filter(|&&name| may_count || name != SYSTEM_CALLS) {
            let found = outcome.counts[name];
            // Preempted steps switch involuntarily, and a sleep that is already over does not switch.
            let near = if name == VOLUNTARY_SWITCHES {
                found.abs_diff(units) <= 1
            } else {
                found == units
            };
            assert!(near, "{function}: {name}: {found}, and {units} units");
            assert!(done.out.contains("the time of that is in its"), "{}", done.out);
        }
        if counted.is_empty() {
            assert_eq!(outcome.counts.get(SYSTEM_CALLS).copied().unwrap_or(0), 0);
            assert!(!done.out.contains("the time of that is in its"), "{}", done.out);
        }
    }
}

/// A function that crashes ends the run with its name and the signal, and keeps the samples before.
#[test]
fn a_crash_keeps_what_was_measured() {
    let _alone = tool::alone();
    let functions = Functions::build();
    for (function, expected) in [
        ("segv", "SIGSEGV"),
        ("stack", "SIGSEGV"),
        ("ill", "SIGILL"),
        ("aborts", "SIGABRT"),
        ("fpe", "SIGFPE"),
        ("bus", "SIGBUS"),
        ("trap", "SIGTRAP"),
        ("sys", "SIGSYS"),
        ("doubted", "SIGSEGV"),
    ] {
        if function == "fpe" && cfg!(not(target_arch = "x86_64")) {
            continue; // a division by zero is no fault there
        }
        let (out, work) = (functions.dir(function), functions.name(function));
        let args = ["measure", "fwq", "--work", &work, "--grain", "200us", "--repetitions", "4000"];
        let done = anechoic(&[&args[..], &["--cpus", &last_cpu(), "-o", arg(&out)]].concat());
        let recording =
            Recording::open(&out).unwrap_or_else(|error| panic!("{error} {}", done.err));
        let RunState::Interrupted(why) = &recording.run().state else {
            panic!("{function}: {:?} {}", recording.run().state, done.out)
        };
        println!("{why}");
        let part = if function == "doubted" { "_check" } else { "" };
        let crashed = format!("{work}{part} crashed with {expected}");
        assert!(why.starts_with(&crashed) && why.contains(" in sample "), "{function}: {why}");
        assert_eq!(done.code, Some(1), "{function}: {} {}", done.out, done.err);
        let (series, outcome) = recording.series().expect("readable").remove(0);
        assert_eq!(outcome.ended, Ended::Interrupted, "{function}");
        assert_eq!(samples(&recording, 0).len() as u64, outcome.samples, "{function}");
        // Unit 1,000 lies in the sample after these; a few units ran before the first.
        let units = outcome.samples * series.parameters.iterations;
        assert!((900..1_000).contains(&units), "{function}: {units} units");
    }
}

/// A check that crashes on one CPU ends the round on all of them, as a crash of the function itself does.
#[test]
fn a_crash_of_a_check_ends_the_round() {
    let _alone = tool::alone();
    if cpus::allowed().len() < 2 {
        return note::skipped("needs two CPUs");
    }
    let functions = Functions::build();
    let (out, work) = (functions.dir("out"), functions.name("doubted"));
    let two: Vec<String> = cpus::allowed().iter().take(2).map(u32::to_string).collect();
    let args = ["measure", "fwq", "--work", &work, "--grain", "200us", "--repetitions", "20000"];
    let done = anechoic(&[&args[..], &["--cpus", &two.join(","), "-o", arg(&out)]].concat());
    let recording = Recording::open(&out).unwrap_or_else(|error| panic!("{error} {}", done.err));
    for (series, outcome) in recording.series().expect("readable") {
        assert_eq!(outcome.ended, Ended::Interrupted, "{series:?} {outcome:?}");
        assert!(outcome.samples < 10_000, "{outcome:?}");
    }
}

/// A signal that somebody sends ends the process as usual, because no function of `--work` caused it.
#[test]
fn a_signal_that_is_sent_ends_the_process() {
    use std::os::unix::process::ExitStatusExt;
    let _alone = tool::alone();
    let functions = Functions::build();
    let (out, work) = (functions.dir("out"), functions.name("chain"));
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -c 0; exec \"$@\"", "sh", tool::ANECHOIC, "measure", "fwq"]);
    command.args(["--work", &work, "--grain", "1ms", "--repetitions", "20000"]);
    let mut child = tool::spawn(command.args(["--cpus", &last_cpu(), "-o", arg(&out)]));
    until_running(&out);
    signal(&child, "ABRT");
    std::thread::sleep(Duration::from_secs(2));
    let status = child.try_wait().expect("a child");
    if status.is_none() {
        signal(&child, "KILL");
    }
    let done = wait(child);
    assert_eq!(status.and_then(|status| status.signal()), Some(6), "{} {}", done.out, done.err);
}

/// A function that never returns is ended by the first signal.
#[test]
fn a_function_that_does_not_return_is_ended_by_a_signal() {
    let _alone = tool::alone();
    let functions = Functions::build();
    let (out, work) = (functions.dir("out"), functions.name("forever"));
    let args = ["measure", "fwq", "--work", &work, "--grain", "200us", "--repetitions", "4000"];
    let child = start(&[&args[..], &["--cpus", &last_cpu(), "-o", arg(&out)]].concat());
    until_running(&out);
    std::thread::sleep(Duration::from_millis(500));
    signal(&child, "INT");
    let done = wait(child);
    assert_eq!(done.code, Some(1), "{} {}", done.out, done.err);
    assert!(done.out.contains("did not return"), "{}", done.out);
    let recording = Recording::open(&out).expect("a recording");
    let (_, outcome) = recording.series().expect("readable").remove(0);
    assert_eq!(samples(&recording, 0).len() as u64, outcome.samples);
    assert!(outcome.samples > 50, "{outcome:?}");
}

/// A value that the function's own check refuses counts as wrong.
#[test]
fn a_wrong_value_is_reported() {
    let _alone = tool::alone();
    let functions = Functions::build();
    let (out, work) = (functions.dir("out"), functions.name("lies"));
    let args = ["measure", "fwq", "--work", &work, "--grain", "200us", "--repetitions", "200"];
    let done = anechoic(&[&args[..], &["--cpus", &last_cpu(), "-o", arg(&out)]].concat());
    assert_eq!(done.code, Some(1), "{} {}", done.out, done.err);
    let recording = Recording::open(&out).expect("a recording");
    let (series, outcome) = recording.series().expect("readable").remove(0);
    assert_eq!(outcome.samples, 200);
    let wrong_units = outcome.wrong * series.parameters.iterations;
    let expected = 200 * series.parameters.iterations - 1_000;
    assert!(outcome.wrong > 0 && wrong_units.abs_diff(expected) < 150, "{outcome:?}");
}

/// What cannot be measured is refused in one line, with a remedy.
#[test]
fn what_is_no_work_is_refused() {
    let functions = Functions::build();
    let text = functions.dir("text.so");
    std::fs::write(&text, "int step;").expect("a file");
    let (text, gone) =
        (format!("{}:step", arg(&text)), format!("{}:step", arg(&functions.dir("no.so"))));
    let cases = [
        (functions.name("at_once"), 65, "at_once crashed with SIGSEGV"),
        (functions.name("nothing"), 65, "take no time"),
        (
            functions.name("refuses"),
            65,
            "its _prepare function did not return 0 during calibration",
        ),
        (functions.name("refuses_later"), 65, "did not return 0 before anything was measured"),
        (functions.name("prepares_badly"), 65, "prepares_badly_prepare crashed with SIGSEGV"),
        (functions.name("too_much"), 64, "65 GiB; use at most 64 GiB"),
        (functions.name("chian"), 64, "it exports chain"),
        (text, 65, "not an ELF file"),
        (gone, 66, "cc -O2 -shared"),
        ("kernel.so:step".to_owned(), 64, "write ./kernel.so:step"),
        ("./kernel.so".to_owned(), 64, "write ./kernel.so:FUNCTION"),
    ];
    for (work, code, expected) in cases {
        let done =
            anechoic(&["measure", "fwq", "--no-save", "--cpus", &last_cpu(), "--work", &work]);
        assert_eq!(done.code, Some(code), "{work}: {}", done.err);
        assert!(done.err.contains(expected) && done.is_one_clear_line(), "{work}: {}", done.err);
    }
    let chain = functions.name("chain");
    for (method, own) in [("tick", "--kernel"), ("loops", "--variants")] {
        let kernel = if method == "tick" { "intadd" } else { "sum" };
        let done = anechoic(&["measure", method, "--no-save", own, kernel, "--work", &chain]);
        assert_eq!(done.code, Some(64), "{}", done.err);
        assert!(done.err.contains("exclude each other") && done.err.contains(own), "{}", done.err);
    }
    for (given, expected) in [
        (&["--work", "intadd"][..], "'intadd' is no function of your own"),
        (&["--work", &chain, "--experiments", "bandwidth-read-*"], "no experiment of that name"),
        (&["--experiments", "bandwidth-own-*"], "name it: --work ./FILE.so:FUNCTION"),
    ] {
        let done = anechoic(&[&["measure", "memory", "--no-save"], given].concat());
        assert_eq!(done.code, Some(64), "{given:?}: {}", done.err);
        assert!(done.err.contains(expected) && done.is_one_clear_line(), "{}", done.err);
    }
    for method in ["switch", "paging"] {
        let done = anechoic(&["measure", method, "--work", "./kernel.so:step"]);
        assert_eq!(done.code, Some(64), "{}", done.err);
        assert!(done.err.contains("about its own kernels"), "{}", done.err);
    }
}

/// Root runs no code that somebody else can change.
#[test]
fn root_loads_nothing_that_a_stranger_can_change() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
    if !crate::redirected::may_be_another() {
        return;
    }
    let functions = Functions::build();
    let file = functions.dir("own_work.so");
    let measure = |file: &Path| {
        let work = format!("{}:chain", arg(file));
        let done =
            anechoic(&["measure", "fwq", "--no-save", "--repetitions", "0", "--work", &work]);
        (done.code, done.err)
    };
    let refused = |file: &Path, who: &str| {
        let (code, err) = measure(file);
        let expected = err.contains(who) && err.contains("could exchange the code");
        assert!(code == Some(69) && expected, "{code:?} {err}");
    };
    let loaded = || {
        let (code, err) = measure(&file);
        assert!(code == Some(64) && err.contains("at least one"), "{code:?} {err}");
    };
    let mode =
        |path: &Path, mode| set_permissions(path, Permissions::from_mode(mode)).expect("own");
    let owner = |path: &Path, user| chown(path, Some(user), None).expect("root may");
    let writable = |path: &Path| {
        mode(path, 0o777);
        refused(&file, &format!("other users may write to {}", path.display()));
        mode(path, 0o755);
    };
    let foreign = |path: &Path| {
        owner(path, 65_534);
        refused(&file, &format!("{} belongs to user 65534", path.display()));
        owner(path, 0);
    };
    loaded();
    let dir = file.parent().expect("a directory");
    for path in [&file, dir] {
        writable(path);
        foreign(path);
        loaded();
    }
    mode(dir, 0o1777);
    let link = functions.dir("link.so");
    symlink(&file, &link).expect("a link");
    lchown(&link, Some(65_534), None).expect("root may");
    refused(&link, "link.so belongs to user 65534");
    loaded();
}

/// A copy with file capabilities loads nothing: whoever may run it could use its rights.
#[test]
fn a_copy_with_file_capabilities_loads_nothing() {
    use std::os::unix::process::CommandExt;
    if !crate::redirected::may_be_another() {
        return;
    }
    let place = crate::redirected::place();
    let functions = Functions::build();
    let (copy, file) = (place.path().join("anechoic"), place.path().join("own_work.so"));
    std::fs::copy(tool::ANECHOIC, &copy).expect("a copy");
    std::fs::copy(functions.dir("own_work.so"), &file).expect("a copy");
    let work = format!("{}:chain", arg(&file));
    let measure = |user| {
        let args = ["measure", "fwq", "--no-save", "--repetitions", "0", "--work", &work];
        let done = tool::run(Command::new(&copy).args(args).uid(user).gid(user));
        (done.code, done.err)
    };
    let (code, err) = measure(crate::redirected::STRANGER);
    assert!(code == Some(64) && err.contains("at least one"), "{code:?} {err}");
    if tool::command("setcap", &["cap_sys_nice+ep", arg(&copy)]).code != Some(0) {
        return note::skipped("no file capabilities here");
    }
    let (code, err) = measure(crate::redirected::STRANGER);
    let expected = err.contains("does not run with file capabilities");
    assert!(code == Some(69) && expected, "{code:?} {err}");
    let (code, err) = measure(0);
    assert!(code == Some(64) && err.contains("at least one"), "{code:?} {err}");
}

/// Injected interrupts are found in the samples of a user's function as in those of the tool's own kernel.
#[test]
fn injected_interrupts_are_found_in_a_users_function() {
    let _alone = tool::alone();
    if !may_trace() {
        return note::skipped("needs kernel events");
    }
    let functions = Functions::build();
    let (out, cpu) = (functions.dir("out"), last_cpu());
    let both = format!("intmul-chain,{}", functions.name("chain"));
    let args = ["measure", "interference", "--kernel", &both, "--rate", "963hz", "--repetitions"];
    let rest = ["10000", "--source", &cpu, "--cpus", &cpu, "-q", "-o", arg(&out)];
    let done = anechoic(&[&args[..], &rest].concat());
    let recording = Recording::open(&out).unwrap_or_else(|error| panic!("{error} {}", done.err));
    let activities: Vec<Activity> = rows(&recording, cpu.parse().expect("a number"));
    let injected = recording.run().injections.first().expect("interrupts").clone();
    println!("{injected:?}");
    let rates: Vec<f64> = recording
        .series()
        .expect("readable")
        .iter()
        .map(|(_, outcome)| {
            let during = outcome.first_ticks..outcome.last_ticks;
            let found = activities.iter().filter(|one| {
                during.contains(&one.start_ticks)
                    && one
                        .function
                        .as_deref()
                        .is_some_and(|name| name.contains("perf_swevent_hrtimer"))
            });
            let seconds = recording.run().clock.seconds(outcome.last_ticks - outcome.first_ticks);
            found.count() as f64 / seconds
        })
        .collect();
    println!("injected interrupts per second: own kernel {:.1}, user's {:.1}", rates[0], rates[1]);
    for rate in rates {
        assert!((rate / 963.0 - 1.0).abs() < 0.05, "{rate} of 963");
    }
}

/// Two builds of a function are different work to `rank`.
#[test]
fn two_builds_are_not_ranked_as_one_work() {
    let _alone = tool::alone();
    let functions = Functions::build();
    let file = functions.dir("own_work.so");
    let measure_by = |method: &[&str], name: &str| {
        let (work, out) = (functions.name("chain"), functions.dir(name));
        let args = [&["measure"], method, &["--work", &work, "-q"]].concat();
        let done = anechoic(&[&args[..], &["--cpus", &last_cpu(), "-o", arg(&out)]].concat());
        assert!(Recording::open(&out).is_ok(), "{}", done.err);
        out
    };
    let measure = |name: &str| measure_by(&["fwq", "--repetitions", "50"], name);
    let (first, same) = (measure("first"), measure("same"));
    let passes = ["memory", "--quick", "--experiments", "bandwidth-own-*"];
    let first_passes = measure_by(&passes, "first-passes");
    // What the linker appends changes nothing but the checksum.
    let mut bytes = std::fs::read(&file).expect("a file");
    bytes.push(0);
    std::fs::remove_file(&file).expect("own");
    std::fs::write(&file, bytes).expect("own");
    let other = measure("other");
    let other_passes = measure_by(&passes, "other-passes");
    let rank = |first: &Path, with: &Path| {
        let done = anechoic(&["rank", arg(first), arg(with)]);
        (done.code, done.out + &done.err)
    };
    let (code, alike) = rank(&first, &same);
    assert!(matches!(code, Some(0 | 1)) && alike.contains("chain"), "{code:?} {alike}");
    for (first, other) in [(&first, &other), (&first_passes, &other_passes)] {
        let (code, apart) = rank(first, other);
        println!("{apart}");
        assert_eq!(code, Some(64), "{apart}");
        assert!(apart.matches("chain (sha256 ").count() >= 2, "{apart}");
    }
}
