//! What the last rank of a simulated job waited for.

use crate::names::title_of;
use crate::screen::Screen;
use crate::style::clip;
use crate::table::Table;
use crate::units::{count, counted, fine, long, more, share};
use anechoic_simulate::{CriticalPath, Parameters, PathDetour, Simulation};

/// Detours that are shown if not all are asked for.
const BRIEFLY: usize = 3;
/// Explains a cost of nothing.
pub(super) const NO_COST: &str = "+0 ns: without that detour, another rank would be as late";
/// Widest name of a detour.
const NAME: usize = 24;

/// A part of the time of a path, without noise and with it.
struct Part {
    name: &'static str,
    /// How often the path with noise has it; absent for what has no number.
    times: Option<u64>,
    quiet_ps: i64,
    noisy_ps: i64,
}

/// Returns what the time of the path consists of, without what takes none.
fn parts(path: &CriticalPath, parameters: &Parameters) -> Vec<Part> {
    let (quiet, noisy) = (&path.quiet, &path.noisy);
    let part = |name, times, quiet_ps, noisy_ps| Part { name, times, quiet_ps, noisy_ps };
    let each = |name, quiet: u64, noisy: u64, ps: u64| {
        part(name, Some(noisy).filter(|_| ps > 0), (quiet * ps) as i64, (noisy * ps) as i64)
    };
    let mut parts = vec![
        part("computation", None, quiet.compute_ps as i64, noisy.compute_ps as i64),
        part("noise", path.detours, quiet.noise_ps as i64, noisy.noise_ps as i64),
        part("noise of the network", None, quiet.network_noise_ps, noisy.network_noise_ps),
        each("L: messages on their way", quiet.latencies, noisy.latencies, parameters.latency_ps),
        each("o: CPUs, messages", quiet.overheads, noisy.overheads, parameters.overhead_ps),
        each("g: network interfaces", quiet.gaps, noisy.gaps, parameters.gap_ps),
        each(
            "G: bytes on their way",
            quiet.wire_bytes,
            noisy.wire_bytes,
            parameters.gap_per_byte_ps,
        ),
        each(
            "O: CPUs, bytes",
            quiet.copied_bytes,
            noisy.copied_bytes,
            parameters.overhead_per_byte_ps,
        ),
    ];
    parts.retain(|part| (part.quiet_ps, part.noisy_ps) != (0, 0));
    parts
}

/// Shows the path, with its longest detours or all that are known.
pub(super) fn show(
    path: &CriticalPath,
    parameters: &Parameters,
    guest: bool,
    all: bool,
    screen: &mut Screen,
) {
    screen.section(&heading(path));
    screen.table(times(path, parameters));
    sources(path, guest).iter().for_each(|sources| screen.note(sources));
    if !path.longest.is_empty() {
        screen.gap();
        screen.table(detours(path, guest, all));
        note(path, all).iter().for_each(|note| screen.note(note));
    }
}

/// Returns the heading of the path.
fn heading(path: &CriticalPath) -> String {
    format!(
        "critical path of seed {}, what the last rank waited for: {}",
        path.seed,
        counted(path.ranks, "rank", "ranks"),
    )
}

/// Writes a part of the time of a path, and its share.
fn part_of_all(ps: i64, all_ps: u64) -> String {
    match ps {
        0 => "–".to_owned(),
        ps => {
            let sign = if ps < 0 { "−" } else { "" };
            let (ps, all_ps) = (ps.unsigned_abs() as f64, all_ps.max(1) as f64);
            let part = format!("{sign}{}", share(ps / all_ps));
            format!("{sign}{} {part:>7}", fine(ps / 1e3))
        }
    }
}

