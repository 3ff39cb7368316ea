//! The reason for the outcome of a rule, in words.

mod wakeups;

pub(super) use wakeups::kind;
use wakeups::one_in;

use super::{place, recording};
use crate::names::title_of;
use crate::style::plain;
use crate::units::{
    asked, between, change, count, counted, length, noise, per_time, rough_share, span,
};
use anechoic_analyze::gate::{
    Doubt, Finding, Gate, Judged, Outcome, Requirements, RuleOutcome, Unit,
};

/// Without an event in a time T, its rate is below this / T with a probability of 95 %.
const RULE_OF_THREE: f64 = 3.0;

/// Returns the name of an outcome, which begins its line.
pub(super) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "PASS",
        Outcome::Fail => "FAIL",
        Outcome::Undecided => "UNDECIDED",
    }
}

/// Writes a value in the unit of its rule.
pub(super) fn quantity(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Share | Unit::SlowShare => noise(value),
        Unit::Nanoseconds => length(value as u64),
        Unit::PerSecond => per_time(value),
        Unit::WakeupShare => one_in(value),
        Unit::Increase => change(value),
    }
}

/// Returns why a rule has its outcome, in one line.
pub(super) fn reason(rule: &RuleOutcome, gate: &Gate) -> String {
    let found = rule.decisive().map(|finding| found(rule, finding, gate));
    let Some(first) = rule.doubts.first() else { return found.unwrap_or_default() };
    let doubt = doubt(&first.doubt, &gate.requirements);
    let doubt = match first.recording.and_then(|at| recording(at, gate)) {
        Some(name) => format!("{name}: {doubt}"),
        None => doubt,
    };
    let more = match rule.doubts.len() - 1 {
        0 => String::new(),
        more => format!(" (and {})", counted(more as u64, "more doubt", "more doubts")),
    };
    let found = found.map(|found| format!("; {found}")).unwrap_or_default();
    format!("{doubt}{more}{found}")
}

/// Returns what was found where it was worst, and what follows from it.
fn found(rule: &RuleOutcome, finding: &Finding, gate: &Gate) -> String {
    let of_program = finding.runs.filter(|_| finding.program.is_some());
    let words = match rule.unit {
        _ if of_program.is_some() => over_runs(rule, finding, of_program.unwrap_or_default(), gate),
        Unit::Share => share(rule, finding, gate),
        Unit::SlowShare => slow(rule, finding),
        Unit::Nanoseconds => match &finding.wakeups {
            Some(wakeups) => wakeups::longest(rule, finding, wakeups),
            None => longest(rule, finding, gate),
        },
        Unit::WakeupShare => wakeups::late(rule, finding, gate),
        Unit::PerSecond => rate(rule, finding, gate),
        Unit::Increase => increase(finding),
    };
    let place = place(rule, finding, gate).map(|place| format!("{place}: ")).unwrap_or_default();
    let exceeded = rule.findings.iter().filter(|one| one.outcome == Outcome::Fail).count();
    let others = match (rule.outcome, rule.findings.len()) {
        (Outcome::Fail, all) if all > 1 && of_program.is_some() => {
            format!("; exceeded by {exceeded} of {all} programs")
        }
        (Outcome::Fail, all)
            if all > 1 && (gate.recordings.len() > 1 || wakeups::kinds(rule).len() > 1) =>
        {
            format!("; exceeded in {exceeded} of {all} places")
        }
        (Outcome::Fail, all) if all > 1 => format!("; exceeded on {exceeded} of {all} CPUs"),
        _ => String::new(),
    };
    format!("{place}{words}{}{others}", largest_source(rule, finding, gate))
}

/// Returns what was found where it was worst, without bounds.
pub(super) fn place_and_value(rule: &RuleOutcome, finding: &Finding, gate: &Gate) -> String {
    let place = place(rule, finding, gate).map(|place| format!("{place}: ")).unwrap_or_default();
    let value = quantity(rule.unit, finding.value);
    format!("{place}{value}{}", largest_source(rule, finding, gate))
}

