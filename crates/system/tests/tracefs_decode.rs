//! Tests of the decoder with constructed payloads: values of all sizes, texts, masks, names, hostile offsets.

use anechoic_recording::{EVENTS, EventKind, KernelEvent, Name, NameKind};
use anechoic_system::tracefs::{EnabledEvent, EventDecoder, Format, Record};

const COMMON: &str = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n";

fn enabled(kind: EventKind, id: u16, fields: &str) -> EnabledEvent {
    let spec = EVENTS.iter().find(|spec| spec.kind == kind).expect("its row");
    let format = Format::parse(&format!("ID: {id}\n{COMMON}{fields}")).expect("a format");
    EnabledEvent { spec, format }
}

fn decoder(kind: EventKind, fields: &str) -> EventDecoder {
    EventDecoder::new(&[enabled(kind, 7, fields)], None).expect("a decoder")
}

/// Builds an event with number 7 by pid -2, with `rest` from byte 8 on.
fn payload(rest: &[&[u8]]) -> Vec<u8> {
    let mut bytes = vec![7, 0, 0, 0];
    bytes.extend((-2_i32).to_le_bytes());
    rest.iter().for_each(|part| bytes.extend_from_slice(part));
    bytes
}

fn decode(decoder: &mut EventDecoder, measured: bool, payload: &[u8]) -> Vec<KernelEvent> {
    let mut out = Vec::new();
    decoder.decode(3, measured, &Record { time: 99, payload }, &mut out);
    out
}

#[test]
fn numbers_of_all_sizes_are_read() {
    let field = |kind: &str, size: u32, signed: u32| {
        format!("\tfield:{kind} vec;\toffset:8;\tsize:{size};\tsigned:{signed};\n")
    };
    let cases = [
        ("u8", field("u8", 1, 0), vec![0xfe], 0xfe),
        ("s8", field("s8", 1, 1), vec![0xfe], u64::MAX - 1),
        ("u16", field("u16", 2, 0), vec![0xfe, 0xff], 0xfffe),
        ("s16", field("s16", 2, 1), vec![0xfe, 0xff], u64::MAX - 1),
        ("u32", field("u32", 4, 0), vec![0xfe, 0xff, 0xff, 0xff], 0xffff_fffe),
        ("s32", field("int", 4, 1), vec![0xfe, 0xff, 0xff, 0xff], u64::MAX - 1),
        ("u64", field("u64", 8, 0), vec![1, 0, 0, 0, 0, 0, 0, 0x80], 1 << 63 | 1),
        ("payload ends before it", field("u64", 8, 0), vec![1, 2, 3], 0),
        (
            "field beyond all events",
            "\tfield:int vec;\toffset:65535;\tsize:4;\tsigned:1;\n".to_owned(),
            vec![1],
            0,
        ),
    ];
    for (name, fields, bytes, expected) in cases {
        let mut decoder = decoder(EventKind::SoftirqEntry, &fields);
        let expected = KernelEvent {
            cpu: 3,
            ticks: 99,
            kind: EventKind::SoftirqEntry,
            pid: -2,
            args: [expected, 0, 0],
        };
        assert_eq!(decode(&mut decoder, true, &payload(&[&bytes])), [expected], "case: {name}");
    }
}

#[test]
fn a_field_that_this_kernel_lacks_is_0_and_noted() {
    let fields = "\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n";
    let mut decoder = decoder(EventKind::IrqExit, fields);
    assert_eq!(decode(&mut decoder, true, &payload(&[&[5, 0, 0, 0]]))[0].args, [5, 0, 0]);
    assert_eq!(decoder.absent(), ["irq:irq_handler_exit ret"]);
}

#[test]
fn what_is_no_event_of_ours_is_skipped() {
    let fields = "\tfield:int vec;\toffset:8;\tsize:4;\tsigned:1;\n";
    let cases: [(&str, &[u8]); 4] = [
        ("empty", &[]),
        ("one byte", &[7]),
        ("other number", &[8, 0, 0, 0]),
        ("beyond", &[0xff, 0xff]),
    ];
    for (name, payload) in cases {
        let mut decoder = decoder(EventKind::SoftirqEntry, fields);
        assert_eq!(decode(&mut decoder, true, payload), [], "case: {name}");
    }
    let mut decoder = decoder(EventKind::SoftirqEntry, fields);
    assert_eq!(decode(&mut decoder, true, &[7, 0])[0].args, [0; 3], "number alone: all else is 0");
    assert_eq!(decode(&mut decoder, false, &payload(&[])), [], "only on measured CPUs");
}