/// Shows what the time of the path consists of.
fn times(path: &CriticalPath, parameters: &Parameters) -> Table {
    let (quiet_ps, noisy_ps) = (path.quiet.sum_ps(parameters), path.noisy.sum_ps(parameters));
    let parts = parts(path, parameters);
    Table::with_rows(&parts)
        .name("part", |part| part.name.to_owned())
        .number("without noise", move |part| part_of_all(part.quiet_ps, quiet_ps))
        .number("with noise", move |part| part_of_all(part.noisy_ps, noisy_ps))
        .number("how often", |part| part.times.map_or_else(String::new, count))
        .captioned("What the time of the critical path consists of")
}

/// Shows the longest detours of the path.
fn detours(path: &CriticalPath, guest: bool, all: bool) -> Table {
    let shown = if all { path.longest.len() } else { BRIEFLY.min(path.longest.len()) };
    Table::with_rows(&path.longest[..shown])
        .name("detour on the path", move |detour| title(detour, guest, NAME))
        .number("took", |detour| match detour.times {
            1 => fine(detour.lost_ns),
            times => format!("{} × {}", count(times), fine(detour.lost_ns / times as f64)),
        })
        .name("recorded", |detour| {
            format!("{} CPU {} {}", clip(&detour.host, 10), detour.cpu, long(detour.recorded_ns))
        })
        .number("hit rank", |detour| count(u64::from(detour.rank)))
        .number("made late", |detour| count(detour.late_ranks))
        .number("the job", |detour| later(detour.cost_ns))
        .captioned("The longest detours of the critical path")
}

/// Explains the costs of these detours, if any needs it.
fn note(path: &CriticalPath, all: bool) -> Option<&'static str> {
    let shown = if all { path.longest.len() } else { BRIEFLY.min(path.longest.len()) };
    let is_none = |detour: &PathDetour| (0.0..1.0).contains(&detour.cost_ns);
    path.longest[..shown].iter().any(is_none).then_some(NO_COST)
}

/// Returns what most of a detour was, and how much else it was.
fn title(detour: &PathDetour, guest: bool, columns: usize) -> String {
    let Some(source) = detour.sources.first() else {
        return format!("of {}", fine(detour.length_ns as f64));
    };
    let title = title_of(&source.source, &source.name, guest);
    match detour.sources.len() {
        1 => clip(&title, columns),
        number => format!("{}, {} more", clip(&title, columns.saturating_sub(8)), number - 1),
    }
}

/// Names the sources with most time on the path.
fn sources(path: &CriticalPath, guest: bool) -> Option<String> {
    let mut all = vec![];
    for source in path.sources.iter().take(3) {
        let title = title_of(&source.source, &source.name, guest);
        all.push(format!("{} {}", clip(&title, NAME), fine(source.taken_ns as f64)));
    }
    all.extend(more(path.sources.len(), 3, "source", "sources"));
    (!all.is_empty()).then(|| format!("noise on it: {}", all.join(", ")))
}

/// Writes how much later the job was.
fn later(cost_ns: f64) -> String {
    let sign = if cost_ns < 0.0 { '−' } else { '+' };
    format!("{sign}{}", fine(cost_ns.abs()))
}

/// Says whom the costliest detour of the path made late.
pub(super) fn sentence(found: &Simulation, guest: bool) -> Option<String> {
    let path = found.critical_path.as_ref()?;
    let detour = path.longest.first()?;
    let (others, job) = (detour.late_ranks - u64::from(detour.hit_is_late), fine(detour.cost_ns));
    (detour.cost_ns > 0.0).then(|| {
        let (host, seconds) = (&detour.host, long(detour.recorded_ns));
        let what = match detour.sources.is_empty() {
            true => "a detour".to_owned(),
            false => title(detour, guest, NAME),
        };
        let times = match detour.times {
            1 => String::new(),
            times => format!(" in {} times", count(times)),
        };
        format!(
            "In the simulation with seed {}, {} of noise{times} ({what}; {host}, CPU {}, {seconds} into the recording) hit rank \
             {}, delayed {} through it, and made the job {job} longer.",
            path.seed,
            fine(detour.lost_ns),
            detour.cpu,
            count(u64::from(detour.rank)),
            counted(others, "other rank", "other ranks"),
        )
    })
}
