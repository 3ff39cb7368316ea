//! The screen of the samples of many hosts: the noise of each experiment, hosts and CPUs, and those that stand out.

mod tables;
pub(crate) mod words;

use crate::cluster::{self, words as of_hosts};
use crate::screen::Screen;
use crate::style::View;
use crate::units::timestamp;
use anechoic_analyze::sampled::{JoinedExperiment, SampledHosts};

/// Shows the samples of many hosts together.
#[must_use]
pub fn sampled(found: &SampledHosts, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    let mut title = words::hosts(found);
    if let Some(job) = &found.job {
        title += &format!(" · {}", of_hosts::job(job));
    }
    screen.heading(&title);
    screen.contexts(&found.machines, cluster::machine, ["kind", "kinds"]);
    screen.context(&format!("{} · {}", found.methods.join(", "), timestamp(&found.start_utc)));
    found.findings.iter().for_each(|finding| screen.warning(&finding.text));
    screen.gap();
    screen.headline(&words::sentences(found).join(" "));
    for of in &found.experiments {
        screen.section(&words::experiment(&of.experiment));
        if found.experiments.len() > 1 {
            screen.sentence(&words::lost(of));
            words::slowest(of).iter().for_each(|text| screen.sentence(text));
        }
        tables(of, view, &mut screen);
    }
    if !found.experiments.is_empty() {
        screen.gap();
        screen.note(words::ASSUMED);
    }
    found.notes.iter().for_each(|note| screen.note(note));
    screen.path("data set", view);
    screen
}

/// Adds the tables of one experiment, and the hosts and CPUs that stand out.
fn tables(of: &JoinedExperiment, view: &View<'_>, screen: &mut Screen) {
    if of.hosts > 1 {
        screen.gap();
        screen.table(tables::hosts(of, view.all));
    }
    screen.gap();
    screen.table(tables::cpus(of, view.all));
    if !of.shares.is_empty() {
        screen.gap();
        screen.table(tables::shares(of, view.all));
    }
    screen.gap();
    for (outliers, what) in
        [(&of.host_outliers, ("host", "hosts")), (&of.cpu_outliers, ("CPU", "CPUs"))]
    {
        of_hosts::outliers(outliers, view.all).iter().for_each(|text| screen.warning(text));
        of_hosts::not_judged(outliers, what).iter().for_each(|text| screen.note(text));
    }
}
