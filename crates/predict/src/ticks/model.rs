//! Computes the model from a table.

use super::blocks::Group;
use super::fit::median_slope;
use super::goodness::{
    bend, by_rate, falls, fitted, goodness, is_blind, mark, predict_nothing, rates, tickless_ms,
};
use super::outcome::{
    Cost, Linearity, ModeParts, Model, Parts, ProcessorModel, Sample, TickShare, Tickless, Verdict,
};
use super::pairs::{Estimators, Shares, pairs};
use super::table::{Costs, Origin, Point, Processor, SeenCost, Table};
use anechoic_analyze::stats::Interval;
use anechoic_analyze::stats::mean;

/// Rates for which f(n) is reported.
const REPORTED_HZ: [f64; 4] = [100.0, 250.0, 1_000.0, 10_000.0];
/// Percentage of a CPU that 1,000 interrupts per second take if each costs 1 µs.
const PERCENT_PER_US: f64 = 0.1;

/// Number of absent points that are named.
const MOST_ABSENT: usize = 6;

/// Assumptions that hold for every origin of the table.
const ASSUMPTIONS: [&str; 4] = [
    "each interrupt costs the same at any rate: T = B/(1 − f) with f proportional to the rate",
    "the direct cost is exact and the same for all points",
    "other disturbances are the same at all rates",
    "the errors of the points are independent (for the intervals)",
];
const OF_SYSTEM_CALLS: &str =
    "entering and leaving the kernel by an interrupt costs as much as an empty system call";
const OF_ADDED: &str =
    "an added interrupt affects caches and predictors as a tick does: only handler and gap differ";
const OF_BLOCKS: &str = "drift of the host between blocks affects all rates alike: times are compared within blocks only";
const OF_WATCHED: &str = "gaps around interrupts are as long in the sort as in the watched loop";

/// Returns the serial tick model of each processor (Tsafrir 2007): direct and indirect cost of an interrupt, the share
/// of the CPU that ticks take at any rate, and how well the model fits.
///
/// With B the time of the work without interrupts and c the cost of one, interrupts at rate h leave it the share 1 −
/// c·h of the CPU, so T = B/(1 − c·h). c is the median over all pairs of rates and all copies.
///
/// The points of a recording have a time for each block. A host drifts between blocks by more than interrupts at low
/// rates cost, so only times of the same block and number of copies are compared: pairs, misses and their standard
/// errors, and falls. B is the mean over the blocks. If no block has two rates, the points are compared as in a table
/// without blocks.
#[must_use]
pub fn model(table: &Table) -> Model {
    let more: &[&str] = match table.origin {
        Origin::Files { .. } => &[OF_SYSTEM_CALLS],
        Origin::Recording(_) | Origin::Recordings(_) => &[OF_BLOCKS, OF_ADDED, OF_WATCHED],
    };
    Model {
        origin: table.origin.clone(),
        processors: table.processors.iter().map(processor_model).collect(),
        assumptions: ASSUMPTIONS.iter().chain(more).map(|&text| text.to_owned()).collect(),
        left_out: table.left_out.clone(),
    }
}

