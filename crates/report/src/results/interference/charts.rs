//! The pictures of the interference matrix: a map of all pairs for each kernel, and the repetitions over time.

use super::words::cost;
use crate::picture::{Cell, Column, Heat, Row};
use crate::style::plain;
use crate::units::{between, micros};
use anechoic_analyze::Interference;
use anechoic_analyze::interference::{Cost, Pair, Proximity};
use std::collections::HashMap;

/// Factors of ten between the darkest cell and the lightest visible one.
const DECADES: f64 = 2.5;

/// With more interrupted CPUs a short screen shows the map of one kernel.
const MANY: usize = 16;

/// Describes the map of a kernel.
pub(super) fn caption(kernel: &str) -> String {
    let kernel = plain(kernel);
    format!(
        "Cost in µs of one interrupt on a CPU (row) for {kernel} on a CPU (column). Cells without shade show no significant cost, with its upper limit; shades are the same in all figures of this section."
    )
}

/// Returns the largest significant cost of all kernels; 0 without any.
pub(super) fn largest(found: &Interference) -> f64 {
    let costs = found.pairs.iter().filter_map(|pair| pair.alone).filter(Cost::is_felt);
    costs.map(|cost| cost.per_interrupt_ns).fold(0.0, f64::max)
}

/// Returns the kernels whose maps are shown: all, or with many CPUs on a short screen the one that interrupts on other
/// CPUs slow down most.
pub(super) fn kernels(found: &Interference, all: bool) -> Vec<&str> {
    let kernels = || found.kernels.iter().map(|pace| pace.kernel.as_str());
    if all || found.sources.len() <= MANY {
        return kernels().collect();
    }
    // The first of equal kernels.
    let most = kernels().rev().max_by(|a, b| slowed(found, a).total_cmp(&slowed(found, b)));
    most.into_iter().collect()
}

/// Returns by how much interrupts on other CPUs slow a kernel down at most, in ns.
fn slowed(found: &Interference, kernel: &str) -> f64 {
    let others = found.classes.iter().filter(|class| class.place != Proximity::SameThread);
    let classes = others.filter(|class| class.kernel == kernel && class.differs());
    classes.map(|class| class.mean_ns).fold(0.0, f64::max)
}

/// Returns the map of a kernel: rows are the interrupted CPUs, columns the CPUs of the kernel. `most` is the value of
/// the darkest cell.
pub(super) fn map(found: &Interference, kernel: &str, most: f64) -> Heat {
    let interrupts = |pair: &Pair| pair.alone.map_or(0, |cost| cost.interrupts);
    let mut pairs: HashMap<(u32, u32), &Pair> = HashMap::new();
    // Of a pair measured twice the map shows the series with more interrupts.
    for pair in found.pairs.iter().filter(|pair| pair.kernel == kernel) {
        let shown = pairs.entry((pair.source, pair.cpu)).or_insert(pair);
        if interrupts(pair) >= interrupts(shown) {
            *shown = pair;
        }
    }
    let pair = |source: u32, cpu: u32| pairs.get(&(source, cpu)).copied();
    let rows = found.sources.iter().map(|&source| {
        let cells = found.cpus.iter().map(|&cpu| cell(pair(source, cpu))).collect();
        Row::new(format!("CPU {source}"), cells).briefly(source.to_string())
    });
    let column = |cpu: &u32| Column::plain(format!("on CPU {cpu}")).briefly(cpu.to_string());
    Heat {
        name: kernel.into(),
        title: plain(kernel).to_string(),
        corner: "interrupts of".into(),
        columns: found.cpus.iter().map(column).collect(),
        rows: rows.collect(),
        most,
        decades: DECADES,
        write: |ns| format!("{} µs", micros(ns)),
    }
}

/// A pair that was not measured has no text; one without a result, or without an interval, has a question mark.
fn cell(pair: Option<&Pair>) -> Cell {
    let Some(pair) = pair else { return Cell::text("") };
    let Some(alone) = pair.alone else { return Cell::text("?") };
    if !alone.is_felt() {
        return Cell::text(cost(&alone).unwrap_or("?".into()));
    }
    let value = Cell::value(alone.per_interrupt_ns, micros(alone.per_interrupt_ns));
    let interval = alone.interval.map(|interval| {
        format!("95 %: {} µs", between(&micros(interval.low), &micros(interval.high)))
    });
    Cell { hint: interval, ..value }
}
