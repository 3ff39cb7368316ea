//! The screen of the probes: what was short, how slow each probe was, and when.

mod row;
mod words;

pub(crate) use row::PROBED;

use crate::certainty;
use crate::heading;
use crate::picture::{Cell, Column, Heat, Row};
use crate::screen::{Fact, Screen};
use crate::style::{Tone, View};
use crate::table::Table;
use crate::units::{
    between, count, counted, cpu_list, fine, length, long, noise, share, timestamp,
};
use anechoic_analyze::Probed;
use anechoic_analyze::probed::{ProbedCpu, Short};
use anechoic_recording::run::Ended;

/// With more rows the table of what was short is cut in brief.
const FEW: usize = 8;
/// Largest number of rows in the figure.
const MOST_ROWS: usize = 64;
/// Factors of ten between the darkest and the lightest field of the figure.
const DECADES: f64 = 2.0;

/// Shows what was short.
#[must_use]
pub fn probed(found: &Probed, view: &View<'_>) -> Screen {
    let mut screen = heading::begun(&found.run, &what(found));
    // A page begins with these.
    screen.in_terminal(|terminal| {
        words::sentences(found).iter().for_each(|sentence| terminal.headline(sentence));
    });
    let mut short: Vec<(&ProbedCpu, &Short)> = vec![];
    for cpu in &found.cpus {
        short.extend(cpu.short.iter().map(|short| (cpu, short)));
    }
    short.sort_by(|one, other| other.1.share.total_cmp(&one.1.share));
    if !short.is_empty() {
        shortages(&short, view, &mut screen);
        map(&short, found, &mut screen);
    }
    let judged = || found.cpus.iter().filter(|cpu| !cpu.probes.is_empty());
    let shown = short.first().map_or_else(|| judged().next(), |(cpu, _)| Some(*cpu));
    for cpu in judged().filter(|cpu| view.all || shown == Some(*cpu)) {
        screen.section(&format!("probes on CPU {}", cpu.cpu));
        screen.table(probes(cpu));
    }
    if shown.is_none() {
        screen.gap();
        screen.facts(facts(found));
        screen.path_and_more(view);
        return screen.in_brief(view);
    }
    screen.note(
        "fastest: time of an addition, or of a line that is loaded or run through, in the fastest tenth of the time; mean: how much \
         longer on average; p99: in the slowest hundredth of the time",
    );
    screen.gap();
    screen.facts(facts(found));
    screen.path_and_more(view);
    screen.in_brief(view)
}

/// Describes the measurement.
fn what(found: &Probed) -> String {
    let probes = found.cpus.first().map_or(0, |cpu| cpu.probes.len() as u64);
    let turns = found.cpus.iter().map(|cpu| cpu.turn_ns).fold(0.0, f64::max);
    let turns = format!("each about every {}", length(turns as u64));
    let probes = match probes {
        0 => "probes".to_owned(),
        _ => format!("{} in turn, {turns}", counted(probes, "probe", "probes")),
    };
    format!(
        "pace: {probes} · {} ({}) for {} · {}",
        counted(found.cpus.len() as u64, "CPU", "CPUs"),
        cpu_list(&found.run.cpus),
        long(found.run.wall_ns),
        timestamp(&found.run.start_utc),
    )
}

/// Adds what was short on each CPU, and when.
fn shortages(short: &[(&ProbedCpu, &Short)], view: &View<'_>, screen: &mut Screen) {
    screen.section("what was short");
    let rows = Table::with_rows(short)
        .name("CPU", |(cpu, _)| cpu.cpu.to_string())
        .name("short", |(_, short)| words::name(short.what).to_owned())
        .number("of the time", |(_, short)| noise(short.share))
        .some_numbers("95 %", 1, |(_, short)| {
            short.interval.map(|ends| between(&noise(ends.low), &noise(ends.high)))
        })
        .name("probe", |(_, short)| short.probe.clone())
        .number("slower by", |(_, short)| share(short.slower))
        .some_numbers("all at once", 2, |(_, short)| short.on_all.map(share))
        .captioned("What was short on each CPU: share of the time, and how much longer the probe took then");
    screen.table(match short.len().checked_sub(FEW) {
        Some(more @ 1..) if !view.all => {
            rows.folded(FEW, format!("and {} more (--all)", count(more as u64)))
        }
        _ => rows,
    });
}

/// Returns how long each probe took on a CPU.
fn probes(cpu: &ProbedCpu) -> Table {
    let time = |ns: f64| if ns < 10.0 { format!("{ns:.2} ns") } else { format!("{ns:.0} ns") };
    Table::with_rows(&cpu.probes)
        .name("probe", |probe| probe.name.clone())
        .number("fastest", |probe| time(probe.calm_ns))
        .number("mean", |probe| share(probe.slower))
        .number("p99", |probe| share(probe.p99_slower))
        .captioned("Time of each probe")
}

