//! Screens of many kinds of wake-ups have 40 lines, and all is there on request.

use anechoic_analyze::compare::wakeups::WakeupRun;
use anechoic_analyze::history::{Kind, LeftOut, PastWakeups, WakeupHistory};
use anechoic_analyze::rank::wakeups::rank_wakeups;
use anechoic_analyze::wakeup::hosts::join;
use anechoic_analyze::wakeup::{HostWakeups, wakeup};
use anechoic_lab::wakeups::{Block, record};
use anechoic_recording::stop::{Stop, StopCondition, StoppedBy};
use anechoic_recording::{Recording, Run};
use anechoic_report::View;
use anechoic_report::results::Found;
use anechoic_report::results::rank_wakeups::RANK_WAKEUPS;
use anechoic_report::results::wakeup_history::WAKEUP_HISTORY;
use anechoic_report::results::wakeup_hosts::WAKEUP_HOSTS;
use std::path::Path;

/// Number of kinds of wake-ups.
const KINDS: u64 = 12;

/// A recording of wake-ups every 1 to 12 ms that take `base_ns`, those of 7 ms ten times as long.
fn recorded(dir: &Path, base_ns: u64) -> Recording {
    let block = |ms: u64| Block {
        interval_ns: ms * 1_000_000,
        ..Block::new(0, vec![if ms == 7 { 10 * base_ns } else { base_ns + ms }; 1_000])
    };
    record(dir, &(1..=KINDS).map(block).collect::<Vec<_>>())
}

fn text(found: &Found, all: bool) -> String {
    found.screen(&View { all, ..View::default() }).to_text(&View { all, ..View::default() })
}

/// Looks at both screens: the short one has room, and names each kind; the other has a table of each.
fn looked_at(found: &Found) -> String {
    let (brief, all) = (text(found, false), text(found, true));
    assert!(brief.lines().count() <= 40, "{} lines\n{brief}", brief.lines().count());
    assert!(brief.lines().all(|line| line.chars().count() <= 80), "{brief}");
    for ms in 1..=KINDS {
        let name = format!("every {ms} ms");
        assert!(brief.contains(&name) && all.contains(&name), "{name}\n{brief}{all}");
    }
    let tables = |text: &str| text.matches(" p99").count() + text.matches(" p50").count();
    assert!(tables(&all) as u64 >= KINDS && brief.contains("--all"), "{all}");
    brief
}

#[test]
fn hosts_with_many_kinds_of_wake_ups() {
    let dir = tempfile::tempdir().expect("a directory");
    let host = |number: u64| {
        let place = dir.path().join(format!("host=n{number}"));
        HostWakeups::from_recording(&recorded(&place, 12_000 + 100 * number)).expect("a host")
    };
    let found = join((0..9).map(host).collect(), &[]).expect("nine hosts");
    let brief = looked_at(&Found::from_value(&WAKEUP_HOSTS, found, &[]));
    let first = brief.lines().find(|line| line.starts_with("every")).expect("a row");
    let cells: Vec<&str> = first.split_whitespace().collect();
    // 1,000 wake-ups of each of nine hosts take more than 100 µs.
    assert_eq!((&cells[..4], cells.contains(&"9,000")), (&["every", "7", "ms", "9"][..], true));
}

/// Three configurations in turns, 12, 13 and 15 µs.
#[test]
fn configurations_with_many_kinds_of_wake_ups() {
    let dir = tempfile::tempdir().expect("a directory");
    let names = ["fast", "middle", "slow"];
    let base_ns = [12_000, 13_000, 15_000];
    let runs = names.map(|name| {
        let at = names.iter().position(|other| *other == name).expect("it is one");
        let run = |turn: u64| {
            let place = dir.path().join(format!("{name}{turn}"));
            let base_ns = base_ns[at] + 10 * (turn * turn % 5);
            let recording = recorded(&place, base_ns);
            let second = 3 * turn + at as u64;
            let start_utc = format!("2026-01-01T00:00:{second:02}.000000Z");
            let run = Run { start_utc, ..recording.run().clone() };
            (run, wakeup(&recording).expect("a result"))
        };
        (0..5).map(run).collect::<Vec<_>>()
    });
    let configurations: Vec<(String, Vec<WakeupRun<'_>>)> = names
        .iter()
        .zip(&runs)
        .map(|(name, runs)| {
            let runs = runs.iter().map(|(run, found)| WakeupRun { run, found });
            ((*name).to_owned(), runs.collect())
        })
        .collect();
    let found = rank_wakeups(&configurations).expect("they have kinds in common");
    let found = Found::from_value(&RANK_WAKEUPS, found, &[]);
    let brief = text(&found, false);
    assert!(brief.lines().count() <= 40, "{} lines\n{brief}", brief.lines().count());
    insta::assert_snapshot!("ranking", brief);
}

#[test]
fn runs_with_many_kinds_of_wake_ups_and_one_that_a_late_one_ended() {
    let dir = tempfile::tempdir().expect("a directory");
    let run = |place: &Path, day: u64, ended: bool| {
        let recording = recorded(&place.join(day.to_string()), 12_000 + 100 * day);
        let found = wakeup(&recording).expect("a result");
        let mut run = Run {
            start_utc: format!("2026-01-{day:02}T03:00:00.000000Z"),
            ..recording.run().clone()
        };
        let met = StoppedBy { cpu: 0, start_ticks: 1, end_ticks: 2, ..StoppedBy::default() };
        run.stop_on = ended.then_some(Stop {
            condition: StopCondition::Wakeup(50_000),
            met: Some(met),
            kept: None,
        });
        (Kind::from_run(&run), PastWakeups::new(day.to_string(), &run, &found))
    };
    let history = |last_ended: bool| {
        let place = dir.path().join(last_ended.to_string());
        let (kinds, runs): (Vec<Kind>, Vec<PastWakeups>) =
            (1..=5).map(|day| run(&place, day, last_ended && day == 5)).unzip();
        let found = WakeupHistory::new(kinds[0].clone(), runs, LeftOut::default());
        Found::from_value(&WAKEUP_HISTORY, found, &[])
    };
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (whole, ended) = (looked_at(&history(false)), looked_at(&history(true)));
    let stated = "1 of 5 runs: ended because a wake-up was late (--stop-on 'wakeup>50us')";
    assert!(joined(&ended).contains(stated) && !joined(&whole).contains("stop-on"), "{ended}");
    let row = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("every 7 ms")).expect("a row");
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    // The geometric mean of 121 to 125 µs, ten times as long, and 1,000 late ones of the newest run.
    let (whole, ended) = (row(&whole), row(&ended));
    assert_eq!((&*whole[3], whole.last().map(|cell| &**cell)), ("123", Some("1,000")), "{whole:?}");
    assert!(whole.len() > ended.len() || ended.contains(&"–".to_owned()), "{ended:?}");
}
