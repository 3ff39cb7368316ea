//! The HTML report of results that were made up: sections are there, and no text of a recording becomes markup.

use anechoic_analyze::cluster::{
    ClassSpread, Cluster, ClusterCpu, ClusterNoise, ClusterSource, ClusterSources, Finding,
    FindingKind, HostNoise, Job, Machines, Outlier, Outliers, Quantiles, Used,
};
use anechoic_analyze::stats::Interval;
use anechoic_lab::builders::{clock, cpu_run, run};
use anechoic_predict::bsp::{
    Basis, Bsp, Cell, Estimate, Explanation, Happened, HostFacts, Part, RankFacts, SourceTime,
    Undisturbed,
};
use anechoic_predict::ticks;
use anechoic_recording::parallel::Meeting;
use anechoic_recording::run::NotAvailable;
use anechoic_report::results::Row;
use anechoic_report::results::bsp::BSP;
use anechoic_report::results::cluster::CLUSTER;
use anechoic_report::results::ticks::TICKS;
use anechoic_report::{HtmlNotShown, HtmlPart, HtmlReport, html};
use std::fmt::Debug;

const EVIL: &str = "</script><b onclick=\"x\">&";
const WALL_NS: u64 = 10_000_000_000;

/// A report of one result of all recordings together.
fn together<T: Debug + Send + Sync>(row: &'static Row<T>, value: T) -> HtmlReport {
    HtmlReport { together: HtmlPart::default().with(row, value), ..HtmlReport::default() }
}

fn page(report: &HtmlReport) -> String {
    let mut out = vec![];
    html(report, &mut out).expect("writing to memory");
    let text = String::from_utf8(out).expect("text is UTF-8");
    assert!(!text.contains(EVIL), "a text became markup");
    text
}

/// The data of the charts, by the order in which they stand. All their points are numbers.
fn charts(text: &str) -> Vec<serde_json::Value> {
    let charts = data(text);
    let curves = charts.iter().filter_map(|chart| chart["curves"].as_array()).flatten();
    for values in curves.flat_map(|curve| [&curve["x"], &curve["y"]]) {
        let values = values.as_array().expect("numbers");
        assert!(values.iter().all(serde_json::Value::is_number), "{values:?}");
    }
    charts
}

fn data(text: &str) -> Vec<serde_json::Value> {
    let parts = text.split("<script type=\"application/json\" id=\"chart-").skip(1);
    let json = parts.map(|part| &part[part.find('>').expect("it ends") + 1..]);
    json.map(|json| json.split("</script>").next().expect("it ends"))
        .map(|json| serde_json::from_str(json).expect("JSON"))
        .collect()
}

fn curve<'a>(chart: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    let curves = chart["curves"].as_array().expect("curves");
    curves.iter().find(|curve| curve["name"] == name).unwrap_or_else(|| panic!("{name}: {chart}"))
}

fn around(noise: f64) -> Option<Interval> {
    Some(Interval { low: noise * 0.9, high: noise * 1.1 })
}

fn cpu(host: &str, cpu: u32, noise: f64) -> ClusterCpu {
    ClusterCpu {
        host: host.into(),
        cpu,
        class: format!("class {EVIL}"),
        wall_ns: WALL_NS,
        lost_ns: (noise * WALL_NS as f64) as u64,
        noise,
        interval: around(noise),
        at_least: Some(noise * 0.9),
        rate_per_s: 250.0,
        p99_ns: Some(22_000),
        max_ns: Some(1_000_000),
        lost_detours: 0,
    }
}

fn host(name: &str, noise: f64) -> HostNoise {
    HostNoise {
        host: name.into(),
        recordings: 1,
        cpus: 2,
        wall_ns: 2 * WALL_NS,
        lost_ns: 1,
        noise,
        interval: around(noise),
        at_least: Some(noise * 0.9),
        rate_per_s: 250.0,
        worst_cpu: Some(1),
        worst: noise,
        max_ns: Some(1_000_000),
        slow: None,
        calm_ns: None,
    }
}