/// Adds when what was short.
fn map(short: &[(&ProbedCpu, &Short)], found: &Probed, screen: &mut Screen) {
    let steps = short.iter().map(|(_, short)| short.by_time.len()).max().unwrap_or(0);
    let heat = Heat {
        name: "short".to_owned(),
        title: String::new(),
        corner: "CPU".to_owned(),
        columns: (0..steps)
            .map(|step| Column::plain(at(step, found)).briefly(String::new()))
            .collect(),
        rows: short.iter().take(MOST_ROWS).map(|(cpu, short)| row(cpu, short, found)).collect(),
        most: 1.0,
        decades: DECADES,
        write: noise,
    };
    let shades = format!("· never   {}   each {}", heat.shades(), fine(found.step_s * 1e9));
    screen.picture(heat, "Share of the time in which something was short on each CPU");
    screen.in_terminal(|terminal| terminal.toned_line(Tone::Quiet, &shades));
}

/// Writes when a time begins.
fn at(step: usize, found: &Probed) -> String {
    fine(step as f64 * found.step_s * 1e9)
}

fn row(cpu: &ProbedCpu, short: &Short, found: &Probed) -> Row {
    let cells = short.by_time.iter().enumerate().map(|(step, share)| cell(step, *share, found));
    Row::new(format!("{} {}", cpu.cpu, words::name(short.what)), cells.collect())
}

/// Returns the field of a time; nothing is in it where nothing could be judged.
fn cell(step: usize, share: Option<f64>, found: &Probed) -> Cell {
    match share {
        None => Cell::text(" "),
        Some(0.0) => Cell::text("·"),
        Some(share) => Cell::hinted(share, format!("after {}: {}", at(step, found), noise(share))),
    }
}

/// Returns facts on the work and on what is missing.
fn facts(found: &Probed) -> Vec<Fact> {
    let work = match found.wrong {
        0 => Fact::new("work", Tone::Good, "every step returned the right value".to_owned()),
        wrong => {
            let text = format!("{} returned a wrong value", counted(wrong, "sample", "samples"));
            Fact::new("work", Tone::Bad, text)
        }
    };
    let mut facts = vec![work];
    facts.extend(not_judged(found));
    facts.extend(found.cpus.iter().filter_map(ended));
    if found.strays > 0 {
        let text = format!("{} belong to no series", counted(found.strays, "sample", "samples"));
        facts.push(Fact::new("strays", Tone::Warning, text));
    }
    if found.cpus.len() > 1 {
        let text = "those of each CPU take bandwidth and shared cache from those of the others";
        facts.push(Fact::new("probes", Tone::Plain, text.to_owned()));
    }
    facts.extend(certainty::not_available(&found.run.not_available));
    facts.extend(certainty::notes(&found.run));
    facts
}

/// States in how many windows nothing could be judged.
fn not_judged(found: &Probed) -> Option<Fact> {
    let sum = |count: fn(&ProbedCpu) -> u64| {
        found.cpus.iter().map(count).fold(0_u64, u64::saturating_add)
    };
    let (judged, seen) = (sum(|cpu| cpu.windows), sum(|cpu| cpu.windows_seen));
    // The last window of each CPU is cut short.
    let cut = found.cpus.len() as u64;
    (seen.saturating_sub(judged) > cut).then(|| {
        let text = format!(
            "{} of {} of 0.1 s had too few samples of some probe, and are left out",
            count(seen - judged),
            counted(seen, "window", "windows")
        );
        Fact::new("windows", Tone::Warning, text)
    })
}

/// States how the probes of a CPU ended early, or that samples are missing.
fn ended(cpu: &ProbedCpu) -> Option<Fact> {
    let early = match cpu.ended {
        Ended::Complete | Ended::Steady | Ended::Unsteady | Ended::Stopped => None,
        Ended::Offline => Some("the CPU went offline"),
        Ended::Clock => Some("the counter jumped back"),
        Ended::NoMemory => Some("there was no memory for the probes"),
        Ended::Interrupted | Ended::CutOff => Some("the run ended early"),
    };
    let lost = (cpu.lost > 0).then(|| format!("{} lost", counted(cpu.lost, "sample", "samples")));
    let parts: Vec<String> = early.map(str::to_owned).into_iter().chain(lost).collect();
    let text = format!("CPU {}: {}", cpu.cpu, parts.join("; "));
    (!parts.is_empty()).then(|| Fact::new("ended", Tone::Warning, text))
}
