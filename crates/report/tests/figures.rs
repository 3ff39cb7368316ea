//! Figures for a paper: files that any program can read, with axes, units and captions, and small.

use crate::made;
use anechoic_analyze::timeline::{Cell, CpuTimeline, Durations, SourceName, Timeline};
use anechoic_lab::builders::{clock, cpu_run, run};
use anechoic_lab::note;
use anechoic_report::results::measured::MEASURED;
use anechoic_report::results::timeline::TIMELINE;
use anechoic_report::{DPI, Figure, HtmlPart, HtmlReport, Raster, captions, figures};
use resvg::usvg::roxmltree::{Document, Node};
use std::collections::BTreeSet;

/// A name as nobody should call a thread.
const EVIL: &str = "</text><script>x</script>\u{1b}[2J\u{ffff}";
/// Sources of the timeline below.
const SOURCES: [(&str, &str); 5] =
    [("", ""), ("timer-tick", ""), ("softirq", "RCU"), ("thread", EVIL), ("vm-or-hardware", "")];

/// A recording of which nothing is known but what a test adds.
fn part(method: &str) -> HtmlPart {
    let cpus = [0, 1].map(|cpu| cpu_run(cpu, (0, 3_000_000_000), 20));
    HtmlPart::new("a recording".into(), run(method, clock(1_000_000_000), cpus.to_vec()))
}

fn report(recordings: Vec<HtmlPart>) -> HtmlReport {
    HtmlReport { recordings, ..HtmlReport::default() }
}

/// A timeline with the given numbers of CPUs and of cells of each.
fn timeline(cpus: u32, cells: u64) -> Timeline {
    let span_ns = 3_000_000_000;
    let cell = |cpu: u64, at: u64| Cell {
        start_ns: at * span_ns / cells,
        length_ns: 100 + (at * 7_919 + cpu * 31) % 99_991 * (1 + at % 3 * 40),
        count: 1 + (at % 9) as u32,
        source: (at % SOURCES.len() as u64) as u32,
    };
    let cpu = |cpu: u32| CpuTimeline {
        cpu,
        wall_ns: span_ns,
        detours: cells,
        cells: (0..cells).map(|at| cell(cpu.into(), at)).collect(),
        lost_ns: vec![7_000, 40_000_000, 300_000 + 1_000 * u64::from(cpu), 9_000, 70],
    };
    let mut counts = vec![0; 121];
    (counts[40], counts[80], counts[120]) = (900, 70, 1);
    let lengths = Durations { counts, count: 971, sum_ns: 3_000_000, max_ns: 1_010_000 };
    Timeline {
        span_ns,
        sources: SOURCES
            .map(|(source, name)| SourceName { source: source.into(), name: name.into() })
            .to_vec(),
        cpus: (0..cpus).map(cpu).collect(),
        lengths: lengths.clone(),
        charged: vec![lengths; SOURCES.len()],
        stories: vec![],
    }
}

fn texts(document: &Document<'_>) -> Vec<String> {
    let text = |node: Node<'_, '_>| {
        let parts = node.descendants().filter(Node::is_text);
        parts.filter_map(|part| part.text()).collect::<String>()
    };
    let is_text = |node: &Node<'_, '_>| node.has_tag_name(("http://www.w3.org/2000/svg", "text"));
    document.descendants().filter(is_text).map(text).collect()
}

/// Looks at what holds for each figure: it can be read, has a size on paper, and only numbers in its lines.
fn sound(figure: &Figure) -> Vec<String> {
    let name = &figure.name;
    assert!(figure.svg.len() < 500_000, "{name}: {} bytes", figure.svg.len());
    assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'), "{name}");
    let document = Document::parse(&figure.svg).unwrap_or_else(|error| panic!("{name}: {error}"));
    let root = document.root_element();
    let (width, height) = figure.size_cm;
    let mm = |attribute: &str| -> f64 {
        let text = root.attribute(attribute).and_then(|text| text.strip_suffix("mm"));
        text.expect("a size in mm").parse().expect("a number")
    };
    assert!((mm("width") - width * 10.0).abs() < 0.01, "{name}");
    assert!([8.5, 17.5].contains(&((width * 100.0).round() / 100.0)), "{name}: {width} cm");
    assert!((2.0..24.0).contains(&height), "{name}: {height} cm high");
    let mut drawn = 0;
    for path in document.descendants().filter_map(|node| node.attribute("d")) {
        let odd = |c: char| !"MLZhvlmaz0123456789.- ".contains(c);
        assert!(!path.contains(odd), "{name}: {path}");
        drawn += 1;
    }
    assert!(drawn > 0 || name.contains("cpus"), "{name} has no line");
    assert!(!figure.svg.contains("<script"), "{name}");
    texts(&document)
}

