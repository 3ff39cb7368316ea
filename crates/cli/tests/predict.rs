//! `anechoic predict` as a user calls it.

use crate::tool::{Done, anechoic, arg};
use std::path::PathBuf;

const TIMES: &str =
    "processor,copies,rate_hz,milliseconds\nP-IV,1,100,12.675\nP-IV,1,10000,13.397\n";
const COSTS: &str = "processor,trap_us,handler_us\nP-IV,0.52,0.49\n";

/// Returns what `predict` prints about two files.
fn predict(times: &[u8], costs: &[u8], more: &[&str]) -> Done {
    let dir = tempfile::tempdir().expect("a directory");
    let write = |name: &str, content: &[u8]| -> PathBuf {
        let file = dir.path().join(name);
        std::fs::write(&file, content).expect("writable");
        file
    };
    let (times, costs) = (write("times.csv", times), write("costs.csv", costs));
    let args = ["predict", "ticks", "--times", arg(&times), "--costs", arg(&costs)];
    anechoic(&[&args[..], more].concat())
}

#[test]
fn the_worked_example() {
    let done = predict(TIMES.as_bytes(), COSTS.as_bytes(), &[]);
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{}", done.out);
    let words = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let printed = "adds 133 interrupts per sort, which takes 722 µs longer; their direct cost is 134 µs, and 588 µs (81.4 %) are indirect";
    assert!(words.contains(printed), "{}", done.out);
    assert!(words.contains("not tested"), "two rates test nothing: {}", done.out);

    let done = predict(TIMES.as_bytes(), COSTS.as_bytes(), &["--json"]);
    let model: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
    let pair = &model["processors"][0]["pairs"][0];
    let number = |name: &str| pair[name].as_f64().expect("a number");
    assert_eq!(format!("{:.0}", number("extra")), "133");
    assert_eq!(format!("{:.0}", number("indirect_us")), "588");
    assert_eq!(format!("{:.0}", 100.0 * number("indirect_share")), "81");
}

#[test]
fn files_as_other_programs_write_them() {
    let bytes = format!("\u{feff}{}", TIMES.replace('\n', "\r\n"));
    let done = predict(bytes.as_bytes(), COSTS.replace('\n', "\r\n").as_bytes(), &[]);
    assert_eq!(done.code, Some(0), "{}", done.err);
}

#[test]
fn each_defect_is_one_clear_line() {
    let times = |row: &str| format!("{TIMES}{row}\n").into_bytes();
    let costs = || COSTS.as_bytes().to_vec();
    let cases: [(&str, Vec<u8>, Vec<u8>, &str); 12] = [
        ("a missing cell", times("P-IV,1,1000"), costs(), "times.csv:4: 3 cells instead of 4"),
        ("an empty cell", times("P-IV,1,,13"), costs(), "times.csv:4: rate_hz is missing"),
        ("no number", times("P-IV,1,1000,slow"), costs(), "times.csv:4: milliseconds is not"),
        ("negative", times("P-IV,1,1000,-13"), costs(), "times.csv:4: milliseconds is negative"),
        ("NaN", times("P-IV,1,NaN,13"), costs(), "times.csv:4: rate_hz is not a finite"),
        ("zero", times("P-IV,1,1000,0"), costs(), "times.csv:4: milliseconds is 0"),
        ("twice", times("P-IV,1,100,13"), costs(), "times.csv:4: a second time of P-IV"),
        ("no costs", times("K7,1,100,13"), costs(), "times.csv:4: K7 has no costs in"),
        (
            "only one rate",
            b"processor,copies,rate_hz,milliseconds\nP-IV,1,100,13\n".to_vec(),
            costs(),
            "times.csv:2: P-IV has times at only one rate",
        ),
        (
            "no rows",
            b"processor,copies,rate_hz,milliseconds\n".to_vec(),
            costs(),
            "times.csv:1: no rows",
        ),
        (
            "wrong headers",
            TIMES.as_bytes().to_vec(),
            b"cpu,trap,handler\nP-IV,0.5,0.5\n".to_vec(),
            "the columns must be processor,[mode],trap_us,handler_us",
        ),
        (
            "not UTF-8",
            b"processor,copies,rate_hz\xff".to_vec(),
            costs(),
            "times.csv:1: the text is not UTF-8",
        ),
    ];
    for (name, times, costs, says) in cases {
        let done = predict(&times, &costs, &[]);
        assert_eq!(done.code, Some(65), "case: {name}: {}", done.err);
        assert!(done.is_one_clear_line(), "case: {name}: {}", done.err);
        assert!(done.err.contains(says) && done.out.is_empty(), "case: {name}: {}", done.err);
    }
}

