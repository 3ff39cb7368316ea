//! What noise costs a parallel job: Figures 8 and 9 of the paper, and the step from loops to a job in its Section 4.3.

use crate::picture::ROWS;
use crate::published::{JOB_LIMIT, TICKS, find};
use crate::results::laws::{LAWS, add_delays, charts};
use crate::results::sweep;
use crate::results::sweep::by_ranks;
use crate::screen::Screen;
use crate::units::{asked, slowdown};
use anechoic_analyze::samples::Measured;
use anechoic_predict::bsp::Bsp;
use anechoic_predict::laws::{Laws, OPTIONS, Observed, laws};
use anechoic_recording::options::Answers;

/// Stands where no job was measured.
const NO_JOB: &str = "no job was measured: Figure 8 needs ranks on one, two and more CPUs";

/// Adds the delay of a phase against the number of ranks.
pub(super) fn figure_8(jobs: &[Bsp], screen: &mut Screen) {
    screen.section("the delay of a phase by the number of ranks (Figure 8)");
    let Some(found) = by_ranks(jobs) else {
        screen.note(NO_JOB);
        return;
    };
    // Of the largest job, which shares CPUs with whatever else runs.
    let largest = jobs.iter().max_by_key(|job| job.ranks);
    let notes = largest.iter().flat_map(|job| &job.notes);
    notes.for_each(|note| screen.warning(note));
    sweep::sentences(&found).iter().for_each(|text| screen.sentence(text));
    if let Some(chart) = sweep::from_zero(&found) {
        screen.pictured(chart.named("figure 8"), CAPTION);
    }
    screen.table(sweep::table(&found));
    screen.note(sweep::note(&found));
}

/// Describes Figure 8.
const CAPTION: &str = "As Figure 8 of the paper: mean delay of a compute phase against the number of ranks, with phases of 0, 1 and \
                       5 ms, and a barrier or an all-reduce at the end of each. On the paper's nodes of four processors (ASCI Q) it grows linearly with \
                       their number.";

/// Adds the slowdown by number of ranks for the delay that the paper assumes.
pub(super) fn figure_9(screen: &mut Screen) {
    let answers = Answers::read(OPTIONS, &[("ranks", RANKS)]);
    let Some(found) = answers.and_then(|answers| laws(&answers, None)).ok() else { return };
    screen.section("the slowdown by one delay of 1 ms every 10 s (Figure 9)");
    let limits = limits(&found);
    screen.sentence(&limits);
    if let Some((chart, caption)) = charts(&found).pop() {
        let caption = format!("As Figure 9 of the paper, computed. {caption} {limits}");
        // The terminal has the limits.
        screen.pictured(chart.titled("", ROWS).named("figure 9"), caption);
    }
}

/// Numbers of ranks that are near enough for a curve.
const RANKS: &str = "1..1e6,2..2e5,5..5e5";

/// States what the slowdown approaches with many ranks, for the grains of which the paper states it.
fn limits(found: &Laws) -> String {
    let both = found.grains.iter().filter_map(|laws| {
        let grain = asked(laws.grain_ns);
        let there = find(&TICKS, JOB_LIMIT, &grain, "grain")?.value.text();
        Some(format!("{} at a grain of {grain} (published: {there})", slowdown(laws.limit)))
    });
    let both: Vec<String> = both.collect();
    format!("With many ranks the slowdown approaches {}.", both.join(" and "))
}

/// Adds what the delays of the loops cost a job (Section 4.3).
pub(super) fn from_loops(name: &str, set: &Measured, screen: &mut Screen) {
    screen.section("from loops to a job (Section 4.3)");
    let found = Observed::from_samples(name.to_owned(), set)
        .and_then(|observed| laws(&Answers::read(OPTIONS, &[])?, Some(observed)));
    match found {
        Ok(found) => {
            add_delays(&found, screen);
            // Of the shortest grain, which is that of the loops.
            (LAWS.headline)(&found).iter().take(1).for_each(|text| screen.sentence(text));
        }
        Err(problem) => screen.note(&format!("not computed: {problem}")),
    }
}
