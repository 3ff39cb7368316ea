//! `anechoic predict phases` as a user calls it.

use crate::tool::{anechoic, arg};
use std::path::{Path, PathBuf};

/// A file with these lines.
fn file(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, text).expect("written");
    path
}

const ALONE: &str = "# made by hand\n# length_ns: 10000000000\n3000000000\t1000000\n";

#[test]
fn one_delay_of_one_length() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = file(dir.path(), "alone.txt", ALONE);
    let options = ["--grain", "1ms,10ms", "--ranks", "1,1e4,1e9"];
    let args = [&["predict", "phases", arg(&path), "--json"], &options[..]].concat();
    let done = anechoic(&args);
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    let model: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
    let cell = |grain: usize, cell: usize| &model["grains"][grain]["cells"][cell];
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    let cases = [
        ("one rank", number(&cell(0, 0)["free_start"]["slowdown"]), 1.0001, 1e-6),
        ("one rank, recursion", number(&cell(0, 0)["recursion"]["slowdown"]), 1.0001, 3e-5),
        ("one rank, wall", number(&cell(0, 0)["wall_start"]["slowdown"]), 1.00015, 1e-6),
        ("free", number(&cell(0, 1)["free_start"]["slowdown"]), 1.632, 6e-4),
        ("Tsafrir", number(&cell(0, 1)["closed_form"]), 1.632, 6e-4),
        ("recursion", number(&cell(0, 1)["recursion"]["slowdown"]), 1.73, 0.01),
        ("wall", number(&cell(0, 1)["wall_start"]["slowdown"]), 1.767, 6e-4),
        ("all", number(&cell(0, 2)["free_start"]["slowdown"]), 2.0, 1e-6),
        ("all, a longer grain", number(&cell(1, 2)["free_start"]["slowdown"]), 1.1, 1e-6),
    ];
    for (name, got, expected, tolerance) in cases {
        assert!((got - expected).abs() < tolerance, "case: {name}: {got}");
    }
    assert!(cell(0, 2)["recursion"].is_null());
    let text = anechoic(&[
        "predict",
        "phases",
        arg(&path),
        "--grain",
        "1ms",
        "--ranks",
        "1..1e5",
        "--all",
    ]);
    for says in ["1.632", "1.767", "100,000*", "not available: cost of each source"] {
        assert!(text.out.contains(says), "{says}: {}", text.out);
    }
    assert!(text.out.lines().all(|line| line.chars().count() <= 80), "{}", text.out);
    assert_eq!(anechoic(&args).out, done.out, "the same seed, the same bytes");
}

#[test]
fn two_hosts_and_a_recording() {
    let dir = tempfile::tempdir().expect("a directory");
    let recording = dir.path().join("noise");
    let made = anechoic(&["run", "-d", "2s", "-q", "--no-trace", "-o", arg(&recording)]);
    assert!(matches!(made.code, Some(0 | 1)), "{}", made.err);
    let alone = file(dir.path(), "alone.txt", ALONE);
    let done = anechoic(&["predict", "phases", arg(&recording), arg(&alone), "--ranks", "1..1e3"]);
    assert!(done.err.is_empty() && done.code == Some(0), "{}", done.err);
    for says in ["noise", "alone.txt", "100 µs", "recursion", "wall start"] {
        assert!(done.out.contains(says), "{says}: {}", done.out);
    }
}

#[test]
fn bad_input_is_told_in_one_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let good = file(dir.path(), "good.txt", ALONE);
    let bad = file(dir.path(), "bad.txt", "# length_ns: 100\n5\t1\n9\tx\n");
    let late = file(dir.path(), "late.txt", "# length_ns: 100\n5\t1\n95\t10\n");
    let unknown = file(dir.path(), "unknown.txt", "5\t1\n");
    let binary = file(dir.path(), "binary.txt", "\u{0}\u{1}\u{2}");
    let (good, bad, late) = (arg(&good), arg(&bad), arg(&late));
    let (unknown, binary) = (arg(&unknown), arg(&binary));
    let cases: &[(&str, &[&str], i32, &str)] = &[
        ("nothing named", &[], 66, "none of `detours`"),
        ("no such file", &["/no/such"], 66, "/no/such"),
        ("a bad line", &[bad], 65, "bad.txt:3"),
        ("a detour after the end", &[late], 65, "late.txt:3"),
        ("no length", &[unknown], 64, "--length"),
        ("no text", &[binary, "--length", "1s"], 65, "binary.txt:1"),
        ("no ranks", &[good, "--ranks", "0"], 64, "not a number of ranks"),
        ("too many ranks", &[good, "--ranks", "1e10"], 64, "not a number of ranks"),
        ("backwards", &[good, "--ranks", "10..1"], 64, "backwards"),
        ("no grain", &[good, "--grain", "0ms"], 64, "is zero"),
        ("grain in words", &[good, "--grain", "short"], 64, "not a duration"),
        ("longer than the recording", &[good, "--grain", "11s"], 64, "shorter grains"),
    ];
    for (name, args, code, says) in cases {
        let done = anechoic(&[&["predict", "phases"], *args].concat());
        assert_eq!(done.code, Some(*code), "case: {name}: {}", done.err);
        assert!(done.err.contains(says), "case: {name}: {}", done.err);
        assert!(
            !done.err.contains("panicked") && done.out.is_empty(),
            "case: {name}: {}",
            done.err
        );
        let refused_by_clap = args.iter().any(|arg| ["--ranks", "--grain"].contains(arg));
        assert!(refused_by_clap || done.is_one_clear_line(), "case: {name}: {}", done.err);
    }
    let quiet = file(dir.path(), "quiet.txt", "# length_ns: 10000000000\n");
    let done = anechoic(&["predict", "phases", arg(&quiet)]);
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    assert!(done.out.contains("no detours: the slowdown is 1"), "{}", done.out);
}
