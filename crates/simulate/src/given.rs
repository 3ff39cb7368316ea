//! The noise that was given, before phases are drawn.

use crate::ask::Ask;
use crate::noise::law::{Law, Streams};
use crate::noise::phase::Phase;
use crate::noise::trace::Trace;
use crate::noise::{Delay, Noise};
use crate::parameters::PS;
use crate::size::Size;
use anechoic_predict::phases::{
    Host, HostFacts, Noise as Recorded, SourceFacts, SourceName, Timeline, culprits,
};
use anechoic_recording::{Problem, ProblemKind};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

/// Where the noise is from.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NoiseFacts {
    /// The law in words, or the delay on top of recordings; absent if all was recorded.
    pub law: Option<String>,
    /// The recorded hosts.
    pub hosts: Vec<HostFacts>,
    /// Which CPUs have the same noise at the same time.
    pub phase: Phase,
    /// Whether any of the hosts is a guest of a hypervisor.
    #[serde(skip)]
    pub guest: bool,
    /// Seed of the first replica. The others have the numbers that follow it.
    pub seed: u64,
}

/// What took the time of recorded detours, by recording and start.
pub(crate) type Sources = BTreeMap<(u32, u64), Vec<(SourceName, u64)>>;

/// The noise of a simulation, before phases are drawn.
#[derive(Debug)]
pub(crate) enum Given {
    /// A law.
    Law(Law),
    /// None on CPUs: there is noise of the network only.
    QuietCpus,
    /// Recordings, with the detours of all their CPUs and the number of CPUs of each, and perhaps a delay of one rank.
    Recorded {
        recorded: Box<Recorded>,
        traces: Arc<Vec<Trace>>,
        cpus: Vec<usize>,
        delay: Option<OneDelay>,
    },
}

/// A single delay of one rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OneDelay {
    /// The rank.
    pub(crate) rank: usize,
    /// Its start, in ns.
    pub(crate) at_ns: u64,
    /// Its length, in ns.
    pub(crate) delay_ns: u64,
}

impl OneDelay {
    fn from_law(law: Law) -> Option<Self> {
        match law {
            Law::Once { cpu, at_ns, delay_ns } => Some(Self { rank: cpu, at_ns, delay_ns }),
            _ => None,
        }
    }
}

/// Noise with longer detours.
#[derive(Debug)]
pub(crate) enum Longer {
    /// Of a law.
    Law(Law),
    /// Of all recorded CPUs, and by how many times a single delay is longer.
    Traces(Arc<Vec<Trace>>, f64),
}

impl Given {
    /// Reads the noise that was asked for, with notes on it.
    ///
    /// # Errors
    /// A recording cannot be read or has no detours, or a law was given as well.
    pub(crate) fn read(
        ask: &Ask,
        places: &[PathBuf],
    ) -> Result<(Option<Self>, Vec<String>), Problem> {
        let delay = ask.law.and_then(OneDelay::from_law);
        match (ask.law, places.first()) {
            (Some(law), None) => return Ok((Some(Self::Law(law)), vec![])),
            (Some(_), Some(place)) if delay.is_none() => {
                let why = "noise is either drawn by --law or taken from recordings";
                let problem = ProblemKind::Usage.problem(why, "give one of them, or --law once");
                return Err(problem.about(place.display()));
            }
            _ => {}
        }
        if places.is_empty() {
            return Ok((ask.network_noise.as_ref().map(|_| Self::QuietCpus), vec![]));
        }
        let mut recorded = Recorded::read(places, ask.length_ns)?;
        let notes = std::mem::take(&mut recorded.notes);
        let traces = traces(&recorded, Trace::from_timeline)?;
        if traces.iter().all(Trace::is_quiet) {
            let why = "the recordings have no detours";
            return Err(
                ProblemKind::NoVerdict.problem(why, "measure longer: `anechoic run -d 60s`")
            );
        }
        let cpus = recorded.hosts.iter().map(|host| host.cpus().len()).collect();
        let (recorded, traces) = (Box::new(recorded), Arc::new(traces));
        Ok((Some(Self::Recorded { recorded, traces, cpus, delay }), notes))
    }

    /// Refuses noise that does not fit the schedule.
    pub(crate) fn check(&self, ask: &Ask, size: &Size) -> Result<(), Problem> {
        match self.one_delay() {
            Some(OneDelay { rank, .. }) if rank >= size.ranks as usize => {
                let why = format!("there is no rank {rank}: there are {}", size.ranks);
                Err(ProblemKind::Usage.problem(why, "give --on-rank below that"))
            }
            _ if ask.model.replays()
                && matches!(self, Self::Recorded { .. })
                && !self.suits_loggopsim(ask, size) =>
            {
                let why = format!(
                    "{} cannot place the longest operation in a recording before its last detour",
                    ask.model.name()
                );
                Err(ProblemKind::Data.problem(why, "measure longer, or leave --model out"))
            }
            _ => Ok(()),
        }
    }

