//! Where the time of wake-ups went: the parts from the timer to the thread, and what ran meanwhile, by source.

use super::idle::{IdleLatency, IdleStates};
use super::kind::Kind;
use super::stages::{STAGES, Stage, StageTail, Stages, chain};
use super::{Latencies, Wakeup, Worst, latency, rows};
use crate::samples::values::Scale;
use anechoic_recording::wakeup::WakingCall;
use anechoic_recording::{Activity, Fixed, Problem, Recording, Sample, VictimState};
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Where the time of the wake-ups went.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Causes {
    /// Number of wake-ups of which every part is known.
    pub explained: u64,
    /// Number of wake-ups with kernel events of which some were lost or hidden: nothing is said about them.
    pub not_attributable: u64,
    /// The part of the time of all late wake-ups that these have: it is not known where it went.
    pub unknown_share_late: f64,
    /// The mean parts of all wake-ups that are explained; absent if there are none.
    pub mean: Option<Parts>,
    /// The mean parts of those above the 99th percentile of their CPU and interval; absent if there are none.
    pub mean_above_p99: Option<Parts>,
    /// The mean parts of the late ones; absent if there are none.
    pub mean_late: Option<Parts>,
    /// How long each stage took, in all that are explained; empty if there are none.
    pub stages: Vec<StageTail>,
    /// The mean parts of short and of long ones, the shortest first.
    pub bands: Vec<Band>,
    /// How late wake-ups were by the idle state that their CPU left; empty if no event shows such a state.
    pub idle: Vec<IdleLatency>,
    /// The mean parts of all that are explained, for each of several things that wake.
    pub by_call: Vec<MeanParts>,
    /// What the time went to, the largest part of the late ones first, then of those above the 99th percentile, then of all.
    pub sources: Vec<WakeSource>,
}

/// The mean parts of wake-ups by one call, or by timers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MeanParts {
    /// The call; absent for timers.
    pub call: Option<WakingCall>,
    /// Their mean parts.
    pub mean: Parts,
}

/// The parts of a wake-up in nanoseconds, which add up to its latency. One by another thread's call begins with the call, and
/// has no timer and no interrupt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Parts {
    /// From the programmed expiry to the interrupt.
    pub timer_ns: f64,
    /// From there until the interrupt woke the thread.
    pub interrupt_ns: f64,
    /// From the moment before another thread's waking call until that had woken the thread.
    pub call_ns: f64,
    /// From the waking to the switch to the thread. Where the kernel hides the switch, also the return.
    pub scheduling_ns: f64,
    /// From the switch until the thread ran.
    pub return_ns: f64,
}

/// The wake-ups of a range of latencies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Band {
    /// They are longer than this quantile of those of their CPU and interval, from 0 to 1, up to the next band.
    pub above: f64,
    /// Number of these of which every part is known.
    pub wakeups: u64,
    /// Their mean parts.
    pub mean: Parts,
}

impl Parts {
    /// Returns the time of a stage in nanoseconds.
    #[must_use]
    pub fn stage_ns(&self, stage: Stage) -> f64 {
        match stage {
            Stage::Timer => self.timer_ns,
            Stage::Interrupt => self.interrupt_ns,
            Stage::Call => self.call_ns,
            Stage::Scheduling => self.scheduling_ns,
            Stage::Return => self.return_ns,
        }
    }

    /// Returns the latency.
    #[must_use]
    pub fn sum_ns(&self) -> f64 {
        self.timer_ns + self.interrupt_ns + self.call_ns + self.scheduling_ns + self.return_ns
    }
}

/// What a source took of the wake-ups.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WakeSource {
    /// Identifier of the source.
    pub source: String,
    /// Which instance of it; empty if there is only one.
    pub name: String,
    /// Number of wake-ups with it.
    pub wakeups: u64,
    /// Its share of the latency of all explained wake-ups.
    pub share: f64,
    /// Its share of the latency of those above the 99th percentile; absent if there are none.
    pub share_above_p99: Option<f64>,
    /// Its share of the latency of the late ones; absent if there are none.
    pub share_late: Option<f64>,
}

impl WakeSource {
    /// Returns its shares in the order in which they decide the rank.
    fn shares(&self) -> [f64; CLASSES] {
        let [late, above] = [self.share_late, self.share_above_p99];
        [late.unwrap_or(0.0), above.unwrap_or(0.0), self.share]
    }
}

/// The parts of a wake-up in ticks, and whether the switch was seen.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct TickParts {
    timer: u64,
    interrupt: u64,
    call: u64,
    scheduling: u64,
    back: u64,
}

