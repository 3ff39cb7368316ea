//! The screen of the samples of many hosts: the noise of each experiment, hosts and CPUs, and those that stand out.

mod row;
mod tables;
pub(crate) mod words;

pub(crate) use row::HOST_SAMPLES;
pub use row::HOSTS;

use crate::results::cluster::tables::brief;
use crate::results::cluster::{self, words as cluster_words};
use crate::screen::Screen;
use crate::style::View;
use crate::units::timestamp;
use anechoic_analyze::sampled::{JoinedExperiment, SampledHosts};

/// Shows the samples of many hosts together.
#[must_use]
pub(crate) fn sampled(found: &SampledHosts, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    let mut title = words::hosts(found);
    if let Some(job) = &found.job {
        title += &format!(" · {}", cluster_words::job(job));
    }
    screen.heading(&title);
    screen.contexts(&found.machines, cluster::machine, ["kind", "kinds"]);
    screen.context(&format!("{} · {}", found.methods.join(", "), timestamp(&found.start_utc)));
    found.findings.iter().for_each(|finding| screen.warning(&finding.text));
    screen.gap();
    screen.headline(&words::sentences(found).join(" "));
    for joined in &found.experiments {
        screen.section(&words::experiment(&joined.experiment));
        if found.experiments.len() > 1 {
            screen.sentence(&words::lost(joined));
            words::slowest(joined).iter().for_each(|text| screen.sentence(text));
        }
        tables(joined, view, &mut screen);
    }
    if !found.experiments.is_empty() && view.all {
        screen.gap();
        screen.note(words::ASSUMED);
    }
    found.notes.iter().for_each(|note| screen.note(note));
    screen.path("data set", view);
    screen
}

/// Adds the tables of one experiment, and the hosts and CPUs that stand out.
fn tables(joined: &JoinedExperiment, view: &View<'_>, screen: &mut Screen) {
    if joined.hosts > 1 {
        screen.gap();
        screen.table(brief(tables::hosts(joined, view.all), view.all));
    }
    screen.gap();
    screen.table(brief(tables::cpus(joined, view.all), view.all));
    if !joined.shares.is_empty() {
        screen.gap();
        screen.table(tables::shares(joined, view.all));
    }
    screen.gap();
    for (outliers, what) in
        [(&joined.host_outliers, ("host", "hosts")), (&joined.cpu_outliers, ("CPU", "CPUs"))]
    {
        cluster_words::outliers(outliers, view.all).iter().for_each(|text| screen.warning(text));
        if view.all || joined.hosts >= cluster::FEW_HOSTS {
            cluster_words::not_judged(outliers, what).iter().for_each(|text| screen.note(text));
        }
    }
}
