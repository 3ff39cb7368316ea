//! Tests `anechoic top --wakeup`. The truth is the log of a thread of higher priority, the clock, and the recording.

use super::top::Terminal;
use super::wakeup_stop::{Hog, may_measure};
use crate::tool::{self, ANECHOIC};
use anechoic_analyze::wakeup::wakeup;
use anechoic_lab::note;
use anechoic_recording::Recording;
use std::time::Duration;

/// The numbers of a CPU: late wake-ups, overruns, wake-ups.
fn numbers(screen: &str, cpu: u32) -> [u64; 3] {
    let cpu = cpu.to_string();
    let rows = screen.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = rows.into_iter().find(|row| row.first() == Some(&&*cpu)).expect("the CPU has a row");
    let whole: Vec<&str> =
        row.into_iter().filter(|cell| !["ns", "µs", "ms", "s"].contains(cell)).collect();
    let number = |at: usize| whole[at].replace(',', "").parse::<u64>().expect("a number");
    [number(1), number(6), number(7)]
}

/// Returns the share of late wake-ups of the sources that name this thread, and their number of wake-ups: where the host delays
/// the timer's interrupt, too, the timer was late after it.
fn named(screen: &str, name: &str) -> (f64, u64) {
    let lines = screen.lines().filter(|line| line.starts_with('■'));
    let cells = lines.filter_map(|line| Some(line.split_once(name)?.1.split_whitespace()));
    let number = |text: &str| text.replace([',', '<'], "").parse::<f64>().expect("a number");
    let each = cells.map(|cells| cells.collect::<Vec<_>>());
    each.fold((0.0, 0), |(share, wakeups), cells| {
        (share + number(cells[0]), wakeups + number(cells[4]) as u64)
    })
}

/// A thread of higher priority keeps the CPU for 20 ms twice a second: each time one wake-up is late, and 19 expiries pass.
#[test]
fn late_wake_ups_are_shown_with_what_made_them_late() {
    let Some(cpu) = may_measure() else { return };
    let _alone = tool::alone();
    let Some(terminal) = Terminal::open("wakeup") else { return };
    let hog = Hog::begin(cpu, Duration::from_secs(4));
    let top = format!("{ANECHOIC} top --wakeup --cpus {cpu} --policy fifo --late 8ms -o kept");
    terminal.enter(&format!("{top}; echo code=$?"));
    terminal.until("busy-hog");
    std::thread::sleep(Duration::from_secs(4));
    let spins = hog.end().len() as u64;
    std::thread::sleep(Duration::from_secs(1));
    let screen = terminal.screen();
    println!("{spins} spins\n{screen}");
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    let [late, overruns, wakeups] = numbers(&screen, cpu);
    let (share, hit) = named(&screen, "busy-hog");
    assert!(spins > 3 && late >= spins && hit >= spins, "{late} late, {hit} hit of {spins}");
    assert!(overruns >= 18 * spins, "{overruns} overruns in {spins} spins");
    let elapsed = screen.lines().next().and_then(|line| line.split(" · ").last());
    let s: u64 = elapsed.and_then(|it| it.trim().rsplit(':').next()?.parse().ok()).expect("a time");
    let expiries = wakeups + overruns;
    assert!(
        (s * 1_000 - 100..=s * 1_000 + 1_000).contains(&expiries),
        "{expiries} expiries, one each ms, in {s} s:\n{screen}"
    );
    assert!(screen.contains("busy-hog") && screen.contains("· scheduling 2"), "{screen}");
    match late == spins {
        true => assert!(share > 95.0, "{share} % of the late ones:\n{screen}"),
        false => note::not_judged(format!("{} others were later than 8 ms", late - spins)),
    }
    terminal.tmux(&["resize-window", "-x", "40", "-y", "24"]);
    let narrow = terminal.until_it("narrow screen", |screen| {
        screen.contains("of late") && screen.lines().all(|line| line.chars().count() <= 40)
    });
    assert!(narrow.contains("p99") && narrow.contains("longest"), "{narrow}");
    terminal.tmux(&["resize-window", "-x", "80", "-y", "24"]);
    terminal.press("q");
    terminal.until("code=0");
    terminal.is_given_back();
    // The recording has the same, and more of it.
    let recording = Recording::open(&terminal.dir.path().join("kept")).expect("a recording");
    let found = wakeup(&recording).expect("a result");
    let row = &found.rows[0];
    assert!(row.samples >= wakeups && row.late >= late, "{row:?}");
    let causes = found.causes.as_ref().expect("events");
    let hogs = causes.sources.iter().filter(|source| source.name.contains("busy-hog"));
    let recorded = hogs.fold((0.0, 0), |(share, wakeups), hog| {
        (share + hog.share_late.unwrap_or(0.0) * 100.0, wakeups + hog.wakeups)
    });
    assert_eq!(recorded.1, hit, "{:#?}", causes.sources);
    assert!(row.late > late || (recorded.0 - share).abs() < 0.2, "{recorded:?} and {share} %");
}