impl TickParts {
    /// Splits a wake-up with these rows, by a timer or by a call; absent if they do not show when the thread was woken.
    pub(super) fn new(sample: &Sample, rows: &[Activity], by_call: bool) -> Option<Self> {
        let state = |row: &Activity, state: VictimState| &*row.victim_state == state.name();
        let top = || rows.iter().filter(|row| row.parent.is_none());
        let not_yet = [VictimState::Blocked, VictimState::Stopped];
        let waits = top().rfind(|row| not_yet.iter().any(|not_yet| state(row, *not_yet)))?;
        let woken = waits.end_ticks;
        // The interrupt that was open when the thread was woken.
        let place = rows.iter().position(|row| std::ptr::eq(row, waits))?;
        let opened =
            rows.iter().filter(|row| row.parent == Some(place as u32) && row.end_ticks == woken);
        let interrupt = opened.map(|row| row.start_ticks).min().unwrap_or(woken);
        let back = top().find(|row| state(row, VictimState::Running)).map(|row| row.start_ticks);
        let switched = back.unwrap_or(sample.end_ticks);
        let (timer, interrupt, call) = match by_call {
            true => (0, 0, woken.checked_sub(sample.start_ticks)?),
            false => (interrupt.checked_sub(sample.start_ticks)?, woken.checked_sub(interrupt)?, 0),
        };
        Some(TickParts {
            timer,
            interrupt,
            call,
            scheduling: switched.checked_sub(woken)?,
            back: sample.end_ticks.checked_sub(switched)?,
        })
    }

    /// Returns the time of each stage.
    fn stages(&self) -> [u64; STAGES.len()] {
        [self.timer, self.interrupt, self.call, self.scheduling, self.back]
    }

    /// Returns parts with these times.
    fn from_stages([timer, interrupt, call, scheduling, back]: [u64; STAGES.len()]) -> Self {
        TickParts { timer, interrupt, call, scheduling, back }
    }

    fn add(&mut self, other: Self) {
        self.timer += other.timer;
        self.interrupt += other.interrupt;
        self.call += other.call;
        self.scheduling += other.scheduling;
        self.back += other.back;
    }

    /// Returns the parts of `number` of them on average.
    pub(super) fn mean(self, number: u64, tick_ns: f64) -> Option<Parts> {
        let ns = |ticks: u64| ticks as f64 * tick_ns / number as f64;
        (number > 0).then(|| Parts {
            timer_ns: ns(self.timer),
            interrupt_ns: ns(self.interrupt),
            call_ns: ns(self.call),
            scheduling_ns: ns(self.scheduling),
            return_ns: ns(self.back),
        })
    }
}

impl Band {
    /// Returns the band that begins at a quantile, from the number of its wake-ups and the sums of their stages.
    fn new((above, wakeups, sums): (f64, u64, [u64; STAGES.len()]), tick_ns: f64) -> Option<Self> {
        let mean = TickParts::from_stages(sums).mean(wakeups, tick_ns)?;
        Some(Self { above, wakeups, mean })
    }
}

/// All wake-ups, those above the 99th percentile, and the late ones.
const CLASSES: usize = 3;

/// What a source took in ticks, by class.
#[derive(Debug, Default, Clone, Copy)]
struct Taken {
    wakeups: u64,
    ticks: [u64; CLASSES],
}

/// Adds up the parts and sources of wake-ups.
#[derive(Debug, Default)]
pub(super) struct Adding {
    numbers: [u64; CLASSES],
    ticks: [u64; CLASSES],
    parts: [TickParts; CLASSES],
    not_attributable: u64,
    /// Time of the late ones among them.
    unknown_late_ticks: u64,
    sources: HashMap<(Arc<str>, Arc<str>), Taken>,
    idle: IdleStates,
    by_call: BTreeMap<Option<WakingCall>, (u64, TickParts)>,
}