/// Names the source that took most of what exceeds the limit, with its share; nothing where the rule names it already.
fn largest_source(rule: &RuleOutcome, finding: &Finding, gate: &Gate) -> String {
    let Some(largest) = &finding.largest_source else { return String::new() };
    if rule.source.as_ref().is_some_and(|pattern| !pattern.contains('*')) && largest.share == 1.0 {
        return String::new();
    }
    let guest = judged(finding, gate).is_some_and(|judged| judged.hypervisor.is_some());
    let title = title_of(&largest.source, &largest.name, guest);
    let what = if rule.unit == Unit::Share { "it" } else { "their time" };
    format!("; {title} took {} of {what}", rough_share(largest.share))
}

/// Returns the bound of a finding that decides about its outcome.
fn bound(unit: Unit, finding: &Finding) -> String {
    // Each end of a 95 % interval; the other rules have a bound of their own.
    let level = if unit == Unit::Increase { "97.5 %" } else { "95 %" };
    match (finding.outcome, finding.at_most) {
        (Outcome::Fail, _) => {
            format!("at least {} with {level} confidence", quantity(unit, finding.at_least))
        }
        (_, Some(most)) => format!("at most {} with {level} confidence", quantity(unit, most)),
        (_, None) => "without an upper bound".into(),
    }
}

/// Returns what kind of detours may count as well.
fn uncertain(finding: &Finding, gate: &Gate) -> &'static str {
    match is_of_counts(finding, gate) {
        true => "in ranges of lengths that contain the limit",
        false => "lost or not attributable",
    }
}

/// Returns whether another tool counted what was found.
fn is_of_counts(finding: &Finding, gate: &Gate) -> bool {
    judged(finding, gate).is_some_and(|recording| recording.counts_only)
}

/// Returns the recording of a finding; nothing if it is of all.
fn judged<'a>(finding: &Finding, gate: &'a Gate) -> Option<&'a Judged> {
    gate.recordings.get(usize::try_from(finding.recording?).ok()?)
}

/// What would decide about the noise of a CPU on which nothing was seen.
const NO_LENGTH: &str = "which limits no noise, because an unseen detour may have any length: limit that by --max-detour";

/// Returns a mean over the runs of a program, with the bound that decides.
fn over_runs(rule: &RuleOutcome, finding: &Finding, runs: u64, gate: &Gate) -> String {
    let value = quantity(rule.unit, finding.value);
    let runs = match runs {
        1 => format!("{value} in this run"),
        _ => format!("{value} in {} on average", counted(runs, "run", "runs")),
    };
    let kind = uncertain(finding, gate);
    // What may count raises the upper bound, however many runs there are.
    let perhaps = match (finding.uncertain, rule.unit) {
        (0, _) => String::new(),
        (number, Unit::PerSecond) => {
            format!(", but {} {kind} may be too many", counted(number, "that is", "that are"))
        }
        _ => format!(", but what is {kind} may be too much"),
    };
    match (finding.outcome, finding.at_most) {
        (Outcome::Undecided, _) if finding.doubt.is_some() => runs,
        (Outcome::Undecided, None) => format!("{runs}, {NO_LENGTH}{perhaps}"),
        (Outcome::Undecided, Some(most)) => {
            let bounds =
                between(&quantity(rule.unit, finding.at_least), &quantity(rule.unit, most));
            format!("{runs}, {bounds} with 95 % confidence; record more runs{perhaps}")
        }
        _ => format!("{runs}, {}", bound(rule.unit, finding)),
    }
}

