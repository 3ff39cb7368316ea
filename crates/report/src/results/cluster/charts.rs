//! The figures of many hosts: the noise of each CPU, and the noise against the number of CPUs and hosts used.

use super::words;
use crate::palette;
use crate::picture::{Axis, Chart, Curve, Draw, Mark, Place, Quantity};
use crate::style::plain;
use crate::units::{count, counted, noise, telling};
use anechoic_analyze::cluster::{Cluster, ClusterCpu, Outlier, Used};
use std::collections::BTreeSet;

/// Largest numbers of CPUs in the figure, without and with their intervals.
const MOST_CPUS: usize = 4096;
const MOST_INTERVALS: usize = 256;
/// Largest number of classes of CPUs with a colour of their own.
const CLASSES: usize = 4;
/// Largest number of labelled outliers in the figure.
const NAMED: usize = 8;

/// Returns the noise of each CPU in the order of hosts, with the outliers marked, and a caption.
pub(super) fn noise_of_cpus(found: &Cluster) -> (Chart, String) {
    // The noisiest come first; CPUs without noise cannot be drawn on a logarithmic axis.
    let mut cpus: Vec<&ClusterCpu> = found.cpus.iter().take(MOST_CPUS).collect();
    cpus.sort_by(|a, b| (&a.host, a.cpu).cmp(&(&b.host, b.cpu)));
    let out: BTreeSet<(&str, Option<u32>)> =
        found.cpu_outliers.found.iter().map(|outlier| (&*outlier.host, outlier.cpu)).collect();
    let stands_out = |cpu: &ClusterCpu| out.contains(&(&*cpu.host, Some(cpu.cpu)));
    let placed: Vec<(f64, &ClusterCpu)> =
        (1..).map(f64::from).zip(cpus.iter().copied()).filter(|(_, cpu)| cpu.noise > 0.0).collect();
    let mut curves = by_class(found, &placed, stands_out);
    let colour = palette::curve_color(1);
    curves.push(points(
        colour,
        3,
        "outlier".into(),
        placed.iter().copied().filter(|(_, cpu)| stands_out(cpu)),
    ));
    let with_intervals = placed.len() <= MOST_INTERVALS;
    if with_intervals {
        let name = "95 % interval".into();
        let bars = intervals(&placed);
        curves.push(Curve::colored(palette::source_color(""), 0, name, Draw::Segments, &bars));
    }
    curves.retain(|curve| !curve.x.is_empty());
    let mut chart = Chart::new(
        Axis::named("CPUs by host and number", host_places(&cpus)),
        Axis::log("noise", Quantity::Share),
        curves,
    )
    .named("noise");
    chart.marks = marks(found, &placed);
    let classes = &found.cpu_outliers.classes;
    chart.level_name = "median";
    chart.level = match &classes[..] {
        [one] if one.median > 0.0 => Some(one.median),
        _ => None,
    };
    let quiet = cpus.len() - placed.len();
    let caption = caption(found, chart.level.is_some(), with_intervals, quiet);
    (chart, caption)
}

/// Returns the ends of the interval of each CPU that has one. They are at most ten times below the noise, so that the axis
/// holds them whole.
fn intervals(placed: &[(f64, &ClusterCpu)]) -> Vec<(f64, f64)> {
    placed.iter().filter_map(interval_ends).flatten().collect()
}

/// Returns the lower and the upper end of a CPU's interval as points.
fn interval_ends((at, cpu): &(f64, &ClusterCpu)) -> Option<[(f64, f64); 2]> {
    let (interval, _) = telling(cpu.noise, cpu.interval, cpu.at_least);
    interval.map(|interval| [(*at, interval.low), (*at, interval.high)])
}

fn caption(found: &Cluster, median: bool, intervals: bool, quiet: usize) -> String {
    let mut text = "Noise of each CPU".to_owned();
    if intervals {
        text += ", with its 95 % interval where there are enough events for one";
    }
    text += ".";
    if median {
        text += " The dashed line is their median.";
    }
    if found.cpu_outliers.judged > 0 {
        text += &format!(
            " A diamond marks an outlier of its class; by chance there is one in {} of all data sets.",
            noise(found.cpu_outliers.alpha)
        );
    }
    if quiet > 0 {
        text +=
            &format!(" {} without noise not drawn.", counted(quiet as u64, "CPU is", "CPUs are"));
    }
    if found.cpus.len() > MOST_CPUS {
        let all = count(found.cpus.len() as u64);
        text += &format!(" The {} noisiest of {all} CPUs are shown.", count(MOST_CPUS as u64));
    }
    text
}