impl Adding {
    /// Adds a wake-up, which belongs to these classes, with its rows. Returns its parts, and the source that took most.
    pub(super) fn add(
        &mut self,
        sample: &Sample,
        rows: &[Activity],
        classes: [bool; CLASSES],
        call: Option<WakingCall>,
    ) -> Option<(TickParts, Arc<str>, Arc<str>)> {
        let parts =
            TickParts::new(sample, rows, call.is_some()).filter(|_| rows::are_known(sample, rows));
        let Some(parts) = parts else {
            self.not_attributable += 1;
            let late = if classes[2] { latency(sample) } else { 0 };
            self.unknown_late_ticks = self.unknown_late_ticks.saturating_add(late);
            return None;
        };
        let mut of_sample: BTreeMap<(Arc<str>, Arc<str>), u64> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.self_ticks > 0) {
            let key = (Arc::clone(&row.source), Arc::clone(&row.name));
            *of_sample.entry(key).or_default() += row.self_ticks;
        }
        let in_class = (0..CLASSES).filter(|&class| classes[class]);
        for class in in_class.clone() {
            self.numbers[class] += 1;
            self.ticks[class] = self.ticks[class].saturating_add(latency(sample));
            self.parts[class].add(parts);
        }
        let (number, sum) = self.by_call.entry(call).or_default();
        *number += 1;
        sum.add(parts);
        let most = of_sample.iter().max_by_key(|(_, ticks)| **ticks).map(|(key, _)| key.clone());
        for (key, ticks) in of_sample {
            let taken = self.sources.entry(key).or_default();
            taken.wakeups += 1;
            in_class.clone().for_each(|class| taken.ticks[class] += ticks);
        }
        let (source, name) = most.unwrap_or_default();
        Some((parts, source, name))
    }

    pub(super) fn finish(self, tick_ns: f64) -> Causes {
        let several = self.by_call.len() > 1;
        let by_call = self.by_call.iter().filter(|_| several).filter_map(|(call, sum)| {
            Some(MeanParts { call: *call, mean: sum.1.mean(sum.0, tick_ns)? })
        });
        let mean = |class: usize| self.parts[class].mean(self.numbers[class], tick_ns);
        let shares = self.sources.iter().map(|((source, name), taken)| {
            let share = |class: usize| crate::share(taken.ticks[class], self.ticks[class]);
            let of_some = |class: usize| (self.numbers[class] > 0).then(|| share(class));
            WakeSource {
                source: source.to_string(),
                name: name.to_string(),
                wakeups: taken.wakeups,
                share: share(0),
                share_above_p99: of_some(1),
                share_late: of_some(2),
            }
        });
        let mut sources: Vec<WakeSource> = shares.collect();
        sources.sort_by(|a, b| {
            let by_share = b.shares().partial_cmp(&a.shares()).unwrap_or(Ordering::Equal);
            by_share.then_with(|| (&a.source, &a.name).cmp(&(&b.source, &b.name)))
        });
        Causes {
            explained: self.numbers[0],
            not_attributable: self.not_attributable,
            unknown_share_late: crate::share(
                self.unknown_late_ticks,
                self.unknown_late_ticks.saturating_add(self.ticks[2]),
            ),
            mean: mean(0),
            mean_above_p99: mean(1),
            mean_late: mean(2),
            stages: vec![],
            bands: vec![],
            idle: self.idle.finish(tick_ns),
            by_call: by_call.collect(),
            sources,
        }
    }
}

