//! How late wake-ups were by the idle state that their CPU left.

use crate::samples::cells::{Cells, value_at};
use anechoic_recording::run::Run;
use anechoic_recording::wakeup::AFTER_IDLE;
use anechoic_recording::{Activity, Sample, sources};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The wake-ups that found their CPU in one idle state.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct IdleLatency {
    /// The name of the state, such as `C6`; absent for an idle CPU whose state is not known.
    pub state: Option<String>,
    /// How long leaving the state takes at most as its driver says, in nanoseconds; the longest, where CPUs differ. Absent if it
    /// does not say.
    pub promised_ns: Option<f64>,
    /// Number of wake-ups.
    pub wakeups: u64,
    /// The median time from the expiry to the interrupt in nanoseconds.
    pub timer_p50_ns: f64,
    /// The longest such time in nanoseconds.
    pub timer_max_ns: f64,
    /// The median latency in nanoseconds.
    pub p50_ns: f64,
}

/// Collects wake-ups by idle state.
#[derive(Debug, Default)]
pub(super) struct IdleStates(BTreeMap<Option<String>, Group>);

#[derive(Debug, Default)]
struct Group {
    timer: Cells,
    latency: Cells,
    wakeups: u64,
    promised_us: Option<u64>,
}

impl IdleStates {
    /// Adds an explained wake-up with its rows, if its CPU was idle when its timer expired; the interrupt came `timer` ticks later.
    pub(super) fn add(&mut self, sample: &Sample, rows: &[Activity], timer: u64, run: &Run) {
        let late =
            |row: &&Activity| sources::LATE_TIMER.is(&row.source) && &*row.name == AFTER_IDLE;
        let Some(row) = rows.first().filter(late) else { return };
        let state = row.function.as_deref().map(str::to_owned);
        let promised = run
            .idle_states
            .iter()
            .filter(|known| Some(&known.name) == state.as_ref() && known.cpus.contains(&row.cpu))
            .filter_map(|known| known.exit_latency_us)
            .max();
        let group = self.0.entry(state).or_default();
        group.promised_us = group.promised_us.max(promised);
        group.timer.add(&[timer]);
        group.latency.add(&[super::latency(sample)]);
        group.wakeups += 1;
    }

    /// Returns the states, the one with the shortest median first; none if no state is known.
    pub(super) fn finish(self, tick_ns: f64) -> Vec<IdleLatency> {
        if self.0.keys().all(Option::is_none) {
            return Vec::new();
        }
        let states = self.0.into_iter().map(|(state, mut group)| {
            let half = group.wakeups.div_ceil(2);
            let ns = |cells: &mut Cells, rank| value_at(cells.cells(), rank) as f64 * tick_ns;
            IdleLatency {
                state,
                promised_ns: group.promised_us.map(|us| us as f64 * 1e3),
                wakeups: group.wakeups,
                timer_p50_ns: ns(&mut group.timer, half),
                timer_max_ns: ns(&mut group.timer, group.wakeups),
                p50_ns: ns(&mut group.latency, half),
            }
        });
        let mut states: Vec<IdleLatency> = states.collect();
        states.sort_by(|a, b| a.timer_p50_ns.total_cmp(&b.timer_p50_ns));
        states
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::builders;
    use anechoic_recording::ActivityKind;
    use anechoic_recording::wakeup::IdleState;

    fn row(cpu: u32, name: &str, state: Option<&str>) -> Activity {
        let place = (cpu, 0);
        Activity {
            name: name.into(),
            function: state.map(Into::into),
            ..builders::activity(place, ActivityKind::OffCpu, sources::LATE_TIMER.id, 0, 1)
        }
    }

    fn sample(cpu: u32, end_ticks: u64) -> Sample {
        Sample { series: 0, index: 0, cpu, start_ticks: 0, end_ticks, count: 1 }
    }

    /// Wake-ups of 1 to 9 and of 100 to 900 ticks until the interrupt, whose medians are known.
    #[test]
    fn medians_are_of_the_wake_ups_of_a_state() {
        let mut run = builders::run("wakeup", builders::clock(500_000_000), vec![]);
        for (cpu, us) in [(0, 133), (1, 890)] {
            let (state, name) = (2, "C6".to_owned());
            let state = IdleState { state, name, exit_latency_us: Some(us), cpus: vec![cpu] };
            run.idle_states.push(state);
        }
        let mut states = IdleStates::default();
        let mut add = |cpu, name, state, timer| {
            states.add(&sample(cpu, timer + 7), &[row(cpu, name, state)], timer, &run);
        };
        for ticks in 1..=9 {
            add(0, AFTER_IDLE, Some("C6"), ticks * 100);
            add(1, AFTER_IDLE, None, ticks);
            add(1, "on a busy CPU", None, ticks);
        }
        let found = states.finish(2.0);
        let seen: Vec<_> =
            found
                .iter()
                .map(|of_state| {
                    let IdleLatency {
                        state,
                        promised_ns,
                        wakeups,
                        timer_p50_ns,
                        timer_max_ns,
                        p50_ns,
                    } = of_state;
                    (
                        state.as_deref(),
                        *promised_ns,
                        *wakeups,
                        [*timer_p50_ns, *timer_max_ns, *p50_ns],
                    )
                })
                .collect();
        assert_eq!(
            seen,
            [
                (None, None, 9, [10.0, 18.0, 24.0]),
                // What CPU 1 promises does not count: none of these wake-ups was there.
                (Some("C6"), Some(133_000.0), 9, [1_000.0, 1_800.0, 1_014.0]),
            ]
        );
    }

    #[test]
    fn nothing_is_said_where_no_state_is_known() {
        let mut states = IdleStates::default();
        let sample = sample(0, 9);
        states.add(
            &sample,
            &[row(0, AFTER_IDLE, None)],
            0,
            &builders::run("wakeup", builders::clock(1), vec![]),
        );
        assert_eq!(states.finish(1.0), []);
    }
}
