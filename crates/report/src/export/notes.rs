//! What the reader of an exported file must know: why the recording may not show the noise of the system.

use crate::certainty;
use anechoic_analyze::competition::Competition;
use anechoic_analyze::gate::Doubt;
use anechoic_analyze::known::known_doubts;
use anechoic_recording::{Loops, LossKind, Problem, Recording};

/// A note with the word that stands for it in a metric.
pub(super) type Note = (&'static str, String);

/// The words of all notes.
pub(super) const REASONS: &[&str] = &[
    "ended_early",
    "cut_off",
    "wrong_rate",
    "losses",
    "misaligned",
    "not_attributed",
    "competition",
    "measured_together",
    "emulated",
    "self_test",
    "injected",
    "ended_by_event",
];

/// Returns the notes of a recording. `competition` is what had its CPUs, where that is known.
pub(super) fn notes(
    recording: &Recording,
    loops: &Loops,
    competition: Option<Competition>,
) -> Result<Vec<Note>, Problem> {
    let run = recording.run();
    let known = known_doubts(run, competition);
    let mut notes: Vec<Note> =
        known.iter().filter_map(|doubt| Some((reason(doubt)?, doubt.known_in_words()?))).collect();
    for (what, cpu, loss) in
        recording.losses()?.iter().filter(|(what, ..)| **what != LossKind::Untraced)
    {
        let count =
            if loss.count > 0 { loss.count.to_string() } else { "an unknown number of".into() };
        notes.push(("losses", format!("{count} {what} of CPU {cpu} were lost")));
    }
    let threshold_ns = run.clock.ns(loops.threshold_ticks());
    match recording.attribution()? {
        Some(found) => {
            let text = certainty::not_aligned(&found.alignment, threshold_ns);
            notes.extend(text.into_iter().map(|text| ("misaligned", text)));
        }
        None if run.trace.is_some() => {
            notes.push((
                "not_attributed",
                "its events are not attributed: sources are missing".into(),
            ));
        }
        None => {}
    }
    Ok(notes)
}

/// Returns the word for a doubt; absent for one that no run knows of.
fn reason(doubt: &Doubt) -> Option<&'static str> {
    Some(match doubt {
        Doubt::Interrupted { .. } => "ended_early",
        Doubt::CutOff => "cut_off",
        Doubt::WrongRate { .. } => "wrong_rate",
        Doubt::Competition { .. } => "competition",
        Doubt::MeasuredTogether => "measured_together",
        Doubt::Emulated => "emulated",
        Doubt::SelfTest { .. } => "self_test",
        Doubt::Injected => "injected",
        Doubt::EndedByEvent { .. } => "ended_by_event",
        _ => return None,
    })
}
