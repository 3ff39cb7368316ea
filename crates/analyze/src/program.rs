//! What is known of a recorded program, and whether the kernel's own account of its CPU time agrees.

use crate::curve::CurvePoint;
use crate::noise::{CpuNoise, TotalNoise};
use anechoic_recording::Run;
use anechoic_recording::run::{EventCost, Program, RanOn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is known of a recorded program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramFacts {
    /// Its name: the file of the command, or the name of the process.
    pub name: String,
    /// What it returned, as a shell shows it; absent if it went on, or if the tool did not start it.
    pub exit_code: Option<u8>,
    /// Number of its threads in the run.
    pub threads: u64,
    /// For how long its threads executed, added up over all CPUs, also those that are not among the measured ones.
    pub ran_ns: u64,
    /// The time from its beginning to its end, as events show it; absent unless the tool started it and it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lived_ns: Option<u64>,
    /// The kernel's account of its CPU time beside what the events show; absent if the kernel's is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<Account>,
    /// What recording it cost; absent if that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<RecordingCost>,
    /// What marks its iterations, which are a result of their own; absent if nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marked: Option<String>,
}

/// What recording a program cost it, as far as the writing of events did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordingCost {
    /// Number of events that were written while one of its threads had a CPU.
    pub events: u64,
    /// What that cost of its CPU time, in ns: as much for each event, and for each stack, as between two threads that woke each
    /// other before it was recorded.
    pub ns: u64,
}

/// The CPU time of a program as the kernel counted it, and what its events show. All on all CPUs, in ns.
///
/// The kernel counts a thread from its waking or from the switch to it up to the switch to another, without steal, and with the
/// interrupts on top of it unless it is built to count these apart (`CONFIG_IRQ_TIME_ACCOUNTING`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Account {
    /// What the kernel counted.
    pub kernel_ns: u64,
    /// Its threads executed.
    pub executed_ns: u64,
    /// The part of that which may have been before the switch to a thread, where the kernel reports no switch.
    pub unseen_ns: u64,
    /// Interrupts ran on top of its threads.
    pub interrupted_ns: u64,
    /// From the waking of its threads to the switch to them, where no other switch came between.
    pub waking_ns: u64,
    /// What the hypervisor reports to have taken from all CPUs meanwhile.
    pub steal_ns: u64,
    /// By how much the kernel's account may be outside of what the events allow: 1 % of it or 5 ms, and the step in which the
    /// kernel shows it.
    pub tolerance_ns: u64,
    /// How far it is outside, beyond the tolerance: negative if the kernel counted less than the events show.
    pub outside_ns: i64,
}

/// The largest difference that needs no explanation, as a part of the kernel's account, and in ns.
const PART: u64 = 100;
const LEAST_NS: u64 = 5_000_000;

impl Account {
    /// Returns the account of the program that a run recorded; `None` if it recorded none, or if the kernel's is not known.
    #[must_use]
    pub fn from_run(run: &Run) -> Option<Self> {
        let program = run.program.as_ref()?;
        let kernel = program.cpu_time?;
        let sum = |ticks: fn(&RanOn) -> u64| {
            run.clock.ns(program.ran.iter().map(ticks).fold(0, u64::saturating_add))
        };
        let mut account = Account {
            kernel_ns: kernel.ns,
            executed_ns: sum(|ran| ran.ticks),
            unseen_ns: sum(|ran| ran.unseen_ticks),
            interrupted_ns: sum(|ran| ran.interrupted_ticks),
            waking_ns: sum(|ran| ran.waking_ticks),
            steal_ns: kernel.steal_ns,
            tolerance_ns: (kernel.ns / PART).max(LEAST_NS).saturating_add(kernel.resolution_ns),
            outside_ns: 0,
        };
        account.outside_ns = account.outside();
        Some(account)
    }

    /// Returns the least and the most that the kernel may have counted by what the events show.
    fn range_ns(&self) -> [u64; 2] {
        let most = self.executed_ns.saturating_add(self.interrupted_ns);
        let less = self.unseen_ns.saturating_add(self.steal_ns);
        [self.executed_ns.saturating_sub(less), most.saturating_add(self.waking_ns)]
    }

    fn outside(&self) -> i64 {
        let [least, most] = self.range_ns();
        let below = least.saturating_sub(self.kernel_ns.saturating_add(self.tolerance_ns));
        let above = self.kernel_ns.saturating_sub(most.saturating_add(self.tolerance_ns));
        i64::try_from(above).unwrap_or(i64::MAX) - i64::try_from(below).unwrap_or(i64::MAX)
    }

    /// Returns how much more the kernel counted than the events show; 0 within the tolerance.
    #[must_use]
    pub fn missing_ns(&self) -> u64 {
        match u64::try_from(self.outside_ns) {
            Ok(outside @ 1..) => outside.saturating_add(self.tolerance_ns),
            _ => 0,
        }
    }

    /// Returns whether the kernel counted more than the events show, so that some are missing. If it counted less, the program
    /// may have left processes behind for which nobody waited, or the kernel counts what runs in its softirqs apart.
    #[must_use]
    pub fn lacks_events(&self) -> bool {
        self.outside_ns > 0
    }
}

/// Rates of what happens to a program, per second of wall time and CPU. Its lost time is divided by the time in which it wanted
/// the CPU, but how often something comes does not depend on that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rates {
    elapsed_s: f64,
}

impl Rates {
    /// Returns the rates in a run, if it recorded a program: over the time from its start to its end, or over all of the
    /// recording where it ran before or after that.
    pub(crate) fn in_run(run: &Run) -> Option<Self> {
        let program = run.program.as_ref()?;
        let [begun, ended] = program.lived_ticks.unwrap_or([run.start_ticks, run.end_ticks]);
        Some(Self { elapsed_s: run.clock.seconds(ended.saturating_sub(begun)) })
    }

