//! How much noise, single sources and the parameters of the network may grow until a job is slower by a given share.

use crate::ask::Ask;
use crate::engine::{Costs, ended_early};
use crate::given::{Given, Longer};
use crate::median::{median_interval, sorted};
use crate::noise::Noise;
use crate::parameters::{Parameters, TIMES};
use crate::replica::Replica;
use crate::runs::Runs;
use anechoic_analyze::stats::{Interval, quantile};
use anechoic_predict::phases::SourceName;
use anechoic_recording::Problem;
use schemars::JsonSchema;
use serde::Serialize;

/// Steps in which what is added doubles: neighbours differ by 4.4 %.
const STEPS: i32 = 16;
/// Growth is looked for from a thousandth of what there is to a thousand times as much.
const MOST: i32 = 10 * STEPS;
/// How much may grow until the job is slower by a given share.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Tolerance {
    /// The share: 0.01 is 1 % slower.
    pub share: f64,
    /// What may grow, and how far. Each grows alone.
    pub growth: Vec<Growth>,
}

/// How far one thing may grow.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Growth {
    /// What grows.
    #[serde(flatten)]
    pub what: Grown,
    /// The factor up to which the job is slower by at most the share, found within 4.4 % of what is added: the median over
    /// the simulations, each against itself without growth. 1 if a growth by a thousandth is too much, 1,025 if no
    /// growth up to that is.
    pub tolerated: f64,
    /// 95 % interval of that median; absent for fewer than 6 replicas.
    pub interval: Option<Interval>,
}

/// What grows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Grown {
    /// All detours become longer.
    Noise,
    /// A source takes longer of each detour.
    Source {
        /// Identifier of the source.
        source: String,
        /// Name within the source; empty if there is only one.
        name: String,
    },
    /// A parameter of the network: L, o, g, G or O.
    Parameter {
        /// Its name.
        parameter: &'static str,
    },
}

/// The simulations of one replica: its seed, and when the last rank finished, in ns.
type Pair = (u64, f64);

/// Finds what may grow. `noise` has the replicas with noise; without noise, `quiet_ns` is the end.
///
/// # Errors
/// A recording can no longer be read, or it was ended early.
pub(crate) fn find(
    ask: &Ask,
    runs: &Runs<'_>,
    noise: Option<(&Given, &[Replica])>,
    quiet_ns: f64,
    share: f64,
) -> Result<Tolerance, Problem> {
    let pairs: Vec<Pair> = match noise {
        Some((_, replicas)) => replicas.iter().map(|one| (one.seed, one.finish_ns)).collect(),
        None => vec![(ask.seed, quiet_ns)],
    };
    let search = Search { ask, runs, given: noise.map(|(given, _)| given), pairs };
    let mut growth = vec![];
    for what in search.candidates() {
        let factors = sorted(search.factors(&what, share)?);
        let tolerated = quantile(&factors, 0.5).unwrap_or(1.0);
        growth.push(Growth { what, tolerated, interval: median_interval(&factors) });
    }
    growth.sort_by(|a, b| a.tolerated.total_cmp(&b.tolerated));
    Ok(Tolerance { share, growth })
}

/// What is known of the growth at which one simulation is too slow, in steps.
#[derive(Debug, Clone, Copy, Default)]
struct Bracket {
    /// The largest that is tolerated.
    tolerated: Option<i32>,
    /// The smallest that is not.
    exceeded: Option<i32>,
}

impl Bracket {
    /// Returns the growth that is to be tried next: first as much again, then in doublings up or down, then the middle.
    fn next(&self) -> Option<i32> {
        match (self.tolerated, self.exceeded) {
            (None, None) => Some(0),
            (Some(low), None) => (low < MOST).then_some(low + STEPS),
            (None, Some(high)) => (high > -MOST).then_some(high - STEPS),
            (Some(low), Some(high)) => (high - low > 1).then_some((low + high) / 2),
        }
    }

    fn take(&mut self, step: i32, exceeds: bool) {
        *(if exceeds { &mut self.exceeded } else { &mut self.tolerated }) = Some(step);
    }

    /// Returns the largest factor that is tolerated.
    fn factor(&self) -> f64 {
        self.tolerated.map_or(1.0, factor)
    }
}

/// Returns by which factor something grows.
fn factor(step: i32) -> f64 {
    1.0 + (f64::from(step) / f64::from(STEPS)).exp2()
}

/// The simulations of a search.
struct Search<'a> {
    ask: &'a Ask,
    runs: &'a Runs<'a>,
    given: Option<&'a Given>,
    pairs: Vec<Pair>,
}