/// Explains the wake-ups of `found` from the activities of its recording; nothing without kernel events.
///
/// # Errors
/// A table is damaged.
pub(super) fn explain(recording: &Recording, found: &mut Wakeup) -> Result<(), Problem> {
    let run = recording.run();
    if run.trace.is_none() {
        return Ok(());
    }
    let late_ticks = run.clock.ticks(found.late_ns);
    let (mut adding, mut stages) = (Adding::default(), Stages::default());
    let scale = Scale::new(Fixed::Work, &run.clock);
    rows::each(recording, |woken| {
        let (sample, kind) = (woken.sample, Kind::from(&woken.sleep));
        let ticks = latency(sample);
        let same = |row: &&Latencies| row.cpu == woken.series.cpu && row.kind() == kind;
        let row = found.rows.iter().find(same);
        let above =
            row.and_then(|row| row.p99_ns).is_some_and(|p99_ns| scale.value(ticks as f64) > p99_ns);
        let added = adding.add(sample, woken.rows, [true, above, ticks > late_ticks], kind.call);
        if let (Some(row), Some((parts, ..))) = (row, &added) {
            stages.add(scale.value(ticks as f64), parts.stages(), row);
            adding.idle.add(sample, woken.rows, parts.timer, run);
        }
        let at_ns = run.clock.ns(sample.start_ticks.saturating_sub(run.start_ticks));
        let is_same = |worst: &&mut Worst| worst.cpu == sample.cpu && worst.at_ns == at_ns;
        let worst = found.worst.iter_mut().find(is_same);
        if let (Some(worst), Some((parts, source, name))) = (worst, added) {
            worst.parts = parts.mean(1, found.tick_ns);
            worst.source = Some(source.to_string());
            worst.name = Some(name.to_string());
            worst.chain = chain(sample, woken.rows, found.tick_ns);
        }
    })?;
    found.causes = Some(Causes {
        stages: stages.tails(&Scale::new(Fixed::Work, &run.clock)),
        bands: stages.bands().filter_map(|band| Band::new(band, found.tick_ns)).collect(),
        ..adding.finish(found.tick_ns)
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_recording::ActivityKind;
    use anechoic_recording::VictimState::{Blocked, Runnable, Running};

    /// A row: source, start, end, self time, the row around it, the thread's state.
    type Made = (&'static str, u64, u64, u64, Option<u32>, VictimState);

    fn activity(&(source, start_ticks, end_ticks, self_ticks, parent, state): &Made) -> Activity {
        let kind = match source {
            "not-attributable" => ActivityKind::NotAttributable,
            _ => ActivityKind::Activity,
        };
        Activity {
            cpu: 0,
            start_ticks,
            end_ticks,
            self_ticks,
            detour: 0,
            parent,
            kind,
            source: source.into(),
            name: "".into(),
            function: None,
            victim_state: state.name().into(),
            sent_by_cpu: None,
            sent_by_task: None,
            steal_ns: None,
            thread: None,
        }
    }

    fn sample(end_ticks: u64) -> Sample {
        Sample { series: 0, index: 0, cpu: 0, start_ticks: 100, end_ticks, count: 1 }
    }

    /// From 100 to 200: an earlier interrupt, then the timer's at 140, the waking at 150, the switch at 180.
    const WHOLE: [Made; 6] = [
        ("late-timer", 100, 150, 25, None, Blocked),
        ("device-irq", 110, 125, 15, Some(0), Blocked),
        ("timer", 140, 150, 10, Some(0), Blocked),
        ("wake-up", 150, 180, 20, None, Runnable),
        ("timer", 150, 160, 10, Some(3), Runnable),
        ("wake-up", 180, 200, 20, None, Running),
    ];

    #[test]
    fn parts_end_where_the_rows_show_it_and_add_up() {
        let whole = TickParts { timer: 40, interrupt: 10, call: 0, scheduling: 30, back: 20 };
        let cases: [(&str, &[Made], Option<TickParts>); 5] = [
            ("all", &WHOLE, Some(whole)),
            // The last row is missing, so not all of the time is known.
            ("a hole", &WHOLE[..5], None),
            ("no rows", &[], None),
            (
                "a hidden switch",
                &[
                    ("late-timer", 100, 150, 50, None, Blocked),
                    ("wake-up", 150, 200, 50, None, Runnable),
                ],
                Some(TickParts { timer: 50, scheduling: 50, ..TickParts::default() }),
            ),
            ("lost", &[("not-attributable", 100, 200, 100, None, Running)], None),
        ];
        for (name, made, expected) in cases {
            let rows: Vec<Activity> = made.iter().map(activity).collect();
            let mut adding = Adding::default();
            let found = adding.add(&sample(200), &rows, [true, false, false], None);
            assert_eq!(found.map(|(parts, ..)| parts), expected, "case: {name}");
            let counted = (adding.numbers[0], adding.not_attributable);
            assert_eq!(counted, if expected.is_some() { (1, 0) } else { (0, 1) }, "case: {name}");
        }
    }

    #[test]
    fn shares_are_of_the_wake_ups_of_each_class_and_absent_without_one() {
        let rows: Vec<Activity> = WHOLE.iter().map(activity).collect();
        let late = [
            activity(&("late-timer", 100, 150, 50, None, Blocked)),
            activity(&("thread", 150, 1_100, 950, None, Runnable)),
        ];
        let mut adding = Adding::default();
        adding.add(&sample(200), &rows, [true, false, false], None);
        adding.add(&sample(1_100), &late, [true, false, true], None);
        let found = adding.finish(1.0);
        assert_eq!((found.explained, found.not_attributable), (2, 0));
        let thread = &found.sources[0];
        assert_eq!((&*thread.source, thread.wakeups), ("thread", 1));
        assert_eq!(
            (thread.share, thread.share_above_p99, thread.share_late),
            (950.0 / 1_100.0, None, Some(0.95))
        );
        let mean = found.mean.expect("two");
        let sum = mean.timer_ns + mean.interrupt_ns + mean.scheduling_ns + mean.return_ns;
        assert!((sum - 550.0).abs() < 1e-9 && found.mean_above_p99.is_none(), "{found:?}");
        let all: f64 = found.sources.iter().map(|source| source.share).sum();
        assert!((all - 1.0).abs() < 1e-9, "{found:?}");
        let none = Adding::default().finish(1.0);
        assert!(none.explained == 0 && none.mean.is_none() && none.sources.is_empty());
    }
}
