//! The screen of a certificate: was the machine fit for a benchmark, and what could it show?

mod markdown;

pub use markdown::certificate_markdown;

use crate::names::title_of;
use crate::results::described::{Grouping, Section};
use crate::results::row::{Print, Row};
use crate::screen::{Fact, Screen};
use crate::style::{Tone, View, clip, plain};
use crate::table::Table;
use crate::units::{counted, length, share, time};
use anechoic_analyze::certificate::{
    Certificate, CertifiedRun, Check, Checked, Effect, Fitness, SlowFirst, Source,
};
use anechoic_analyze::variance::UNATTRIBUTED;

/// The row of the result. It is computed from what its command measures. An unfit machine makes no doubtful certificate, and the
/// command decides what it means.
pub static CERTIFICATE: Row<Certificate> = Row {
    headline: |found| vec![headline(found)],
    section: Some(Section {
        anchor: "certificate",
        title: "Was the machine fit for the benchmark?",
        short: "Certificate",
    }),
    states_doubts: true,
    print: Some(Print::with(certificate)),
    ..Row::new("certificate", "was the machine fit for a benchmark", Grouping::Live)
};

/// Number of runs that a short screen shows.
const RUNS: usize = 5;
/// Times that differ by less are the same.
const SAME: f64 = 0.0005;
/// Widest command and source in a line.
const NAME: usize = 60;

fn certificate(found: &Certificate, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    screen.in_terminal(|terminal| {
        let runs = counted(found.runs.len() as u64, "run", "runs");
        terminal.heading(&format!("certificate: {runs} of {}", command(found)));
        terminal.context(&crate::heading::machine(&found.run));
        terminal.gap();
        terminal.headline(&headline(found));
    });
    for check in others(found) {
        let (word, tone) = outcome(check.outcome);
        screen.item(tone, &format!("{word}: {}", reason(check, found)));
    }
    screen.section("what was found");
    screen.facts(facts(found));
    if !found.sources.is_empty() {
        screen.section("what took the time");
        screen.table(sources(found));
    }
    screen.section("runs");
    let more = |left: usize| counted(left as u64, "more run", "more runs");
    screen.table(runs(found).first(RUNS, view.all, more));
    for text in &found.not_visible {
        screen.note(&format!("not visible: {text}"));
    }
    screen
}

fn command(found: &Certificate) -> String {
    clip(&plain(&found.command.join(" ")), NAME)
}

fn outcome(fitness: Fitness) -> (&'static str, Tone) {
    match fitness {
        Fitness::Fit => ("fit", Tone::Good),
        Fitness::Undecided => ("undecided", Tone::Warning),
        Fitness::Unfit => ("unfit", Tone::Bad),
    }
}

/// Returns the first check that decided the verdict.
fn decisive(found: &Certificate) -> Option<&Check> {
    found.checks.iter().find(|check| check.outcome == found.verdict)
}

/// Returns the checks beside that one.
pub(super) fn others(found: &Certificate) -> impl Iterator<Item = &Check> {
    let decisive = decisive(found).map(|check| check.what);
    found.checks.iter().filter(move |check| Some(check.what) != decisive)
}

/// Returns the verdict with what decided it, in one sentence.
pub(super) fn headline(found: &Certificate) -> String {
    let why = decisive(found).map_or(String::new(), |check| format!(": {}", reason(check, found)));
    match found.verdict {
        Fitness::Fit => format!("The machine was fit for this benchmark{why}."),
        Fitness::Undecided => format!("Whether the machine was fit is undecided{why}."),
        Fitness::Unfit => format!("The machine was not fit for this benchmark{why}."),
    }
}

/// States why a check came out as it did.
pub(super) fn reason(check: &Check, found: &Certificate) -> String {
    match check.what {
        Checked::Noise => noise(check, found),
        Checked::Effect => effect(check, found),
        Checked::Drift => {
            let least = share(found.limits.min_effect.unwrap_or_default());
            format!("the same work {}, against effects of {least}", drift(found))
        }
        Checked::Runs => format!(
            "{} of {} succeeded, the others do not count",
            found.runs.len(),
            counted(found.asked_runs, "run", "runs")
        ),
        Checked::Account => {
            "the kernel counted more CPU time than the events show, so some are missing".into()
        }
    }
}

/// States how much longer the same work took after the runs.
fn drift(found: &Certificate) -> String {
    match found.drift {
        None => "was not timed".into(),
        Some(drift) if drift.abs() < SAME => "took as long after the runs as before".into(),
        Some(drift) if drift > 0.0 => {
            format!("took {} longer after the runs than before", share(drift))
        }
        Some(drift) => format!("took {} less time after the runs than before", share(-drift)),
    }
}