/// Returns the other CPUs, with one curve for each class.
fn by_class(
    found: &Cluster,
    placed: &[(f64, &ClusterCpu)],
    stands_out: impl Fn(&ClusterCpu) -> bool,
) -> Vec<Curve> {
    let usual = || placed.iter().copied().filter(|(_, cpu)| !stands_out(cpu));
    let classes = &found.cpu_outliers.classes;
    if classes.len() < 2 || classes.len() > CLASSES {
        return vec![points(palette::curve_color(0), 0, "CPU".into(), usual())];
    }
    // The second colour is that of outliers.
    let colours = [0, 2, 3, 4].map(palette::curve_color);
    let curves = classes.iter().enumerate().map(|(number, class)| {
        let cpus = usual().filter(|(_, cpu)| cpu.class == class.class);
        points(colours[number], [0, 1, 2, 4][number], plain(&class.class), cpus)
    });
    curves.collect()
}

/// Returns CPUs as labelled points.
fn points<'a>(
    color: palette::Color,
    shape: usize,
    name: String,
    cpus: impl Iterator<Item = (f64, &'a ClusterCpu)>,
) -> Curve {
    let (points, labels): (Vec<(f64, f64)>, Vec<String>) = cpus
        .map(|(at, cpu)| ((at, cpu.noise), format!("{} CPU {}", plain(&cpu.host), cpu.cpu)))
        .unzip();
    Curve { labels, ..Curve::colored(color, shape, name, Draw::Points, &points) }
}

/// Returns the name of each host, placed in the middle of its CPUs.
fn host_places(cpus: &[&ClusterCpu]) -> Vec<Place> {
    let mut places = vec![];
    let mut first = 1.0;
    for group in cpus.chunk_by(|a, b| a.host == b.host) {
        let at = first + (group.len() - 1) as f64 / 2.0;
        first += group.len() as f64;
        places.push(Place { at, name: plain(&group[0].host) });
    }
    places
}

/// Returns labels with name and p-value for the noisiest outliers.
fn marks(found: &Cluster, placed: &[(f64, &ClusterCpu)]) -> Vec<Mark> {
    let noisiest = found.cpu_outliers.found.iter().take(NAMED);
    noisiest.filter_map(|outlier| mark(outlier, placed)).collect()
}

/// Returns the label of an outlier at the place of its CPU; nothing if that is not drawn.
fn mark(outlier: &Outlier, placed: &[(f64, &ClusterCpu)]) -> Option<Mark> {
    let is_its = |cpu: &ClusterCpu| cpu.host == outlier.host && Some(cpu.cpu) == outlier.cpu;
    let (x, _) = *placed.iter().find(|(_, cpu)| is_its(cpu))?;
    Some(Mark { x, y: outlier.noise, label: plain(&words::outlier(outlier)) })
}

/// Returns noise against the number used, with a caption; nothing if there is only one number.
pub(super) fn by_used(used: &[Used], what: &str, name: &str) -> Option<(Chart, String)> {
    if used.len() < 2 {
        return None;
    }
    let mut curves = vec![
        used_curve(used, 0, "mean", |used| Some(used.noise)),
        used_curve(used, 1, "worst CPU", |used| Some(used.worst)),
        used_curve(used, 2, "any", |used| used.any),
    ];
    curves.retain(|curve| !curve.x.is_empty());
    let chart = Chart::new(
        Axis::log(what, Quantity::Count),
        Axis::log("share of the time", Quantity::Share),
        curves,
    );
    let caption = format!(
        "Share of time lost against the number of {what} used: by the mean CPU, by the worst CPU, and by at least one of them at a time."
    );
    Some((chart.named(name), caption))
}

/// Returns a share by the number used. A share of 0 has no place on a logarithmic axis.
fn used_curve(used: &[Used], number: usize, name: &str, share: fn(&Used) -> Option<f64>) -> Curve {
    let points = used.iter().filter_map(|used| Some((used.count as f64, share(used)?)));
    let points: Vec<(f64, f64)> = points.filter(|point| point.1 > 0.0).collect();
    Curve::numbered(number, name.into(), Draw::Line, &points)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_analyze::stats::Interval;

    /// Returns a CPU with this noise and interval.
    fn cpu(noise: f64, low: f64, high: f64) -> ClusterCpu {
        ClusterCpu {
            host: "a".into(),
            cpu: 0,
            class: "a".into(),
            wall_ns: 10_000_000_000,
            lost_ns: (noise * 1e10) as u64,
            noise,
            interval: Some(Interval { low, high }),
            at_least: Some(low),
            rate_per_s: 1.0,
            p99_ns: None,
            max_ns: None,
            lost_detours: 0,
        }
    }

    #[test]
    fn no_interval_is_cut() {
        // The noisiest host of 23 % and more has the widest interval, which begins below a third of the quietest one.
        let cpus = [cpu(0.234, 0.2, 0.27), cpu(0.4, 0.053, 1.0), cpu(0.3, 0.01, 1.0)];
        let placed: Vec<(f64, &ClusterCpu)> = (1..).map(f64::from).zip(&cpus).collect();
        let expected = [(1.0, 0.2), (1.0, 0.27), (2.0, 0.053), (2.0, 1.0)];
        assert_eq!(intervals(&placed), expected, "whole, or not at all");
    }
}