#[test]
fn times_that_fall_are_an_anomaly_and_no_defect() {
    let times = format!("{TIMES}P-IV,1,1000,12.6\n");
    let done = predict(times.as_bytes(), COSTS.as_bytes(), &[]);
    assert_eq!(done.err, "");
    assert!(
        done.out.contains("! the time falls as the rate rises: 1 copy, 12.6750 ms at 100 Hz"),
        "{}",
        done.out
    );
}

#[test]
fn exit_codes_tell_what_the_model_is_worth() {
    let row = |rate: f64, ms: f64| format!("P-IV,1,{rate},{ms}\n");
    let table = |ms: &dyn Fn(f64) -> f64| {
        let rates = [100.0, 500.0, 1_000.0, 2_000.0, 5_000.0, 8_000.0, 10_000.0, 15_000.0];
        let rows: String = rates.iter().map(|&rate| row(rate, ms(rate))).collect();
        format!("processor,copies,rate_hz,milliseconds\n{rows}")
    };
    let line = |rate: f64| 12.0 / (1.0 - 10e-6 * rate);
    let cases: [(&str, String, i32, &str); 3] = [
        ("holds", table(&line), 0, "The linear model holds"),
        (
            "one is off",
            table(&|rate| line(rate) * if rate == 5_000.0 { 1.2 } else { 1.0 }),
            1,
            "1 point is off: 1 copy at 5,000 Hz",
        ),
        (
            "noise",
            table(&|rate| 12.0 + f64::from((rate / 100.0) as u32 * 7 % 5) / 100.0),
            3,
            "not significantly above 0",
        ),
    ];
    for (name, times, code, says) in cases {
        let done = predict(times.as_bytes(), COSTS.as_bytes(), &[]);
        let words = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(done.code, Some(code), "case: {name}: {}", done.out);
        assert!(words.contains(says), "case: {name}: {}", done.out);
    }
}

/// A cost below 0 is not a cost: nothing follows from it, and the exit code reports it.
#[test]
fn times_that_fall_give_no_cost() {
    let head = "processor,copies,rate_hz,milliseconds";
    let many =
        "P,1,100,10\nP,1,1000,10.5\nP,1,2000,9\nP,1,5000,8\nP,1,10000,7\nP,1,20000,6\nP,1,30000,5";
    let cases = [
        ("seven rates", many, "indirect share of the one pair of 21 whose time rose is 98.1 %"),
        ("two rates", "P,1,100,10\nP,1,10000,9", "there is no indirect share"),
    ];
    for (name, rows, says) in cases {
        let times = format!("{head}\n{rows}\n");
        let costs = COSTS.replace("P-IV", "P");
        let done = predict(times.as_bytes(), costs.as_bytes(), &[]);
        let words = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!((done.code, done.err.as_str()), (Some(3), ""), "case: {name}: {words}");
        for said in ["something else differed between", "! the time falls as the rate rises", says]
        {
            assert!(words.contains(said), "case: {name}: {said}: {}", done.out);
        }
        for unsaid in
            ["One interrupt costs", "holds", "share of the CPU", "observed", "without interrupts"]
        {
            assert!(!words.contains(unsaid), "case: {name}: {unsaid}: {}", done.out);
        }
        let json = predict(times.as_bytes(), costs.as_bytes(), &["--json"]);
        let model: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
        let processor = &model["processors"][0];
        assert_eq!(
            (json.code, processor["verdict"]["sample"].as_str()),
            (Some(3), Some("not_positive"))
        );
        assert!(
            processor["per_1000"].is_null() && processor["ticks"] == serde_json::json!([]),
            "case: {name}"
        );
    }
}

#[test]
fn what_is_asked_for_must_make_sense() {
    let cases: [(&str, &[&str], i32, &str); 8] = [
        ("no model", &["predict"], 64, "ticks"),
        ("nothing to read", &["predict", "ticks"], 66, "none of `serial`"),
        ("times alone", &["predict", "ticks", "--times", "t.csv"], 64, "--costs"),
        ("costs alone", &["predict", "ticks", "--costs", "c.csv"], 64, "--times"),
        (
            "both",
            &["predict", "ticks", "r", "--times", "t", "--costs", "c"],
            64,
            "exclude each other",
        ),
        ("no recording", &["predict", "ticks", "/no/such/place"], 66, "/no/such/place"),
        (
            "no files",
            &["predict", "ticks", "--times", "/no/t.csv", "--costs", "/no/c.csv"],
            66,
            "/no/c.csv",
        ),
        (
            "no end",
            &["predict", "ticks", "--times", "/dev/zero", "--costs", "/dev/zero"],
            65,
            "not a regular file",
        ),
    ];
    for (name, args, code, says) in cases {
        let done = anechoic(args);
        assert_eq!(done.code, Some(code), "case: {name}: {}", done.err);
        assert!(done.err.contains(says), "case: {name}: {}", done.err);
        assert!(!done.err.contains("panicked"), "case: {name}: {}", done.err);
    }
}
