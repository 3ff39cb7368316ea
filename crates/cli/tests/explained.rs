//! What `anechoic measure` says of noise that is known because the test made it.

mod tool;

use anechoic_measure::cpus;
use anechoic_measure::perf::TimerInterrupts;
use serde_json::Value;
use tool::{anechoic, arg, may_trace};

/// Measures a method on one CPU while a sampling event interrupts it, and gives the result.
fn under_interrupts(cpu: u32, rate: Option<u64>, args: &[&str]) -> Value {
    let dir = tempfile::tempdir().expect("a directory");
    let _timer =
        rate.map(|rate| TimerInterrupts::start(cpu, 1_000_000_000 / rate).expect("perf events"));
    let cpu = cpu.to_string();
    let recording = dir.path().join("recording");
    let frame = ["--cpus", &cpu, "-q", "--json", "-o", arg(&recording)];
    let done = anechoic(&[&["measure"], args, &frame].concat());
    assert!(matches!(done.code, Some(0 | 1)), "{args:?}: {}", done.err);
    serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {}", done.out))
}

/// One measure of spread of the judged samples at one pace, in ns: raw, left, undisturbed.
fn spread(subtraction: &Value, measure: &str) -> (f64, f64, Option<f64>) {
    let of = &subtraction["verdict"]["paced"][measure];
    let ns = |name: &str| of[name].as_f64();
    let both = ns("raw_ns").zip(ns("left_ns"));
    let (raw, left) = both.unwrap_or_else(|| panic!("{measure}: {subtraction}"));
    (raw, left, ns("undisturbed_ns"))
}

/// Do-nothing loops under 1,000 added interrupts a second: with the gaps charged, nearly all of the
/// spread that they cause is explained, and by the right source.
///
/// Every sample is interrupted then, so what the loop varies by itself is known from a run without
/// the added interrupts, from the samples in which nothing happened.
#[test]
fn added_interrupts_explain_the_spread_of_do_nothing_loops() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let cpu = *cpus::allowed().last().expect("a CPU");
    // Under SCHED_FIFO other threads stay away, and interrupts are what is left.
    let args = ["loops", "--variants", "sum-reg", "--samples", "5000", "--policy", "fifo"];
    let attempt = || {
        let quiet = under_interrupts(cpu, None, &args);
        let disturbed = under_interrupts(cpu, Some(1_000), &args);
        let [quiet, disturbed] = [&quiet, &disturbed].map(|of| &of["series"][0]["subtraction"]);
        let sources = disturbed["sources"].as_array().expect("a list");
        let added = sources.iter().find(|source| source["name"] == "perf_swevent_hrtimer");
        let touched = added.and_then(|source| source["samples"].as_u64()).expect("a source");
        assert!(touched > 4_500, "{touched} of 5,000 samples touched");
        let judged = disturbed["judged"].as_u64().expect("a count");
        assert!(judged > 2_500, "{judged} of 5,000 samples without a large unexplained detour");
        ["iqr", "p99_p1"].map(|measure| {
            let (raw, left, _) = spread(disturbed, measure);
            let own = spread(quiet, measure).2.expect("samples in which nothing happened");
            let share = (raw - left) / (raw - own);
            println!(
                "{measure}: {raw:.0} ns, left {left:.0} ns, by itself {own:.0} ns: {share:.3}"
            );
            share
        })
    };
    // Whatever else runs on the same core makes the loops vary too: the best of three counts.
    let shares: Vec<[f64; 2]> = (0..3).map(|_| attempt()).collect();
    assert!(shares.iter().any(|of| of.iter().all(|share| *share >= 0.95)), "{shares:?}");
}