fn used(count: u64, noise: f64) -> Used {
    Used { count, hosts: 2, noise, worst: 2.0 * noise, any: Some(3.0 * noise) }
}

fn outliers(found: Vec<Outlier>) -> Outliers {
    let class = format!("class {EVIL}");
    Outliers {
        alpha: 0.01,
        fewest: 8,
        judged: 4,
        classes: vec![ClassSpread { class, count: 4, median: 0.01, spread: Some(0.1) }],
        found,
        assumes: "much".into(),
    }
}

/// Two hosts: one CPU has no noise, one stands out, and all names are evil.
fn cluster() -> Cluster {
    let (a, b) = (format!("a{EVIL}"), "b".to_owned());
    let stands_out =
        Outlier { host: a.clone(), cpu: Some(1), noise: 0.09, ratio: Some(9.0), z: 20.0, p: 1e-9 };
    let spread = Quantiles { least: 0.0, median: 0.01, p90: 0.09, most: 0.09 };
    Cluster {
        summarized_by: "0.1.0".into(),
        methods: vec!["detours".into()],
        start_utc: "2026-05-09T07:31:17Z".into(),
        end_utc: None,
        job: Some(Job { through: EVIL.into(), ranks: 4, hosts: 2 }),
        threshold_ns: 100,
        highest_threshold_ns: 100,
        machines: vec![Machines {
            hosts: 2,
            model: EVIL.into(),
            kernel: "6.18 #1".into(),
            hypervisor: None,
            measured_by: "0.1.0".into(),
        }],
        total: ClusterNoise {
            hosts: 2,
            cpus: 4,
            wall_ns: 4 * WALL_NS,
            lost_ns: 1_100_000_000,
            noise: 0.0275,
            interval: around(0.0275),
            at_least: Some(0.025),
            detours: 10_000,
            rate_per_s: 250.0,
            lengths: None,
            lost_detours: 0,
            of_cpus: spread,
            of_hosts: spread,
        },
        hosts: vec![host(&a, 0.05), host(&b, 0.005)],
        cpus: vec![cpu(&a, 1, 0.09), cpu(&a, 0, 0.01), cpu(&b, 1, 0.01), cpu(&b, 0, 0.0)],
        cpu_outliers: outliers(vec![stands_out]),
        host_outliers: outliers(vec![]),
        differences: Some(vec![]),
        sources: Some(ClusterSources {
            hosts: 1,
            rows: vec![ClusterSource {
                source: "thread".into(),
                name: EVIL.into(),
                hosts: 1,
                cpus: 2,
                share: 0.9,
                noise: 0.02,
                rate_per_s: 2.0,
                mean_ns: 90_000.0,
                max_ns: 1_000_000,
                most_on: a,
                most_share: 1.0,
            }],
            unattributed: 0.1,
        }),
        by_cpus: vec![used(1, 0.01), used(2, 0.02)],
        by_hosts: vec![used(1, 0.01), used(2, 0.02)],
        findings: vec![Finding {
            kind: FindingKind::LeftOut,
            hosts: vec![],
            text: format!("{EVIL} is left out"),
        }],
        notes: vec![EVIL.into()],
    }
}

