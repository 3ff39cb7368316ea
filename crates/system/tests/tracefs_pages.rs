//! Tests of the page parser and the decoder: real pages against the same kernel's text output, constructed
//! pages, and hostile ones.
//!
//! `pages/` contains, from Linux 6.18 on x86-64: `cpu0.bin` (sub-buffers read from `trace_pipe_raw`),
//! `cpu0.txt` (the kernel's text of the same events), `cpu0.stats`, and `formats.txt` (the fields of the
//! events and of the page header). The ignored test `capture` creates them again.

use anechoic_recording::{EVENTS, EventKind, EventSpec, KernelEvent};
use anechoic_system::tracefs::{
    EnabledEvent, EventDecoder, Format, Instance, Missed, Page, PageError, PageLayout, Stats,
    Tracefs, page_layout,
};
use proptest::prelude::*;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, thread};

const PAGE: usize = 4096;
const LAYOUT: PageLayout =
    PageLayout { commit_offset: 8, commit_size: 8, data_offset: 16, size: PAGE };

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages").join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(fixture(name)).expect("a fixture")
}

fn spec(system: &str, name: &str) -> &'static EventSpec {
    EVENTS.iter().find(|s| s.system == system && s.name == name).expect("an event of the table")
}

/// The events of `formats.txt`, and the layout of the pages.
fn formats() -> (Vec<EnabledEvent>, PageLayout) {
    let all = text("formats.txt");
    let (header, events) = all.split_once("event ").expect("a header and events");
    let layout = page_layout(header, PAGE).expect("the page header");
    let event = |part: &str| {
        let (name, format) = part.split_once('\n').expect("a name line");
        let (system, name) = name.split_once(':').expect("system:name");
        EnabledEvent { spec: spec(system, name), format: Format::parse(format).expect("a format") }
    };
    (events.split("\nevent ").map(event).collect(), layout)
}

fn decode_all(bytes: &[u8], measured: bool) -> (Vec<KernelEvent>, EventDecoder, Vec<Missed>) {
    let (events, layout) = formats();
    let mut decoder = EventDecoder::new(&events, None).expect("decoders");
    let (mut out, mut missed) = (Vec::new(), Vec::new());
    for page in bytes.chunks(PAGE) {
        let page = Page::parse(page, &layout).expect("a page");
        missed.push(page.missed);
        for record in page.records() {
            decoder.decode(0, measured, &record.expect("a record"), &mut out);
        }
    }
    (out, decoder, missed)
}

/// Parses a line of the kernel, `comm-PID [CPU] flags TIME: NAME: FIELDS`, as (pid, time, rest).
fn parse_line(line: &str) -> (i32, u64, &str) {
    let cpu = line.find(" [000] ").expect("the CPU");
    let pid = line[..cpu].rsplit_once('-').expect("comm-pid").1.trim();
    let (head, rest) = line[cpu..].split_once(": ").expect("a time");
    let time = head.rsplit_once(' ').expect("a time").1;
    (pid.parse().expect("a pid"), time.parse().expect("a time"), rest)
}

/// Returns the decimal number after `field=` in the kernel's text (not a pointer, which the kernel scrambles
/// and pads with zeros).
fn printed(line: &str, field: &str) -> Option<i64> {
    let key = format!("{field}=");
    let value = line.split([' ', ',']).find_map(|word| word.strip_prefix(&key))?;
    if value.len() == 16 { None } else { value.parse().ok() }
}

#[test]
fn real_pages_say_what_the_kernel_printed() {
    let bytes = fs::read(fixture("cpu0.bin")).unwrap();
    let (events, decoder, missed) = decode_all(&bytes, true);
    assert_eq!(decoder.absent(), <[String; 0]>::default());
    let lines = text("cpu0.txt");
    let expected: Vec<_> =
        lines.lines().filter(|line| !line.starts_with('#')).map(parse_line).collect();
    // A timer that may expire later than asked is two events, of one line.
    let (soft, events): (Vec<_>, Vec<_>) =
        events.into_iter().partition(|event| event.kind == EventKind::HrtimerSoft);
    assert_eq!(events.len(), expected.len());
    assert!(!soft.is_empty(), "the fixture has timers with slack");
    for event in soft {
        let same =
            |line: &&(i32, u64, &str)| line.1 == event.ticks && line.2.contains("softexpires=");
        let (_, _, rest) = expected.iter().find(same).expect("its line");
        let (asked, latest) = (printed(rest, "softexpires"), printed(rest, "expires"));
        assert_eq!(asked, Some(event.args[1] as i64), "{rest}");
        assert!(asked < latest, "{rest}");
    }
    let mut compared = 0;
    for (event, (pid, time, rest)) in events.iter().zip(expected) {
        let spec = event.kind.spec();
        assert!(
            rest.starts_with(spec.name) || rest.starts_with(&format!("{}:", spec.name)),
            "{event:?}: {rest}"
        );
        assert_eq!((event.pid, event.ticks), (pid, time), "{rest}");
        for (&name, &value) in spec.args.iter().zip(&event.args) {
            if let Some(number) = printed(rest, name) {
                assert_eq!(value as i64, number, "{name} in {rest}");
                compared += 1;
            }
        }
    }
    assert!(compared > events.len() / 2, "{compared} arguments compared");
    let counted: u64 = missed.iter().map(|m| if let Missed::Count(n) = m { *n } else { 0 }).sum();
    let unknown = missed.contains(&Missed::Unknown);
    let stats = Stats::parse(&text("cpu0.stats"));
    assert!(stats.lost > 0, "the fixture has a loss");
    assert!(unknown || counted == stats.lost, "{missed:?}");
}

