//! Several commands at once, in one directory and in containers.

use super::{Place, possible};
use crate::tool;
use anechoic_recording::Recording;

/// The name of a directory that nobody named has a resolution of a second.
#[test]
fn starts_in_the_same_second_have_directories_of_their_own() {
    if !possible() {
        return;
    }
    let _alone = tool::alone();
    let place = Place::new();
    let done = place.run(
        "mkdir here; cd here; for _ in $(seq 16); do anechoic run -q -d 100ms --no-trace >&- & done; wait",
    );
    let recordings: Vec<_> = super::entries(&place.at("here")).collect();
    assert_eq!(recordings.len(), 16, "{recordings:?} {}", done.err);
    for recording in recordings {
        assert!(Recording::open(&recording).is_ok(), "{recording:?}");
    }
    place.leave();
}

/// In its own PID namespace every process has the same number, and sees no other process.
#[test]
fn containers_that_start_at_once_keep_their_kernel_events() {
    let Some(cpu) = tool::noisy() else { return };
    let _alone = tool::alone();
    let place = Place::new();
    for round in 0..3 {
        let done = place.run(&format!(
            "for i in $(seq 8); do unshare --pid --fork --mount-proc {} run -q -d 200ms --cpus {cpu} -o n{round}-$i >&- & \
             done; wait",
            tool::ANECHOIC
        ));
        for number in 1..=8 {
            let dir = place.at(&format!("n{round}-{number}"));
            let recording = Recording::open(&dir).expect("it was measured");
            let lacking = &recording.run().not_available;
            assert!(recording.run().trace.is_some(), "{lacking:?} {}", done.err);
        }
    }
    place.leave();
}