fn share(rule: &RuleOutcome, finding: &Finding, gate: &Gate) -> String {
    if finding.value == 0.0 && finding.at_most.is_none() && finding.uncertain == 0 {
        return format!("none seen in {}, {NO_LENGTH}", span(finding.wall_ns));
    }
    let limited = gate.rules.iter().any(|other| bounds_length(other, rule));
    let unseen = |finding: &Finding| finding.value == 0.0 && finding.at_most.is_some();
    let assumed = match finding.outcome {
        _ if !limited => "",
        _ if unseen(finding) => ", if --max-detour holds for what was not seen",
        Outcome::Pass if rule.findings.iter().any(unseen) => {
            "; where none was seen, the rule holds if --max-detour does for what was not seen"
        }
        _ => "",
    };
    let longer = match finding.outcome {
        Outcome::Undecided if finding.uncertain > 0 => {
            format!("; what is {} may be too much", uncertain(finding, gate))
        }
        Outcome::Undecided if finding.at_most.is_some() => "; measure for longer".into(),
        _ => String::new(),
    };
    let seen = match finding.value {
        0.0 => format!("none seen in {}", span(finding.wall_ns)),
        value => noise(value),
    };
    format!("{seen}, {}{assumed}{longer}", bound(Unit::Share, finding))
}

fn slow(rule: &RuleOutcome, finding: &Finding) -> String {
    let seen = match finding.value {
        0.0 => format!("never slow in {}", span(finding.wall_ns)),
        value => noise(value),
    };
    let enough = match (finding.outcome, finding.needed_ns) {
        (Outcome::Undecided, Some(needed)) => format!("; measure for {} or longer", span(needed)),
        (Outcome::Undecided, None) if finding.at_most.is_none() => {
            "; the pace changed during the run: measure for much longer, or when the load is steady"
                .into()
        }
        (Outcome::Undecided, None) if finding.value < rule.limit => "; measure for longer".into(),
        (Outcome::Undecided, None) => {
            "; over the limit in this run alone: measure for longer".into()
        }
        _ => String::new(),
    };
    let assumed = match (finding.value, finding.outcome) {
        (0.0, Outcome::Pass) => ", if a slow time costs at most 0.1 s",
        _ => "",
    };
    format!("{seen}, {}{assumed}{enough}", bound(Unit::SlowShare, finding))
}

/// Returns whether a rule limits the length of all detours that another one counts.
fn bounds_length(limit: &RuleOutcome, rule: &RuleOutcome) -> bool {
    limit.unit == Unit::Nanoseconds && (limit.source.is_none() || limit.source == rule.source)
}

fn longest(rule: &RuleOutcome, finding: &Finding, gate: &Gate) -> String {
    let limit = asked(rule.limit as u64);
    let takes = |ns: f64| length(ns as u64);
    let most = finding.at_most.filter(|_| is_of_counts(finding, gate)).unwrap_or(finding.value);
    let longest = match (takes(finding.value), takes(most)) {
        _ if most == 0.0 => format!("none seen in {}", span(finding.wall_ns)),
        (least, most) if least == most => format!("the longest takes {least}"),
        (least, most) => format!("the longest takes {least} to {most}"),
    };
    match finding.outcome {
        Outcome::Fail => {
            let events: u64 = rule.findings.iter().map(|one| one.events).sum();
            format!("{longest}; {} over {limit} in all", counted(events, "is", "are"))
        }
        Outcome::Pass => match rule.findings.iter().map(|one| one.wall_ns).min().unwrap_or(0) {
            0 => longest,
            _ if judged(finding, gate).is_some_and(|judged| judged.program.is_some()) => {
                match gate.recordings.len() {
                    1 => format!("{longest} in this run"),
                    all => format!("{longest} in these {} runs", count(all as u64)),
                }
            }
            shortest => {
                let rarer = quantity(Unit::PerSecond, RULE_OF_THREE * 1e9 / shortest as f64);
                format!("{longest}; any over {limit} come at most {rarer} with 95 % confidence")
            }
        },
        Outcome::Undecided => {
            let number = counted(finding.uncertain, "that is", "that are");
            format!("{longest}, but {number} {} may be longer", uncertain(finding, gate))
        }
    }
}