fn processor_model(processor: &Processor) -> ProcessorModel {
    let mut points = processor.points.clone();
    points.sort_by(|a, b| a.copies.cmp(&b.copies).then(a.rate_hz.total_cmp(&b.rate_hz)));
    let groups: Vec<Group> =
        points.chunk_by(|a, b| a.copies == b.copies).map(Group::from_points).collect();
    let costs = &processor.costs;
    let mut cost = cost(&groups, costs);
    let sample = sample(&cost);
    let resolved = sample.resolves_cost();
    cost.indirect_share = cost.indirect_share.filter(|_| resolved);
    let own_ticks = costs.tick.as_ref().filter(|_| resolved).map(|tick| own_parts(tick, &cost));
    let per_1000 = resolved.then(|| parts(costs, &cost));
    let own_share = processor.own_tick_hz.zip(own_ticks);
    let own_share = own_share.map(|(hz, parts)| parts.total * hz / 1e5);
    let mut all: Vec<_> = groups.iter().flat_map(|group| fitted(group, cost.total_us)).collect();
    mark(&mut all);
    if !resolved {
        predict_nothing(&mut all);
    }
    let tested = groups.iter().any(|group| group.points.len() > 2);
    let pairs = pairs(groups.iter().map(|group| &group.points[..]), costs);
    let goodness = goodness(&all, tested);
    let bend = bend(&groups, costs);
    let falls = falls(&groups);
    // Two rates test no line, and yet no line falls.
    let fell = falls.iter().any(|fall| fall.within_error == Some(false));
    // Of very few blocks misses are as large as their own errors: that none is off shows nothing.
    let blocks = all.iter().any(|point| !point.point.by_block.is_empty());
    let few = blocks && sample == Sample::TooFew;
    let blind = is_blind(&all);
    let linearity = match goodness.off > 0 || bend.is_some_and(|bend| bend.differs) {
        _ if !resolved => Linearity::Untested,
        _ if fell => Linearity::Fails,
        _ if !tested => Linearity::Untested,
        true => Linearity::Fails,
        false if few || blind => Linearity::Untested,
        false => Linearity::Holds,
    };
    ProcessorModel {
        name: processor.name.clone(),
        costs: costs.clone(),
        points: all,
        shares: Shares::from_pairs(&pairs),
        cost,
        per_1000,
        per_1000_own_ticks: own_ticks,
        modes: if resolved { modes(costs, &cost) } else { vec![] },
        estimators: Estimators::from_pairs(&pairs, PERCENT_PER_US * cost.indirect_us)
            .filter(|_| resolved),
        ticks: own_ticks.or(per_1000).map_or(vec![], |parts| shares_of_ticks(&parts, &cost)),
        tickless: groups
            .iter()
            .filter(|_| resolved)
            .map(|group| tickless(group, cost.total_us, own_share))
            .collect(),
        by_rate: by_rate(&groups, costs),
        goodness,
        bend,
        falls,
        verdict: Verdict { linearity, sample },
        scheduler: processor.scheduler.clone(),
        notes: notes(processor, &groups),
        pairs,
    }
}

/// Returns the cost of one interrupt from all pairs, taken within blocks if these are known.
fn cost(groups: &[Group], costs: &Costs) -> Cost {
    let slices = || groups.iter().flat_map(Group::slices);
    let sizes: Vec<usize> = slices().map(<[Point]>::len).collect();
    let pairs = pairs(slices(), costs);
    let slope = median_slope(pairs.iter().map(|pair| pair.per_interrupt_us).collect(), &sizes);
    // A table without a pair has no result; those who make tables refuse it.
    let total_us = slope.map_or(0.0, |slope| slope.value);
    let total_interval = slope.and_then(|slope| slope.interval);
    let direct_us = costs.direct_us();
    let indirect_us = total_us - direct_us;
    Cost {
        total_us,
        total_interval,
        direct_us,
        indirect_us,
        indirect_interval: total_interval
            .map(|i| Interval { low: i.low - direct_us, high: i.high - direct_us }),
        indirect_share: (total_us > 0.0).then(|| indirect_us / total_us),
    }
}

fn parts(costs: &Costs, cost: &Cost) -> Parts {
    Parts {
        trap: costs.gap_us.is_none().then_some(PERCENT_PER_US * costs.trap_us),
        gap: costs.gap_us.map(|us| PERCENT_PER_US * us),
        handler: PERCENT_PER_US * costs.handler_us,
        indirect: PERCENT_PER_US * cost.indirect_us,
        total: PERCENT_PER_US * cost.total_us,
    }
}

/// Returns the shares in each named mode of the handler, all with the indirect cost of the first.
fn modes(costs: &Costs, cost: &Cost) -> Vec<ModeParts> {
    let modes = costs.modes.iter().map(|mode| {
        let direct = Costs::given(mode.trap_us, mode.handler_us);
        let total_us = direct.direct_us() + cost.indirect_us;
        ModeParts { name: mode.name.clone(), parts: parts(&direct, &Cost { total_us, ..*cost }) }
    });
    modes.collect()
}

