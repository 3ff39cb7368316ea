//! Metrics of a service, while it runs.

use super::{Family, Kind, Sample, bare, labelled, text};
use anechoic_analyze::monitor::rate_by_row;
use anechoic_recording::rates::RateUnit;
use std::collections::BTreeMap;

/// What a service has counted since its start.
#[derive(Debug, Clone, Default)]
pub struct MonitorCounts {
    /// By how much each counter has grown, in ns or as a number, by the name of its rate with its control group.
    pub grown: BTreeMap<String, u64>,
    /// How often each rate was unusual or above its limit.
    pub unusual: BTreeMap<String, u64>,
    /// Number of recordings that were saved.
    pub saved: u64,
    /// Number of those that were to be saved and are not.
    pub not_saved: u64,
    /// Whether events are recorded; absent if they are not to be.
    pub records_events: Option<bool>,
    /// Number of rows that could not be saved.
    pub dropped_rows: u64,
    /// Size of all that is kept, in bytes.
    pub kept_bytes: u64,
    /// CPU time of the service, without its recorders, in s.
    pub cpu_seconds: f64,
}

/// Returns the metrics of a service in the text format 0.0.4.
#[must_use]
pub fn monitor_metrics(counts: &MonitorCounts) -> String {
    let counter = |name, help, samples| Family { name, kind: Kind::Counter, help, samples };
    let mut families = vec![
        counter(
            "anechoic_monitor_time_seconds_total",
            "Time that the kernel counted since the service began, by rate.",
            samples(&counts.grown, 1e9, is_time),
        ),
        counter(
            "anechoic_monitor_events_total",
            "Number that the kernel counted since the service began, by rate.",
            samples(&counts.grown, 1.0, |name| !is_time(name)),
        ),
        counter(
            "anechoic_monitor_unusual_total",
            "How often a rate was unusual or above its limit.",
            samples(&counts.unusual, 1.0, |_| true),
        ),
        counter(
            "anechoic_monitor_recordings_total",
            "Recordings that were to be saved, by outcome.",
            vec![
                labelled("outcome", "saved", counts.saved as f64),
                labelled("outcome", "not_saved", counts.not_saved as f64),
            ],
        ),
        counter(
            "anechoic_monitor_dropped_rows_total",
            "Rows of counters that could not be saved.",
            vec![bare(counts.dropped_rows as f64)],
        ),
        counter(
            "anechoic_monitor_cpu_seconds_total",
            "CPU time of the service, without its recorders of events.",
            vec![bare(counts.cpu_seconds)],
        ),
        super::gauge(
            "anechoic_monitor_kept_bytes",
            "Size of all recordings of the service.",
            vec![bare(counts.kept_bytes as f64)],
        ),
    ];
    let records = counts.records_events.map(|records| bare(f64::from(u8::from(records))));
    families.push(super::gauge(
        "anechoic_monitor_records_events",
        "Whether kernel events are recorded.",
        records.into_iter().collect(),
    ));
    families.retain(|family| !family.samples.is_empty());
    let mut out = vec![];
    let _ = text(&families, &mut out); // memory takes all
    String::from_utf8_lossy(&out).into_owned()
}

/// Returns whether a rate counts time, by its name with its control group.
fn is_time(name: &str) -> bool {
    rate_by_row(name).is_some_and(|rate| rate.unit != RateUnit::Number)
}

/// Returns these values, divided by `unit`.
fn samples(
    values: &BTreeMap<String, u64>,
    unit: f64,
    is_wanted: impl Fn(&str) -> bool,
) -> Vec<Sample> {
    let wanted = values.iter().filter(|(name, _)| is_wanted(name));
    wanted.map(|(name, value)| rate_sample(name, *value as f64 / unit)).collect()
}

fn rate_sample(name: &str, value: f64) -> Sample {
    let (rate, group) =
        name.split_once(' ').map_or((name, None), |(rate, group)| (rate, Some(group)));
    let mut labels = vec![("rate", rate.to_owned())];
    labels.extend(group.map(|group| ("cgroup", group.to_owned())));
    Sample { labels, ..bare(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_and_groups_are_labels() {
        let grown = [("steal", 1_500_000_000), ("switches", 7), ("used /a b", 250_000_000)];
        let counts = MonitorCounts {
            grown: grown.map(|(name, value)| (name.to_owned(), value)).into(),
            unusual: [("switches".to_owned(), 2)].into(),
            records_events: Some(false),
            ..MonitorCounts::default()
        };
        let text = monitor_metrics(&counts);
        for line in [
            "# TYPE anechoic_monitor_time_seconds_total counter",
            "anechoic_monitor_time_seconds_total{rate=\"steal\"} 1.5",
            "anechoic_monitor_time_seconds_total{rate=\"used\",cgroup=\"/a b\"} 0.25",
            "anechoic_monitor_events_total{rate=\"switches\"} 7",
            "anechoic_monitor_unusual_total{rate=\"switches\"} 2",
            "anechoic_monitor_recordings_total{outcome=\"saved\"} 0",
            "anechoic_monitor_records_events 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
    }
}