fn rate(rule: &RuleOutcome, finding: &Finding, gate: &Gate) -> String {
    let watched = span(finding.wall_ns);
    let seen = match finding.events {
        0 => format!("none in {watched}"),
        events => format!("{} ({} in {watched})", per_time(finding.value), count(events)),
    };
    let uncertain = match (finding.outcome, finding.uncertain) {
        (Outcome::Fail, _) | (_, 0) => String::new(),
        (_, number) => {
            format!(" and {} that are {}", count(number), self::uncertain(finding, gate))
        }
    };
    let enough = match (finding.outcome, finding.needed_ns) {
        (Outcome::Undecided, Some(needed)) => format!("; measure for {} or longer", span(needed)),
        (Outcome::Undecided, None) if finding.uncertain > 0 => "; these may be too many".into(),
        (Outcome::Undecided, None) if finding.value < rule.limit => {
            "; too close to the limit to decide".into()
        }
        (Outcome::Undecided, None) => "; over the limit, but perhaps by chance".into(),
        _ => String::new(),
    };
    format!("{seen}{uncertain}, {}{enough}", bound(Unit::PerSecond, finding))
}

fn increase(finding: &Finding) -> String {
    let runs = counted(finding.events, "run", "runs");
    format!("{} in {runs}, {}", change(finding.value), bound(Unit::Increase, finding))
}

/// Why a single run proves nothing.
const ONE_RUN: &str =
    "one run does not show how much runs differ: measure both sides with --repeat 5";

/// Why two runs that follow each other prove nothing.
const SUCCESSIVE: &str = "two runs in a row do not show how much successive runs are alike: measure both sides with --repeat 5, \
                          or in turn";

/// Why few runs of a program prove nothing but their own maxima.
const FEW_RUNS_OF_PROGRAM: &str = "three runs or more show how much the runs of a program differ: record it again and name all \
                                   recordings; --max-wait and --max-detour judge a single run";

/// Why a rule does not apply.
const NO_PROGRAM: &str = "only a recorded program waits for a CPU (`anechoic record`); --max-detour limits the detours of a CPU";

/// Why nothing is known of how late timers released threads.
const NO_RELEASES: &str = "no timer released a thread of a recorded program, or the recording was made by an older version";

/// Why nothing is known of a slower pace.
const NO_PACE: &str = "the pace is not known: only a run of `anechoic run` that ended, with a threshold of 1us or less, has it, and not one of an older \
                       version";

/// Returns why a rule on the threads of a program or on the pace cannot be judged.
fn unknown(doubt: &Doubt) -> &'static str {
    match doubt {
        Doubt::NoReleases => NO_RELEASES,
        Doubt::NoPace => NO_PACE,
        _ => NO_PROGRAM,
    }
}

/// Why other rules do not apply to wake-ups.
const LATENCIES: &str =
    "how late threads were woken is no lost time: limit it with --max-wakeup or --max-late";

/// Returns why a rule does not apply to wake-ups, or to nothing else.
fn about_wakeups(doubt: &Doubt) -> &'static str {
    if *doubt == Doubt::NoWakeups { NO_WAKEUPS } else { LATENCIES }
}

/// Why a rule on wake-ups does not apply.
const NO_WAKEUPS: &str = "only `measure wakeup` and cyclictest measure wake-ups; --max-detour limits the detours of a CPU";

/// Why sides that were measured far apart prove nothing.
const ONE_SESSION: &str = "more than ten minutes lie between the sides, and nothing shows how much the host changes by itself \
                           in that time: measure both in turn (`anechoic ab`), or each in several sessions";

/// Why a change of a guest proves nothing.
const HOST_MOVED: &str = "time below the kernel changed as well, so the host may have changed";

