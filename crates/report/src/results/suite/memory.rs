//! The screen of the memory experiments of all sets together: measured, beside what the paper published.

use super::{NOTHING, Study};
use crate::heading;
use crate::published::{RANKING, WAECHTLER, ranking};
use crate::results::memory::charts;
use crate::results::memory::memory;
use crate::results::memory::tables::heat;
use crate::results::memory::words::{os_share, sentences};
use crate::style::{Tone, View};
use crate::units::{count, counted};
use anechoic_analyze::Memory;
use anechoic_analyze::memory::{Experiment, REGIONS};

/// Shows the experiments of all sets as those of one recording, and what the paper found beside it.
#[must_use]
pub fn suite_memory(sets: &[Memory], view: &View<'_>) -> Study {
    let found = Memory::joined(sets);
    let mut study = Study::new("memory experiments", &WAECHTLER);
    let Some(found) = &found else {
        study.shown.sentence(NOTHING);
        return study;
    };
    let share = os_share(found);
    study.changed.push(format!(
        "The paper left open how much of the noise comes from what all CPUs share (section 5). {}",
        share
            .as_deref()
            .unwrap_or("Here it is not known either: that needs kernel events (run as root).")
    ));
    study
        .changed
        .extend(sentences(found).into_iter().filter(|sentence| Some(sentence) != share.as_ref()));
    let screen = &mut study.shown;
    screen.heading(&heading::machine(&found.run));
    for (chart, caption) in charts::paper_figures(found) {
        screen.pictured(chart, caption);
    }
    screen.shaded(heat(found), HEAT);
    screen.section(&format!("published ({}) and measured", WAECHTLER.short));
    for (published, measured) in beside(found) {
        screen.item(Tone::Plain, &format!("Published: {published}"));
        screen.indented(&format!("Measured: {measured}"));
    }
    screen.gap();
    let all = memory(found, &View { all: true, path: None, ..*view });
    screen.details("All experiments", all.quoted());
    study
}

/// States in how many of the experiments with working sets larger than the caches these are the noisiest.
fn rises((noisiest, experiments): (u64, u64)) -> String {
    match experiments {
        0 => "no working set was larger than the caches".into(),
        _ => format!(
            "beyond the caches is the noisiest of the {REGIONS} regions in {} of {}",
            count(noisiest),
            counted(experiments, "experiment", "experiments")
        ),
    }
}

/// Describes the shaded table.
const HEAT: &str = "As Figure 5 of the paper, for this machine alone: variance divided by mean, in ticks, median over the working sets of each region.";

/// Returns what the paper states, with what was measured here.
fn beside(found: &Memory) -> Vec<(String, String)> {
    let published: Vec<&Experiment> =
        found.measured().filter(|experiment| experiment.published).collect();
    let ratios = |experiment: &Experiment| {
        experiment.regions.map(|region| region.and_then(|region| region.ratio))
    };
    let all: usize =
        published.iter().map(|experiment| ratios(experiment).iter().flatten().count()).sum();
    let mut beyond = (0, 0);
    for experiment in &published {
        let [inside @ .., Some(ratio)] = ratios(experiment) else { continue };
        let noisiest = inside.iter().flatten().all(|&inside| inside < ratio);
        beyond = (beyond.0 + u64::from(noisiest), beyond.1 + 1);
    }
    vec![
        (
            ranking(),
            format!(
                "{all} of {} values; `anechoic rank` counts them against those of other machines and kernels",
                RANKING
            ),
        ),
        (
            "in some experiments the noise rises for working sets larger than the caches (section 5).".into(),
            rises(beyond),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_is_no_result() {
        assert_eq!(rises((0, 0)), "no working set was larger than the caches");
        assert_eq!(
            rises((1, 3)),
            "beyond the caches is the noisiest of the 4 regions in 1 of 3 experiments"
        );
    }
}
