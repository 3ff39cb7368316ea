//! Trials find noise that a workload injects.

use crate::tool::{self, ANECHOIC, anechoic, arg, ensure, noisy, one_of};
use serde_json::Value;

/// Side A takes a tenth of the CPU, B nothing: B is quieter, and the thread explains it.
#[test]
fn injected_noise_of_a_side_is_found() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    let rate = "--kind thread --rate 200hz --length 500us --for 60s -q";
    let injects = format!("exec {ANECHOIC} inject {rate} --cpus {cpu}");
    one_of(3, || {
        let dir = tempfile::tempdir().expect("a directory");
        let commands = ["ab", "--during", &injects, "sleep 60", "--cpus", &cpu];
        let options = ["-d", "700ms", "--settle", "500ms", "--pairs", "5", "-q", "--json", "-o"];
        let done = anechoic(&[&commands[..], &options, &[arg(dir.path())]].concat());
        let found: Value = serde_json::from_str(&done.out)
            .unwrap_or_else(|error| panic!("{error}: {} {}", done.out, done.err));
        let noise = |side: &str| found[side]["noise"].as_f64().expect("a number");
        println!("{} {} {}", found["verdict"], noise("before"), noise("after"));
        assert!(noise("before") > 0.08, "a tenth is injected: {found}");
        let right = found["verdict"] == "quieter" && found["ratio"].as_f64() < Some(0.8);
        ensure(right, false, || found.to_string())
    });
}
