//! The trace for Perfetto, read back, by the rules that its readers expect.

use super::{DETOURS, START, delays, export_of, files, program, program_with};
use anechoic_recording::Stack;
use std::collections::{BTreeMap, BTreeSet};

/// A value of a field.
#[derive(Debug, Clone)]
enum Value {
    Number(u64),
    Bytes(Vec<u8>),
}

/// Decodes the fields of a message of protobuf.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Value)> {
    let mut found = vec![];
    let varint = |bytes: &mut &[u8]| {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (first, rest) = bytes.split_first().expect("the message is complete");
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                return value;
            }
        }
        panic!("a varint of more than ten bytes");
    };
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = match key & 7 {
            0 => Value::Number(varint(&mut bytes)),
            1 => {
                let (eight, rest) = bytes.split_first_chunk().expect("eight bytes");
                bytes = rest;
                Value::Number(u64::from_le_bytes(*eight))
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)).expect("short");
                let (text, rest) = bytes.split_at(length);
                bytes = rest;
                Value::Bytes(text.to_vec())
            }
            kind => panic!("wire type {kind}"),
        };
        found.push((key >> 3, value));
    }
    found
}

fn number(fields: &[(u64, Value)], field: u64) -> Option<u64> {
    fields.iter().find_map(|(found, value)| match value {
        Value::Number(number) if *found == field => Some(*number),
        _ => None,
    })
}

fn bytes(fields: &[(u64, Value)], field: u64) -> Option<Vec<u8>> {
    fields.iter().find_map(|(found, value)| match value {
        Value::Bytes(bytes) if *found == field => Some(bytes.clone()),
        _ => None,
    })
}

fn name(fields: &[(u64, Value)], field: u64) -> String {
    String::from_utf8(bytes(fields, field).unwrap_or_default()).expect("UTF-8")
}

/// A slice: its track, name, start and end, and how deep it is nested.
pub(super) type Slice = (String, String, u64, u64, usize);

/// Reads a trace and checks the rules: one sequence, whose state is cleared first; a track is described before its
/// events; times of a track do not run back; slices nest, and all end; an arrow has one beginning and one end.
pub(super) fn slices(trace: &[u8]) -> (Vec<Slice>, Vec<(String, String)>) {
    let mut tracks: BTreeMap<u64, String> = BTreeMap::new();
    let mut open: BTreeMap<u64, Vec<(String, u64)>> = BTreeMap::new();
    let mut reached: BTreeMap<u64, u64> = BTreeMap::new();
    let (mut found, mut arrows, mut begun) = (vec![], vec![], BTreeMap::new());
    for (number_of, (field, packet)) in fields(trace).into_iter().enumerate() {
        let Value::Bytes(packet) = packet else { panic!("a trace has packets alone") };
        let packet = fields(&packet);
        assert_eq!((field, number(&packet, 10)), (1, Some(1)), "one sequence");
        assert_eq!(number(&packet, 13), (number_of == 0).then_some(1), "cleared at its beginning");
        if let Some(track) = bytes(&packet, 60).map(|track| fields(&track)) {
            let id = number(&track, 1).expect("an id");
            let parent = number(&track, 5);
            assert!(parent.is_none_or(|parent| tracks.contains_key(&parent)), "after its parent");
            assert!(tracks.insert(id, name(&track, 2)).is_none(), "described once");
        }
        let Some(event) = bytes(&packet, 11).map(|event| fields(&event)) else { continue };
        let at = number(&packet, 8).expect("a time");
        let track = number(&event, 11).expect("a track");
        let title = tracks.get(&track).expect("described before").clone();
        let before = reached.insert(track, at);
        let stack = open.entry(track).or_default();
        match number(&event, 9) {
            Some(1) => {
                assert!(before <= Some(at), "begins in order");
                stack.push((name(&event, 23), at));
                if let Some(arrow) = number(&event, 48) {
                    let from = begun.remove(&arrow).expect("an arrow that began");
                    arrows.push((from, name(&event, 23)));
                }
            }
            Some(2) => {
                assert!(before <= Some(at), "ends in order");
                let (name, start) = stack.pop().expect("a slice");
                found.push((title, name, start, at, stack.len()));
            }
            Some(3) => {
                let arrow = number(&event, 47).expect("an arrow");
                let from = format!("{title}: {}", name(&event, 23));
                assert!(begun.insert(arrow, from).is_none(), "its own number");
            }
            kind => panic!("an event of kind {kind:?}"),
        }
    }
    assert!(open.values().all(Vec::is_empty), "all slices end");
    assert!(begun.is_empty(), "all arrows end");
    found.sort_by_key(|(track, _, start, end, depth)| (track.clone(), *start, *depth, *end));
    (found, arrows)
}