impl Search<'_> {
    /// Returns what could grow: not what is drawn from files instead.
    fn candidates(&self) -> Vec<Grown> {
        let mut all = vec![];
        all.extend(self.given.filter(|given| given.is_of_cpus()).map(|_| Grown::Noise));
        all.extend(self.runs.sources.iter().map(|(_, facts)| Grown::Source {
            source: facts.source.clone(),
            name: facts.name.clone(),
        }));
        let mut parameters = self.ask.parameters;
        let [latencies, gaps] = match &self.ask.network_noise {
            Some(network) => network.facts().map(|facts| facts.is_some()),
            None => [false; 2],
        };
        for parameter in TIMES {
            let is_drawn = (parameter == "L" && latencies) || (parameter == "G" && gaps);
            if !is_drawn && parameters.time_mut(parameter).is_some_and(|ps| *ps > 0) {
                all.push(Grown::Parameter { parameter });
            }
        }
        all
    }

    /// Returns for each simulation how far this may grow. A factor is tried in all that need it, because recordings with
    /// longer detours take long to make.
    fn factors(&self, what: &Grown, share: f64) -> Result<Vec<f64>, Problem> {
        let mut brackets = vec![Bracket::default(); self.pairs.len()];
        while let Some(step) = brackets.iter().filter_map(Bracket::next).min() {
            let needing = |number: &usize| brackets[*number].next() == Some(step);
            let tried: Vec<usize> = (0..brackets.len()).filter(needing).collect();
            let exceeds = self.exceed(what, factor(step), 1.0 + share, &tried)?;
            for (number, exceeds) in tried.into_iter().zip(exceeds) {
                brackets[number].take(step, exceeds);
            }
        }
        Ok(brackets.iter().map(Bracket::factor).collect())
    }

    /// Returns which of these simulations take more than `most` times as long if this grows, or can no longer be simulated:
    /// a CPU is never free, or the job takes too long.
    fn exceed(
        &self,
        what: &Grown,
        times: f64,
        most: f64,
        tried: &[usize],
    ) -> Result<Vec<bool>, Problem> {
        let (mut parameters, mut longer) = (self.ask.parameters, None);
        if let Grown::Parameter { parameter } = what {
            let grow = |ps: &mut u64| *ps = (*ps as f64 * times).round() as u64;
            parameters.time_mut(parameter).into_iter().for_each(grow);
        } else if let Some(given) = self.given {
            let made = given.with_longer(self.source(what), times);
            longer = self.runs.ranks.agree(made)?;
            if longer.is_none() {
                return Ok(vec![true; tried.len()]);
            }
        }
        let pairs: Vec<Pair> = tried.iter().map(|&number| self.pairs[number]).collect();
        let exceed = self.runs.in_threads(pairs.len(), |number| {
            let (seed, before_ns) = pairs[number];
            match self.end_ns(&parameters, longer.as_ref(), seed) {
                Ok(end_ns) => Ok(end_ns > before_ns * most),
                Err(problem) if self.runs.must_stop() => Err(problem),
                Err(_) => Ok(true),
            }
        })?;
        exceed.into_iter().collect::<Option<_>>().ok_or_else(ended_early)
    }

    fn source(&self, what: &Grown) -> Option<&SourceName> {
        let Grown::Source { source, name } = what else { return None };
        let found = self.runs.sources.iter();
        let mut found = found.filter(|(_, facts)| facts.source == *source && facts.name == *name);
        found.next().map(|(source, _)| source)
    }

    /// Simulates one replica.
    fn end_ns(
        &self,
        parameters: &Parameters,
        longer: Option<&Longer>,
        seed: u64,
    ) -> Result<f64, Problem> {
        let mut noise = match (self.given, longer) {
            (None, _) => Noise::Quiet,
            (Some(given), None) => given.draw(self.ask, &self.runs.size, seed),
            (Some(given), Some(longer)) => {
                given.draw_longer(self.ask, &self.runs.size, seed, longer)
            }
        };
        let network = self.ask.network_noise.as_ref().map(|network| network.with_seed(seed));
        let network = network.as_ref().filter(|_| self.given.is_some());
        let costs = Costs { parameters: *parameters, model: self.ask.model, network };
        let outcome = self.runs.simulate_with(costs, &mut noise)?;
        Ok(crate::replica::ns(outcome.end_ps()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks for a factor that is known.
    fn found(exceeds: impl Fn(f64) -> bool) -> f64 {
        let mut bracket = Bracket::default();
        while let Some(step) = bracket.next() {
            bracket.take(step, exceeds(factor(step)));
        }
        bracket.factor()
    }

    #[test]
    fn the_factor_is_found_within_4_4_percent_of_what_is_added() {
        for known in [1.001_5, 1.01, 1.37, 1.999, 2.0, 2.3, 17.0, 900.0] {
            let low = found(|times| times > known);
            assert!(low <= known && (known - 1.0) / (low - 1.0) < 1.045, "{low} {known}");
        }
        assert_eq!((found(|_| false), found(|_| true)), (1_025.0, 1.0));
    }
}
