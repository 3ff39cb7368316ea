//! What a comparison shows of the trials of two commands.

use crate::screen::Fact;
use crate::style::{Tone, plain};
use crate::units::{count, counted, cpu_list};
use anechoic_analyze::compare::Trials;

/// Returns the commands of both sides, and how the trials followed each other.
pub(in crate::results) fn commands(trials: &Trials) -> Vec<Fact> {
    let [a, b] = trials.commands.each_ref().map(|command| match command.trim() {
        "" => "no command".to_owned(),
        command => plain(command),
    });
    let pairs = counted(trials.complete.len() as u64, "pair", "pairs");
    let how = match &trials.duet {
        Some([first, second]) => format!(
            "{pairs}, both sides at the same time on CPUs {} and {}, swapped at random (seed {})",
            cpu_list(first),
            cpu_list(second),
            trials.seed
        ),
        None => format!("{pairs} in random order (seed {})", trials.seed),
    };
    let when = match (trials.record, trials.during) {
        (true, _) => "as the trials, and recorded",
        (_, true) => "during each trial",
        _ => "before each trial",
    };
    let fact = |name: &str, text: String| Fact::new(name, Tone::Plain, text);
    vec![fact("A", a), fact("B", b), fact("commands run", when.into()), fact("trials", how)]
}

/// Returns that the trials ended early, if they did.
pub(in crate::results) fn not_complete(trials: &Trials) -> Option<String> {
    (!trials.all_complete()).then(|| {
        format!(
            "The trials ended early: {} of {} pairs are complete, and only these count. If they were ended because of what they \
             showed so far, a change is found more often than in 5 % of cases without one; a second set of trials would decide.",
            count(trials.complete.len() as u64),
            count(trials.swapped.len() as u64)
        )
    })
}
