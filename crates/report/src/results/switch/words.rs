//! What context switches cost, in words.

use crate::results::memory::words::size;
use crate::units::{between, number};
use anechoic_analyze::Switch;
use anechoic_analyze::stats::Estimate;
use anechoic_analyze::switch::Point;
use anechoic_recording::switch::Partners;

/// Writes a time with its interval: `0.66 µs (95 %: 0.64 to 0.68)`.
fn time(estimate: &Estimate) -> String {
    let us = |ns: f64| number(ns / 1e3);
    let value = us(estimate.value);
    estimate.interval.map_or(format!("{value} µs"), |within| {
        format!("{value} µs (95 %: {})", between(&us(within.low), &us(within.high)))
    })
}

/// States what a switch costs directly, and how much the largest working set adds.
pub(crate) fn sentences(found: &Switch) -> Vec<String> {
    if found.points.is_empty() {
        return vec!["No switch was measured.".into()];
    }
    let stated = |partners| [direct(found, partners), largest(found, partners)];
    Partners::ALL.into_iter().flat_map(stated).flatten().collect()
}

/// Returns the points of a kind with this working set that have a cost, from the smallest ring.
fn costs(found: &Switch, partners: Partners, bytes: u64) -> Vec<(&Point, Estimate)> {
    let measured =
        found.points.iter().filter(|point| point.partners == partners && point.bytes == bytes);
    measured.filter_map(|point| Some((point, point.cost_ns?))).collect()
}

fn direct(found: &Switch, partners: Partners) -> Option<String> {
    let costs = costs(found, partners, 0);
    let (first, rest) = costs.split_first()?;
    let name = partners.name();
    let mut text = format!(
        "A switch between {} {name} without working sets costs {}",
        first.0.members,
        time(&first.1)
    );
    if let Some((last, cost)) = rest.last() {
        text += &format!(", and between {} of them {}", last.members, time(cost));
    }
    Some(text + ".")
}

fn largest(found: &Switch, partners: Partners) -> Option<String> {
    let bytes = found.sizes().into_iter().rev().find(|&bytes| bytes > 0)?;
    let (point, _) = *costs(found, partners, bytes).last()?;
    let indirect = point.indirect_ns?;
    let what = format!("{} each of {} {}", size(bytes), point.members, partners.name());
    let time = time(&indirect);
    Some(match indirect.differs() {
        true if indirect.value > 0.0 => format!("Working sets of {what} add {time}."),
        true => format!("Working sets of {what} make a switch cheaper: {time}."),
        false => format!("An effect of working sets of {what} was not found: {time}."),
    })
}

/// Explains the columns.
pub(crate) fn columns(found: &Switch) -> String {
    let kernel = found.kernel.as_deref().map_or(String::new(), |kernel| {
        format!(
            " Each member passes once over its own working set ({kernel}) when it has the token."
        )
    });
    format!(
        "The token goes through pipes.{kernel} Without a switch, one member writes and reads the token by itself and passes over its own \
         working set, which stays in the caches. A switch costs a hop minus that, from pairs of the same block: means over the blocks of their \
         median samples, with half of the 95 % interval. The cost of a counter read, {} ticks, is subtracted from each sample.",
        found.read_ticks
    )
}

/// States what recording kernel events costs.
pub(crate) fn events(found: &Switch) -> Option<String> {
    if !found.events_compared {
        return found.run.traced.then(|| {
            "kernel events were recorded all the time, and are a part of each cost".to_owned()
        });
    }
    let direct = found.points.iter().filter(|point| point.bytes == 0);
    let added = direct.chain(&found.points).find_map(|point| Some((point, point.events_ns?)));
    let added = added.map_or(String::new(), |(point, added)| {
        format!(
            ", which added {} to a hop between {} {}",
            time(&added),
            point.members,
            point.partners.name()
        )
    });
    Some(format!("off for these times, and on in further samples{added}"))
}