/// With an interval of 1 s each of the first wake-ups can be seen.
#[test]
fn the_first_wake_ups_are_shown_one_by_one() {
    let Some(cpu) = may_measure() else { return };
    let _alone = tool::alone();
    let Some(terminal) = Terminal::open("few") else { return };
    terminal.enter(&format!(
        "{ANECHOIC} top --wakeup --cpus {cpu} --interval 1s --late 500ms; echo code=$?"
    ));
    let empty = terminal.until("0 of 0 wake-ups over 500 ms");
    assert!(empty.contains("wake-ups every 1 s"), "{empty}");
    for few in ["0 of 1 wake-up over", "0 of 2 wake-ups over", "0 of 5 wake-ups over"] {
        let screen = terminal.until(few);
        assert!(screen.contains("µs        –"), "no 99th percentile:\n{screen}");
        assert!(screen.contains("longest wake-ups since the start"), "{screen}");
    }
    terminal.press("t");
    terminal.until("wake-ups have no threshold");
    terminal.press("q");
    terminal.until("code=0");
    terminal
        .enter(&format!("clear; {ANECHOIC} top --wakeup --no-trace --cpus {cpu}; echo code=$?"));
    let screen = terminal.until("no causes: --no-trace was given");
    assert!(numbers(&terminal.until(",0"), cpu)[2] >= 1_000, "{screen}");
    terminal.press("q");
    terminal.until("code=0");
    terminal.is_given_back();
}

#[test]
fn a_late_wake_up_ends_it_and_is_kept() {
    let Some(cpu) = may_measure() else { return };
    let _alone = tool::alone();
    let Some(terminal) = Terminal::open("late") else { return };
    let top = format!("{ANECHOIC} top --wakeup --policy fifo --cpus {cpu}");
    terminal.enter(&format!("{top} --stop-on 'detour>8ms'; echo code=$?"));
    terminal.until("code=64");
    let hog = Hog::begin(cpu, Duration::from_secs(5));
    terminal.enter(&format!("clear; {top} --stop-on 'wakeup>8ms' --keep 1s -o kept; echo code=$?"));
    let end = terminal.until("code=2");
    let spins = hog.end();
    terminal.is_given_back();
    let recording = Recording::open(&terminal.dir.path().join("kept")).expect("a recording");
    let stop = recording.run().stop_on.clone().expect("a condition");
    let met = stop.met.expect("it was met");
    let hit = spins.iter().any(|&(from, to)| met.start_ticks < to && met.end_ticks > from);
    match hit {
        true => assert!(end.contains("busy-hog"), "{end}"),
        false => note::not_judged("another wake-up was later than 8 ms"),
    }
    assert!(stop.kept.is_some() && end.contains("recording: kept"), "{stop:?} {end}");
}