#[test]
fn hosts_without_room_for_each() {
    let not_shown =
        HtmlNotShown { recordings: 40, most: 32, example: format!("anechoic report {EVIL}") };
    let report = HtmlReport { not_shown: Some(not_shown), ..together(&CLUSTER, cluster()) };
    let text = page(&report);
    for says in [
        "2 hosts with 4 CPUs lost 2.75",
        "One outlier: ",
        "9.0× the median, p &lt; 10⁻⁶",
        "is left out",
        "not of 40",
        "from 40 recordings",
        "Hosts, the noisiest first",
        "(no activity recorded)</td><td class=\"n\">10.0 %",
        "without 1 host whose sources are unknown",
    ] {
        assert!(text.contains(says), "{says}");
    }
    let charts = charts(&text);
    assert_eq!(charts.len(), 3, "noise, CPUs used, hosts used");
    // In the order of hosts and numbers; the one without noise has no place.
    assert_eq!(curve(&charts[0], "CPU")["x"], serde_json::json!([1, 4]));
    assert_eq!(curve(&charts[0], "outlier")["x"], serde_json::json!([2]));
    assert_eq!(charts[0]["x"]["names"][1]["at"], 3.5);
    assert_eq!(charts[0]["level"], 0.01);
    let mark = charts[0]["marks"][0]["label"].as_str().expect("a label");
    assert!(mark.ends_with("CPU 1: 9.0× the median, p < 10⁻⁶"), "{mark}");
    assert_eq!(curve(&charts[2], "any")["y"], serde_json::json!([0.03, 0.06]));
}

fn sure(value: f64, low: f64, high: f64) -> Estimate {
    Estimate { value, interval: Some(Interval { low, high }), at_least: Some(low) }
}

fn cell(grain_ns: u64, measured: Estimate, predicted: Option<Estimate>) -> Cell {
    let part = Part {
        happened: Happened::InWork,
        phases: 9,
        measured: measured.value,
        predicted: predicted.map_or(0.0, |estimate| estimate.value),
    };
    Cell {
        grain_ns,
        meeting: Meeting::Barrier,
        injection: None,
        ranks: 1,
        phases: 100,
        left_out: 3,
        undisturbed: Undisturbed {
            ns: sure(grain_ns as f64, 99.0, 101.0),
            meeting_ns: 200.0,
            phases: 91,
            basis: Basis::Undisturbed,
            wander: None,
        },
        measured,
        predicted,
        ratio: predicted.map(|estimate| sure(measured.value / estimate.value, 0.9, 1.1)),
        played: None,
        anew: predicted,
        brackets: None,
        explanation: predicted.map(|_| Explanation {
            parts: vec![part],
            extra_ns: None,
            speed: 0.0,
            long_ns: 1.0,
            longest: vec![],
        }),
        of_ranks: vec![RankFacts {
            rank: 0,
            host: 0,
            cpu: Some(0),
            noise: Some(0.01),
            work_ns: Some(100_000.0),
            disturbed_work_ns: None,
            last: 100,
            last_disturbed: 9,
            cost: 0.02,
            alone: None,
        }],
        sources: Some(vec![SourceTime {
            source: "thread".into(),
            name: EVIL.into(),
            share: 1.0,
            ns: 1_000,
        }]),
    }
}

/// A job whose first case has intervals that reach below 0, and whose last was not predicted.
fn job() -> Bsp {
    Bsp {
        hosts: ["a", EVIL]
            .map(|name| HostFacts { name: name.into(), ranks: vec![0], cpus: vec![0] })
            .into(),
        guest: false,
        ranks: Some(2),
        through: Some(EVIL.into()),
        wait_threshold_ns: Some(14_000),
        kernel: EVIL.into(),
        cells: vec![
            cell(100_000, sure(0.02, -0.01, 0.05), Some(sure(0.019, 0.01, 0.03))),
            cell(1_000_000, sure(0.03, 0.02, 0.04), Some(sure(-0.001, -0.01, 0.01))),
            cell(10_000_000, sure(0.05, 0.04, 0.06), None),
        ],
        not_available: vec![NotAvailable {
            what: EVIL.into(),
            why: EVIL.into(),
            remedy: EVIL.into(),
        }],
        notes: vec![EVIL.into()],
    }
}