#[test]
fn real_pages_name_tasks() {
    let bytes = fs::read(fixture("cpu0.bin")).unwrap();
    let (_, mut decoder, _) = decode_all(&bytes, false);
    let names = decoder.take_names();
    let lines = text("cpu0.txt");
    assert!(names.iter().any(|name| name.key == 0 && name.name == "swapper"));
    for name in names.iter().filter(|name| name.key != 0) {
        let (as_next, as_woken) =
            (format!("_comm={} ", name.name), format!("comm={} pid={}", name.name, name.key));
        assert!(lines.contains(&as_next) || lines.contains(&as_woken), "{name:?}");
    }
}

/// Builds a page around `data`, all of it committed, with `flags` in the commit word.
fn page_of(time: u64, data: &[u8], flags: u64) -> Vec<u8> {
    let mut page = time.to_le_bytes().to_vec();
    page.extend((data.len() as u64 | flags).to_le_bytes());
    page.extend(data);
    page.resize(PAGE, 0);
    page
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

const fn head(type_len: u32, delta: u32) -> u32 {
    type_len | delta << 5
}

/// Returns times and payload lengths of a page, and how it ends.
fn read(page: &[u8]) -> (Vec<(u64, usize)>, Result<(), PageError>) {
    let page = match Page::parse(page, &LAYOUT) {
        Ok(page) => page,
        Err(error) => return (Vec::new(), Err(error)),
    };
    let mut seen = Vec::new();
    for record in page.records() {
        match record {
            Ok(record) => seen.push((record.time, record.payload.len())),
            Err(error) => return (seen, Err(error)),
        }
    }
    (seen, Ok(()))
}

/// Each case has a name, the time of the page, the words of its data, and the events' times and payload
/// lengths.
type RecordCase = (&'static str, u64, Vec<u32>, Vec<(u64, usize)>);

#[test]
fn every_record_type_is_read() {
    const TOP: u64 = 0xf << 60;
    let cases: [RecordCase; 12] = [
        ("nothing", 5, vec![], vec![]),
        ("short", 100, vec![head(2, 7), 1, 2], vec![(107, 8)]),
        ("long", 100, vec![head(0, 7), 12, 1, 2], vec![(107, 8)]),
        ("long and empty", 100, vec![head(0, 7), 4], vec![(107, 0)]),
        ("two", 0, vec![head(1, 7), 1, head(1, 0), 2], vec![(7, 4), (7, 4)]),
        ("extend", 1, vec![head(30, 3), 2, head(1, 5), 9], vec![(1 + 3 + (2 << 27) + 5, 4)]),
        ("absolute", 1 << 40, vec![head(31, 3), 2, head(1, 5), 9], vec![(3 + (2 << 27) + 5, 4)]),
        (
            "absolute keeps upper bits",
            TOP | 9,
            vec![head(31, 30), 0, head(1, 0), 9],
            vec![(TOP | 30, 4)],
        ),
        (
            "absolute runs over",
            TOP | 99,
            vec![head(31, 30), 0, head(1, 0), 9],
            vec![((TOP | 30) + (1 << 59), 4)],
        ),
        ("discarded", 10, vec![head(29, 5), 8, 0, head(1, 1), 9], vec![(16, 4)]),
        ("padding to the end", 10, vec![head(1, 1), 9, head(29, 0), 77, 77], vec![(11, 4)]),
        ("time wraps", u64::MAX, vec![head(1, 2), 9], vec![(1, 4)]),
    ];
    for (name, time, data, expected) in cases {
        let got = read(&page_of(time, &words(&data), 0));
        assert_eq!(got, (expected, Ok(())), "case: {name}");
    }
}

#[test]
fn losses_are_read_with_and_without_their_count() {
    const MISSED: u64 = 1 << 31;
    const STORED: u64 = 1 << 30;
    let event = words(&[head(1, 1), 9]);
    let with_count = |flags: u64| {
        let mut page = page_of(0, &event, flags);
        page[24..32].copy_from_slice(&42_u64.to_le_bytes());
        page
    };
    let full = words(&[head(1, 1), 9].repeat(510));
    // The kernel adds bit 31 as a negative number.
    let signed = (MISSED | STORED) | 0xffff_ffff_0000_0000;
    let cases = [
        ("none", with_count(0), Missed::Nothing),
        ("with its count", with_count(MISSED | STORED), Missed::Count(42)),
        ("sign extended", with_count(signed), Missed::Count(42)),
        ("not counted", with_count(MISSED), Missed::Unknown),
        ("count without a loss", with_count(STORED), Missed::Nothing),
        ("full page", page_of(0, &full, MISSED), Missed::Unknown),
        ("no room for the count", page_of(0, &full, MISSED | STORED), Missed::Unknown),
    ];
    for (name, page, expected) in cases {
        let page = Page::parse(&page, &LAYOUT).expect(name);
        assert_eq!(page.missed, expected, "case: {name}");
        assert!(page.records().all(|r| r.is_ok_and(|r| r.payload == [9, 0, 0, 0])), "case: {name}");
    }
}

#[test]
fn hostile_pages_end_in_an_error() {
    let data = |list: &[u32]| page_of(0, &words(list), 0);
    let overrun = |at| Err(PageError::Overrun { at });
    let cut = |bytes: usize| page_of(0, &words(&[head(1, 1), 9]), 0)[..bytes].to_vec();
    let mut far = data(&[]);
    far[8..16].copy_from_slice(&4081_u64.to_le_bytes());
    let mut mad = data(&[]);
    mad[8..16].copy_from_slice(&0x3fff_ffff_u64.to_le_bytes());
    let cases = [
        ("empty", vec![], Err(PageError::Header { size: 0 })),
        ("cut in the header", cut(12), Err(PageError::Header { size: 12 })),
        ("cut in the data", cut(20), Err(PageError::Commit { commit: 8, room: 4 })),
        ("commit beyond the page", far, Err(PageError::Commit { commit: 4081, room: 4080 })),
        ("commit far beyond", mad, Err(PageError::Commit { commit: 0x3fff_ffff, room: 4080 })),
        ("short overruns", data(&[head(28, 1), 9]), overrun(0)),
        ("long overruns", data(&[head(1, 1), 9, head(0, 1), 400]), overrun(8)),
        ("longest", data(&[head(0, 1), u32::MAX]), overrun(0)),
        ("no length", data(&[head(0, 1)]), overrun(0)),
        ("length 0", data(&[head(0, 1), 0, 0]), Err(PageError::Length { at: 0, length: 0 })),
        ("length 3", data(&[head(0, 1), 3, 0]), Err(PageError::Length { at: 0, length: 3 })),
        (
            "padding of length 0",
            data(&[head(29, 1), 0]),
            Err(PageError::Length { at: 0, length: 0 }),
        ),
        ("padding overruns", data(&[head(29, 1), 100]), overrun(0)),
        ("cut extend", data(&[head(30, 1)]), overrun(0)),
        ("cut absolute", data(&[head(31, 1)]), overrun(0)),
        ("odd bytes at the end", page_of(0, &[1, 2, 3], 0), overrun(0)),
    ];
    for (name, page, expected) in cases {
        assert_eq!(read(&page).1, expected, "case: {name}");
    }
}

proptest! {
    #[test]
    fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..PAGE)) {
        check_any(&bytes);
    }

    /// Sets the commit word correctly, so that the records themselves are reached.
    #[test]
    fn any_records_end(data in prop::collection::vec(any::<u8>(), 0..PAGE - 16)) {
        check_any(&page_of(0, &data, 0));
    }

    #[test]
    fn real_pages_with_flipped_bytes_end(
        which in 0_usize..4,
        flips in prop::collection::vec((0_usize..PAGE, any::<u8>()), 1..20),
    ) {
        let bytes = fs::read(fixture("cpu0.bin")).unwrap();
        let mut page = bytes[which * PAGE..][..PAGE].to_vec();
        for (at, value) in flips {
            page[at] = value;
        }
        check_any(&page);
        let (events, layout) = formats();
        let mut decoder = EventDecoder::new(&events, None).unwrap();
        let mut out = Vec::new();
        for record in Page::parse(&page, &layout).iter().flat_map(Page::records).map_while(Result::ok) {
            decoder.decode(0, true, &record, &mut out);
        }
    }
}

