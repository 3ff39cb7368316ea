//! How fast the loops went between the detours.

use super::levels;
use crate::picture::{Cell, Column, Heat, Row};
use crate::screen::{Fact, Screen};
use crate::style::Tone;
use crate::table::Table;
use crate::units::{fine, noise, noise_bounds, noise_certainty, share, telling};
use anechoic_analyze::Summary;
use anechoic_analyze::pace::{CpuPace, Pace, RESOLUTION};

/// A smaller share of the time that was lost by a slower pace is one of the checks.
const CALM: f64 = 0.001;
/// A CPU whose calm pace is slower than that of the fastest of its class by this share was slow all the time.
const SLOWER_THAN_CLASS: f64 = 0.02;
/// A CPU has most of the slow time if it has this part.
const MOSTLY: f64 = 0.75;
/// With more CPUs than this the table shows only the slowest.
const MOST_ROWS: usize = 16;
/// Largest number of CPUs in the figure.
const MOST_CPUS: usize = 64;
/// Factors of ten between the darkest and the lightest field of the figure.
const DECADES: f64 = 2.0;

/// Returns what a slower pace cost, if it did.
pub(crate) fn sentence(summary: &Summary) -> Option<String> {
    let pace = summary.pace.as_ref()?;
    let all_the_time = slower_than_class(pace).map(|cpu| {
        format!(
            "CPU {} was slower than the fastest of its class by {} all the time.",
            cpu.cpu,
            share(cpu.slower_than_class)
        )
    });
    let at_times = (pace.slow >= CALM).then(|| {
        let certainty = match telling(pace.slow, pace.interval, pace.at_least) {
            (None, None) => String::new(),
            _ => noise_certainty(pace.slow, pace.interval, pace.at_least),
        };
        let on = most(pace).map(|cpu| format!(", mostly on CPU {}", cpu.cpu)).unwrap_or_default();
        format!(
            "A slower pace between the detours took another {} in this run{certainty}{on}: `anechoic measure pace` shows \
             what is short.",
            noise(pace.slow),
        )
    });
    let sentences: Vec<String> = at_times.into_iter().chain(all_the_time).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

fn slower_than_class(pace: &Pace) -> Option<&CpuPace> {
    let cpus = pace.cpus.iter().filter(|cpu| cpu.slower_than_class >= SLOWER_THAN_CLASS);
    cpus.max_by(|one, other| one.slower_than_class.total_cmp(&other.slower_than_class))
}

/// Returns the one of several CPUs that lost most of the slow time.
fn most(pace: &Pace) -> Option<&CpuPace> {
    let all: f64 = pace.cpus.iter().map(|cpu| cpu.slow).sum();
    let most = pace.cpus.iter().find(|cpu| cpu.slow >= MOSTLY * all);
    most.filter(|_| pace.cpus.len() > 1)
}

/// Returns that the pace was calm, if it was.
pub(crate) fn fact(summary: &Summary) -> Option<Fact> {
    let pace = summary.pace.as_ref()?;
    if pace.slow >= CALM || slower_than_class(pace).is_some() {
        return None;
    }
    let text = format!(
        "between the detours a pace slower than calm by {} or more cost {} of the time",
        share(RESOLUTION),
        noise(pace.slow)
    );
    Some(Fact::new("slow time", Tone::Good, text).checks("slow time"))
}

/// Adds the pace of each CPU.
pub(crate) fn part(summary: &Summary, all: bool, screen: &mut Screen) {
    let Some(pace) = summary.pace.as_ref() else { return };
    let heads = ["iteration", "lost", "95 %", "5 % slower", "p99", "with noise"];
    let mut table = Table::with_names("pace on CPU", &heads);
    for cpu in slowest(pace, if all { usize::MAX } else { MOST_ROWS }) {
        let of_noise = summary.cpus.iter().find(|row| row.cpu == cpu.cpu);
        table.row(vec![
            cpu.cpu.to_string(),
            format!("{:.2} ns", cpu.calm_ns),
            noise(cpu.slow),
            noise_bounds(cpu.slow, cpu.interval, cpu.at_least),
            share(cpu.clearly_slow),
            format!("+{}", share(cpu.p99_slowdown)),
            of_noise.map_or_else(|| "–".into(), |row| noise(row.noise + cpu.slow)),
        ]);
    }
    if pace.cpus.len() > 1 {
        table.row(vec![
            "all".into(),
            String::new(),
            noise(pace.slow),
            noise_bounds(pace.slow, pace.interval, pace.at_least),
            String::new(),
            String::new(),
            noise(pace.lost),
        ]);
    }
    screen.table(table);
    screen.note(
        "iteration: of the undisturbed loop at its calm pace; lost: time that a slower pace took; 5 % slower: share of the \
         time between detours in which an iteration took at least that much longer; p99: how much longer in the slowest hundredth; with noise: lost by both",
    );
    map(pace, screen);
    screen.gap();
    levels::table(&pace.levels, "pace changed after", &summary.run, screen);
}

/// Adds when which CPU was slow, if one was.
fn map(pace: &Pace, screen: &mut Screen) {
    if pace.slow < CALM {
        return;
    }
    let cpus = slowest(pace, MOST_CPUS);
    let steps = cpus.iter().map(|cpu| cpu.by_time.len()).max().unwrap_or(0);
    let column = |step: usize| Column::plain(at(step, pace)).briefly(String::new());
    let slow = cpus.iter().flat_map(|cpu| cpu.by_time.iter().copied());
    let heat = Heat {
        name: "slow time".to_owned(),
        title: String::new(),
        corner: "CPU".to_owned(),
        columns: (0..steps).map(column).collect(),
        rows: cpus.iter().map(|cpu| row(cpu, steps, pace)).collect(),
        most: slow.fold(0.0, f64::max),
        decades: DECADES,
        write: noise,
    };
    let shades =
        format!("when it was slow · calm   {}   each {}", heat.shades(), fine(pace.step_s * 1e9));
    screen.picture(heat, "Time lost by a slower pace between the detours");
    screen.in_terminal(|terminal| terminal.toned_line(Tone::Quiet, &shades));
}

/// Returns the cells of a CPU; those of times in which its loop did not run any more are empty.
fn row(cpu: &CpuPace, steps: usize, pace: &Pace) -> Row {
    let cells = (0..steps).map(|step| match cpu.by_time.get(step) {
        None => Cell::text(" "),
        Some(slow) if *slow < CALM => Cell::text("·"),
        Some(&slow) => Cell::hinted(slow, format!("after {}: {}", at(step, pace), noise(slow))),
    });
    Row::new(cpu.cpu.to_string(), cells.collect())
}

/// Returns the CPUs by number; of more than `most` those that lost most.
fn slowest(pace: &Pace, most: usize) -> Vec<&CpuPace> {
    let mut cpus: Vec<&CpuPace> = pace.cpus.iter().collect();
    cpus.sort_by(|one, other| other.slow.total_cmp(&one.slow).then(one.cpu.cmp(&other.cpu)));
    cpus.truncate(most);
    cpus.sort_by_key(|cpu| cpu.cpu);
    cpus
}

/// Writes when a time begins.
fn at(step: usize, pace: &Pace) -> String {
    fine(step as f64 * pace.step_s * 1e9)
}