#[test]
fn a_job_of_several_hosts() {
    let report = together(&BSP, job());
    let text = page(&report);
    for says in [
        "id=\"all-job\"",
        "What explains the difference",
        "100 µs, barrier: 100 phases",
        "3 phases left out",
        "sources that delayed the last rank: thread ",
    ] {
        assert!(text.contains(says), "{says}");
    }
    let charts = charts(&text);
    assert_eq!(charts.len(), 1);
    // A row a case that was predicted, the first on top; what is below the axis has no place on it.
    let names = charts[0]["y"]["names"].as_array().expect("names");
    let names: Vec<&str> = names.iter().filter_map(|name| name["name"].as_str()).collect();
    assert_eq!(names, ["1 ms, barrier", "100 µs, barrier"]);
    assert_eq!(curve(&charts[0], "measured")["x"], serde_json::json!([0.02, 0.03]));
    assert_eq!(curve(&charts[0], "recursion")["x"], serde_json::json!([0.019]));
    let bars = curve(&charts[0], "measured, 95 %")["x"].as_array().expect("numbers");
    assert!(bars.iter().all(|x| x.as_f64().is_some_and(|x| x > 0.0)), "{bars:?}");
}

#[test]
fn a_job_of_which_nothing_is_known() {
    let nothing = Bsp { cells: vec![], ..job() };
    let report = together(&BSP, nothing);
    let text = page(&report);
    assert!(text.contains("No phase was recorded by all ranks"), "an empty page");
    assert_eq!(charts(&text).len(), 0);
}

/// Times that rise with the rate or fall, with so much scatter between blocks.
fn serial(falls: bool, scatter: f64) -> String {
    let point = |at: u32| {
        let (rate_hz, block) =
            (f64::from(at) * 1_000.0, |block: u32| 1.0 + scatter * f64::from(block % 2));
        let slope: f64 = if falls { -0.01 } else { 0.02 };
        let ms = 10.0 * (1.0 + slope * f64::from(at));
        let by_block = (0..8).map(|number| ticks::BlockTime {
            block: number,
            rate_hz,
            ms: ms * block(number * at),
        });
        ticks::Point {
            copies: 1,
            rate_hz,
            asked_hz: Some(rate_hz),
            rate_from: ticks::RateFrom::Events,
            ms,
            standard_error_ms: Some(0.129 * ms),
            blocks: 8,
            by_block: by_block.collect(),
            sorts: None,
        }
    };
    let processor = ticks::Processor {
        name: EVIL.into(),
        points: (0..5).map(point).collect(),
        costs: ticks::Costs::given(0.5, 0.5),
        own_tick_hz: None,
        scheduler: ticks::Scheduler::default(),
        notes: vec![
            "a note so long that it goes on. ".repeat(12).trim_end().to_owned(),
            EVIL.into(),
        ],
    };
    let origin = ticks::Origin::Files { times: "t".into(), costs: "c".into() };
    let table = ticks::Table { origin, processors: vec![processor], left_out: vec![] };
    let found = ticks::model(&table);
    let run = run("serial", clock(1_000_000_000), vec![cpu_run(0, (0, 1_000_000_000), 20)]);
    let part = HtmlPart::new("serial".into(), run).with(&TICKS, found);
    let text = page(&HtmlReport { recordings: vec![part], ..HtmlReport::default() });
    let section = text.split("id=\"r1-model\"").nth(1).expect("a section");
    section.split("</section>").next().expect("it ends").to_owned()
}

#[test]
fn the_tick_model_shows_what_is_wrong_with_it() {
    let good = serial(false, 0.0);
    assert_eq!(good.matches("class=\"warning\"").count(), 2, "its notes: {good}");
    let whole = "a note so long that it goes on. ".repeat(12);
    assert!(good.contains(&format!("<p class=\"warning\">{}</p>", whole.trim_end())), "{good}");
    assert!(good.contains(">std. error</th>"), "{good}");
    let falling = serial(true, 0.5);
    assert!(falling.contains("<p class=\"warning\">the time falls"), "{falling}");
    assert!(falling.contains("was the machine busy?</p>"), "{falling}");
    assert!(good.contains(">predicted</th>"), "{good}");
    assert!(!falling.contains(">predicted</th>"), "{falling}");
    // No rate was asked for where there were no interrupts; all else is known of each point.
    assert_eq!(falling.matches(">–</td>").count(), 1, "{falling}");
}
