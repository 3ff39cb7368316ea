//! Metrics, by the rules of Prometheus' text format 0.0.4 and of OpenMetrics 1.0.

use super::{export_of, lost, record, text};
use anechoic_lab::builders;
use anechoic_recording::attribution::Attribution;
use anechoic_recording::run::{CpuRun, Run};
use anechoic_recording::{Activity, ActivityKind as Kind, Detour, Recorder, Recording};
use std::collections::BTreeSet;
use std::path::Path;

/// Reads samples as `name{labels} value`, and checks what both formats ask: each family is described once, before its
/// samples, which follow it without others between; no sample comes twice; the text ends with a line feed.
pub(super) fn samples(text: &str) -> Vec<(String, f64)> {
    assert!(text.ends_with('\n'));
    let (mut families, mut seen, mut samples) = (BTreeSet::new(), BTreeSet::new(), vec![]);
    let mut family = "";
    for line in text.lines().filter(|&line| line != "# EOF") {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.splitn(3, ' ');
            let (word, name) = (words.next().expect("a word"), words.next().expect("a name"));
            let rest = words.next().expect("a text");
            match word {
                "HELP" => {
                    assert!(families.insert(name), "{name} is described twice");
                    family = name;
                }
                "TYPE" => assert!(["gauge", "summary", "info"].contains(&rest), "{line}"),
                "UNIT" => assert!(name.ends_with(&format!("_{rest}")), "{line}"),
                _ => panic!("{line}"),
            }
            assert_eq!(name, family);
            continue;
        }
        let (sample, value) = line.rsplit_once(' ').expect("a value");
        let name = sample.split('{').next().expect("a name");
        let rest = name.strip_prefix(family).unwrap_or_else(|| panic!("{line} is not of {family}"));
        assert!(["", "_sum", "_count", "_info"].contains(&rest), "{line}");
        let valid = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        assert!(name.chars().all(valid), "{line}");
        assert!(seen.insert(sample), "{sample} comes twice");
        samples.push((sample.to_owned(), value.parse().expect("a number")));
    }
    samples
}

fn value(samples: &[(String, f64)], name: &str) -> f64 {
    samples.iter().find(|(sample, _)| sample == name).unwrap_or_else(|| panic!("no {name}")).1
}

#[test]
fn prometheus_metrics_are_those_of_the_summary() {
    let text = text("prometheus");
    let samples = samples(&text);
    assert!(!text.contains("# EOF") && !text.contains("# UNIT"), "the older format knows neither");
    assert!(text.contains("# TYPE anechoic_run_info gauge\n"), "nor info");
    let lost_ns = 5_000.0 + 200_000.0 + 300.0 + 7_000.0 + 1_234_567.0 + 90.0;
    let cases = [
        ("anechoic_run_info{method=\"detours\",version=\"0.1.0\"}", 1.0),
        ("anechoic_run_start_timestamp_seconds", 1_778_311_877.0),
        ("anechoic_run_sound", 1.0),
        ("anechoic_run_doubt{reason=\"competition\"}", 0.0),
        ("anechoic_measured_cpus", 2.0),
        ("anechoic_measured_cpu_seconds", 6.0),
        ("anechoic_noise_ratio", lost_ns / 6e9),
        ("anechoic_detour_seconds{quantile=\"1\"}", 0.001_234_567),
        ("anechoic_detour_seconds_sum", lost_ns / 1e9),
        ("anechoic_detour_seconds_count", 6.0),
        ("anechoic_source_noise_ratio{source=\"timer-tick\"}", 4_000.0 / 6e9),
        ("anechoic_source_noise_ratio{source=\"ipi\"}", 0.0),
        ("anechoic_source_longest_seconds{source=\"thread\"}", 200e-6),
        ("anechoic_named_source_noise_ratio{source=\"timer-tick\",name=\"\"}", 4_000.0 / 6e9),
        ("anechoic_named_source_noise_ratio{source=\"softirq\",name=\"RCU\"}", 1_000.0 / 6e9),
        ("anechoic_named_source_noise_ratio{source=\"other\",name=\"\"}", 0.0),
    ];
    for (name, expected) in cases {
        let found = value(&samples, name);
        assert!((found - expected).abs() <= 1e-9 * expected, "{name}: {found} {expected}");
    }
    assert!(!text.contains("cpu=\""), "labels of CPUs are asked for");
}

#[test]
fn open_metrics_have_units_and_an_end() {
    let text = text("openmetrics");
    samples(&text);
    assert!(text.ends_with("\n# EOF\n"));
    assert!(text.contains("# TYPE anechoic_run info\nanechoic_run_info{"));
    assert!(text.contains("# UNIT anechoic_noise_ratio ratio\n"));
}

#[test]
fn each_cpu_has_metrics_on_demand_and_losses_are_a_metric() {
    let dir = tempfile::tempdir().expect("a directory");
    let recording = record(&dir.path().join("r"), &[lost()]);
    for id in ["prometheus", "openmetrics"] {
        let files = export_of(&recording, id, &[("per-cpu", "")], None).expect("a summary");
        let samples = samples(std::str::from_utf8(&files[0]).expect("text"));
        assert_eq!(value(&samples, "anechoic_run_sound"), 0.0);
        assert_eq!(value(&samples, "anechoic_run_doubt{reason=\"losses\"}"), 1.0);
        assert_eq!(value(&samples, "anechoic_cpu_detours{cpu=\"1\"}"), 3.0);
        assert_eq!(value(&samples, "anechoic_cpu_longest_detour_seconds{cpu=\"0\"}"), 200e-6);
    }
}