fn noise(check: &Check, found: &Certificate) -> String {
    let most = share(found.limits.max_noise);
    let lost = lost(found);
    let is_short = found.lost_at_most.is_some_and(|high| high <= found.limits.max_noise)
        || found.lost > found.limits.max_noise;
    match check.outcome {
        Fitness::Undecided if is_short => {
            format!(
                "it lost {lost}, but ran too short to judge {most}: measure a longer command, or repeat it"
            )
        }
        Fitness::Undecided => format!("it lost {lost}, and {most} is allowed"),
        Fitness::Fit => format!("it lost {lost}, at most {most} is allowed"),
        Fitness::Unfit => {
            let most_by = found.sources.first().map_or(String::new(), |source| {
                format!("; its largest source, {}, took {}", name(source), share(source.share))
            });
            format!("it lost {lost}{most_by}; at most {most} is allowed")
        }
    }
}

/// States the lost time, and how much it may be with what is not visible.
pub(super) fn lost(found: &Certificate) -> String {
    let low = share(found.lost);
    match found.lost_at_most.map(share) {
        None => format!("{low} or more of the time in which it wanted a CPU"),
        Some(high) if high == low => format!("{low} of the time in which it wanted a CPU"),
        Some(high) => {
            format!("{low} of the time in which it wanted a CPU, {high} with what is not visible")
        }
    }
}

fn effect(check: &Check, found: &Certificate) -> String {
    let least = share(found.limits.min_effect.unwrap_or_default());
    match (&found.effect, check.outcome) {
        (None, _) => format!("effects of {least} need five runs or more: --repeat"),
        (Some(effect), Fitness::Undecided) => {
            format!("{}, and {least} is asked for: repeat more often", smallest(effect))
        }
        (Some(effect), _) => format!("{}, and {least} is asked for", smallest(effect)),
    }
}

/// States the smallest effect.
pub(super) fn smallest(effect: &Effect) -> String {
    format!(
        "{} independent runs on each side show a slowdown of {} in 4 of 5 cases",
        effect.runs,
        share(effect.smallest)
    )
}

/// States how slow the first run was, and that it counts.
pub(super) fn slow_first(slow: &SlowFirst) -> String {
    let without = slow
        .effect_without
        .map_or(String::new(), |effect| format!(", which is {} without it", share(effect)));
    format!(
        "took {} longer than the median of the others, and counts in the smallest effect{without}: run the command once before, \
         if that is not what you compare",
        share(slow.longer)
    )
}

pub(super) fn name(source: &Source) -> String {
    match &*source.source {
        UNATTRIBUTED => "unknown sources".into(),
        id => clip(&title_of(id, &source.name, true), NAME),
    }
}

fn facts(found: &Certificate) -> Vec<Fact> {
    let mut facts = vec![Fact::new("lost", Tone::Quiet, lost(found))];
    let longest = found.runs.iter().filter_map(|run| run.longest_ns).max();
    facts.extend(
        longest.map(|ns| Fact::new("longest", Tone::Quiet, format!("{} at once", length(ns)))),
    );
    let held = found.held_back_ns.filter(|ns| *ns > 0);
    facts.extend(held.map(|ns| {
        Fact::new(
            "quota",
            Tone::Warning,
            format!("a CPU quota held its threads back for {}", length(ns)),
        )
    }));
    let effect = match &found.effect {
        Some(effect) => smallest(effect),
        None => "known from five runs on: --repeat".into(),
    };
    facts.push(Fact::new("effect", Tone::Quiet, effect));
    let slow = found.slow_first.as_ref();
    facts.extend(slow.map(|slow| Fact::new("first run", Tone::Warning, slow_first(slow))));
    if found.drift.is_some() {
        facts.push(Fact::new("same work", Tone::Quiet, drift(found)));
    }
    let frequency: Vec<String> = found
        .frequency
        .iter()
        .map(|(name, value)| format!("{} {}", plain(name), plain(value)))
        .collect();
    if !frequency.is_empty() {
        facts.push(Fact::new("frequency", Tone::Quiet, frequency.join(", ")));
    }
    facts
}

fn sources(found: &Certificate) -> Table {
    Table::with_rows(&found.sources)
        .name("source", name)
        .number("of the time wanted", |source| share(source.share))
        .captioned("What took time from the runs, as a part of the time in which they wanted a CPU")
}

fn runs(found: &Certificate) -> Table {
    let runs: Vec<(usize, &CertifiedRun)> = found.runs.iter().enumerate().collect();
    let part = |run: &CertifiedRun, ns: u64| share(ns as f64 / run.wanted_ns.max(1) as f64);
    Table::with_rows(&runs)
        .name("run", |(at, _)| (at + 1).to_string())
        .number("took", |(_, run)| time(run.wall_ns as f64))
        .number("CPU time", |(_, run)| run.cpu_ns.map_or("–".into(), |ns| time(ns as f64)))
        .number("lost", |(_, run)| part(run, run.lost_ns))
        .number("at most", |(_, run)| run.at_most_ns.map_or("–".into(), |ns| part(run, ns)))
        .number("longest", |(_, run)| run.longest_ns.map_or("–".into(), length))
        .captioned("The runs of the benchmark")
}
