//! The model in sentences.

use crate::published::published_share;
use crate::units::{change, counted, hertz, micro, number_range, percent, share, whole};
use anechoic_analyze::stats::Interval;
use anechoic_predict::ticks::{Estimators, Fitted, Linearity, Pair, ProcessorModel, Sample};

/// Number of points that are listed.
const MOST_NAMED: usize = 4;

/// Writes an interval: `5.12–5.77`.
pub(crate) fn range(interval: Interval) -> String {
    number_range(interval.low, interval.high)
}

/// States the cost of one interrupt and its parts.
pub(crate) fn cost(processor: &ProcessorModel) -> String {
    let (cost, costs) = (&processor.cost, &processor.costs);
    let range_of = |interval: Option<Interval>| {
        interval.map_or(String::new(), |interval| format!(" (95 %: {})", range(interval)))
    };
    let around = match costs.gap_us {
        Some(gap_us) => format!("{} in entry and exit gaps (trap, return, VM exit)", micro(gap_us)),
        None => format!("{} for the trap", micro(costs.trap_us)),
    };
    let (total, handler) = (micro(cost.total_us), micro(costs.handler_us));
    if !processor.verdict.sample.resolves_cost() {
        let range = range_of(cost.total_interval);
        return format!(
            "The sort times give {total}{range} per interrupt, which is not significant; the interrupt itself takes \
             {handler} in the kernel and {around}."
        );
    }
    let indirect = format!("{}{}", micro(cost.indirect_us), range_of(cost.indirect_interval));
    let part = cost.indirect_share.map_or(String::new(), |part| format!(" = {}", share(part)));
    let rest = match processor.verdict.sample {
        _ if cost.indirect_us < 0.0 => format!("no measurable indirect cost: {indirect}"),
        Sample::OnlyTotal => format!("no measurable indirect cost: {indirect}"),
        _ => format!("{indirect}{part} indirectly"),
    };
    format!(
        "One interrupt costs {total}{}: {handler} in the kernel, {around}, and {rest}.",
        range_of(cost.total_interval),
    )
}

/// Describes the pair with the most extra interrupts, as an example of how the shares are computed.
pub(crate) fn widest_pair(processor: &ProcessorModel) -> Option<String> {
    let extra = |a: &&Pair, b: &&Pair| a.extra.total_cmp(&b.extra);
    // The first of equal pairs: max_by alone would return the last.
    let pair = processor.pairs.iter().rev().max_by(extra)?;
    let part = pair.indirect_share.map_or(String::new(), |part| format!(" ({})", share(part)));
    let step = format!(
        "For example, {} instead of {} with {} adds {} interrupts per sort, which takes",
        hertz(pair.high_hz),
        hertz(pair.low_hz),
        counted(u64::from(pair.copies), "copy", "copies"),
        whole(pair.extra),
    );
    if pair.rise_us <= 0.0 {
        return Some(format!("{step} {} µs less.", whole(-pair.rise_us)));
    }
    Some(format!(
        "{step} {} µs longer; their direct cost is {} µs, and {} µs{part} are indirect.",
        whole(pair.rise_us),
        whole(pair.direct_us),
        whole(pair.indirect_us),
    ))
}

/// An estimator: its name, its value in percent, and what it is.
type Estimator = (&'static str, fn(&Estimators) -> Option<f64>, &'static str);

/// The estimators of the indirect part.
pub(super) const ESTIMATORS: [Estimator; 4] = [
    ("fit", |all| Some(all.fit), "the median of the cost of the interrupts that came"),
    ("mean", |all| Some(all.mean), "over all pairs"),
    ("mean of rises", |all| all.mean_of_rises, "over the pairs whose time rose"),
    ("median", |all| Some(all.median), "over all pairs"),
];

/// Returns the estimator with the smallest difference.
pub(super) fn nearest(off: impl Fn(usize) -> Option<f64>) -> Option<usize> {
    let known = (0..ESTIMATORS.len()).filter_map(|at| Some((at, off(at)?)));
    Some(known.min_by(|a, b| a.1.total_cmp(&b.1))?.0)
}

/// Returns the published indirect part of the mode in which the times of this model were measured.
pub(super) fn share_here(processor: &ProcessorModel) -> Option<f64> {
    Some(published_share(processor, &processor.modes.first()?.name)?.indirect)
}

/// States the indirect part by each estimator, and which is nearest to a published one.
pub(crate) fn estimators(processor: &ProcessorModel) -> Option<String> {
    let all = processor.estimators.filter(|all| all.pairs > 1)?;
    let rises = all.mean_of_rises.filter(|_| all.rises < all.pairs).map(|mean| {
        let pairs = counted(all.rises, "pair", "pairs");
        format!(" ({} over the {pairs} whose time rose)", percent(mean))
    });
    let published = share_here(processor).and_then(|published| {
        let at = nearest(|at| Some((ESTIMATORS[at].1(&all)? - published).abs()))?;
        let (name, _, what) = ESTIMATORS[at];
        Some(format!(" Published: {published:.2} %; nearest is the {name} ({what})."))
    });
    Some(format!(
        "Indirect part of 1,000 interrupts per second: {} of the CPU by the fit, {} by Tsafrir's estimator, the mean over all {} \
         pairs{}, {} by their median.{}",
        percent(all.fit),
        percent(all.mean),
        all.pairs,
        rises.unwrap_or_default(),
        percent(all.median),
        published.unwrap_or_default()
    ))
}

