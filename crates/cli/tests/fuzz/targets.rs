//! Parsers of what the kernel, users and other tools write, but for recordings.

use super::Reader;
use anechoic_lab::bare::with_checksum;
use anechoic_predict::phases::{Ask, Noise, predict};
use anechoic_predict::ticks;
use anechoic_recording::import::IMPORTERS;
use anechoic_recording::options::Answers;
use anechoic_recording::{EVENTS, find_each};
use anechoic_report::View;
use anechoic_report::results::phases::PHASES;
use anechoic_report::results::ticks::TICKS;
use anechoic_report::results::{Found, Input, for_summary};
use anechoic_system::machine::{self, Root};
use anechoic_system::steal::btf::{Btf, Kind};
use anechoic_system::tracefs::{
    EnabledEvent, EventDecoder, Format, Page, PageLayout, Stats, page_layout,
};
use anechoic_system::{cpus, functions, who};
use std::fs;
use std::path::Path;

/// Bytes of a sub-buffer of the trace.
const PAGE: usize = 4096;

fn fixture(name: &str) -> Vec<u8> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../system/tests/pages");
    fs::read(dir.join(name)).expect("a fixture")
}

/// The descriptions of all events and of a page, each with its name in the first line.
pub fn formats() -> Vec<Vec<u8>> {
    let text = String::from_utf8(fixture("formats.txt")).expect("text");
    let stats = String::from_utf8(fixture("cpu0.stats")).expect("text");
    let texts = text.split("\nevent ").map(|text| text.trim_start_matches("event "));
    texts.chain([&*stats]).map(|text| text.as_bytes().to_vec()).collect()
}

pub fn pages() -> Vec<Vec<u8>> {
    fixture("cpu0.bin").chunks(PAGE).map(<[u8]>::to_vec).collect()
}

/// Returns the description of an event, if its text is one.
fn enabled(text: &str) -> Option<EnabledEvent> {
    let (name, format) = text.split_once('\n')?;
    let named = EVENTS.iter().find(|spec| name == format!("{}:{}", spec.system, spec.name));
    Some(EnabledEvent { spec: named.unwrap_or(&EVENTS[0]), format: Format::parse(format).ok()? })
}

/// Returns the layout of a page and the events of the fixture.
fn known() -> (PageLayout, Vec<EnabledEvent>) {
    let texts = formats();
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    let layout = page_layout(&text(&texts[0]), PAGE).expect("the layout of a page");
    (layout, texts.iter().filter_map(|bytes| enabled(&text(bytes))).collect())
}

/// Reads a page and the events in it, also when it ends early.
fn read_page(page: &[u8], layout: &PageLayout, events: &[EnabledEvent]) {
    let Ok(page) = Page::parse(page, layout) else { return };
    let Ok(mut decoder) = EventDecoder::new(events, None) else { return };
    let mut out = Vec::new();
    for record in page.records().map_while(Result::ok) {
        decoder.decode(0, true, &record, &mut out);
    }
    // An event of the smallest size has four bytes; a mask of CPUs has one event for each bit.
    assert!(out.len() <= 8 * 2 * PAGE, "{} events in a page", out.len());
}

pub fn read_pages(_: &Path) -> Reader {
    let (layout, events) = known();
    Box::new(move |input| read_page(input, &layout, &events))
}

pub fn read_formats(_: &Path) -> Reader {
    let ((layout, _), pages) = (known(), pages());
    Box::new(move |input| {
        let text = String::from_utf8_lossy(input);
        let _ = Stats::parse(&text).lost;
        let events: Vec<EnabledEvent> = enabled(&text).into_iter().collect();
        let layout = page_layout(&text, PAGE).unwrap_or(layout);
        pages.iter().for_each(|page| read_page(page, &layout, &events));
    })
}