    /// Returns whether LogGOPSim can place all operations in all recordings.
    pub(crate) fn suits_loggopsim(&self, ask: &Ask, size: &Size) -> bool {
        let Self::Recorded { traces, delay: None, .. } = self else { return false };
        let longest_ps = (size.longest_ns * PS).max(ask.parameters.overhead_ps);
        traces.iter().all(|trace| trace.too_long_for_loggopsim_ps() > longest_ps)
    }

    /// Returns the recorded detours of all CPUs, with the number of CPUs of each host; none if nothing was recorded.
    pub(crate) fn recorded(&self) -> Option<(&[Trace], &[usize])> {
        let Self::Recorded { traces, cpus, .. } = self else { return None };
        Some((traces, cpus))
    }

    /// Returns whether CPUs have noise.
    pub(crate) fn is_of_cpus(&self) -> bool {
        !matches!(self, Self::QuietCpus)
    }

    /// Returns whether it is a single delay of one rank, and nothing else.
    pub(crate) fn is_one_delay(&self) -> bool {
        matches!(self, Self::Law(Law::Once { .. }))
    }

    /// Returns the single delay of one rank, with or without other noise.
    pub(crate) fn one_delay(&self) -> Option<OneDelay> {
        match self {
            Self::Law(law) => OneDelay::from_law(*law),
            Self::Recorded { delay, .. } => *delay,
            Self::QuietCpus => None,
        }
    }

    /// Returns a note if the job takes more time than was recorded: what decides is then the longest detour.
    pub(crate) fn saturation(&self, ask: &Ask, size: &Size, quiet_ps: u64) -> Option<String> {
        let Self::Recorded { traces, .. } = self else { return None };
        let recorded_ps: u64 = traces.iter().map(Trace::length_ps).sum();
        let cpus = match ask.phase {
            Phase::Common => traces.len() as u64,
            _ => size.all_cpus() as u64,
        };
        let times = quiet_ps.saturating_mul(cpus) / recorded_ps.max(1);
        (times > 1).then(|| {
            format!(
                "the job takes {times} times as much CPU time as was recorded: its ranks meet the same detours again, and no \
                 longer one can occur"
            )
        })
    }

    /// Returns how many simulations differ: of one delay, nothing is drawn.
    pub(crate) fn replicas(&self, ask: &Ask) -> u64 {
        let is_drawn = !self.is_one_delay() || ask.network_noise.is_some();
        if is_drawn { ask.replicas } else { 1 }
    }

    /// Draws the noise of a replica.
    pub(crate) fn draw(&self, ask: &Ask, size: &Size, seed: u64) -> Noise {
        let streams = size.all_cpus();
        match self {
            // Ranks, not CPUs, are named by --on-rank.
            Self::Law(Law::Once { cpu, at_ns, delay_ns }) => {
                let cpu = cpu * size.cpus;
                let law = Law::Once { cpu, at_ns: *at_ns, delay_ns: *delay_ns };
                Noise::Law(Streams::new(law, streams, seed, false))
            }
            Self::QuietCpus => Noise::Quiet,
            Self::Law(law) => {
                Noise::Law(Streams::new(*law, streams, seed, ask.phase == Phase::Common))
            }
            Self::Recorded { traces, cpus, delay, .. } => match ask.model.replays() {
                true => Noise::as_loggopsim(traces.clone(), streams, ask.phase, seed),
                false => {
                    let delay = delay.map(|OneDelay { rank, at_ns, delay_ns }| Delay {
                        cpu: rank * size.cpus,
                        start_ps: at_ns * PS,
                        end_ps: (at_ns + delay_ns) * PS,
                    });
                    let noise = Noise::recorded(traces.clone(), cpus, streams, ask.phase, seed);
                    noise.with_delay(delay)
                }
            },
        }
    }

    /// Returns the sources whose cost is worth simulating, at most as many as asked for.
    pub(crate) fn sources(&self, ask: &Ask) -> Vec<(SourceName, SourceFacts)> {
        let Self::Recorded { recorded, .. } = self else { return vec![] };
        let (names, facts) = culprits(recorded);
        let mut sources: Vec<(SourceName, SourceFacts)> = names.into_iter().zip(facts).collect();
        // Alternately those with most time and those with the longest detours.
        let mut longest: Vec<usize> = (0..sources.len()).collect();
        longest.sort_by_key(|&at| std::cmp::Reverse(sources[at].1.longest_ns));
        let mut order: Vec<usize> =
            (0..sources.len()).zip(longest).flat_map(|(a, b)| [a, b]).collect();
        let mut seen = std::collections::BTreeSet::new();
        order.retain(|&at| seen.insert(at));
        order.truncate(ask.sources as usize);
        order.sort_unstable();
        let mut at = 0;
        sources.retain(|_| {
            at += 1;
            order.contains(&(at - 1))
        });
        sources
    }