/// Sixty threads by name, of which those of one name on two CPUs are one, and none is lost.
#[test]
fn sources_by_name_are_bounded_and_add_up_to_the_noise() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |detour: u64| 1_000_000 + detour * 10_000_000;
    let length = |detour: u64| if detour >= 58 { 90_000 } else { 1_000 + 100 * detour };
    let activity = |detour: u64| Activity {
        name: match detour {
            58 | 59 => format!("ksoftirqd/{}", detour - 58).into(),
            number => format!("worker-{number}").into(),
        },
        ..builders::activity((0, detour), Kind::OffCpu, "thread", at(detour), length(detour))
    };
    let cpu = CpuRun { detours: 60, ..builders::cpu_run(0, (0, 1_000_000_000), 10) };
    let run = Run {
        threshold_ticks: 90,
        ..builders::run("detours", builders::clock(1_000_000_000), vec![cpu])
    };
    let path = dir.path().join("r");
    let mut recorder = Recorder::create(&path, &run).expect("a new directory");
    let detour = |detour| Detour {
        cpu: 0,
        start_ticks: at(detour),
        end_ticks: at(detour) + length(detour) + 10,
    };
    recorder.append(&(0..60).map(detour).collect::<Vec<_>>()).expect("in order");
    recorder.finish(&run).expect("there is space");
    let recording = Recording::open(&path).expect("just written");
    let mut writer = recording.derive::<Activity>().expect("writable");
    writer.append(&(0..60).map(activity).collect::<Vec<_>>()).expect("in order");
    writer.finish().expect("there is space");
    recording.write_attribution(&Attribution::default()).expect("writable");
    let recording = Recording::open(&path).expect("just written");
    let files = export_of(&recording, "prometheus", &[], None).expect("a summary");
    let samples = samples(std::str::from_utf8(&files[0]).expect("text"));
    let named: Vec<&(String, f64)> =
        samples.iter().filter(|(name, _)| name.starts_with("anechoic_named_source")).collect();
    assert_eq!(named.len(), 21, "{named:?}");
    assert!(named[0].0.contains("name=\"ksoftirqd/*\""), "{named:?}");
    let sum: f64 = named.iter().map(|(_, noise)| noise).sum();
    let noise = value(&samples, "anechoic_noise_ratio");
    assert!((sum / noise - 1.0).abs() < 0.01, "{sum}, not {noise}");
}

/// Returns the texts of all queries in a dashboard: of its panels, and of its variables.
fn queries(part: &serde_json::Value, found: &mut Vec<String>) {
    match part {
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str() {
                    Some(text) if name == "expr" || name == "definition" => found.push(text.into()),
                    _ => queries(value, found),
                }
            }
        }
        serde_json::Value::Array(values) => values.iter().for_each(|part| queries(part, found)),
        _ => {}
    }
}

/// Returns the words of a query that name metrics.
fn metrics(query: &str) -> impl Iterator<Item = &str> {
    query
        .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .filter(|word| word.starts_with("anechoic_"))
}

#[test]
fn the_dashboard_asks_for_metrics_that_are_written() {
    let dashboard = include_str!("../../../../docs/grafana/anechoic.json");
    let dashboard: serde_json::Value = serde_json::from_str(dashboard).expect("JSON");
    let mut found = vec![];
    queries(&dashboard, &mut found);
    assert!(found.len() > 10, "{found:?}");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/before");
    let example = Recording::open(&example).expect("a recording with an interval");
    let files = export_of(&example, "prometheus", &[("per-cpu", "")], None).expect("metrics");
    let text = String::from_utf8(files.concat()).expect("text");
    let written: BTreeSet<String> = samples(&text)
        .into_iter()
        .map(|(sample, _)| sample.split('{').next().unwrap_or_default().to_owned())
        .collect();
    let mut asked = BTreeSet::new();
    for query in &found {
        for metric in metrics(query) {
            assert!(written.contains(metric), "nothing writes {metric}, of: {query}");
            asked.insert(metric.to_owned());
        }
        for (label, values) in
            [("bound", &["low", "high"][..]), ("quantile", &["0.5", "0.99", "1"])]
        {
            let given = query.split_once(&format!("{label}=\"")).map(|(_, rest)| rest);
            let given = given.and_then(|rest| rest.split('"').next());
            assert!(given.is_none_or(|value| values.contains(&value)), "{query}");
        }
    }
    assert!(asked.contains("anechoic_noise_ratio") && asked.contains("anechoic_run_sound"));
    assert!(dashboard["__inputs"][0]["name"] == "DS_PROMETHEUS");
    let variables = dashboard["templating"]["list"].as_array().expect("variables");
    assert!(
        variables
            .iter()
            .any(|variable| variable["name"] == "datasource" && variable["type"] == "datasource")
    );
    for panel in dashboard["panels"].as_array().expect("panels") {
        assert_eq!(panel["datasource"]["uid"], "$datasource", "{}", panel["title"]);
    }
}