    /// Returns the rate on one CPU of something that came `count` times on `cpus` CPUs; 0 in a run without length.
    pub(crate) fn per_s(self, count: u64, cpus: usize) -> f64 {
        let elapsed_s = self.elapsed_s * cpus as f64;
        if elapsed_s > 0.0 { count as f64 / elapsed_s } else { 0.0 }
    }

    pub(crate) fn count_by_wall_time(
        self,
        cpus: &mut [CpuNoise],
        total: &mut TotalNoise,
        curve: &mut [CurvePoint],
    ) {
        let all = cpus.len();
        cpus.iter_mut().for_each(|cpu| cpu.rate_per_s = self.per_s(cpu.detours, 1));
        total.rate_per_s = self.per_s(total.detours, all);
        curve.iter_mut().for_each(|point| point.rate_per_s = self.per_s(point.detours, all));
    }
}

impl RecordingCost {
    fn from_program(program: &Program) -> Option<Self> {
        let sum = |count: fn(&RanOn) -> u64| {
            program.ran.iter().map(count).fold(0_u64, u64::saturating_add)
        };
        let price = |count: u64, cost: EventCost| {
            u128::from(count) * u128::from(cost.ns) / u128::from(cost.events.max(1))
        };
        let events = sum(|ran| ran.events);
        let stacks = program.stack_cost.map_or(0, |cost| price(sum(|ran| ran.switches), cost));
        let ns = price(events, program.event_cost?).saturating_add(stacks);
        Some(Self { events, ns: u64::try_from(ns).unwrap_or(u64::MAX) })
    }
}

impl ProgramFacts {
    /// Returns what is known of the program that a run recorded, if it recorded one.
    #[must_use]
    pub fn from_run(run: &Run) -> Option<Self> {
        let program = run.program.as_ref()?;
        let ran = program.ran.iter().map(|ran| ran.ticks).fold(0, u64::saturating_add);
        Some(Self {
            name: program.name.clone(),
            exit_code: program.exit_code,
            threads: program.threads_seen,
            ran_ns: run.clock.ns(ran),
            lived_ns: program
                .lived_ticks
                .map(|[begun, ended]| run.clock.ns(ended.saturating_sub(begun))),
            account: Account::from_run(run),
            marked: program.marked.as_ref().map(|marked| marked.what.clone()),
            // The price was measured in a disturbed moment if events cost more than all that the program executed.
            recording: RecordingCost::from_program(program)
                .filter(|cost| cost.ns <= run.clock.ns(ran)),
        })
    }

    /// Returns how long it took from its start to its end, in ns; `recorded_ns` is for how long it was recorded. `None` if it
    /// ran already, or went on.
    #[must_use]
    pub fn wall_ns(&self, recorded_ns: u64) -> Option<u64> {
        self.lived_ns.or_else(|| self.exit_code.map(|_| recorded_ns))
    }

    /// Returns whether the kernel counted more CPU time than the events show.
    #[must_use]
    pub fn lacks_events(&self) -> bool {
        self.account.is_some_and(|account| account.lacks_events())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recording_costs_the_price_of_each_event_and_stack() {
        let price = |events, ns| Some(EventCost { events, ns });
        let ran = |cpu, events, switches| RanOn { cpu, events, switches, ..RanOn::default() };
        let cost = |event_cost, stack_cost, ran: &[RanOn]| {
            let program =
                Program { event_cost, stack_cost, ran: ran.to_vec(), ..Program::default() };
            RecordingCost::from_program(&program).map(|cost| (cost.events, cost.ns))
        };
        let both = [ran(0, 1_000, 100), ran(1, 500, 50)];
        assert_eq!(cost(price(3_000, 900_000), None, &both), Some((1_500, 450_000)));
        // 300 ns an event and 4 µs a switch.
        assert_eq!(cost(price(3_000, 900_000), price(10, 40_000), &both), Some((1_500, 1_050_000)));
        assert_eq!(cost(price(3_000, 900_000), None, &[]), Some((0, 0)));
        assert_eq!(
            cost(None, price(10, 40_000), &both),
            None,
            "the price of an event is not known"
        );
        assert_eq!(cost(price(0, 1), None, &[ran(0, u64::MAX, 0)]), Some((u64::MAX, u64::MAX)));
    }

    #[test]
    fn the_kernel_may_count_between_the_least_and_the_most_that_events_show() {
        let ms = 1_000_000;
        let account = |kernel_ms: u64, steal_ms: u64| Account {
            kernel_ns: kernel_ms * ms,
            executed_ns: 1_000 * ms,
            unseen_ns: 20 * ms,
            interrupted_ns: 30 * ms,
            waking_ns: 40 * ms,
            steal_ns: steal_ms * ms,
            tolerance_ns: 5 * ms,
            outside_ns: 0,
        };
        for (name, kernel_ms, steal_ms, expected_ms) in [
            ("all alike", 1_030, 0, 0),
            ("without what was unseen", 1_010, 0, 0),
            ("without interrupts, which it counts apart", 980, 0, 0),
            ("a little less", 975, 0, 0),
            ("too little", 974, 0, -1),
            ("too little, but the host took it", 974, 10, 0),
            ("with the waking", 1_075, 0, 0),
            ("too much", 1_077, 0, 2),
        ] {
            let found = account(kernel_ms, steal_ms).outside();
            assert_eq!(found, expected_ms * ms as i64, "case: {name}");
        }
    }
}
