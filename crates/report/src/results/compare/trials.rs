//! What a comparison shows of the trials of two commands, or of settings.

use crate::screen::{Fact, Screen};
use crate::style::{Tone, plain};
use crate::units::{count, counted, cpu_list};
use anechoic_analyze::compare::{Trials, TriedSetting};
use anechoic_recording::tunable::{Recommended, Tunable, find};

/// Returns the commands or the settings of both sides, and how the trials followed each other.
pub(in crate::results) fn commands(trials: &Trials) -> Vec<Fact> {
    let fact = |name: &str, text: String| Fact::new(name, Tone::Plain, text);
    let mut facts = match trials.settings.is_empty() {
        true => {
            let [a, b] = trials.commands.each_ref().map(|command| match command.trim() {
                "" => "no command".to_owned(),
                command => plain(command),
            });
            vec![fact("A", a), fact("B", b)]
        }
        false => {
            let [a, b] = sides(&trials.settings);
            vec![fact("A", a), fact("B", b)]
        }
    };
    let when = match (trials.record, trials.during) {
        (true, _) => "as the trials, and recorded",
        (_, true) => "during each trial",
        _ => "before each trial",
    };
    match (trials.settings.is_empty(), trials.record) {
        (true, _) => facts.push(fact("commands run", when.into())),
        (false, true) => facts.push(fact("recorded", plain(&trials.commands[0]))),
        (false, false) => {}
    }
    let pairs = counted(trials.complete.len() as u64, "pair", "pairs");
    facts.push(fact("trials", match &trials.duet {
        Some([first, second]) => format!(
            "{pairs}, both sides at the same time on CPUs {} and {}, swapped at random (seed {})",
            cpu_list(first),
            cpu_list(second),
            trials.seed
        ),
        None => format!("{pairs} in random order (seed {})", trials.seed),
    }));
    facts
}

/// Returns the settings of both sides.
fn sides(settings: &[TriedSetting]) -> [String; 2] {
    let before =
        settings.iter().map(|tried| format!("{} = {}", plain(&tried.name), plain(&tried.before)));
    let after = settings.iter().map(|tried| {
        let rounded = tried.in_effect.as_ref();
        let rounded = rounded.map(|now| format!(", which the kernel made {}", plain(now)));
        format!("{} = {}{}", plain(&tried.name), plain(&tried.value), rounded.unwrap_or_default())
    });
    [
        before.collect::<Vec<_>>().join("; ") + " (as before the trials)",
        after.collect::<Vec<_>>().join("; "),
    ]
}

/// What trials show about a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::results) enum Effect {
    Helps,
    Hurts,
    Both,
    NotShown,
    Undecided,
}

/// Returns in words whether the settings that were tried help; nothing if two commands were, or if no effect is shown.
pub(in crate::results) fn verdict(trials: Option<&Trials>, effect: Effect) -> Option<String> {
    let tried = plain(&trials?.tried()?);
    match effect {
        Effect::Helps => Some(format!("{tried} helped.")),
        Effect::Hurts => Some(format!("{tried} made it worse.")),
        Effect::Both => Some(format!("{tried} helped in one way and made it worse in another.")),
        Effect::NotShown => None,
        Effect::Undecided => Some(format!("It is undecided whether {tried} helps.")),
    }
}

/// Returns what it is called that nothing is shown: an effect of the settings that were tried, or a change.
pub(in crate::results) fn change(trials: Option<&Trials>) -> String {
    let tried = trials.and_then(Trials::tried);
    tried.map_or("change".to_owned(), |tried| format!("effect of {}", plain(&tried)))
}

impl Effect {
    /// Returns the effect that clear differences show: for each, whether what was measured became worse.
    pub(in crate::results) fn from_clear(worse: &[bool]) -> Self {
        match (worse.contains(&true), worse.contains(&false)) {
            (true, false) => Self::Hurts,
            (false, true) => Self::Helps,
            (true, true) => Self::Both,
            (false, false) => Self::NotShown,
        }
    }
}

/// Adds what it costs to keep the settings that were tried, and how they last.
pub(in crate::results) fn to_keep(trials: &Trials, screen: &mut Screen) {
    let known = trials.settings.iter().filter_map(|tried| Some((tried, find(&tried.name)?)));
    let mut facts = vec![];
    for (tried, row) in known {
        let name = match &trials.settings[..] {
            [_] => String::new(),
            _ => format!("{}: ", plain(&tried.name)),
        };
        let value = tried.in_effect.as_deref().unwrap_or(&tried.value);
        facts.push(Fact::new("it costs", Tone::Plain, format!("{name}{}", price(row, value))));
        let way = row.to_keep(&tried.name, &tried.file, value).swap_remove(0);
        facts.push(Fact::new("it lasts with", Tone::Plain, plain(&way)));
    }
    if !facts.is_empty() {
        screen.section("all settings are as before; to keep what was tried");
        screen.facts(facts);
    }
}

/// Returns what a value costs; known is that of the value which is worth a trial.
fn price(row: &Tunable, value: &str) -> String {
    match row.recommended {
        Recommended::Value(known) if !row.is_same(known, value) => {
            format!("not known for this value; {known} costs: {}", row.risk)
        }
        _ => row.risk.to_owned(),
    }
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
