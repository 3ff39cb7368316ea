//! Computes the slowdown for each grain and number of ranks from recorded noise.

use super::bins::RELATIVE_WIDTH;
use super::closed_form::ClosedForm;
use super::costs::{costs, culprits};
use super::law::Law;
use super::laws::Laws;
use super::nothing;
use super::outcome::{Cell, GrainModel, HostFacts, Method, PhaseModel, Slowdown};
use super::passes::{Found, Wanted, pass};
use super::recorded::Noise;
use super::recursion::{MOST_DETOURS, Tables, share};
use super::resample::blocks;
use super::runs::{BUDGET, FEWEST_PHASES, Recursion, may_be_affordable, recursion};
use super::tail::{self, Extrapolated, Fitted, most_above};
use super::taken::SourceName;
use super::timeline::{Host, Timeline};
use super::together::Independent;
use anechoic_analyze::stats::{Bounds, Interval};
use anechoic_recording::run::NotAvailable;
use anechoic_recording::{Problem, ProblemKind};

/// Largest number of ranks of a job.
pub const MOST_RANKS: u64 = 1_000_000_000;

/// The request for a prediction.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// Noise-free times between two synchronisations, in ns.
    pub grains_ns: Vec<u64>,
    /// Numbers of ranks, from 1 to [`MOST_RANKS`].
    pub ranks: Vec<u64>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Largest number of steps of the recursion for one grain and number of ranks ([`BUDGET`]).
    pub budget: u64,
}

impl Default for Ask {
    fn default() -> Self {
        Self {
            grains_ns: vec![100_000, 1_000_000, 10_000_000],
            ranks: (0..8).map(|power| 10u64.pow(power)).collect(),
            seed: 1,
            budget: BUDGET,
        }
    }
}

/// Predicts the cost of noise for a bulk-synchronous job.
///
/// # Errors
///
/// The recording does not support the request: no grain, too long a grain, or a number of ranks out of range; or the
/// recording can no longer be read.
pub fn predict(noise: &Noise, ask: &Ask) -> Result<PhaseModel, Problem> {
    predict_with(noise, ask, &mut |_, _| ())
}

/// Predicts the cost of noise, and calls `report` from time to time with the number of finished steps and of all steps.
///
/// # Errors
///
/// Those of [`predict`].
pub fn predict_with(
    noise: &Noise,
    ask: &Ask,
    report: &mut dyn FnMut(u64, u64),
) -> Result<PhaseModel, Problem> {
    check(noise, ask)?;
    let (culprits, sources) = culprits(noise);
    let mut not_available = vec![];
    let wanted: Vec<Wanted> = ask.grains_ns.iter().map(|&ns| wanted(noise, ask, ns)).collect();
    // The pass over the detours is about as much work as the recursions of one grain.
    let each = ask.ranks.len() as u64;
    let all = each * (ask.grains_ns.len() as u64 + 1);
    let mut progress = Progress { done: 0, all, report };
    let found = pass(noise, &culprits, &wanted)?;
    progress.step(each);
    let grains = wanted.iter().zip(found);
    let grains =
        grains.map(|(wanted, found)| grain(noise, &culprits, ask, wanted, found, &mut progress));
    let grains = grains.collect::<Result<Vec<GrainModel>, _>>()?;
    let cells = || grains.iter().flat_map(|grain| &grain.cells);
    if let Some(fewest) = cells().filter(|c| c.recursion.is_none()).map(|c| c.ranks).min() {
        not_available.push(no_recursion(fewest, ask.budget));
    }
    not_available.extend(noise.sources.as_ref().err().cloned());
    let (lost, wall) = cpus(noise).fold((0.0, 0.0), |(lost, wall), cpu| {
        (lost + cpu.lost_ns() as f64, wall + cpu.length_ns() as f64)
    });
    let mut notes = noise.notes.clone();
    if lost == 0.0 {
        notes.push("no detours: the slowdown is 1 for every grain and number of ranks".into());
    }
    let sampled = sample_note(share(&noise.hosts, MOST_DETOURS));
    notes.extend(sampled.filter(|_| cells().any(|cell| cell.recursion.is_some())));
    Ok(PhaseModel {
        hosts: noise.hosts.iter().map(HostFacts::from_host).collect(),
        guest: noise.guest,
        noise: lost / wall,
        threshold_ns: noise.threshold_ns,
        co_scheduled: wall / (wall - lost),
        grains,
        sources: noise.sources.is_ok().then_some(sources),
        method: Method { seed: ask.seed, budget: ask.budget, relative_error: RELATIVE_WIDTH },
        not_available,
        notes,
    })
}

