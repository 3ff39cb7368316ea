//! The network is measured between the first and the last rank.

use crate::launched::{BINARY, run};
use anechoic_simulate::Parameters;
use std::fs;
use std::process::Command;
use tempfile::TempDir;

/// Parameters that no network has.
const NONE: Parameters = Parameters {
    latency_ps: u64::MAX,
    overhead_ps: u64::MAX,
    gap_ps: u64::MAX,
    gap_per_byte_ps: u64::MAX,
    overhead_per_byte_ps: u64::MAX,
    eager_bytes: u64::MAX,
};

/// A file has all parameters, a second measurement does not replace it, and ranks between the two sleep.
#[test]
fn the_network_is_measured_into_a_file() {
    let dir = TempDir::new().expect("room");
    for (ranks, pair) in [(2, "rank 0 and rank 1"), (3, "rank 0 and rank 2")] {
        let file = dir.path().join(format!("{ranks}.params"));
        let asked = ["network", "--largest", "65536", "-o", file.to_str().expect("text")];
        let ended = run(ranks, &asked);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.out.contains(pair) && ended.out.lines().count() < 40, "{}", ended.out);
        let text = fs::read_to_string(&file).expect("it was written");
        let found = Parameters::read(&text, NONE).expect("it can be read");
        assert!(text.contains(pair), "{text}");
        let one_way_ns = found.costs(1).one_way_ns;
        assert!((10.0..1e7).contains(&one_way_ns), "{one_way_ns}: {text}");
        assert!(found.gap_ps < 1_000_000_000_000 && found.gap_per_byte_ps < 1_000_000, "{text}");
        assert!((1..=65_536).contains(&found.eager_bytes), "{text}");
        let again = run(ranks, &asked);
        assert_eq!(again.code, Some(73), "{again:?}");
        assert_eq!(again.err.matches("already exists; name a new file").count(), 1, "{again:?}");
        assert_eq!(fs::read_to_string(&file).expect("it is still there"), text);
    }
}

#[test]
fn one_rank_has_nobody_to_send_to() {
    let alone = Command::new(BINARY).arg("network").output().expect("it starts");
    let text = String::from_utf8_lossy(&alone.stderr).into_owned();
    assert_eq!(alone.status.code(), Some(64), "{alone:?}");
    assert!(text.contains("start it with two ranks: mpirun -n 2"), "{text}");
}