/// Checks that parsing neither panics nor loops, and that every record takes at least four bytes.
fn check_any(bytes: &[u8]) {
    let Ok(page) = Page::parse(bytes, &LAYOUT) else { return };
    let records: Vec<_> = page.records().take(PAGE).collect();
    assert!(records.len() <= bytes.len() / 4 + 1);
    let payload: usize = records.iter().flatten().map(|record| record.payload.len()).sum();
    assert!(payload < bytes.len());
    let errors = records.iter().filter(|record| record.is_err()).count();
    assert!(errors == 0 || errors == 1 && records.last().is_some_and(Result::is_err));
}

/// Run with `cargo test --release -p anechoic-system --test system -- --ignored --nocapture fast`.
#[test]
#[ignore = "a timing, of use in release builds only"]
fn parsing_and_decoding_are_fast() {
    let bytes = fs::read(fixture("cpu0.bin")).unwrap();
    let (events, layout) = formats();
    let mut decoder = EventDecoder::new(&events, None).unwrap();
    let mut out = Vec::new();
    let rounds = 5000;
    let mut time = |decode: bool| {
        let start = std::time::Instant::now();
        let mut count = 0_u64;
        for _ in 0..rounds {
            out.clear();
            for page in bytes.chunks(PAGE) {
                for record in Page::parse(page, &layout).unwrap().records() {
                    let record = record.unwrap();
                    count += 1;
                    if decode {
                        decoder.decode(0, true, &record, &mut out);
                    } else {
                        std::hint::black_box(record);
                    }
                }
            }
        }
        count as f64 / start.elapsed().as_secs_f64() / 1e6
    };
    println!("parsed: {:.0} M events/s", time(false));
    println!("parsed and decoded: {:.0} M events/s", time(true));
    assert!(time(false) > 20.0);
}