fn check(noise: &Noise, ask: &Ask) -> Result<(), Problem> {
    let nothing = |remedy| Err(nothing(remedy));
    if noise.hosts.is_empty() {
        return nothing("give a recording or a text file");
    }
    if ask.grains_ns.is_empty() || ask.grains_ns.contains(&0) {
        return nothing("request a grain above 0");
    }
    if ask.ranks.is_empty() {
        return nothing("request a number of ranks");
    }
    if let Some(&ranks) = ask.ranks.iter().find(|&&ranks| !(1..=MOST_RANKS).contains(&ranks)) {
        let why = format!("{ranks} ranks are out of range");
        return Err(ProblemKind::Usage.problem(why, format!("request 1 to {MOST_RANKS} ranks")));
    }
    let all = noise.hosts.iter().flat_map(|host| host.cpus().iter().map(move |cpu| (host, cpu)));
    let shortest = all.min_by_key(|(_, (_, timeline))| timeline.free_ns());
    let longest_ns = ask.grains_ns.iter().copied().max().unwrap_or(0);
    match shortest {
        Some((host, (cpu, timeline))) if timeline.free_ns() < longest_ns => {
            let (host, free_ns) = (host.name(), timeline.free_ns());
            let why = format!(
                "the grain of {longest_ns} ns is longer than the {free_ns} ns of free time that {host} recorded on CPU {cpu}"
            );
            let remedy = "request shorter grains, or measure for longer";
            Err(ProblemKind::Usage.problem(why, remedy))
        }
        _ => Ok(()),
    }
}

/// Returns a note if the recursion plays a share of the starts.
fn sample_note(share: f64) -> Option<String> {
    (share < 1.0).then(|| {
        format!(
            "the recording has more than {MOST_DETOURS} detours: the recursion uses a sample of {:.3} % of the starts, from 1024 stretches over all of it, and all starts with the longest delays",
            100.0 * share
        )
    })
}

fn cpus(noise: &Noise) -> impl Iterator<Item = &Timeline> + Clone {
    noise.hosts.iter().flat_map(Host::cpus).map(|(_, timeline)| timeline)
}

/// Number of independent windows that each rank needs. With fewer, the mean of the slowest is too low, and no interval
/// from the same windows covers the truth.
const WINDOWS: u64 = 10;

/// Returns the largest number of ranks that this number of windows supports.
fn supported(windows: u64) -> u64 {
    windows / WINDOWS
}

fn free_windows(noise: &Noise, grain_ns: u64) -> u64 {
    cpus(noise).map(|cpu| cpu.free_ns() / grain_ns).sum()
}

fn wanted(noise: &Noise, ask: &Ask, grain_ns: u64) -> Wanted {
    let shortest_ns = noise.hosts.iter().map(Host::length_ns).min().unwrap_or(0);
    let independent = Independent::find(&noise.hosts, grain_ns);
    let beyond = ask.ranks.iter().any(|&ranks| ranks > supported(independent.windows));
    let most = most_above(free_windows(noise, grain_ns));
    let blocks = blocks(shortest_ns, grain_ns);
    Wanted { grain_ns, blocks, longest: beyond.then_some(most), independent }
}

fn grain(
    noise: &Noise,
    culprits: &[SourceName],
    ask: &Ask,
    wanted: &Wanted,
    found: Found,
    progress: &mut Progress<'_>,
) -> Result<GrainModel, Problem> {
    let Wanted { grain_ns, blocks, independent, .. } = *wanted;
    let laws = found.laws;
    let bounds =
        found.blocks.map_or(vec![], |blocks| blocks.bounds(&laws.free, &laws.wall, &ask.ranks));
    let windows = independent.windows;
    let free_windows = free_windows(noise, grain_ns);
    let tail = found.longest.map(|longest| tail::fit(longest, free_windows, blocks));
    let (tail, no_tail) = match tail {
        Some(Ok(tail)) => (Some(tail), None),
        Some(Err(why)) => (None, Some(why)),
        None => (None, None),
    };
    let known = |ranks: &&u64| **ranks <= supported(windows);
    let mut fitted: Vec<u64> = ask.ranks.iter().filter(known).copied().collect();
    if fitted.is_empty() {
        fitted.clone_from(&ask.ranks);
    }
    let closed_form = ClosedForm::fit(&laws.free, grain_ns, &fitted);
    let mut costs = costs(culprits, &found.sources, grain_ns, &ask.ranks).into_iter();
    let mut recursions = recursions(noise, ask, grain_ns, progress)?.into_iter();
    let model = Grain { laws: &laws, tail: tail.as_ref(), grain_ns, windows };
    let cell = |(at, &ranks): (usize, &u64)| Cell {
        recursion: recursions.next().flatten(),
        closed_form: closed_form.slowdown(ranks),
        sources: costs.next().unwrap_or_default(),
        needed_window_ns: needed_window_ns(ranks, grain_ns, independent.cpus),
        ..model.cell(ranks, bounds.get(at).copied().unwrap_or_default())
    };
    let cells: Vec<Cell> = ask.ranks.iter().enumerate().map(cell).collect();
    let no_tail = no_tail.or_else(|| model.not_extrapolated(&cells));
    let limit = 1.0 + laws.free.longest_ns() / grain_ns as f64;
    let tail = tail.map(|fitted| fitted.tail);
    Ok(GrainModel {
        grain_ns,
        supported_ranks: supported(windows),
        windows,
        closed_form,
        limit,
        tail,
        no_tail,
        blocks,
        cells,
    })
}

