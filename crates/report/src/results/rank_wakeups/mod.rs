//! The screen of a ranking of wake-ups: who is woken fastest, and which differences are beyond chance.

use crate::results::described::{Grouping, Section};
use crate::results::row::{Print, Row, is_whole};
use crate::results::wakeup::kinds;
use crate::screen::Screen;
use crate::style::{View, capital, clip, plain};
use crate::table::Table;
use crate::units::{asked, count, counted, micros, share};
use anechoic_analyze::injection::Verdict;
use anechoic_analyze::rank::wakeups::{Latency, RankedLatency, WakeupRanking, WakeupStanding};
use anechoic_analyze::wakeup::Kind;
use anechoic_recording::Recording;

/// The row of the result. It is computed from groups of recordings, so its command computes it.
pub static RANK_WAKEUPS: Row<WakeupRanking> = Row {
    verdict,
    headline: sentences,
    section: Some(Section {
        anchor: "rank-wakeups",
        title: "Whose wake-ups are fastest",
        short: "Ranking",
    }),
    print: Some(Print::with(rank_wakeups)),
    ..Row::new("rank-wakeups", "whose wake-ups are fastest", Grouping::Live)
};

/// Widest name of a configuration in a table.
const NAME: usize = 28;
/// Number of rows that a sentence names.
const NAMED: usize = 3;
/// Number of rows in a shortened table, the clear ones first.
const SHOWN: usize = 12;

/// Returns `Nothing` where a configuration has one run or was measured far from the others, and `Warning` if a recording is not
/// whole.
fn verdict(ranking: &WakeupRanking, recordings: &[&Recording]) -> Verdict {
    match recordings.iter().all(is_whole) {
        _ if ranking.by_blocks || ranking.unproven => Verdict::Nothing,
        true => Verdict::Good,
        false => Verdict::Warning,
    }
}

/// Shows the latencies of each configuration, and which is lowest.
fn rank_wakeups(ranking: &WakeupRanking, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    screen.in_terminal(|terminal| {
        let number = ranking.configurations.len() as u64;
        let number = counted(number, "configuration", "configurations");
        terminal.heading(&format!("ranking of wake-ups: {number}"));
        terminal.gap();
        terminal.headline(&sentences(ranking).join(" "));
    });
    let notes = ranking.notes.iter().map(|note| capital(note) + ".");
    notes.chain(advice(ranking)).for_each(|text| screen.warning(&text));
    screen.section("latency, µs, and late wake-ups");
    screen.table(values(ranking, view));
    screen.note(&format!(
        "means over the runs of a configuration; late: the share of wake-ups that took more than {}",
        asked(ranking.late_ns)
    ));
    screen.note(
        "a configuration is clearly lowest if `anechoic compare` finds it lower than each other one (5 %, Holm)",
    );
    screen.section("configurations");
    screen.table(standings(ranking));
    screen
}

fn short(name: &str) -> String {
    clip(&plain(name), NAME)
}

/// Returns what was found: who is clearly lowest in what.
fn sentences(ranking: &WakeupRanking) -> Vec<String> {
    let ranked = counted(ranking.rows.len() as u64, "value", "values");
    let best = ranking.configurations.iter().rev().max_by_key(|one| one.clearly_lowest);
    let mut sentences = vec![];
    match best.filter(|best| best.clearly_lowest > 0) {
        Some(best) => {
            let at = ranking.configurations.iter().position(|one| one.name == best.name);
            let which = ranking.rows.iter().filter(|row| row.clearly_lowest == at);
            let mut which: Vec<String> = which.map(|row| name(row, ranking)).collect();
            if let Some(more @ 1..) = which.len().checked_sub(NAMED) {
                which.truncate(NAMED);
                which.push(format!("{} more", count(more as u64)));
            }
            sentences.push(format!(
                "{} is clearly lowest in {} of {ranked}: {}.",
                short(&best.name),
                count(best.clearly_lowest),
                which.join("; ")
            ));
        }
        None => sentences.push(format!(
            "No configuration is clearly the fastest: none is lower than all others beyond chance in any of {ranked}."
        )),
    }
    let tied = ranking.rows.iter().filter(|row| row.tied).count();
    if tied > 0 && tied < ranking.rows.len() {
        let tied = count(tied as u64);
        sentences.push(format!("In {tied} of them no two differ beyond chance."));
    }
    sentences
}

/// Returns what to do for a more certain order.
fn advice(ranking: &WakeupRanking) -> Option<String> {
    let advice = if ranking.unproven {
        "Configurations were measured more than ten minutes apart, or what is kept of a run is no sample of it: their differences \
         do not count. Measure them in turns."
    } else if ranking.by_blocks {
        "One run of a configuration does not show how much runs differ: the differences are beyond the variation within the \
         recordings. Measure each three times or more, in turns, and give all: `anechoic rank a1,a2,a3 b1,b2,b3 c1,c2,c3`."
    } else {
        return None;
    };
    Some(advice.to_owned())
}

/// Names a row: `99 %, every 1 ms`.
fn name(row: &RankedLatency, ranking: &WakeupRanking) -> String {
    let latency = match row.latency {
        Latency::Median => "median",
        Latency::P99 => "99 %",
        Latency::Late => "late",
    };
    let all: Vec<Kind> = ranking.rows.iter().map(|row| row.kind).collect();
    match kinds::name(row.kind, &all) {
        Some(kind) => format!("{latency}, {kind}"),
        None => latency.to_owned(),
    }
}

fn values(ranking: &WakeupRanking, view: &View<'_>) -> Table {
    let names: Vec<String> = ranking.configurations.iter().map(|one| short(&one.name)).collect();
    let mut heads: Vec<&str> = names.iter().map(String::as_str).collect();
    heads.push("clearly lowest");
    let mut table = Table::with_names("", &heads);
    let mut rows: Vec<&RankedLatency> = ranking.rows.iter().collect();
    rows.sort_by_key(|row| (!view.all).then_some((row.clearly_lowest.is_none(), row.tied)));
    for row in rows {
        let mut cells = vec![name(row, ranking)];
        cells.extend(row.values.iter().map(|value| cell(*value, row.latency)));
        cells.push(row.clearly_lowest.map_or("–".to_owned(), |at| names[at].clone()));
        table.row(cells);
    }
    table
        .captioned("Wake-up latency of each configuration in µs, and its share of late wake-ups")
        .first(SHOWN, view.all, |left| counted(left as u64, "more (--all)", "more (--all)"))
}

fn cell(value: Option<f64>, latency: Latency) -> String {
    match (value, latency) {
        (None, _) => "–".to_owned(),
        (Some(value), Latency::Late) => share(value),
        (Some(value), _) => micros(value),
    }
}

fn standings(ranking: &WakeupRanking) -> Table {
    Table::with_rows(&ranking.configurations)
        .name("configuration", |one: &WakeupStanding| short(&one.name))
        .number("runs", |one| count(one.runs))
        .number("wake-ups", |one| count(one.wakeups))
        .number("lowest", |one| count(one.lowest))
        .number("clearly lowest", |one| count(one.clearly_lowest))
        .captioned("How often each configuration is lowest")
}