/// The whole report of these recordings: all its figures are sound; their texts, and the captions.
fn all(report: &HtmlReport) -> (Vec<(String, Vec<String>)>, String) {
    let figures = figures(report);
    let texts = figures.iter().map(|figure| (figure.name.clone(), sound(figure))).collect();
    let captions = captions(report, &figures);
    for figure in &figures {
        let head = format!("\nFigure {}   {} · ", figure.number, figure.name);
        assert!(captions.contains(&head), "{head} in {captions}");
        let first = figure.caption.split_whitespace().next().expect("a caption");
        assert!(captions.contains(first), "{first} in {captions}");
    }
    assert!(!captions.contains('\u{1b}'));
    (texts, captions)
}

/// Looks for a figure that has all these texts, by its name without the number.
#[track_caller]
fn has(all: &[(String, Vec<String>)], name: &str, expected: &[&str]) {
    let is_it = |found: &str| found.split_once('-').is_some_and(|(_, found)| found == name);
    let (_, texts) = all.iter().find(|(found, _)| is_it(found)).unwrap_or_else(|| {
        panic!("no {name} in {:?}", all.iter().map(|(found, _)| found).collect::<Vec<_>>())
    });
    for text in expected {
        assert!(texts.iter().any(|found| found == text), "no {text} in {name}: {texts:?}");
    }
}

#[test]
fn detours() {
    let detours = part("detours").with(&TIMELINE, timeline(2, 2_000));
    let (all, captions) = all(&report(vec![detours]));
    let evil = "thread </text><script>x</script>?[2J?";
    let axes = ["time since the start", "0.5 s", "length of the detour", "10 µs", "CPU 0", "CPU 1"];
    has(&all, "timeline", &axes);
    has(&all, "timeline", &["timer tick", "softirq RCU", evil]);
    has(
        &all,
        "lengths-histogram",
        &["length of the detour", "detours per bin", "100 ns", "10 µs", "100"],
    );
    has(&all, "lengths-survival", &["all detours", "per second and CPU", "1 ms"]);
    has(&all, "cpus", &["CPU", "0", "1", "timer tick", "1.33 %", "all"]);
    assert!(captions.starts_with("a recording · detours · node17"), "{captions}");
    assert!(captions.contains("17.5 cm × "), "{captions}");
    assert!(!captions.contains("Drag"), "nobody can drag on paper: {captions}");
}

#[test]
fn samples() {
    for (measured, names) in [
        (
            made::samples::ftq(),
            [
                "samples-survival",
                "samples-counter-reg-cpu-1-over-time",
                "samples-counter-reg-cpu-1-histogram",
            ],
        ),
        (
            made::samples::fwq(),
            [
                "samples-survival",
                "samples-b-intadd-chain-cpu-1-over-time",
                "samples-b-intadd-chain-cpu-1-histogram",
            ],
        ),
    ] {
        let measured = part("ftq").with(&MEASURED, measured);
        let (all, captions) = all(&report(vec![measured]));
        has(&all, names[0], &["time lost", "share of the samples", "10 %"]);
        has(&all, names[1], &["since the start of the series", "2 s"]);
        has(&all, names[2], &["time lost", "samples", "0"]);
        assert!(captions.contains("CPU 1"), "which series is told: {captions}");
    }
}

#[test]
fn periods_and_subtraction() {
    let mut measured = made::samples::loops();
    measured.series[0].spectrum = Some(made::direct::spectrum());
    let measured = part("loops").with(&MEASURED, measured);
    let (all, _) = all(&report(vec![measured]));
    has(&all, "periods-a-counter-cpu-1", &["frequency", "power over the background", "100"]);
    let labelled = |(name, texts): &(String, Vec<String>)| {
        name.contains("-periods-")
            && texts.iter().any(|text| text.contains("Hz ") && text.len() > 8)
    };
    assert!(all.iter().any(labelled), "lines have names: {all:?}");
    let left = all.iter().rfind(|(name, _)| name.contains("-left-")).expect("figures");
    assert!(left.0.ends_with("-left-d-call-cpu-1"), "{}", left.0);
    has(&all, &left.0[3..], &["over the shortest", "share of the samples"]);
}

#[test]
fn recordings_together_have_their_own_names() {
    let one = || part("detours").with(&TIMELINE, timeline(1, 10));
    let report = report(vec![one(), one()]);
    let (all, captions) = all(&report);
    let names: BTreeSet<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), 10);
    assert!(
        names.contains("03-r1-timeline") && names.contains("09-r2-lengths-survival"),
        "{names:?}"
    );
    assert_eq!(captions.matches("a recording · detours").count(), 2);
}

#[test]
fn many_cells_are_a_small_file() {
    for (cpus, cells) in [(1, 90_000), (64, 1_400)] {
        let many = part("detours").with(&TIMELINE, timeline(cpus, cells));
        let (all, captions) = all(&report(vec![many]));
        let panels =
            |texts: &[String]| texts.iter().filter(|text| text.starts_with("CPU ")).count();
        assert_eq!(panels(&all[0].1), cpus.min(4) as usize);
        assert_eq!(
            captions.replace('\n', " ").contains("The 4 noisiest of 64 CPUs"),
            cpus == 64,
            "{captions}"
        );
    }
}

