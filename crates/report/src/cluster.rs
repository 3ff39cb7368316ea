//! Many hosts on one screen: how noisy all are, who stands out, what took the time, what using more of them costs.

pub(crate) mod tables;
pub(crate) mod words;

use crate::screen::Screen;
use crate::style::{Tone, View, clip, plain, wrap};
use crate::units::{asked, counted, noise, noise_interval};
use anechoic_analyze::cluster::{Cluster, Machines, Quantiles};
use std::io::{self, Write};

/// Kinds of machines that are named, at most.
const KINDS: usize = 4;
/// The widest CPU model in the line of a kind.
const MODEL: usize = 36;

/// What many hosts say together.
#[must_use]
pub fn cluster(cluster: &Cluster, view: &View<'_>) -> Screen {
    Screen::printed(|out| print(cluster, view, out))
}

fn print(cluster: &Cluster, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    heading(cluster, view, out)?;
    writeln!(out)?;
    totals(cluster, view, out)?;
    titled("hosts, the noisiest first", view, out)?;
    tables::hosts(cluster, view, out)?;
    if !cluster.cpus.is_empty() {
        titled("CPUs, the noisiest first", view, out)?;
        tables::cpus(cluster, view, out)?;
        outliers(cluster, view, out)?;
    }
    if tables::sources(cluster, view, out)? {
        let without = cluster.total.hosts - cluster.sources.as_ref().map_or(0, |found| found.hosts);
        if without > 0 {
            let without = counted(without, "host", "hosts");
            quiet(&format!("without {without} of which that is not known"), view, out)?;
        }
    }
    used(cluster, view, out)?;
    for note in &cluster.notes {
        quiet(note, view, out)?;
    }
    if let Some(path) = view.path {
        let line = format!("\ndata set: {}", path.display());
        writeln!(out, "{}", view.style.paint(Tone::Quiet, &line))?;
    }
    Ok(())
}

/// Which machines, which job, and what is wrong with the data set.
fn heading(cluster: &Cluster, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut title = words::hosts_and_cpus(cluster.total.hosts, cluster.total.cpus);
    if let Some(job) = &cluster.job {
        title += &format!(" · {}", words::job(job));
    }
    writeln!(out, "{}", view.style.paint(Tone::Heading, &clip(&plain(&title), view.columns())))?;
    for kind in cluster.machines.iter().take(KINDS) {
        let line = clip(&plain(&machine(kind)), view.columns());
        writeln!(out, "{}", view.style.paint(Tone::Quiet, &line))?;
    }
    if let Some(more) = cluster.machines.len().checked_sub(KINDS).filter(|&more| more > 0) {
        quiet(&format!("and {more} more kinds"), view, out)?;
    }
    let line = clip(&plain(&ran(cluster)), view.columns());
    writeln!(out, "{}", view.style.paint(Tone::Quiet, &line))?;
    cluster
        .findings
        .iter()
        .try_for_each(|finding| paragraph(&format!("! {}", finding.text), Tone::Warning, view, out))
}

/// What was measured, over which threshold, when.
pub(crate) fn ran(cluster: &Cluster) -> String {
    let (low, high) = (cluster.threshold_ns, cluster.highest_threshold_ns);
    let over = if low == high { asked(low) } else { format!("{} to {}", asked(low), asked(high)) };
    format!("{} over {over} · {}", cluster.methods.join(", "), cluster.start_utc)
}

/// How many machines of a kind, and what they are.
pub(crate) fn machine(kind: &Machines) -> String {
    let release = kind.kernel.split_whitespace().next().unwrap_or("unknown kernel");
    let guest = kind.hypervisor.as_ref().map(|name| format!(" · guest of {name}"));
    format!(
        "{} × {} · Linux {release}{} · anechoic {}",
        kind.hosts,
        clip(&kind.model, MODEL),
        guest.unwrap_or_default(),
        kind.measured_by,
    )
}

/// The noise of all, and how it is spread.
fn totals(cluster: &Cluster, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let total = &cluster.total;
    let at_least = if total.lost_detours > 0 { "at least " } else { "" };
    let interval = total.interval.map(|interval| {
        let interval = noise_interval(total.noise, interval.low, interval.high);
        format!(" (95 %: {interval})")
    });
    let all = format!("noise {at_least}{}{}", noise(total.noise), interval.unwrap_or_default());
    let sentence = format!("{all} of the time of all CPUs{}", words::lengths(total));
    wrap(&sentence, view.columns()).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    if total.cpus > 1 {
        quiet(&format!("CPUs: {}", spread(&total.of_cpus)), view, out)?;
    }
    if total.hosts > 1 {
        quiet(&format!("hosts: {}", spread(&total.of_hosts)), view, out)?;
    }
    Ok(())
}

/// How noise is spread.
pub(crate) fn spread(of: &Quantiles) -> String {
    let Quantiles { least, median, p90, most } = *of;
    let [least, median, p90, most] = [least, median, p90, most].map(noise);
    format!("least {least}, median {median}, p90 {p90}, most {most}")
}

/// Who stands out, and by what statistic.
fn outliers(cluster: &Cluster, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    titled("who stands out", view, out)?;
    let (cpus, hosts) = (&cluster.cpu_outliers, &cluster.host_outliers);
    for (of, what) in [(hosts, ("host", "hosts")), (cpus, ("CPU", "CPUs"))] {
        for text in words::outliers(of, view.all) {
            paragraph(&text, Tone::Warning, view, out)?;
        }
        for text in words::not_judged(of, what) {
            quiet(&text, view, out)?;
        }
    }
    if cpus.judged + hosts.judged > 0 {
        quiet(&format!("assumed: {}", cpus.assumes), view, out)?;
    }
    Ok(())
}

/// Noise against the number of CPUs and hosts.
fn used(cluster: &Cluster, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    if cluster.total.cpus > 1 {
        titled("noise against the CPUs used", view, out)?;
        tables::used(cluster, view, out)?;
        quiet(words::USED, view, out)?;
    }
    Ok(())
}

fn titled(title: &str, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n{}", view.style.paint(Tone::Heading, title))
}

fn quiet(text: &str, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    paragraph(text, Tone::Quiet, view, out)
}

/// Text in lines of one tone.
fn paragraph(text: &str, tone: Tone, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = wrap(&plain(text), view.columns()).into_iter();
    lines.try_for_each(|line| writeln!(out, "{}", view.style.paint(tone, &line)))
}
