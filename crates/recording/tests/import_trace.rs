//! Files of trace-cmd: real ones, whose tables of symbols and commands were shortened, against what `trace-cmd report`
//! prints; and one of the osnoise tracer that is made here from the kernel's descriptions of its events.

use anechoic_lab::note;
use anechoic_recording::import::IMPORTERS;
use anechoic_recording::options::Answers;
use anechoic_recording::{
    Detour, EventKind, KernelEvent, Loss, LossKind, Name, NameKind, Problem, ProblemKind, Recording,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

fn foreign(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/foreign").join(name)
}

fn import(file: &Path, given: &[(&str, &str)]) -> (TempDir, Result<u64, Problem>) {
    let importer = IMPORTERS.iter().find(|importer| importer.id == "trace-cmd").expect("a format");
    let answers = Answers::read(&importer.all_options(), given).expect("options");
    let dir = tempfile::tempdir().expect("a directory");
    let done = importer.import(&[file.to_owned()], &answers, &dir.path().join("r"));
    (dir, done)
}

fn import_bytes(bytes: &[u8]) -> (TempDir, Result<u64, Problem>) {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("trace.dat");
    fs::write(&file, bytes).expect("a file");
    import(&file, &[("hz", "2597000000")])
}

fn opened(dir: &TempDir) -> Recording {
    let recording = Recording::open(&dir.path().join("r")).expect("a recording");
    recording.verify().expect("whole");
    recording
}

fn all<R: anechoic_recording::Row>(recording: &Recording) -> Vec<R> {
    recording.rows::<R>().flat_map(|rows| rows.expect("readable")).collect()
}

#[test]
fn real_files_of_both_versions_have_the_interrupts_that_trace_cmd_reports() {
    for (name, hz, rate) in [
        ("trace-6.dat", None, 1_000_000_000_000),
        ("trace-7.dat", Some(("hz", "2597000000")), 2_597_000_000_000),
    ] {
        let (dir, done) = import(&foreign(name), hz.as_slice());
        let number = done.expect(name);
        let recording = opened(&dir);
        let run = recording.run();
        assert_eq!((run.clock.frequency_millihertz, &*run.machine.host), (rate, "vm"), "{name}");
        let (detours, events) = (all::<Detour>(&recording), all::<KernelEvent>(&recording));
        assert_eq!(detours.len() as u64, number, "{name}");
        let inside = |event: &&KernelEvent| {
            detours.iter().any(|detour| {
                detour.cpu == event.cpu
                    && (detour.start_ticks..=detour.end_ticks).contains(&event.ticks)
            })
        };
        assert_eq!(
            events.iter().filter(inside).count(),
            events.len(),
            "{name}: all are in detours"
        );
        let Ok(report) = Command::new("trace-cmd").arg("report").arg(foreign(name)).output() else {
            note::skipped("trace-cmd is not installed");
            continue;
        };
        let report = String::from_utf8_lossy(&report.stdout).into_owned();
        let kinds = [
            ("local_timer_entry", EventKind::LocalTimerEntry),
            ("reschedule_entry", EventKind::RescheduleEntry),
            ("irq_handler_entry", EventKind::IrqEntry),
            ("softirq_entry", EventKind::SoftirqEntry),
            ("hrtimer_expire_entry", EventKind::HrtimerEntry),
        ];
        for (event, kind) in kinds {
            let reported = report.matches(&format!(" {event}:")).count();
            let found = events.iter().filter(|event| event.kind == kind).count();
            // A softirq may run in a thread of its own, whose end is beyond the trace.
            assert!(
                found <= reported && reported - found <= 2,
                "{name} {event}: {found} of {reported}"
            );
        }
    }
    let (dir, _) = import(&foreign("trace-7.dat"), &[("hz", "2597000000")]);
    let names = all::<Name>(&opened(&dir));
    let named = |kind, text: &str| names.iter().any(|name| name.kind == kind && name.name == text);
    assert!(named(NameKind::Symbol, "tick_nohz_handler"), "from its table of symbols: {names:?}");
    assert!(named(NameKind::Irq, "virtio1-req.0"), "from an event: {names:?}");
}

#[test]
fn a_recording_ends_when_its_file_was_written_and_begins_as_much_before_as_it_lasts() {
    let (dir, done) = import(&foreign("trace-6.dat"), &[]);
    done.expect("imported");
    let run = opened(&dir).run().clone();
    let at = |utc: &str| utc.parse::<jiff::Timestamp>().expect("RFC 3339").as_nanosecond();
    let end = run.end_utc.as_deref().expect("the time of the file");
    let between = (at(end) - at(&run.start_utc)) as u64;
    let lasted = run.clock.ns(run.end_ticks - run.start_ticks);
    assert!(lasted > 0 && between.abs_diff(lasted) <= 2_000, "{between} ns, not {lasted}");
}

/// Marks the last page of CPU 0 as the kernel does when it overwrote events before a reader came: with their number.
fn with_loss(mut file: Vec<u8>, lost: u64) -> Vec<u8> {
    const PAGE: usize = 4096;
    const HEAD: usize = 16;
    let read = |file: &[u8], at: usize| {
        let bytes = file[at..at + 8].try_into().expect("8 bytes");
        u64::from_le_bytes(bytes) as usize
    };
    let table = b"flyrecord\0";
    let at = file.windows(table.len()).position(|bytes| bytes == table).expect("a table of CPUs");
    let (offset, size) = (read(&file, at + table.len()), read(&file, at + table.len() + 8));
    let page = offset + size - PAGE;
    let filled = read(&file, page + 8);
    assert!(size > PAGE && HEAD + filled + 8 <= PAGE, "there is room for the number");
    let marked = filled as u64 | 1 << 31 | 1 << 30;
    file[page + 8..page + 16].copy_from_slice(&marked.to_le_bytes());
    let number = page + HEAD + filled;
    file[number..number + 8].copy_from_slice(&lost.to_le_bytes());
    file
}

#[test]
fn events_that_the_trace_lost_are_losses_of_the_recording() {
    const LOST: u64 = 1_234;
    let bytes = with_loss(fs::read(foreign("trace-6.dat")).expect("a file"), LOST);
    let (dir, done) = import_bytes(&bytes);
    done.expect("imported");
    let recording = opened(&dir);
    assert_eq!(recording.run().cpus[0].lost_detours, LOST, "each event may have been one");
    let losses = all::<Loss>(&recording);
    let found: Vec<_> =
        losses.iter().map(|loss| (loss.what.clone(), loss.cpu, loss.count)).collect();
    assert_eq!(found, [LossKind::Events, LossKind::Detours].map(|what| (what, 0, LOST)));
    for Loss { start_ticks, end_ticks, .. } in &losses {
        assert!(start_ticks < end_ticks, "it took time");
        let lost = |ticks: u64| (start_ticks + 1..*end_ticks).contains(&ticks);
        let seen = all::<KernelEvent>(&recording);
        assert!(!seen.iter().any(|event| event.cpu == 0 && lost(event.ticks)), "nothing in it");
        let detours = all::<Detour>(&recording);
        let over =
            |detour: &Detour| detour.start_ticks < *end_ticks && *start_ticks < detour.end_ticks;
        assert!(
            !detours.iter().any(|detour| detour.cpu == 0 && over(detour)),
            "no handler spans it"
        );
    }
    let marked = dir.path().join("trace.dat");
    fs::write(&marked, &bytes).expect("a file");
    let Ok(report) = Command::new("trace-cmd").arg("report").arg(marked).output() else {
        return note::skipped("trace-cmd is not installed");
    };
    let report = String::from_utf8_lossy(&report.stdout).into_owned();
    assert!(report.contains(&format!("CPU:0 [{LOST} EVENTS DROPPED]")), "as its own reader says");
}

#[test]
fn a_counter_without_a_rate_is_refused() {
    let (dir, done) = import(&foreign("trace-7.dat"), &[]);
    let problem = done.expect_err("no rate");
    assert!(
        problem.kind == ProblemKind::Usage && problem.to_string().contains("--hz"),
        "{problem}"
    );
    assert!(!dir.path().join("r").exists());
}

const COMMON: &str = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

fn field(kind: &str, name: &str, offset: usize, size: usize) -> String {
    let signed = u8::from(kind == "int");
    format!("\tfield:{kind} {name};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n")
}

fn format_of(name: &str, id: u16, fields: &[String]) -> String {
    format!("name: {name}\nID: {id}\nformat:\n{COMMON}{}\nprint fmt: \"\"\n", fields.concat())
}

/// Returns an uncompressed file of version 6 with these events of the osnoise tracer on CPU 0.
fn osnoise_file(events: &[Vec<u8>]) -> Vec<u8> {
    let window =
        format_of("osnoise", 9, &[field("u64", "noise", 8, 8), field("u64", "runtime", 16, 8)]);
    let formats = [
        format_of(
            "sample_threshold",
            10,
            &[
                field("u64", "start", 8, 8),
                field("u64", "duration", 16, 8),
                field("u64", "interference", 24, 8),
            ],
        ),
        format_of(
            "irq_noise",
            11,
            &[
                field("u64", "duration", 8, 8),
                field("u64", "start", 16, 8),
                field("__data_loc char[]", "desc", 24, 4),
                field("int", "vector", 28, 4),
            ],
        ),
        format_of(
            "thread_noise",
            12,
            &[
                field("char", "comm[16]", 8, 16),
                field("u64", "start", 24, 8),
                field("u64", "duration", 32, 8),
                field("pid_t", "pid", 40, 4),
            ],
        ),
    ];
    let header = field("u64", "timestamp", 0, 8)
        + &field("local_t", "commit", 8, 8)
        + &field("char", "data", 16, 4080);
    let sized =
        |text: &str| [(text.len() as u64).to_le_bytes().as_slice(), text.as_bytes()].concat();
    let mut file = b"\x17\x08\x44tracing6\0\0\x08".to_vec();
    file.extend(4096_u32.to_le_bytes());
    file.extend(
        [b"header_page\0".to_vec(), sized(&header), b"header_event\0".to_vec(), sized("x")]
            .concat(),
    );
    file.extend(1_u32.to_le_bytes());
    file.extend(sized(&window));
    file.extend(1_u32.to_le_bytes());
    file.extend(b"osnoise\0");
    file.extend((formats.len() as u32).to_le_bytes());
    formats.iter().for_each(|format| file.extend(sized(format)));
    file.extend([0_u32, 0].map(u32::to_le_bytes).concat());
    file.extend(sized(""));
    file.extend(1_u32.to_le_bytes());
    file.extend(b"flyrecord\0");
    let mut data = vec![];
    for event in events {
        data.extend(0_u32.to_le_bytes()); // its length follows, and no time has passed
        data.extend((event.len() as u32 + 4).to_le_bytes());
        data.extend(event);
    }
    let mut page = [1_000_000_u64, data.len() as u64].map(u64::to_le_bytes).concat();
    page.extend(data);
    page.resize(4096, 0);
    let at = file.len() as u64 + 16;
    file.extend([at, 4096].map(u64::to_le_bytes).concat());
    [file, page].concat()
}

fn head(id: u16, pid: i32) -> Vec<u8> {
    [&id.to_le_bytes()[..], &[0; 2], &pid.to_le_bytes()].concat()
}

/// The end of a window, 1 ms after the start of the clock.
fn window(runtime_us: u64) -> Vec<u8> {
    [head(9, 77), [2, runtime_us].map(u64::to_le_bytes).concat()].concat()
}

fn sample(start: u64, duration: u64) -> Vec<u8> {
    [head(10, 77), [start, duration, 2].map(u64::to_le_bytes).concat()].concat()
}

fn irq(start: u64, duration: u64, vector: i32, desc: &str) -> Vec<u8> {
    let place = 32_u32 | (desc.len() as u32 + 1) << 16;
    let mut event = [head(11, 77), [duration, start].map(u64::to_le_bytes).concat()].concat();
    event.extend(place.to_le_bytes());
    event.extend(vector.to_le_bytes());
    event.extend(desc.as_bytes());
    event.push(0);
    event.resize(event.len().next_multiple_of(4), 0);
    event
}

fn thread(start: u64, duration: u64, pid: i32, comm: &str) -> Vec<u8> {
    let mut name = comm.as_bytes().to_vec();
    name.resize(16, 0);
    let times = [start, duration].map(u64::to_le_bytes).concat();
    [head(12, pid), name, times, pid.to_le_bytes().to_vec(), vec![0; 4]].concat()
}

#[test]
fn samples_of_osnoise_are_detours_with_their_causes() {
    let file = osnoise_file(&[
        irq(1_100, 300, 236, "local_timer"),
        sample(1_000, 500),
        irq(5_200, 100, 30, "eth0"),      // in the thread, told first
        thread(5_100, 700, 9, "kworker"), // without the interrupt in it
        sample(5_000, 1_000),
    ]);
    let (dir, done) = import_bytes(&file);
    assert_eq!(done.expect("imported"), 2);
    let recording = opened(&dir);
    let spans: Vec<_> = all::<Detour>(&recording)
        .iter()
        .map(|detour| (detour.start_ticks, detour.end_ticks))
        .collect();
    assert_eq!(spans, [(1_000, 1_500), (5_000, 6_000)]);
    assert_eq!((recording.run().cpus[0].tid, recording.run().threshold_ticks), (77, 499));
    let events: Vec<_> = all::<KernelEvent>(&recording)
        .iter()
        .map(|event| (event.ticks, event.kind, event.args[0]))
        .collect();
    use EventKind::{IrqEntry, IrqExit, LocalTimerEntry, LocalTimerExit, Switch};
    let expected = [
        (1_100, LocalTimerEntry, 236),
        (1_400, LocalTimerExit, 236),
        (5_100, Switch, 9),
        (5_200, IrqEntry, 30),
        (5_300, IrqExit, 30),
        (5_900, Switch, 77),
    ];
    assert_eq!(events, expected, "the thread ran for 700 ns without the interrupt");
    let names: Vec<_> =
        all::<Name>(&recording).into_iter().map(|name| (name.key, name.name)).collect();
    assert_eq!(names, [(9, "kworker".to_owned()), (30, "eth0".to_owned())]);
}

#[test]
fn the_measured_time_of_osnoise_is_that_of_its_windows() {
    let found = |events: &[Vec<u8>]| {
        let (dir, done) = import_bytes(&osnoise_file(events));
        done.expect("imported");
        let recording = opened(&dir);
        let run = recording.run();
        let cpu = &run.cpus[0];
        let notes = run.notes.join("; ");
        (run.start_ticks, cpu.first_ticks, cpu.last_ticks, run.end_ticks, notes)
    };
    let (start, first, last, end, notes) =
        found(&[sample(400_000, 500), sample(900_000, 1_000), window(800)]);
    assert_eq!((start, first, last, end), (200_000, 200_000, 1_000_000, 1_000_000), "of 800 µs");
    assert!(notes.contains("that of its windows") && !notes.contains("paused"), "{notes}");
    let (_, first, last, ..) = found(&[window(800), sample(1_200_000, 500)]);
    assert_eq!((first, last), (200_000, 1_200_500), "a window that was not finished");
    let (_, first, last, _, notes) = found(&[sample(400_000, 500), sample(900_000, 1_000)]);
    assert_eq!((first, last), (400_000, 901_000), "without a window");
    assert!(notes.contains("from the first sample to the last"), "{notes}");
}

#[test]
fn what_is_wrong_is_named_with_its_byte() {
    let valid = fs::read(foreign("trace-7.dat")).expect("a file");
    let with = |at: usize, bytes: &[u8]| {
        let mut changed = valid.clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        changed
    };
    let cases: [(&str, Vec<u8>, &str); 7] = [
        ("empty", vec![], "it is no file of trace-cmd"),
        ("text", b"cpus=2\n".to_vec(), "it is no file of trace-cmd"),
        ("version", with(10, b"8"), "version \"8\" is not known"),
        ("big-endian", with(12, b"\x01"), "big-endian"),
        ("compression", with(18, b"lzma"), "the compression \"lzma\" is not known"),
        ("cut off", valid[..60].to_vec(), "byte "),
        ("no events", osnoise_file(&[]), "it has no detour"),
    ];
    for (name, bytes, expected) in cases {
        let (dir, done) = import_bytes(&bytes);
        let problem = done.expect_err(name);
        assert!(problem.to_string().contains(expected), "case: {name}: {problem}");
        assert_eq!(problem.kind, ProblemKind::Data, "case: {name}");
        assert!(!dir.path().join("r").exists(), "case: {name}: nothing is left");
    }
}

#[test]
fn pages_beyond_all_files_are_refused() {
    let mut file = fs::read(foreign("trace-6.dat")).expect("a file");
    let table = b"flyrecord\0";
    let at = file.windows(table.len()).position(|bytes| bytes == table).expect("a table of CPUs");
    let size = at + table.len() + 8;
    file[size..size + 8].fill(0xff);
    let problem = import_bytes(&file).1.expect_err("no such place");
    assert!(problem.why.contains("no place for the pages"), "{problem}");
}

#[test]
fn no_cut_or_changed_file_makes_the_importer_panic() {
    for name in ["trace-6.dat", "trace-7.dat"] {
        let valid = fs::read(foreign(name)).expect("a file");
        for cut in (0..valid.len()).step_by(valid.len() / 16) {
            let _ = import_bytes(&valid[..cut]);
            let mut changed = valid.clone();
            changed[cut] ^= 0xff;
            let _ = import_bytes(&changed);
        }
    }
}
