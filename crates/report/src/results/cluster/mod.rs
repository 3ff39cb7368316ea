//! The screen of many hosts: their noise, outliers, sources, and the noise against the number of CPUs used.

mod charts;
mod row;
pub(crate) mod tables;
pub(crate) mod words;

pub use row::{CLUSTER, HOST};

use crate::results::summary::cpus;
use crate::screen::Screen;
use crate::style::{Tone, View, clip};
use crate::units::{asked, counted, noise, timestamp};
use anechoic_analyze::cluster::{Cluster, Machines, Quantiles};

/// Widest CPU model in the line of a kind.
const MODEL: usize = 48;

/// Shows many hosts together.
#[must_use]
pub fn cluster(cluster: &Cluster, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    // A page begins with these.
    screen.in_terminal(|terminal| {
        heading(cluster, terminal);
        terminal.gap();
        terminal.headline(&words::sentences(cluster).join(" "));
    });
    if view.all {
        screen.in_terminal(Screen::gap);
        totals(cluster, &mut screen);
    }
    screen.on_page(|page| {
        let (chart, caption) = charts::noise_of_cpus(cluster);
        page.picture(chart, caption);
    });
    screen.section("hosts, the noisiest first");
    screen.table(tables::brief(tables::hosts(cluster, view.all), view.all));
    if !cluster.cpus.is_empty() {
        screen.section("CPUs, the noisiest first");
        screen.table(tables::brief(tables::cpus(cluster, view.all), view.all));
        if view.all {
            screen.note("× median: ratio to the median of the class of the CPU");
            bounds_notes(cluster, &mut screen);
        }
        let found = Screen::from_fn(|screen| outliers(cluster, view, screen));
        if !found.is_empty() {
            screen.section("outliers");
            screen.append(found);
        }
    }
    let differences = words::differences(cluster);
    if !differences.is_empty() {
        screen.section("why they differ");
        differences.iter().for_each(|text| screen.item(Tone::Plain, text));
    }
    if cluster.sources.is_some() {
        screen.on_page(|page| page.heading("What took the time"));
        screen.gap();
        add_sources(cluster, view, &mut screen);
    }
    if cluster.total.cpus > 1 && view.all {
        screen.section("noise against the CPUs and hosts used");
        add_used(cluster, &mut screen);
    }
    cluster.notes.iter().for_each(|note| screen.note(note));
    screen.path("data set", view);
    if !view.all {
        screen.note("--all shows the noise against the CPUs and hosts used, and all rows");
    }
    screen
}

/// Adds machines and job, and what is wrong with the data set.
fn heading(cluster: &Cluster, screen: &mut Screen) {
    let mut title = words::hosts_and_cpus(cluster.total.hosts, cluster.total.cpus);
    if let Some(job) = &cluster.job {
        title += &format!(" · {}", words::job(job));
    }
    screen.heading(&title);
    screen.contexts(&cluster.machines, machine, ["kind", "kinds"]);
    screen.context(&ran(cluster));
    cluster.findings.iter().for_each(|finding| screen.warning(&finding.text));
}

/// Explains lower bounds and missing intervals of hosts and CPUs.
fn bounds_notes(cluster: &Cluster, screen: &mut Screen) {
    let hosts = cluster.hosts.iter().map(|host| (host.noise, host.interval, host.at_least));
    let cpus = cluster.cpus.iter().map(|cpu| (cpu.noise, cpu.interval, cpu.at_least));
    cpus::bounds_notes(hosts.chain(cpus), screen);
}

/// Returns what was measured, with which threshold if there was one, and when.
pub(crate) fn ran(cluster: &Cluster) -> String {
    let over = match (cluster.threshold_ns, cluster.highest_threshold_ns) {
        (_, 0) => String::new(), // programs, whose detours are derived from events
        (low, high) if low == high => format!(" over {}", asked(low)),
        (low, high) => format!(" over {} to {}", asked(low), asked(high)),
    };
    format!("{}{over} · {}", cluster.methods.join(", "), timestamp(&cluster.start_utc))
}

/// Returns the number of machines of a kind, and their description.
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

/// Adds the noise of all hosts and its distribution.
fn totals(cluster: &Cluster, screen: &mut Screen) {
    let total = &cluster.total;
    screen.note(&words::lengths(total));
    if total.cpus > 1 {
        screen.note(&format!("noise of the CPUs: {}", spread(&total.of_cpus)));
    }
    if total.hosts > 1 {
        screen.note(&format!("noise of the hosts: {}", spread(&total.of_hosts)));
    }
}

/// Describes the distribution of noise.
fn spread(quantiles: &Quantiles) -> String {
    let Quantiles { least, median, p90, most } = *quantiles;
    let [least, median, p90, most] = [least, median, p90, most].map(noise);
    format!("min {least}, median {median}, p90 {p90}, max {most}")
}

/// With fewer hosts, a brief screen does not state that they are too few to identify outliers.
pub(crate) const FEW_HOSTS: u64 = 8;

/// Explains the probability of an outlier.
const P: &str =
    "p is the probability of such a value among all that were tested if there were no outliers.";

/// Adds the outliers and the statistic behind them.
fn outliers(cluster: &Cluster, view: &View<'_>, screen: &mut Screen) {
    let (cpus, hosts) = (&cluster.cpu_outliers, &cluster.host_outliers);
    for (outliers, what) in [(hosts, ("host", "hosts")), (cpus, ("CPU", "CPUs"))] {
        words::outliers(outliers, view.all).iter().for_each(|text| screen.warning(text));
        if view.all || cluster.total.hosts >= FEW_HOSTS {
            words::not_judged(outliers, what).iter().for_each(|text| screen.note(text));
        }
    }
    if !(cpus.found.is_empty() && hosts.found.is_empty()) {
        screen.on_page(|page| page.note(P));
    }
    if cpus.judged + hosts.judged > 0 && view.all {
        screen.note(&format!("assumed: {}", cpus.assumes));
    }
}

/// Adds what took the time, if that is known.
fn add_sources(cluster: &Cluster, view: &View<'_>, screen: &mut Screen) {
    let Some(found) = &cluster.sources else { return };
    match found.rows.is_empty() {
        true => screen.sentence("no detour was recorded"),
        false => {
            let table = tables::sources(cluster, &found.rows, found.unattributed, view.all);
            screen.table(tables::brief(table, view.all));
        }
    }
    let without = cluster.total.hosts.saturating_sub(found.hosts);
    if without > 0 {
        let without = counted(without, "host", "hosts");
        screen.note(&format!("without {without} whose sources are unknown"));
    }
}

/// Adds noise against the number of CPUs and hosts.
fn add_used(cluster: &Cluster, screen: &mut Screen) {
    screen.pair(|pair| {
        pair.on_page(|page| {
            let by_cpus = charts::by_used(&cluster.by_cpus, "CPUs of each host", "cpus");
            let by_hosts = charts::by_used(&cluster.by_hosts, "hosts", "hosts");
            let both = by_cpus.into_iter().chain(by_hosts);
            both.for_each(|(chart, caption)| page.picture(chart, caption));
        });
    });
    screen.table(tables::used(&cluster.by_cpus, &cluster.by_hosts));
    screen.note(words::USED);
}
