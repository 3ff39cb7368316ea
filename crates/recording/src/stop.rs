//! What ends a run before its time: a condition that the user gave, and the detour that met it.

use crate::methods::WAKEUP;
use crate::options::{duration, percent_ppm};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;
use std::time::Duration;

/// A condition that ends a run. It is written, and stored, as a user types it: `detour>100us`, `detours>=100000`, `wait>1ms`,
/// `lost>5%` or `wakeup>100us`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum StopCondition {
    /// A detour took longer than this, in ns, on any measured CPU. The loop's own iteration is part of its length.
    Longer(u64),
    /// All measured CPUs together had this many detours.
    Count(u64),
    /// In a whole second a program lost more than this share of the time in which it wanted a CPU, in parts per million.
    Lost(u32),
    /// A thread of a program waited for a CPU for longer than this, in ns, in which no thread of the program executed there.
    Wait(u64),
    /// A thread ran later than this, in ns, after its timer was to expire or another thread's waking call.
    Wakeup(u64),
    /// A thread of a program executed later than this, in ns, after the time for which it had set its timer.
    Release(u64),
    /// Nothing ends the run before its time; of what it watched, the last part is kept.
    End,
}

/// A second in which a program wanted its CPUs for less time than this, all together, meets no condition on its share.
pub const LEAST_WANTED: Duration = Duration::from_millis(100);

/// What meets most conditions: a detour, or what is known by one.
pub const DETOUR: &str = "detour";
/// What meets a condition on what timers release.
pub const RELEASE: &str = "release";
/// What meets a condition on wake-ups.
pub const WAKE_UP: &str = "wake-up";

/// How it is written that nothing ends a run before its time.
const END: &str = "end";
/// Makes a condition on how long something takes, in ns.
type Lasting = fn(u64) -> StopCondition;
/// The conditions on how long something takes, as they are written.
const LASTING: [(&str, Lasting); 4] = [
    ("detour", StopCondition::Longer),
    ("wait", StopCondition::Wait),
    ("release", StopCondition::Release),
    (WAKEUP, StopCondition::Wakeup),
];
/// How a condition is written.
const EXAMPLE: &str = "write for example 'detour>100us' or 'detours>=100000', for a program also 'wait>1ms', 'release>1ms' or 'lost>5%', for wake-ups 'wakeup>100us'";

impl FromStr for StopCondition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == END {
            return Ok(Self::End);
        }
        let wrong = || format!("'{text}' is no condition; {EXAMPLE}");
        // 'wakeup=100us' is how timerlat's users write it.
        let wakeup =
            text.trim().strip_prefix(WAKEUP).and_then(|rest| rest.trim().strip_prefix('='));
        let (what, than) = match wakeup {
            Some(than) => (WAKEUP, than),
            None => text.split_once('>').ok_or_else(wrong)?,
        };
        let (than, or_equal) = match than.strip_prefix('=') {
            Some(than) => (than.trim(), true),
            None => (than.trim(), false),
        };
        let ns = |text| duration(text).map(|t| u64::try_from(t.as_nanos()).unwrap_or(u64::MAX));
        let what = what.trim();
        if let Some((_, lasting)) = LASTING.iter().find(|(word, _)| *word == what) {
            return Ok(lasting(ns(than)?));
        }
        match what {
            "detours" => {
                let number: u64 = than.parse().map_err(|_| wrong())?;
                let count = if or_equal { number } else { number.saturating_add(1) };
                if count == 0 { Err(wrong()) } else { Ok(Self::Count(count)) }
            }
            "lost" => Ok(Self::Lost(percent_ppm(than)?)),
            _ => Err(wrong()),
        }
    }
}

impl Display for StopCondition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Longer(ns) | Self::Wait(ns) | Self::Wakeup(ns) | Self::Release(ns) => {
                let row = LASTING.iter().find(|(_, lasting)| lasting(*ns) == *self);
                write!(f, "{}>{}", row.map_or("", |(word, _)| word), typed(*ns))
            }
            Self::Count(count) => write!(f, "detours>={count}"),
            Self::Lost(ppm) => write!(f, "lost>{}%", f64::from(*ppm) / 1e4),
            Self::End => f.write_str(END),
        }
    }
}

impl StopCondition {
    /// Names what meets the condition: [`DETOUR`], [`RELEASE`] or [`WAKE_UP`].
    #[must_use]
    pub fn awaited(&self) -> &'static str {
        match self {
            Self::Wakeup(_) => WAKE_UP,
            Self::Release(_) => RELEASE,
            _ => DETOUR,
        }
    }
}

/// Returns a duration as it is typed: "1.5ms", and "100us" without a letter that few keyboards have.
fn typed(ns: u64) -> String {
    format!("{:?}", Duration::from_nanos(ns)).replace('µ', "u")
}

impl TryFrom<String> for StopCondition {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<StopCondition> for String {
    fn from(condition: StopCondition) -> Self {
        condition.to_string()
    }
}

/// The condition of a run, and what met it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stop {
    /// The condition.
    pub condition: StopCondition,
    /// The detour that met it; absent if the run ended otherwise.
    pub met: Option<StoppedBy>,
    /// What is kept of the time before; absent if that is all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Kept>,
}