/// States whether the model holds, how well it fits, and whether the sample was sufficient.
pub(crate) fn verdict(processor: &ProcessorModel) -> String {
    const UNTESTED: &str = "It was not tested whether the cost is proportional to the rate";
    let mut sentences = vec![match processor.verdict.linearity {
        Linearity::Untested if !processor.verdict.sample.resolves_cost() => format!("{UNTESTED}."),
        Linearity::Untested
            if processor.goodness.r_squared.is_some()
                && processor.verdict.sample == Sample::TooFew =>
        {
            format!(
                "{UNTESTED}: there are too few blocks to bound the errors. Measure more of them."
            )
        }
        Linearity::Untested if processor.goodness.r_squared.is_some() => format!(
            "{UNTESTED}: the times scatter so much that a miss by a quarter of what interrupts add does not show; up to {} would go \
             unnoticed. Measure more blocks, on a quiet machine.",
            allowed(processor)
        ),
        Linearity::Untested => {
            format!("{UNTESTED}: no number of copies has more than two rates.")
        }
        Linearity::Holds => {
            format!(
                "The linear model holds: no point misses by more than {}{}.",
                allowed(processor),
                same(processor)
            )
        }
        Linearity::Fails => format!("The linear model does not hold: {}.", failures(processor)),
    }];
    if let Some(fit) = fit(processor) {
        sentences.push(fit);
    }
    sentences.extend(match processor.verdict.sample {
        Sample::Enough if processor.cost.indirect_us < 0.0 => Some(
            "The indirect part is negative: an interrupt costs these sorts less than its direct cost, which is assumed \
             to be exact."
                .to_owned(),
        ),
        Sample::Enough | Sample::OnlyTotal => None,
        Sample::Noise => {
            Some("The cost of an interrupt is not significantly above 0.".to_owned())
        }
        Sample::NotPositive => Some(
            "The times do not rise with the rate: something else differed between the rates, so the cost of an \
             interrupt cannot be computed. Alternate the rates on a quiet machine."
                .to_owned(),
        ),
        Sample::TooFew => Some("There are too few points to compute an interval.".to_owned()),
    });
    sentences.join(" ")
}

/// States the miss that is allowed for a point.
fn allowed(processor: &ProcessorModel) -> String {
    let all = |is: fn(&Fitted) -> bool| processor.points.iter().all(is);
    let misses = || processor.points.iter().map(|point| point.allowed);
    let (least, most) = (misses().fold(f64::INFINITY, f64::min), misses().fold(0.0, f64::max));
    let what = match () {
        () if all(|point| !point.point.by_block.is_empty()) => "3.5 standard errors",
        () if all(|point| point.standard_error.is_some()) => "three standard errors",
        () => "what scatter like that of these times exceeds in 1 % of such tables",
    };
    let (least, most) = (share(least), share(most));
    if least == most { format!("{most} ({what})") } else { format!("{what} ({least} to {most})") }
}

/// States that interrupts cost the same at low and at high rates.
fn same(processor: &ProcessorModel) -> String {
    processor.bend.map_or(String::new(), |bend| {
        format!(
            ", and the cost of an interrupt does not differ significantly below {} ({} µs) and above it ({} µs)",
            hertz(bend.at_hz),
            range(bend.low_interval),
            range(bend.high_interval)
        )
    })
}

/// States where the model does not hold.
fn failures(processor: &ProcessorModel) -> String {
    let off: Vec<&Fitted> = processor.points.iter().filter(|point| point.off).collect();
    let mut failures = vec![];
    if !off.is_empty() {
        let mut named: Vec<String> =
            off.iter().take(MOST_NAMED).map(|fitted| miss(fitted)).collect();
        let more = off.len().saturating_sub(MOST_NAMED);
        if more > 0 {
            named.push(format!("{more} more"));
        }
        let points = counted(off.len() as u64, "point is", "points are");
        failures.push(format!("{points} off: {}", named.join(", ")));
    }
    let fell =
        processor.falls.iter().filter(|fall| fall.within_error == Some(false)).count() as u64;
    if fell > 0 {
        let steps = counted(fell, "step", "steps");
        failures
            .push(format!("the time falls by more than the errors at {steps} to a higher rate"));
    }
    if let Some(bend) = processor.bend.filter(|bend| bend.differs) {
        failures.push(format!(
            "an interrupt costs {} ({}) up to {} and {} ({}) above it",
            micro(bend.low_us),
            range(bend.low_interval),
            hertz(bend.at_hz),
            micro(bend.high_us),
            range(bend.high_interval)
        ));
    }
    failures.join("; ")
}

/// `4 copies at 1 kHz (+1.2 %)`.
fn miss(fitted: &Fitted) -> String {
    let miss = fitted.miss.map_or("more than all of the CPU".into(), change);
    let copies = counted(u64::from(fitted.point.copies), "copy", "copies");
    format!("{copies} at {} ({miss})", hertz(fitted.point.nominal_hz()))
}

/// States how well the model fits; nothing if that was not tested.
fn fit(processor: &ProcessorModel) -> Option<String> {
    let goodness = &processor.goodness;
    let (r_squared, miss) = (goodness.r_squared?, goodness.largest_miss?);
    let copies = counted(u64::from(goodness.largest_miss_copies?), "copy", "copies");
    let at = hertz(goodness.largest_miss_hz?);
    Some(format!("R² is {r_squared:.4}, the largest miss {} ({copies} at {at}).", change(miss)))
}