/// Type data as a kernel has it: the structures in which steal is found, among them one without a name.
pub fn kernel_types() -> Vec<Vec<u8>> {
    let names = b"\0rq\0prev_steal_time\0cfs_rq\0task_struct\0se\0sched_entity\0hrtimer\0function\0tick_nohz_handler\0btf_trace_hrtimer_expire_exit\0";
    let at = |name: &str| {
        let whole = format!("\0{name}\0");
        let found = names.windows(whole.len()).position(|window| window == whole.as_bytes());
        found.map_or(0, |at| at as u32 + 1)
    };
    let structure = |name: &str, members: &[(&str, u32, u32)]| {
        let head = [at(name), 4 << 24 | members.len() as u32, 64];
        let members = members.iter().flat_map(|&(name, type_id, bits)| [at(name), type_id, bits]);
        head.into_iter().chain(members).collect::<Vec<u32>>()
    };
    let types = [
        structure("rq", &[("", 2, 64), ("cfs_rq", 3, 640)]),
        structure("", &[("prev_steal_time", 8, 128)]),
        structure("cfs_rq", &[("rq", 1, 256)]),
        structure("task_struct", &[("se", 5, 512)]),
        structure("sched_entity", &[("cfs_rq", 3, 192)]),
        structure("hrtimer", &[("function", 8, 320)]),
        vec![at("tick_nohz_handler"), 12 << 24, 8],
        vec![0, 13 << 24 | 1, 0, 0, 0],
        vec![at("btf_trace_hrtimer_expire_exit"), 8 << 24, 10],
        vec![0, 10 << 24, 9],
    ];
    let types: Vec<u8> = types.concat().into_iter().flat_map(u32::to_le_bytes).collect();
    let (all, text) = (types.len() as u32, names.len() as u32);
    let head: [u32; 6] = [0x0001_eb9f, 24, 0, all, all, text];
    let head: Vec<u8> = head.into_iter().flat_map(u32::to_le_bytes).collect();
    vec![[head, types, names.to_vec()].concat()]
}

pub fn read_kernel_types(_: &Path) -> Reader {
    Box::new(|input| {
        let Ok(btf) = Btf::parse(input) else { return };
        for (structure, field) in [
            ("rq", "prev_steal_time"),
            ("cfs_rq", "rq"),
            ("task_struct", "se"),
            ("sched_entity", "cfs_rq"),
            ("hrtimer", "function"),
        ] {
            let _ = btf.field_offset(structure, field);
        }
        let _ = btf.id(Kind::Function, "tick_nohz_handler");
        let _ = btf.id(Kind::Typedef, "btf_trace_hrtimer_expire_exit");
    })
}

/// Files of /proc and /sys, which a container's runtime may make up, by their paths in the first line.
pub fn machine_files() -> Vec<Vec<u8>> {
    let container = "0123456789abcdef".repeat(4);
    let docker = format!("/var/lib/docker/containers/{container}/config.v2.json");
    let logs = "/var/lib/containers/storage/overlay-containers/containers.json";
    let id = format!("[{{\"id\": \"{container}\", \"names\": [\"db\"]}}]");
    let files = [
        (
            "/proc/cpuinfo",
            "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nflags\t\t: fpu hypervisor sev_snp\n\nprocessor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n",
        ),
        (
            "/proc/cmdline",
            "quiet isolcpus=managed_irq,domain,1-3 nohz_full=1-3 rcu_nocbs=1-3 mitigations=off intel_idle.max_cstate=1\n",
        ),
        ("/proc/meminfo", "MemTotal:       24579000 kB\nMemFree: 1 kB\nHugePages_Total: 3\n"),
        ("/proc/self/cgroup", "12:cpu,cpuacct:/a/b\n0::/user.slice/x.scope\n"),
        ("/proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-3\nCapEff:\t000001ffffffffff\n"),
        (
            "/proc/interrupts",
            "           CPU0       CPU1\n  0:         10          0   IO-APIC   2-edge      timer\nLOC:      12345      54321   Local timer interrupts\n",
        ),
        ("/sys/devices/system/cpu/online", "0-3,8\n"),
        ("/sys/devices/system/cpu/isolated", "1-3\n"),
        ("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,2\n"),
        ("/sys/devices/system/cpu/cpu0/cache/index0/size", "32K\n"),
        ("/sys/fs/cgroup/cpu.max", "150000 100000\n"),
        ("/sys/fs/cgroup/cpu.stat", "usage_usec 5\nnr_throttled 3\nthrottled_usec 99\n"),
        (docker.as_str(), "{\"ID\": \"x\", \"Name\": \"/db\"}"),
        (logs, id.as_str()),
    ];
    files.iter().map(|(path, text)| format!("{path}\n{text}").into_bytes()).collect()
}

