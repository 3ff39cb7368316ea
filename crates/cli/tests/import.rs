//! What other tools and the image without an operating system measured: imported, and read by every command.

use crate::tool::{ANECHOIC, anechoic, arg, command};
use std::fs;
use std::path::Path;

#[test]
fn an_imported_result_is_read_by_every_command() {
    let place = tempfile::tempdir().expect("a directory");
    let dir = place.path().join("bare");
    let result = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bare-1/result.txt");
    let done = anechoic(&["import", "bare", arg(&result), "-o", arg(&dir)]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.out.contains("a recording for each method"), "{}", done.out);
    let [detours, fwq, memory] = ["detours", "fwq", "memory"].map(|method| dir.join(method));
    let html = place.path().join("report.html");
    let second = place.path().join("second");
    let done = anechoic(&["import", "bare", arg(&result), "-o", arg(&second)]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let second = second.join("fwq");
    let commands: [&[&str]; 9] = [
        &["summary", arg(&detours)],
        &["summary", arg(&fwq)],
        &["summary", arg(&memory)],
        &["summary", "--json", arg(&fwq)],
        &["sources", arg(&detours)],
        &["list", arg(&dir)],
        &["report", arg(&fwq), "-o", arg(&html)],
        &["predict", "phases", arg(&detours), "--grain", "100us"],
        &["rank", arg(&fwq), arg(&second)],
    ];
    for command in commands {
        let done = anechoic(command);
        println!("{command:?}: {:?}\n{}{}", done.code, done.out, done.err);
        assert!(matches!(done.code, Some(0 | 1 | 3)), "{command:?}: {}", done.err);
    }
    let shown = anechoic(&["summary", arg(&fwq)]).out;
    assert!(shown.contains("durations mean nothing"), "labelled on the screen: {shown}");
    let again = anechoic(&["import", "bare", arg(&result), "-o", arg(&dir)]);
    assert_eq!(again.code, Some(73), "it is not empty: {}", again.err);
}

/// The processor was QEMU's emulation: the first sentence of every result is that its times mean nothing.
#[test]
fn results_of_an_emulated_processor_open_with_that() {
    let place = tempfile::tempdir().expect("a directory");
    let result = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bare-1/result.txt");
    let dirs = ["first", "second"].map(|name| place.path().join(name));
    for dir in &dirs {
        let done = anechoic(&["import", "bare", arg(&result), "-o", arg(dir)]);
        assert_eq!(done.code, Some(0), "{}", done.err);
    }
    let recordings = |method: &str| dirs.each_ref().map(|dir| dir.join(method));
    let (detours, fwq, memory) = (recordings("detours"), recordings("fwq"), recordings("memory"));
    let commands: [&[&str]; 6] = [
        &["summary", arg(&detours[0])],
        &["summary", arg(&fwq[0])],
        &["summary", arg(&memory[0])],
        &["rank", arg(&fwq[0]), arg(&fwq[1])],
        &["compare", arg(&detours[0]), arg(&detours[1])],
        &["predict", "phases", arg(&detours[0]), "--grain", "100us"],
    ];
    for command in commands {
        let shown = anechoic(command).out;
        let sentence = "The processor was emulated in software: times, and all that is computed";
        let line = shown.lines().position(|line| line.starts_with(sentence));
        assert!(line.is_some_and(|line| line < 6), "{command:?}: {shown}");
    }
}

#[test]
fn preemptions_without_an_operating_system_are_ranked_as_such() {
    let place = tempfile::tempdir().expect("a directory");
    let result = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bare-2/preemption.txt");
    let dirs = ["first", "second"].map(|name| place.path().join(name));
    for dir in &dirs {
        let done = anechoic(&["import", "bare", arg(&result), "-o", arg(dir)]);
        assert_eq!(done.code, Some(0), "{}", done.err);
    }
    let shown = anechoic(&["summary", "--all", arg(&dirs[0])]).out;
    assert!(shown.contains("5 of 5 experiments"), "{shown}");
    assert!(shown.contains("a preemption was a switch to a second context"), "{shown}");
    let ranked = anechoic(&["rank", "--json", arg(&dirs[0]), arg(&dirs[1])]).out;
    let ranked: serde_json::Value = serde_json::from_str(&ranked).expect("JSON");
    let experiments = ranked["experiments"].as_array().expect("a list");
    let names: Vec<&str> =
        experiments.iter().filter_map(|experiment| experiment["experiment"].as_str()).collect();
    assert_eq!(
        names,
        [
            "bandwidth-read-random-warm",
            "preemption-read-random-code-long",
            "preemption-read-random-read-long",
            "preemption-read-random-sleep-long",
            "preemption-read-random-write-long",
        ]
    );
    let measured =
        |experiment: &serde_json::Value| experiment["noise"][0]["variance_to_mean"].is_number();
    assert!(experiments.iter().all(measured), "{experiments:?}");
}

#[test]
fn an_imported_table_has_no_machine_and_no_suspects() {
    let place = tempfile::tempdir().expect("a directory");
    let (table, dir) = (place.path().join("detours.csv"), place.path().join("imported"));
    fs::write(&table, "start_ns,duration_ns\n1000,500\n9000,700\n").expect("written");
    let done = anechoic(&["import", "csv", arg(&table), "-o", arg(&dir)]);
    assert!(done.code == Some(0) && done.out.contains("2 detours; "), "{} {}", done.out, done.err);
    let shown = anechoic(&["summary", arg(&dir)]).out;
    assert!(shown.contains("a measurement of another tool"), "{shown}");
    assert!(!shown.contains("unknown") && !shown.contains("suspects"), "{shown}");
    let absent = place.path().join("absent/report.html");
    let done = anechoic(&["report", arg(&dir), "-o", arg(&absent)]);
    let named = format!("there is no directory {}", place.path().join("absent").display());
    assert!(done.code == Some(73) && done.err.contains(&named), "{:?} {}", done.code, done.err);
}

#[test]
fn what_only_counts_by_length_is_summarized_and_nothing_else() {
    let place = tempfile::tempdir().expect("a directory");
    let foreign = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/foreign");
    let import = |format: &str, name: &str| {
        let dir = place.path().join(format);
        let done = anechoic(&["import", format, arg(&foreign.join(name)), "-o", arg(&dir)]);
        assert_eq!(done.code, Some(0), "{}", done.err);
        (dir, done.out)
    };
    let (oslat, out) = import("oslat", "oslat.txt");
    assert!(out.contains("detours; "), "{out}");
    let shown = anechoic(&["summary", arg(&oslat)]);
    assert!(
        shown.code == Some(0) && shown.out.contains("of the CPU time was lost"),
        "{}",
        shown.out
    );
    let hist = anechoic(&["summary", "--hist", arg(&oslat)]);
    assert!(hist.code == Some(0) && hist.out.contains("as another tool counted"), "{}", hist.out);
    let (wakeups, out) = import("cyclictest", "cyclictest.json");
    assert!(out.contains("latencies; "), "{out}");
    let shown = anechoic(&["summary", arg(&wakeups)]).out;
    assert!(shown.contains("latencies") && !shown.contains("noise"), "{shown}");
    let refused: [&[&str]; 4] = [
        &["longest", arg(&oslat)],
        &["predict", "phases", arg(&oslat), "--grain", "1ms"],
        &["compare", arg(&oslat), arg(&oslat)],
        &["export", "netgauge", arg(&oslat), "-o", "-"],
    ];
    for command in refused {
        let done = anechoic(command);
        assert!(
            !matches!(done.code, Some(0 | 101)) && done.is_one_clear_line(),
            "{command:?}: {:?} {}",
            done.code,
            done.err
        );
    }
    let html = place.path().join("report.html");
    assert_eq!(anechoic(&["report", arg(&oslat), "-o", arg(&html)]).code, Some(0));
}

#[test]
fn the_gate_decides_what_counts_by_length_show() {
    let place = tempfile::tempdir().expect("a directory");
    let foreign = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/foreign");
    let files: [(&str, &str, &str, &[&str]); 3] = [
        ("oslat", "oslat", "oslat.txt", &[]),
        ("cyclictest", "cyclictest", "cyclictest.json", &[]),
        ("a minute", "cyclictest", "cyclictest.json", &["--duration", "60s"]),
    ];
    for (dir, format, name, more) in files {
        let (dir, file) = (place.path().join(dir), foreign.join(name));
        let frame = ["import", format, arg(&file), "-o", arg(&dir)];
        let done = anechoic(&[&frame[..], more].concat());
        assert_eq!(done.code, Some(0), "{}", done.err);
    }
    let short = ["--min-time", "500ms"];
    let cases: [(&str, &[&str], i32, &str); 13] = [
        ("oslat", &["--max-detour", "10s"], 0, "PASS"),
        ("oslat", &["--max-detour", "2us"], 2, "over 2 µs in all"),
        ("oslat", &["--max-noise", "100%"], 0, "PASS"),
        ("oslat", &["--max-noise", "0.0001%"], 2, "at least"),
        ("oslat", &["--max-rate", ">100ms=1000/s"], 0, "PASS"),
        ("oslat", &["--max-rate", ">2us=1/h"], 2, "at least"),
        ("oslat", &["--max-noise", "thread:*=1%"], 3, "the sources are unknown"),
        ("oslat", &["--max-detour", "100ns"], 2, "exceeded"),
        ("cyclictest", &["--max-noise", "50%"], 3, "is no lost time"),
        ("cyclictest", &["--max-wakeup", "1us"], 2, "wake-ups took longer than the limit"),
        ("cyclictest", &["--max-detour", "10s"], 3, "its length is not known"),
        ("cyclictest", &["--max-detour", "1us"], 2, "over 1 µs in all"),
        ("a minute", &["--max-detour", "10s"], 0, "PASS"),
    ];
    for (name, rule, code, expected) in cases {
        let dir = place.path().join(name);
        let done = anechoic(&[&["gate", arg(&dir)][..], rule, &short].concat());
        assert_eq!(done.code, Some(code), "{name} {rule:?}: {} {}", done.out, done.err);
        assert!(done.out.contains(expected), "{name} {rule:?}: {}", done.out);
        assert!(done.out.contains("another tool counted by length"), "{}", done.out);
    }
    let oslat = place.path().join("oslat");
    let brief = anechoic(&["gate", arg(&oslat), "--max-detour", "10s"]);
    assert!(brief.code == Some(3) && brief.out.contains("(--min-time)"), "{}", brief.out);
    let other = place.path().join("cyclictest");
    let compared =
        anechoic(&["gate", arg(&oslat), "--max-increase", "10%", "--baseline", arg(&other)]);
    assert_eq!(compared.code, Some(64), "{}", compared.err);
    assert!(compared.err.contains("limit what it shows"), "{}", compared.err);
}

#[test]
fn a_trace_is_imported_with_its_causes() {
    let place = tempfile::tempdir().expect("a directory");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/foreign/trace-7.dat");
    let dir = place.path().join("traced");
    let done =
        anechoic(&["import", "trace-cmd", arg(&file), "--hz", "2597000000", "-o", arg(&dir)]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let shown = anechoic(&["sources", arg(&dir)]).out;
    assert!(shown.contains("timer tick"), "its table of symbols names the tick: {shown}");
    let summary = anechoic(&["summary", arg(&dir), "--all"]).out;
    assert!(summary.contains("nobody measured"), "{summary}");
}

#[test]
fn what_another_command_writes_into_a_pipe_is_imported() {
    let place = tempfile::tempdir().expect("a directory");
    let (table, dir) = (place.path().join("detours.csv"), place.path().join("imported"));
    fs::write(&table, "start_ns,duration_ns\n1000,500\n9000,700\n").expect("written");
    let line = format!("{ANECHOIC} import csv <(cat {}) -o {}", arg(&table), arg(&dir));
    let done = command("bash", &["-c", &line]);
    assert!(done.code == Some(0) && done.out.contains("2 detours; "), "{} {}", done.out, done.err);
}

#[test]
fn an_import_removes_nothing_that_it_did_not_make() {
    let place = tempfile::tempdir().expect("a place");
    let at = |name: &str| place.path().join(name);
    // The last detour of its second run begins too early, which netgauge's import finds after it has written the first.
    let wrong = (0..100_000).map(|at: u64| format!("{} 300\n", 1_000 * at)).collect::<String>();
    fs::write(at("wrong"), wrong + "0 300\n1000 300\n5 300\n").expect("a file");
    fs::write(at("file"), "precious").expect("a file");
    fs::create_dir(at("own")).expect("a directory");
    std::os::unix::fs::symlink(at("own"), at("link")).expect("a link");
    let refused = |format: &str, to: &str| {
        let done = anechoic(&["import", format, arg(&at("wrong")), "-o", arg(&at(to))]);
        assert!(
            matches!(done.code, Some(65 | 73)),
            "{format} to {to}: {:?} {}",
            done.code,
            done.err
        );
        done
    };
    for format in ["netgauge", "csv", "bare", "trace-cmd"] {
        assert!(refused(format, "file").err.contains("it is not a directory"), "{format}");
        for to in ["own", "link", "new"] {
            refused(format, to);
        }
        assert!(at("link").is_symlink(), "{format}");
        assert_eq!(fs::read_dir(at("own")).expect("it stays").count(), 0, "{format}");
        assert!(!at("new").exists(), "{format}");
    }
    assert_eq!(fs::read_to_string(at("file")).expect("it stays"), "precious");
    // Nothing was read yet, and the file is not taken for an unfinished recording.
    command("mkfifo", &[arg(&at("fifo"))]);
    let done = anechoic(&["import", "csv", arg(&at("fifo")), "-o", arg(&at("file"))]);
    assert_eq!(done.code, Some(73), "{}", done.err);
}