/// The common input of the cells of one grain.
struct Grain<'a> {
    laws: &'a Laws,
    tail: Option<&'a Fitted>,
    grain_ns: u64,
    windows: u64,
}

impl Grain<'_> {
    /// Returns the results of the closed laws.
    fn cell(&self, ranks: u64, (free, wall): (Bounds, Bounds)) -> Cell {
        let slowdown = |ns: f64| 1.0 + ns / self.grain_ns as f64;
        let interval =
            |bounds: Interval| Interval { low: slowdown(bounds.low), high: slowdown(bounds.high) };
        let supported = ranks <= supported(self.windows);
        let by_law = |law: &Law, bounds: Bounds| Slowdown {
            slowdown: slowdown(law.mean_of_slowest_ns(ranks)),
            interval: bounds.interval.filter(|_| supported).map(interval),
            at_least: bounds.at_least.map(slowdown),
        };
        let free_start = by_law(&self.laws.free, free);
        // What was recorded already is no less than what one could expect.
        let credible =
            |tail: &Extrapolated| tail.interval.is_some() && tail.slowdown >= free_start.slowdown;
        Cell {
            ranks,
            recursion: None,
            free_start,
            wall_start: by_law(&self.laws.wall, wall),
            closed_form: 1.0,
            supported,
            needed_window_ns: 0,
            extrapolated: self.with_tail(ranks).filter(|_| !supported).filter(credible),
            sources: vec![],
        }
    }

    fn with_tail(&self, ranks: u64) -> Option<Extrapolated> {
        Some(self.tail?.slowdown(&self.laws.free, self.grain_ns, ranks))
    }

    /// Returns why the tail does not extrapolate one of these cells that the recording does not support.
    fn not_extrapolated(&self, cells: &[Cell]) -> Option<String> {
        let missing = cells.iter().find(|cell| !cell.supported && cell.extrapolated.is_none())?;
        let why = match self.with_tail(missing.ranks)?.interval {
            Some(_) => "the tail gives a lower slowdown than what was recorded",
            None => "without some blocks of time the mean of its tail is infinite",
        };
        Some(format!("with {} ranks {why}", missing.ranks))
    }
}

/// Returns how long each CPU must be recorded to support this number of ranks.
fn needed_window_ns(ranks: u64, grain_ns: u64, independent_cpus: f64) -> u64 {
    let windows = ranks.saturating_mul(WINDOWS) as f64 / independent_cpus;
    grain_ns.saturating_mul(windows.ceil() as u64)
}

/// Returns the recursion for each number of ranks.
fn recursions(
    noise: &Noise,
    ask: &Ask,
    grain_ns: u64,
    progress: &mut Progress<'_>,
) -> Result<Vec<Option<Recursion>>, Problem> {
    let cpus = cpus(noise).count() as u64;
    if !ask.ranks.iter().any(|&ranks| may_be_affordable(ranks, cpus, ask.budget)) {
        progress.step(ask.ranks.len() as u64);
        return Ok(vec![]);
    }
    let tables = Tables::new(&noise.hosts, grain_ns)?;
    let mut found = vec![];
    for &ranks in &ask.ranks {
        found.push(recursion(&tables, ranks, ask.seed, ask.budget));
        progress.step(1);
    }
    Ok(found)
}

/// Tracks and reports the progress of the work.
struct Progress<'a> {
    done: u64,
    all: u64,
    report: &'a mut dyn FnMut(u64, u64),
}

impl Progress<'_> {
    fn step(&mut self, steps: u64) {
        self.done += steps;
        (self.report)(self.done, self.all);
    }
}

fn no_recursion(ranks: u64, budget: u64) -> NotAvailable {
    NotAvailable::new(
        format!("recursion for some jobs, the smallest with {ranks} ranks"),
        format!(
            "{FEWEST_PHASES} phases take more than {budget} steps; the brackets are still valid"
        ),
        "allow more with --budget",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_noted() {
        assert_eq!(sample_note(1.0), None);
        let note = sample_note(0.0625).expect("a share");
        assert!(note.contains("a sample of 6.250 % of the starts"), "{note}");
    }
}
