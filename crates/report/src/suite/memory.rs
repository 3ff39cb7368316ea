//! The screen of the memory experiments of all sets together: measured, beside what the paper published.

use super::{NOTHING, Study};
use crate::heading;
use crate::memory::charts;
use crate::memory::memory;
use crate::memory::tables::heat;
use crate::memory::words::{os_share, sentences};
use crate::published::{RANKING, WAECHTLER, ranking};
use crate::style::{Tone, View};
use crate::units::count;
use anechoic_analyze::Memory;
use anechoic_analyze::memory::{Experiment, REGIONS};

/// Shows the experiments of all sets as those of one recording, and what the paper found beside it.
#[must_use]
pub fn suite_memory(sets: &[Memory], view: &View<'_>) -> Study {
    let found = Memory::joined(sets);
    let mut study = Study::of("memory experiments", &WAECHTLER);
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
    study.changed.extend(sentences(found).into_iter().filter(|of| Some(of) != share.as_ref()));
    let screen = &mut study.shown;
    screen.heading(&heading::machine(&found.run));
    for (chart, caption) in charts::of_paper(found) {
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
    screen.details("All experiments", all);
    study
}

/// Describes the shaded table.
const HEAT: &str = "As Figure 5 of the paper, for this machine alone: variance divided by mean, in ticks, median over the working sets of each region.";

/// Returns what the paper states, with what was measured here.
fn beside(found: &Memory) -> Vec<(String, String)> {
    let of_paper: Vec<&Experiment> = found.measured().filter(|of| of.published).collect();
    let ratios = |of: &Experiment| of.regions.map(|region| region.and_then(|region| region.ratio));
    let all: usize = of_paper.iter().map(|of| ratios(of).iter().flatten().count()).sum();
    let noisiest_beyond = of_paper.iter().filter(|of| {
        let [inside @ .., beyond] = ratios(of);
        beyond.is_some_and(|beyond| inside.iter().flatten().all(|&ratio| ratio < beyond))
    });
    let (beyond, experiments) = (noisiest_beyond.count() as u64, of_paper.len() as u64);
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
            format!(
                "beyond the caches is the noisiest of the {REGIONS} regions in {} of {} experiments",
                count(beyond),
                count(experiments)
            ),
        ),
    ]
}