/// Combines handler and gap of the kernel's own tick with the indirect cost of added interrupts.
fn own_parts(tick: &SeenCost, cost: &Cost) -> Parts {
    Parts {
        trap: None,
        gap: Some(PERCENT_PER_US * tick.gap_us),
        handler: PERCENT_PER_US * tick.handler_us,
        indirect: PERCENT_PER_US * cost.indirect_us,
        total: PERCENT_PER_US * (tick.gap_us + tick.handler_us + cost.indirect_us),
    }
}

/// Returns f(n) = n·ΣP/1000, in percent.
fn shares_of_ticks(parts: &Parts, cost: &Cost) -> Vec<TickShare> {
    let shares = REPORTED_HZ.map(|rate_hz| {
        let thousands = rate_hz / 1e3;
        let moved = |us: f64| (parts.total + PERCENT_PER_US * (us - cost.total_us)) * thousands;
        let interval =
            cost.total_interval.map(|i| Interval { low: moved(i.low), high: moved(i.high) });
        TickShare { rate_hz, percent: parts.total * thousands, interval }
    });
    shares.to_vec()
}

/// Returns B, the mean of T·(1 − f) over the rates and over the blocks. `own_share` is the share of the CPU that the
/// kernel's own tick takes at all rates. The measured c is the cost of one interrupt divided by the share that the tick
/// leaves, so B without the tick is B multiplied by that share.
fn tickless(group: &Group, cost_us: f64, own_share: Option<f64>) -> Tickless {
    let all: Vec<f64> = group.slices().filter_map(|points| tickless_ms(points, cost_us)).collect();
    let ms = mean(&all);
    let own_left = own_share.map(|share| 1.0 - share).filter(|&left| left > 0.0);
    let without_own_tick_ms = ms.zip(own_left).map(|(ms, left)| ms * left);
    Tickless { copies: group.points[0].copies, ms, without_own_tick_ms }
}

fn sample(cost: &Cost) -> Sample {
    let resolved = |interval: Interval| interval.low > 0.0 || interval.high < 0.0;
    match (cost.total_interval, cost.indirect_interval) {
        (Some(total), _) if !resolved(total) => Sample::Noise,
        _ if cost.total_us <= 0.0 => Sample::NotPositive,
        (Some(_), Some(indirect)) if resolved(indirect) => Sample::Enough,
        (Some(_), _) => Sample::OnlyTotal,
        (None, _) => Sample::TooFew,
    }
}

fn notes(processor: &Processor, groups: &[Group]) -> Vec<String> {
    let mut notes = processor.notes.clone();
    let single: Vec<String> = groups
        .iter()
        .filter(|group| group.points.len() == 1)
        .map(|group| group.points[0].copies.to_string())
        .collect();
    if !single.is_empty() {
        notes.push(format!("only one rate at copies {}, so nothing to compare", single.join(", ")));
    }
    notes.extend(absent(groups));
    notes
}

/// Names the points that are absent although other numbers of copies have their rate.
fn absent(groups: &[Group]) -> Option<String> {
    let rates = rates(groups);
    let mut all: Vec<String> = groups.iter().flat_map(|group| absent_in(group, &rates)).collect();
    let more = all.len().saturating_sub(MOST_ABSENT);
    all.truncate(MOST_ABSENT);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!all.is_empty()).then(|| format!("the table has no time for {}{more}", all.join(", ")))
}

/// Names the points of a number of copies that have none of these rates.
fn absent_in(group: &Group, rates: &[f64]) -> Vec<String> {
    let has = |rate: &f64| group.points.iter().any(|point| point.nominal_hz() == *rate);
    let copies = group.points[0].copies;
    let absent = rates.iter().filter(|rate| !has(rate));
    absent.map(|rate| format!("copies {copies} at {rate} Hz")).collect()
}