/// Each case has a name, the fields, the position of the text, the text, and what is read.
type TextCase<'a> = (&'a str, &'a str, [u8; 4], &'a [u8], Option<&'a str>);

#[test]
fn texts_are_found_cut_and_made_valid() {
    let located = "\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n\tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n";
    let from_here = located.replace("__data_loc", "__rel_loc");
    let place = |offset: u32, length: u32| (length << 16 | offset).to_le_bytes();
    let cases: [TextCase<'_>; 8] = [
        ("located", located, place(16, 5), b"eth0\0", Some("eth0")),
        ("located from here", &from_here, place(0, 5), b"eth0\0", Some("eth0")),
        ("not ended", located, place(16, 4), b"eth0", Some("eth0")),
        ("not UTF-8", located, place(16, 4), b"e\xff0\0", Some("e\u{fffd}0")),
        ("empty", located, place(16, 1), b"\0", None),
        ("no bytes", located, place(16, 0), b"", None),
        ("beyond the payload", located, place(17, 5), b"eth0\0", None),
        ("far beyond", located, place(0xffff, 0xffff), b"eth0\0", None),
    ];
    for (name, fields, place, text, expected) in cases {
        let mut decoder = decoder(EventKind::IrqEntry, fields);
        decode(&mut decoder, true, &payload(&[&[9, 0, 0, 0], &place, text]));
        let expected: Vec<Name> = expected
            .map(|name| Name { kind: NameKind::Irq, key: 9, ticks: 0, name: name.to_owned() })
            .into_iter()
            .collect();
        assert_eq!(decoder.take_names(), expected, "case: {name}");
    }
}

#[test]
fn a_task_is_named_when_new_and_when_renamed() {
    let fields = "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\tfield:int target_cpu;\toffset:28;\tsize:4;\tsigned:1;\n";
    let mut decoder = decoder(EventKind::Waking, fields);
    let mut names = |comm: &str, pid: u8| {
        let mut text = comm.as_bytes().to_vec();
        text.resize(16, 0);
        decode(&mut decoder, true, &payload(&[&text, &[pid, 0, 0, 0], &[1, 0, 0, 0]]));
        let names = decoder.take_names();
        names.into_iter().map(|n| (n.key, n.ticks, n.name)).collect::<Vec<_>>()
    };
    let row = |key, name: &str| vec![(key, 99, name.to_owned())];
    let cases = [
        ("new", "sh", 5, row(5, "sh")),
        ("known", "sh", 5, vec![]),
        ("another of its name", "sh", 6, row(6, "sh")),
        ("renamed", "sleep", 5, row(5, "sleep")),
        ("full length", "sixteen-letters!", 5, row(5, "sixteen-letters!")),
        ("an idle task", "swapper/0", 0, row(0, "swapper")),
        ("another CPU's", "swapper/1", 0, vec![]),
    ];
    for (name, comm, pid, expected) in cases {
        assert_eq!(names(comm, pid), expected, "case: {name}");
    }
    let unnamed: Vec<_> = decoder.unnamed_tasks().collect();
    assert_eq!(unnamed, [-2_i64 as u64], "who woke them has no name yet");
}

/// Control groups of two hierarchies may have one number.
#[test]
fn a_control_group_is_named_with_its_hierarchy() {
    let fields = "\tfield:int dst_root;\toffset:8;\tsize:4;\tsigned:1;\n\tfield:u64 dst_id;\toffset:16;\tsize:8;\tsigned:0;\n\tfield:int pid;\toffset:24;\tsize:4;\tsigned:1;\n\tfield:__data_loc char[] dst_path;\toffset:28;\tsize:4;\tsigned:0;\n";
    let mut decoder = decoder(EventKind::CgroupAttach, fields);
    let mut moved = |root: u8, path: &str| {
        let place = ((path.len() as u32) << 16 | 32).to_le_bytes();
        let number = [[root, 0, 0, 0], [0; 4], [77, 0, 0, 0], [0; 4], [5, 0, 0, 0], place];
        let events = decode(&mut decoder, false, &payload(&[&number.concat(), path.as_bytes()]));
        assert_eq!(events[0].args, [5, 77, root.into()]);
        let names = decoder.take_names();
        names.into_iter().map(|name| (name.kind, name.key, name.name)).collect::<Vec<_>>()
    };
    for (root, path, name) in [(0, "/a", "0:/a"), (4, "/a", "4:/a"), (0, "/a/b", "0:/a/b")] {
        assert_eq!(moved(root, path), [(NameKind::Cgroup, 77, name.to_owned())]);
    }
    assert_eq!(moved(0, "/a/b"), []);
}

