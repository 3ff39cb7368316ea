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

/// Do-nothing loops under 1,000 added interrupts a second: with the gaps charged, nearly all of the
/// spread that they cause is explained, and by the right source.
#[test]
fn added_interrupts_explain_the_spread_of_do_nothing_loops() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let cpu = *cpus::allowed().last().expect("a CPU");
    // Other work on the machine's core makes the loops themselves vary: the best of three counts.
    let shares: Vec<f64> = (0..3)
        .map(|_| {
            let args = ["loops", "--variants", "sum-reg", "--samples", "5000"];
            let measured = under_interrupts(cpu, Some(1_000), &args);
            let subtraction = &measured["series"][0]["subtraction"];
            let source = &subtraction["sources"][0];
            println!("verdict {}\nfirst source {source}", subtraction["verdict"]);
            assert_eq!(source["name"], "perf_swevent_hrtimer", "{source}");
            let judged = subtraction["judged"].as_u64().expect("a count");
            assert!(judged > 2_500, "{judged} of 5,000 samples without a large unexplained detour");
            subtraction["verdict"]["accounted"].as_f64().unwrap_or(0.0)
        })
        .collect();
    assert!(shares.iter().any(|share| *share >= 0.95), "{shares:?}");
}