pub fn read_machine(dir: &Path) -> Reader {
    let (dir, paths) = (dir.to_owned(), machine_files());
    let path = |bytes: &Vec<u8>| {
        String::from_utf8_lossy(bytes.split(|&byte| byte == b'\n').next().unwrap_or_default())
            .trim_start_matches('/')
            .to_owned()
    };
    for file in &paths {
        let (at, content) = (dir.join(path(file)), file.split(|&byte| byte == b'\n').skip(1));
        fs::create_dir_all(at.parent().expect("a directory")).expect("directories");
        fs::write(at, content.collect::<Vec<_>>().join(&b'\n')).expect("a file");
    }
    let paths: Vec<String> = paths.iter().map(path).collect();
    Box::new(move |input| {
        // The path is only read: changed, it names no file.
        let (name, content) = input.split_at(input.iter().position(|&b| b == b'\n').unwrap_or(0));
        let name = String::from_utf8_lossy(name).trim_start_matches('/').to_owned();
        let Some(path) = paths.iter().find(|path| **path == name) else { return };
        let content = content.get(1..).unwrap_or_default();
        let valid = fs::read(dir.join(path)).expect("a file");
        fs::write(dir.join(path), content).expect("there is space");
        let root = Root::at(&dir);
        let _ = machine::describe_in(&root, None, &[0, 1]);
        let container = "0123456789abcdef".repeat(4);
        let _ = who::unit(&root, &format!("/system.slice/docker-{container}.scope"));
        let _ = who::unit(&root, &String::from_utf8_lossy(content));
        let _ = cpus::parse(&String::from_utf8_lossy(content));
        fs::write(dir.join(path), valid).expect("there is space");
    })
}

const TIMES: &str = "processor,copies,rate_hz,milliseconds\nP,1,none,100.1\nP,1,100,100.9\nP,1,1000,108.2\nP,1,2000,117.5\n\"Q, fast\",2,0,90\n\"Q, fast\",2,250,91.5\n";
const COSTS: &str = "processor,trap_us,handler_us\nP,1.5,6.5\n\"Q, fast\",0.5,3\n";

pub fn times() -> Vec<Vec<u8>> {
    vec![TIMES.as_bytes().to_vec(), TIMES.replace('\n', "\r\n").into_bytes()]
}

pub fn costs() -> Vec<Vec<u8>> {
    vec![COSTS.as_bytes().to_vec(), format!("\u{feff}{COSTS}").into_bytes()]
}

pub fn read_times(dir: &Path) -> Reader {
    let (times, costs) = (dir.join("times.csv"), dir.join("costs.csv"));
    fs::write(&costs, COSTS).expect("a file");
    Box::new(move |input| {
        fs::write(&times, input).expect("there is space");
        model(&times, &costs);
    })
}

pub fn read_costs(dir: &Path) -> Reader {
    let (times, costs) = (dir.join("times.csv"), dir.join("costs.csv"));
    fs::write(&times, TIMES).expect("a file");
    Box::new(move |input| {
        fs::write(&costs, input).expect("there is space");
        model(&times, &costs);
    })
}

fn model(times: &Path, costs: &Path) {
    let Ok(table) = ticks::read_files(times, costs) else { return };
    let model = ticks::model(&table);
    anechoic_report::json(&model, &mut std::io::sink()).expect("numbers");
    let view = View::default();
    let _ = Found::from_value(&TICKS, model, &[]).screen(&view).to_text(&view);
}

pub fn detours() -> Vec<Vec<u8>> {
    let text =
        "# length_ns: 1000000000\n100 2000\n5000000 1500.5\n400000000 1e5\n900000000 30000\n";
    vec![text.as_bytes().to_vec()]
}

pub fn read_detours(dir: &Path) -> Reader {
    let file = dir.join("detours.txt");
    let ask = Ask { ranks: vec![1, 10, 1_000], budget: 100_000, ..Ask::default() };
    Box::new(move |input| {
        fs::write(&file, input).expect("there is space");
        let Ok(noise) = Noise::read(std::slice::from_ref(&file), None) else { return };
        let Ok(model) = predict(&noise, &ask) else { return };
        anechoic_report::json(&model, &mut std::io::sink()).expect("numbers");
        let view = View::default();
        let _ = Found::from_value(&PHASES, model, &[]).screen(&view).to_text(&view);
    })
}

fn foreign(names: &[&str]) -> Vec<Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/foreign");
    names.iter().map(|name| fs::read(dir.join(name)).expect("a file")).collect()
}