    /// Returns the detours of all CPUs without the time of a source.
    ///
    /// # Errors
    /// A recording can no longer be read.
    pub(crate) fn without(&self, source: &SourceName) -> Result<Vec<Trace>, Problem> {
        match self {
            Self::Law(_) | Self::QuietCpus => Ok(vec![]),
            Self::Recorded { recorded, .. } => {
                traces(recorded, |timeline| Trace::from_timeline(&timeline.without(source)?))
            }
        }
    }

    /// Returns the noise in which a source, or all noise if none is given, takes `times` times as long; none if a CPU would
    /// never be free.
    ///
    /// # Errors
    /// A recording can no longer be read.
    pub(crate) fn with_longer(
        &self,
        source: Option<&SourceName>,
        times: f64,
    ) -> Result<Option<Longer>, Problem> {
        let recorded = match self {
            Self::Law(law) => return Ok(law.with_longer(times).map(Longer::Law)),
            Self::QuietCpus => return Ok(None),
            Self::Recorded { recorded, .. } => recorded,
        };
        let mut traces = vec![];
        for (_, timeline) in recorded.hosts.iter().flat_map(Host::cpus) {
            let longer = timeline.with_longer(source, times)?;
            if longer.free_ns() == 0 {
                return Ok(None);
            }
            traces.push(Trace::from_timeline(&longer)?);
        }
        let delay_times = if source.is_none() { times } else { 1.0 };
        Ok(Some(Longer::Traces(Arc::new(traces), delay_times)))
    }

    /// Draws the noise of a replica with longer detours, which begin where the others do.
    pub(crate) fn draw_longer(&self, ask: &Ask, size: &Size, seed: u64, longer: &Longer) -> Noise {
        match longer {
            Longer::Law(law) => Self::Law(*law).draw(ask, size, seed),
            Longer::Traces(traces, delay_times) => {
                let noise = self.draw(ask, size, seed).with_traces(traces);
                noise.with_longer_delay(*delay_times)
            }
        }
    }

    /// Returns what took the time of these detours, given by recording and start in ns; nothing if sources are unknown.
    ///
    /// # Errors
    /// A recording can no longer be read.
    pub(crate) fn sources_of(
        &self,
        detours: impl Iterator<Item = (u32, u64)>,
    ) -> Result<Sources, Problem> {
        let mut found = Sources::new();
        let Self::Recorded { recorded, .. } = self else { return Ok(found) };
        if recorded.sources.is_err() {
            return Ok(found);
        }
        let mut starts: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
        detours.for_each(|(trace, start_ns)| {
            starts.entry(trace).or_default().insert(start_ns);
        });
        let timelines = recorded.hosts.iter().flat_map(Host::cpus).map(|(_, timeline)| timeline);
        for (timeline, trace) in timelines.zip(0..) {
            if let Some(starts) = starts.get(&trace) {
                timeline.sources_at(starts, |start_ns, taken| {
                    found.insert((trace, start_ns), taken);
                })?;
            }
        }
        Ok(found)
    }

    /// Returns the host and the number of the CPU that a recording with this number is from.
    pub(crate) fn place(&self, trace: u32) -> (String, u32) {
        let Self::Recorded { recorded, .. } = self else { return (String::new(), 0) };
        let mut cpus = recorded
            .hosts
            .iter()
            .flat_map(|host| host.cpus().iter().map(|(cpu, _)| (host.name().to_owned(), *cpu)));
        cpus.nth(trace as usize).unwrap_or_default()
    }

    /// Returns what the reader learns of the noise of CPUs, if there is any.
    pub(crate) fn facts(&self, ask: &Ask) -> Option<NoiseFacts> {
        let (law, hosts, guest) = match self {
            Self::QuietCpus => return None,
            Self::Law(law) => (Some(law.words()), vec![], false),
            Self::Recorded { recorded, .. } => {
                let hosts = recorded.hosts.iter().map(HostFacts::from_host);
                (ask.law.map(Law::words), hosts.collect(), recorded.guest)
            }
        };
        Some(NoiseFacts { law, hosts, phase: ask.phase, guest, seed: ask.seed })
    }
}

/// Returns the detours of all CPUs of all hosts.
fn traces(
    recorded: &Recorded,
    trace: impl Fn(&Timeline) -> Result<Trace, Problem>,
) -> Result<Vec<Trace>, Problem> {
    recorded.hosts.iter().flat_map(Host::cpus).map(|(_, timeline)| trace(timeline)).collect()
}