/// Each case has a name, the words of the mask, and the CPUs.
type MaskCase<'a> = (&'a str, &'a [&'a [u8]], &'a [u64]);

#[test]
fn an_ipi_to_a_mask_is_one_event_per_cpu() {
    let fields = "\tfield:__data_loc cpumask_t cpumask;\toffset:8;\tsize:4;\tsigned:0;\n\tfield:void * callsite;\toffset:16;\tsize:8;\tsigned:0;\n\tfield:void * callback;\toffset:24;\tsize:8;\tsigned:0;\n";
    let (callsite, callback) = (0xffff_u64.to_le_bytes(), 0_u64.to_le_bytes());
    let mut first = [0; 8];
    first[0] = 0b101;
    let mut second = [0; 8];
    second[7] = 0x80;
    let cases: [MaskCase<'_>; 4] = [
        ("none", &[&[0; 8]], &[]),
        ("two", &[&first], &[0, 2]),
        ("beyond 64", &[&first, &second], &[0, 2, 127]),
        ("cut", &[&first[..4]], &[]),
    ];
    for (name, mask, expected) in cases {
        let mut decoder = decoder(EventKind::IpiSendMask, fields);
        let length = if name == "cut" { 8 } else { mask.len() as u32 * 8 };
        let place = (length << 16 | 32).to_le_bytes();
        let bytes = payload(&[&place, &[0; 4], &callsite, &callback, &mask.concat()]);
        let events = decode(&mut decoder, false, &bytes);
        let cpus: Vec<_> = events.iter().map(|event| event.args[0]).collect();
        assert_eq!(cpus, expected, "case: {name}");
        let hidden = decoder.hide(0xffff);
        assert!(events.iter().all(|event| event.args[1..] == [hidden, 0]), "case: {name}");
        assert!(decoder.addresses().contains(&0xffff), "case: {name}");
        assert_eq!(decoder.absent(), <[String; 0]>::default());
    }
}

#[test]
fn no_address_is_kept_but_equal_ones_have_equal_numbers() {
    let spec = EventKind::TimerStart.spec();
    assert_eq!(spec.args, ["timer", "function", "expires"]);
    let field = |(name, offset): (&&str, usize)| {
        format!("\tfield:u64 {name};\toffset:{offset};\tsize:8;\tsigned:0;\n")
    };
    let fields: String = spec.args.iter().zip([8, 16, 24]).map(field).collect();
    let mut decoder = decoder(EventKind::TimerStart, &fields);
    let raw = [0xffff_8881_0042_1000, 0xffff_ffff_8123_4560, 4_711_u64];
    let bytes = payload(&raw.each_ref().map(|word| word.to_le_bytes()).each_ref().map(|w| &w[..]));
    let [first, second] = [(); 2].map(|()| decode(&mut decoder, true, &bytes)[0].args);
    assert_eq!(first, second);
    assert_eq!(first[2], raw[2], "an expiry is no address");
    for hidden in &first[..2] {
        assert!(!raw.contains(hidden) && *hidden != 0, "{first:x?}");
    }
    assert_eq!(first[1], decoder.hide(raw[1]), "the number that its name has");
    assert_eq!(decoder.hide(0), 0);
    let other = EventDecoder::new(&[], None).expect("a decoder");
    assert_ne!(other.hide(raw[1]), first[1], "each run has numbers of its own");
}

#[test]
fn times_are_converted() {
    let fields = "\tfield:int vec;\toffset:8;\tsize:4;\tsigned:1;\n";
    let events = [enabled(EventKind::SoftirqEntry, 7, fields)];
    let mut decoder =
        EventDecoder::new(&events, Some(Box::new(|ns| ns * 2 + 1))).expect("a decoder");
    assert_eq!(decode(&mut decoder, true, &payload(&[&[1, 0, 0, 0]]))[0].ticks, 199);
    assert_eq!(decoder.ticks(10), 21);
}