#[test]
fn detours_are_slices_with_their_activities_inside_and_arrows_from_their_causes() {
    let (slices, arrows) = slices(&files("perfetto")[0]);
    let expected = [
        ("timer tick", 1_000, 6_010, 0),
        ("entry gap", 1_000, 1_500, 1),
        ("timer tick", 1_500, 5_000, 1),
        ("rcu_core", 3_000, 4_000, 2),
        ("exit gap", 5_000, 6_010, 1),
        ("thread a \"b\", c", 1_500_000_000, 1_500_200_010, 0),
        ("thread a \"b\", c", 1_500_000_010, 1_500_200_010, 1),
        ("hardware", 2_500_000_000, 2_500_000_310, 0),
        ("no kernel event", 2_500_000_000, 2_500_000_310, 1),
    ];
    let on = |cpu: &str| -> Vec<_> {
        let on_cpu = slices.iter().filter(|(track, ..)| track == cpu);
        on_cpu.map(|(_, name, start, end, depth)| (name.as_str(), *start, *end, *depth)).collect()
    };
    assert_eq!(on("CPU 0"), expected);
    let detours = on("CPU 1").into_iter().filter(|(.., depth)| *depth == 0);
    let starts: BTreeSet<u64> = detours.map(|(_, start, ..)| start).collect();
    assert_eq!(starts, DETOURS[1].iter().map(|(start, _)| *start).collect());
    assert_eq!(arrows, [("CPU 1, causes: bash".to_owned(), "rcu_core".to_owned())]);
}

#[test]
fn a_thread_of_a_program_has_a_track_with_its_waits_in_order() {
    let dir = tempfile::tempdir().expect("a directory");
    let recording = program(&dir.path().join("r"));
    let trace = export_of(&recording, "perfetto", &[], None).expect("a trace");
    let (slices, _) = slices(&trace[0]);
    let found: Vec<_> = slices
        .iter()
        .map(|(track, name, start, end, depth)| {
            assert_eq!(*depth, 0, "waits do not nest");
            (track.as_str(), name.as_str(), *start, *end)
        })
        .collect();
    let expected = [
        ("first (70)", "waits while the CPU is idle", 50, 60),
        ("first (70)", "waits behind =hog", 300, 500),
        ("worker (71)", "waits behind interrupts", 100, 250),
        ("worker (71)", "blocked by first, which waits behind =hog", 300, 500),
    ];
    assert_eq!(found, expected);
    let trace = export_of(&recording, "perfetto", &[], Some(&[1])).expect("a trace");
    assert_eq!(super::perfetto::slices(&trace[0]).0.len(), 2, "of CPU 1 alone");
}

/// The arguments of each slice with calls: the name of the slice, of the argument, and its text.
fn calls(trace: &[u8]) -> Vec<[String; 3]> {
    let mut found = vec![];
    for (_, packet) in fields(trace) {
        let Value::Bytes(packet) = packet else { panic!("a trace has packets alone") };
        let Some(event) = bytes(&fields(&packet), 11).map(|event| fields(&event)) else { continue };
        for (field, note) in &event {
            let (4, Value::Bytes(note)) = (field, note) else { continue };
            let note = fields(note);
            if name(&note, 10).contains("calls") {
                found.push([name(&event, 23), name(&note, 10), name(&note, 6)]);
            }
        }
    }
    found
}

#[test]
fn a_wait_has_the_calls_of_its_thread_and_of_who_had_the_cpu() {
    let dir = tempfile::tempdir().expect("a directory");
    let stack = |at, thread, stack| Stack { cpu: 0, ticks: START + at, thread, stack };
    let stacks = [stack(301, 70, 1), stack(501, 9, 0), stack(100_000, 9, 1)];
    let names = ["hog;burn;schedule_[k]", "main;read;pipe_read_[k]\n"];
    let recording = program_with(&dir.path().join("r"), &delays(), &stacks, &names);
    let trace = export_of(&recording, "perfetto", &[], None).expect("a trace");
    let preempted = "waits behind =hog";
    let expected = [
        [preempted, "calls", "main;read;pipe_read_[k]?"],
        [preempted, "holder_calls", "hog;burn"],
        ["blocked by first, which waits behind =hog", "holder_calls", "hog;burn"],
    ];
    assert_eq!(calls(&trace[0]), expected);
    let without = program(&dir.path().join("without"));
    let without = export_of(&without, "perfetto", &[], None).expect("a trace");
    assert_eq!(calls(&without[0]).len(), 0);
    assert_eq!(slices(&trace[0]), slices(&without[0]), "the same waits");
}