/// Returns a doubt in words, with what removes it.
fn doubt(doubt: &Doubt, required: &Requirements) -> String {
    let max_lost = format!("(--max-lost {})", noise(required.max_lost));
    match doubt {
        Doubt::NotMeasured { cpu: Some(cpu) } => format!("CPU {cpu} was not measured"),
        Doubt::NotMeasured { cpu: None } => "nothing was measured".into(),
        Doubt::NoTime => "its length is not known (`import --duration`)".into(),
        Doubt::Kept { longer_than_ns } => kept(*longer_than_ns),
        Doubt::Latencies | Doubt::NoWakeups => about_wakeups(doubt).into(),
        Doubt::TooShort { wall_ns } => {
            format!("it lasts {} of {} (--min-time)", span(*wall_ns), span(required.min_time_ns))
        }
        Doubt::WrongRate { ppm } => {
            let ppm = count(ppm.abs() as u64);
            format!("the counter's rate is off by {ppm} ppm, so no time is right")
        }
        Doubt::LostDetours { share } => {
            format!("{} of the detours were lost {max_lost}", noise(*share))
        }
        Doubt::LostEvents { share } => {
            format!("kernel events were lost in {} of the time {max_lost}", noise(*share))
        }
        Doubt::Misaligned { share } => {
            let most = noise(required.max_misaligned);
            let share = noise(*share);
            format!(
                "{share} of the kernel events lie outside all detours (--max-misaligned {most})"
            )
        }
        Doubt::Audit { counters } => {
            let counters = counted(*counters, "kernel counter differs", "kernel counters differ");
            format!("{counters} from the recorded events")
        }
        Doubt::NoEvents { what } => format!("no kernel event covers {}", plain(what)),
        Doubt::MissingHosts { present, hosts } => missing_hosts(*present, *hosts),
        Doubt::NotAttributed => {
            "the sources are unknown, because no kernel events were recorded or attributed".into()
        }
        Doubt::Threshold { threshold_ns } => {
            format!("the threshold of {} hides shorter detours", asked(*threshold_ns))
        }
        Doubt::FewRunsOfProgram { .. } => FEW_RUNS_OF_PROGRAM.into(),
        Doubt::NoProgram | Doubt::NoReleases | Doubt::NoPace => unknown(doubt).into(),
        Doubt::CpuTime { missing_ns } => missing(*missing_ns),
        Doubt::Unread => "a recording could not be read".into(),
        Doubt::OneRun => ONE_RUN.into(),
        Doubt::Successive => SUCCESSIVE.into(),
        Doubt::NoNoise => "a run has no noise, so there is no ratio".into(),
        Doubt::OtherCpus => "the runs measured different CPUs (--cpus)".into(),
        Doubt::OtherThresholds => {
            "the thresholds of both sides differ: measure both with the same --threshold".into()
        }
        Doubt::OtherPrograms => "the sides recorded different programs".into(),
        Doubt::HostMoved => HOST_MOVED.into(),
        Doubt::OneSession => ONE_SESSION.into(),
        Doubt::NotWhole { why } => plain(why),
        Doubt::FewRuns { planned } => {
            let runs = planned
                .map(|runs| format!(": {} a side would find 10 %", counted(runs, "run", "runs")));
            format!("the runs differ too much from each other{}", runs.unwrap_or_default())
        }
        Doubt::Interrupted { .. }
        | Doubt::CutOff
        | Doubt::Competition { .. }
        | Doubt::MeasuredTogether
        | Doubt::Emulated
        | Doubt::SelfTest { .. }
        | Doubt::Injected
        | Doubt::EndedByEvent { .. } => plain(&doubt.known_in_words().unwrap_or_default()),
    }
}

fn missing_hosts(present: u64, hosts: u64) -> String {
    format!("{present} of the {} of the job are present", counted(hosts, "host", "hosts"))
}

fn missing(ns: u64) -> String {
    format!(
        "the kernel counted {} more CPU time of the program than the events show, so some are missing",
        span(ns)
    )
}

/// Returns that what is kept of a run is no sample, with what can be judged.
fn kept(longer_than_ns: Option<u64>) -> String {
    let known = match longer_than_ns {
        Some(ns) => {
            format!(", and of the time before it only what is longer than {} is known", asked(ns))
        }
        None => ", and no rate of the time before it is known: repeat without --keep".into(),
    };
    format!("only the part before what ended the run is kept, which is no sample of the run{known}")
}