/// Creates some of every common kind of event on CPU 0.
fn noise() {
    anechoic_system::cpus::pin(&[0]).unwrap();
    for _ in 0..8 {
        let napper = || thread::sleep(Duration::from_millis(1));
        thread::Builder::new().name("napper".to_owned()).spawn(napper).unwrap().join().unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"for the disk").unwrap();
        file.sync_all().unwrap();
    }
    let me = rustix::process::getpid();
    rustix::process::kill_process(me, rustix::process::Signal::CONT).unwrap();
}

#[test]
#[ignore = "makes the fixtures anew, from this machine's kernel"]
fn capture() {
    let tracefs = Tracefs::open().unwrap();
    let mut instance = Instance::create(&tracefs, "x86-tsc", 12).unwrap();
    let prefix = format!("anechoic-{}-", std::process::id());
    let entries = fs::read_dir(tracefs.root().join("instances")).unwrap();
    let mut roots = entries.map(|entry| entry.unwrap().path());
    let root = roots.find(|path| path.to_str().unwrap().contains(&prefix)).unwrap();
    let mut pipe = instance.open_pipe(0).unwrap();
    instance.enable_events(true).unwrap();
    let fields = |path: &Path| {
        let mut text = vec![0; 1 << 16];
        let length = fs::File::open(path).unwrap().read(&mut text).unwrap();
        let text = String::from_utf8_lossy(&text[..length]).into_owned();
        let kept = text.lines().filter(|l| l.starts_with("ID:") || l.starts_with("\tfield"));
        kept.map(|line| format!("{line}\n")).collect::<String>()
    };
    let mut formats = fields(&root.join("events/header_page"));
    for event in instance.events() {
        let EventSpec { system, name, .. } = event.spec;
        let fields = fields(&root.join(format!("events/{system}/{name}/format")));
        write!(formats, "event {system}:{name}\n{fields}").unwrap();
    }
    fs::write(fixture("formats.txt"), formats).unwrap();
    // Twice with a break in between that is too long for the delta of an event, which gives a time extend.
    for _ in 0..2 {
        instance.set_tracing(true).unwrap();
        noise();
        instance.set_tracing(false).unwrap();
        thread::sleep(Duration::from_millis(150));
    }
    for (file, name) in [("per_cpu/cpu0/trace", "cpu0.txt"), ("per_cpu/cpu0/stats", "cpu0.stats")] {
        fs::write(fixture(name), fs::read_to_string(root.join(file)).unwrap()).unwrap();
    }
    let (mut all, mut page) = (Vec::new(), [0; PAGE]);
    while pipe.read(&mut page).is_ok_and(|read| read > 0) {
        all.extend(page);
    }
    fs::write(fixture("cpu0.bin"), all).unwrap();
    drop(pipe);
}

#[test]
fn the_table_and_the_fixture_agree() {
    let (events, _) = formats();
    let has = |kind| events.iter().any(|event| event.spec.kind == kind);
    assert!(has(EventKind::Switch) && has(EventKind::Waking) && has(EventKind::LocalTimerEntry));
}