pub fn sysjitter() -> Vec<Vec<u8>> {
    foreign(&["sysjitter.txt", "sysjitter-raw.0"])
}

pub fn oslat() -> Vec<Vec<u8>> {
    foreign(&["oslat.json", "oslat.txt", "oslat-bias.txt"])
}

pub fn cyclictest() -> Vec<Vec<u8>> {
    let names =
        ["cyclictest.json", "cyclictest.txt", "cyclictest-verbose.txt", "cyclictest-status.txt"];
    foreign(&names)
}

pub fn trace_dat() -> Vec<Vec<u8>> {
    foreign(&["trace-6.dat", "trace-7.dat"])
}

pub fn csv() -> Vec<Vec<u8>> {
    let ours = "# made by x\nstart_ns,duration_ns,cpu,source,name\n1,2,0,thread,\"a, b\"\n900,40,1,tick,\n";
    let texts = ["start,duration\n0 1.5\n2e3\t7\n", ours, "1 2\n9 3"];
    texts.map(|text| text.as_bytes().to_vec()).into()
}

pub fn netgauge() -> Vec<Vec<u8>> {
    let text = "# Minimal cycle length [ns]: 12.5\n# x\n1000\t250\n5000\t1200\n900000\t80\n";
    vec![text.as_bytes().to_vec()]
}

pub fn bare() -> Vec<Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let names = ["bare-1/result.txt", "bare-2/result.txt", "bare-2/paging.txt"];
    names.iter().map(|name| fs::read(dir.join(name)).expect("a file")).collect()
}

pub fn read_csv(dir: &Path) -> Reader {
    imported("csv", dir, &[("unit", "us")])
}

pub fn read_netgauge(dir: &Path) -> Reader {
    imported("netgauge", dir, &[])
}

/// Reads inputs whose last line is made to fit: otherwise the checksum would refuse nearly all of them.
pub fn read_bare(dir: &Path) -> Reader {
    let mut read = imported("bare", dir, &[]);
    Box::new(move |input| read(with_checksum(&String::from_utf8_lossy(input)).as_bytes()))
}

pub fn read_sysjitter(dir: &Path) -> Reader {
    imported("sysjitter", dir, &[])
}

pub fn read_oslat(dir: &Path) -> Reader {
    imported("oslat", dir, &[])
}

pub fn read_cyclictest(dir: &Path) -> Reader {
    imported("cyclictest", dir, &[])
}

pub fn read_trace_dat(dir: &Path) -> Reader {
    imported("trace-cmd", dir, &[("hz", "2597000000")])
}

/// Imports an input, and shows what was counted or computes the summary of what has times.
fn imported(id: &str, dir: &Path, given: &[(&str, &str)]) -> Reader {
    let importer = *IMPORTERS.iter().find(|importer| importer.id == id).expect("a format");
    let answers = Answers::read(&importer.all_options(), given).expect("options");
    let (file, place) = (dir.join("input.0"), dir.join("recording"));
    Box::new(move |input| {
        fs::write(&file, input).expect("there is space");
        let _ = fs::remove_dir_all(&place);
        if importer.import(std::slice::from_ref(&file), &answers, &place).is_err() {
            assert!(!place.exists(), "nothing is left of a failure");
            return;
        }
        for recording in find_each(&place).expect("what was imported") {
            let recording = recording.expect("whole");
            recording.verify().expect("whole");
            for job in for_summary(&[&recording], false) {
                let Ok(found) = job.row.compute(&Input::from_recordings(&job.recordings)) else {
                    continue;
                };
                let view = View::default();
                found.screen(&view).write(&view, &mut std::io::sink()).expect("written");
            }
        }
    })
}

/// A program whose functions have names, and a script.
pub(super) fn programs() -> Vec<Vec<u8>> {
    let program = fs::read("/bin/true").unwrap_or_default();
    vec![program, b"#!/usr/bin/env -S A=1 python3 -u\n".to_vec()]
}

pub(super) fn read_program(dir: &Path) -> Reader {
    let file = dir.join("program");
    Box::new(move |bytes| {
        fs::write(&file, bytes).expect("a file");
        let opened = fs::File::open(&file).expect("just written");
        for name in ["main", "free", "x::y", ""] {
            let _ = functions::find(&opened, name);
        }
    })
}