#[test]
fn the_numbers_are_those_of_the_page() {
    let report = report(vec![part("detours").with(&TIMELINE, timeline(2, 50))]);
    let page = page(&report);
    for figure in figures(&report) {
        let said = format!("<b>Figure {}. </b>{}", figure.number, figure.caption);
        // The page adds how to point at things.
        let said = if figure.name.contains("timeline") { &said[..60] } else { &said };
        assert!(page.contains(said), "{said}");
    }
    assert_eq!(page.matches("<b>Figure ").count(), figures(&report).len());
}

/// What the page has of this report.
fn page(report: &HtmlReport) -> String {
    let mut page = vec![];
    anechoic_report::html(report, &mut page).expect("writing to memory");
    String::from_utf8(page).expect("text is UTF-8")
}

/// A timeline of one CPU with these sources, the first with the most time.
fn source_timeline(sources: &[(&str, &str)]) -> Timeline {
    let mut timeline = timeline(2, sources.len() as u64);
    let name = |(source, name): &(&str, &str)| SourceName {
        source: (*source).into(),
        name: (*name).into(),
    };
    timeline.sources = sources.iter().map(name).collect();
    let charged =
        |place: usize| Durations { sum_ns: 1_000 - place as u64, ..timeline.lengths.clone() };
    timeline.charged = (0..sources.len()).map(charged).collect();
    for cpu in &mut timeline.cpus {
        cpu.lost_ns = vec![1_000; sources.len()];
        for (place, cell) in cpu.cells.iter_mut().enumerate() {
            cell.source = place as u32;
        }
    }
    timeline
}

#[test]
fn no_two_entries_of_the_timeline_look_alike() {
    let sources = [
        ("thread", "a"),
        ("thread", "b"),
        ("thread", "c"),
        ("thread", "d"),
        ("thread", "e"),
        ("stopped", ""),
        ("blocked", ""),
        ("cpu-quota", ""),
        ("softirq", "RCU"),
        ("", ""),
        ("thread", "f"),
        ("thread", "g"),
        ("vm-or-hardware", ""),
    ];
    let part = part("detours").with(&TIMELINE, source_timeline(&sources));
    let page = page(&report(vec![part]));
    let keys = |text: &str| -> Vec<String> {
        let buttons = text.split("data-source=").skip(1);
        let key = |button: &str| {
            let svg = button.split("<svg").nth(1).expect("each entry has a key");
            svg.split("</svg>").next().unwrap_or_default().to_owned()
        };
        buttons.map(|button| key(button.split("</button>").next().unwrap_or_default())).collect()
    };
    let keys = keys(&page);
    // Where there are too many marks for shapes, only the colour is left.
    let colour = |key: &String| {
        key.split("color:").nth(1).map(|rest| rest[..rest.find('"').unwrap_or(0)].to_owned())
    };
    let colours: BTreeSet<_> = keys.iter().map(|key| colour(key).expect("a colour")).collect();
    assert_eq!(colours.len(), keys.len(), "{keys:?}");
    assert!(page.contains("4 more</button>"), "threads d to g");
}

#[test]
fn the_total_of_a_cpu_comes_first_and_long_names_break() {
    let sources = [("timer-tick", ""), ("timer", "hrtimer_wakeup"), ("thread", "kworker/0:1")];
    let part = part("detours").with(&TIMELINE, source_timeline(&sources));
    let page = page(&report(vec![part]));
    let head = page.split("<table class=\"heat\">").nth(1).expect("a table");
    let places = ["<span>all", "timer tick", "hrtimer_<wbr>wakeup", "kworker/<wbr>0:1"]
        .map(|text| head.find(text).unwrap_or_else(|| panic!("no {text}")));
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn pictures_of_dots_have_the_same_size_on_paper() {
    let Ok(raster) = Raster::from_system() else {
        return note::skipped("no font is installed");
    };
    let part = part("detours").with(&TIMELINE, timeline(2, 400));
    for figure in figures(&report(vec![part])) {
        let bytes = raster.png(&figure.svg).expect("it can be drawn");
        let reader = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().expect("a PNG");
        let info = reader.info();
        let dots = |cm: f64| (cm / 2.54 * f64::from(DPI)).round() as u32;
        let (wide, high) = figure.size_cm;
        assert!(info.width.abs_diff(dots(wide)) <= 1, "{}: {} dots", figure.name, info.width);
        assert!(info.height.abs_diff(dots(high)) <= 1, "{}: {} dots", figure.name, info.height);
        let on_paper = info.pixel_dims.expect("a size on paper");
        assert_eq!((on_paper.xppu, on_paper.yppu), (11_811, 11_811), "300 dpi");
    }
}