impl Stop {
    /// Returns whether a limit was exceeded: a detour, a wait or a wake-up took too long, or too much was lost.
    #[must_use]
    pub fn exceeded(&self) -> bool {
        self.met.is_some() && !matches!(self.condition, StopCondition::Count(_))
    }

    /// Returns what is kept of a run that waited for a long detour, if that came and earlier time was dropped. This part
    /// ends with the detour by construction, so it is no sample of the time that the run watched.
    #[must_use]
    pub(crate) fn part_before_met(&self) -> Option<Kept> {
        self.kept.filter(|kept| self.exceeded() && kept.dropped_ns > 0)
    }
}

/// How much of a run is kept that was to keep its last part only (`--keep`). The recording begins where that begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Kept {
    /// The time before the end, or before the detour that met the condition, that was to be kept at least, in ns.
    pub asked_ns: u64,
    /// For how long the run had watched before the part that is kept, in ns.
    pub dropped_ns: u64,
}

/// The detour that met the condition of a run: the longest of a second in which too much was lost; or the wait or the wake-up
/// that did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoppedBy {
    /// CPU of the detour; of a wait the one on which the thread then executed.
    pub cpu: u32,
    /// Counter value at its start.
    pub start_ticks: u64,
    /// Counter value at its end.
    pub end_ticks: u64,
    /// The second in which too much was lost; absent if the condition was another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<LossySecond>,
    /// The id of the thread that waited; absent if it is a detour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<i32>,
}

impl StoppedBy {
    /// Returns when what met the condition began: the detour, or the second in which too much was lost.
    #[must_use]
    pub fn begun_ticks(&self) -> u64 {
        self.second.map_or(self.start_ticks, |second| second.start_ticks.min(self.start_ticks))
    }
}

/// A second in which a program lost more than it may.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LossySecond {
    /// Counter value at its start.
    pub start_ticks: u64,
    /// The time that the program lost in it on the CPUs that count, without what the tool itself took, in ticks.
    pub lost_ticks: u64,
    /// The time in which it executed or lost time on them, in ticks.
    pub wanted_ticks: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_as_they_are_written() {
        let cases = [
            ("detour>100us", StopCondition::Longer(100_000), "detour>100us"),
            (" detour > 1.5 ms", StopCondition::Longer(1_500_000), "detour>1.5ms"),
            ("detour>=1s", StopCondition::Longer(1_000_000_000), "detour>1s"),
            ("detours>=100000", StopCondition::Count(100_000), "detours>=100000"),
            ("detours > 99", StopCondition::Count(100), "detours>=100"),
            ("lost>5%", StopCondition::Lost(50_000), "lost>5%"),
            ("lost > 0.25 %", StopCondition::Lost(2_500), "lost>0.25%"),
            ("wait>1ms", StopCondition::Wait(1_000_000), "wait>1ms"),
            ("wait > 0.5us", StopCondition::Wait(500), "wait>500ns"),
            ("wakeup>100us", StopCondition::Wakeup(100_000), "wakeup>100us"),
            (" wakeup = 1.5ms", StopCondition::Wakeup(1_500_000), "wakeup>1.5ms"),
        ];
        for (text, condition, written) in cases {
            assert_eq!(text.parse(), Ok(condition), "{text}");
            assert_eq!(condition.to_string(), written);
            assert_eq!(written.parse(), Ok(condition), "{written}");
        }
        let json = serde_json::to_string(&StopCondition::Longer(2_000)).expect("a text");
        assert_eq!(json, "\"detour>2us\"");
        assert_eq!(serde_json::from_str(&json).ok(), Some(StopCondition::Longer(2_000)));
    }

    #[test]
    fn only_a_part_that_ends_with_the_awaited_detour_is_no_sample() {
        let kept = |dropped_ns| Some(Kept { asked_ns: 10, dropped_ns });
        let met =
            Some(StoppedBy { cpu: 0, start_ticks: 1, end_ticks: 2, second: None, thread: None });
        let longer = StopCondition::Longer(100);
        let cases = [
            ("the part before the detour", longer, met, kept(5), true),
            ("the run was shorter than what was to be kept", longer, met, kept(0), false),
            ("all is kept", longer, met, None, false),
            ("no detour was so long", longer, None, kept(5), false),
            ("a wake-up was so late", StopCondition::Wakeup(100), met, kept(5), true),
            ("too much was lost", StopCondition::Lost(100), met, kept(5), true),
            ("the number was reached", StopCondition::Count(3), met, kept(5), false),
        ];
        for (name, condition, met, kept, expected) in cases {
            let stop = Stop { condition, met, kept };
            assert_eq!(stop.part_before_met().is_some(), expected, "case: {name}");
        }
    }

    #[test]
    fn what_is_no_condition_is_refused_with_an_example() {
        let bad = [
            "",
            "detour",
            "detour<1us",
            "detour>",
            "detour>100",
            "detour>-1us",
            "detour>0us",
            "detours>=0",
            "detours>=1.5",
            "detours>=1us",
            "noise>5%",
            "lost>5",
            "lost>0%",
            "lost>101%",
            "wait>5%",
            "waits>=5",
            "detour=5us",
            "wakeup",
            "wakeup=",
            "wakeup>5%",
            "detour>1us,detours>=5",
        ];
        for text in bad {
            let error = text.parse::<StopCondition>().expect_err(text);
            assert!(error.contains("for example"), "{text}: {error}");
        }
    }
}
