//! The timed loops. Nothing in them calls anything but a kernel, or touches memory that was not touched before.

use anechoic_kernels::counter;
use anechoic_kernels::detour::{Gap, Watch};
use anechoic_kernels::steps::StepTimes;
use core::hint::black_box;

/// Memory for rows, all of which was touched.
#[derive(Debug)]
pub struct Rows<'m> {
    memory: &'m mut [[u64; 2]],
    dropped: usize,
    used: usize,
    /// Rows that found no room.
    pub lost: u64,
}

impl<'m> Rows<'m> {
    /// Takes over this memory and touches it.
    #[must_use]
    pub fn new(memory: &'m mut [[u64; 2]]) -> Self {
        memory.fill([0; 2]);
        Rows { memory, dropped: 0, used: 0, lost: 0 }
    }

    /// Returns how many rows there is room for.
    #[must_use]
    pub fn room(&self) -> usize {
        self.memory.len()
    }

    /// Returns the rows.
    #[must_use]
    pub fn all(&self) -> &[[u64; 2]] {
        &self.memory[self.dropped..self.used]
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
        (self.dropped, self.used, self.lost) = (0, 0, 0);
    }

    /// Drops the first row and returns where the next begins.
    fn drop_first(&mut self) -> u64 {
        self.dropped += 1;
        self.all().first().map_or(0, |row| row[0])
    }

    /// Drops the rows that begin before this.
    fn drop_before(&mut self, start: u64) {
        self.dropped += self.all().partition_point(|row| row[0] < start);
    }

    #[inline(always)]
    fn push(&mut self, row: [u64; 2]) {
        match self.memory.get_mut(self.used) {
            Some(free) => {
                *free = row;
                self.used += 1;
            }
            None => self.lost += 1,
        }
    }
}

/// Where a loop stores its results.
#[derive(Debug)]
pub struct Buffers<'m> {
    /// Start and end of each sample of fixed work; number of units and 0 of each window of fixed time.
    pub samples: Rows<'m>,
    /// Start and end of each gap over the threshold.
    pub gaps: Rows<'m>,
}

/// What a loop does.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plan {
    /// Iterations between two counter reads.
    pub iterations: u64,
    /// The value that they must return.
    pub expected: u64,
    /// Counter reads in a sample of fixed work.
    pub steps: u64,
    /// A longer time between two counter reads is a detour, in ticks; `u64::MAX` if none is recorded.
    pub threshold_ticks: u64,
    /// Number of samples.
    pub samples: u64,
    /// The loop ends after this many ticks if it has this many samples.
    pub within: Option<(u64, u64)>,
    /// Length of a window in ticks, if the time is fixed.
    pub window_ticks: u64,
}

/// How a loop went.
#[derive(Debug, Clone, Copy, Default)]
pub struct Done {
    /// First counter value that the loop read.
    pub first_ticks: u64,
    /// Last counter value that the loop read.
    pub last_ticks: u64,
    /// Samples taken; iterations of the loop that watches the counter.
    pub taken: u64,
    /// Samples whose work returned a wrong value.
    pub wrong: u64,
    /// Mean duration of the steps that were no detours, if gaps were recorded.
    pub step_ticks: Option<u64>,
    /// The shortest gap of the loop that watches the counter.
    pub shortest_ticks: u64,
}

/// Takes samples of fixed work back to back: each begins with the counter read that ended the last. If something happens
/// `BETWEEN` two samples, the next begins after it.
///
/// One sample more than planned is taken, and the first is dropped: it began before the loop, not in it.
#[inline(never)]
pub fn fixed_work<const BETWEEN: bool>(
    plan: &Plan,
    body: &mut impl FnMut(u64) -> u64,
    between: &mut impl FnMut(),
    into: &mut Buffers<'_>,
) -> Done {
    let (mut taken, mut wrong, mut steps) = (0, 0, StepTimes::default());
    if plan.within.is_some() {
        // The first pass over memory finds the caches as the others do.
        black_box(body(plan.iterations));
    }
    if BETWEEN {
        between();
    }
    // Without a limit of its own the time is limited by one that it never reaches, so that each round is the same.
    let (within_ticks, least) = plan.within.unwrap_or((u64::MAX, 0));
    let mut last = counter::boundary().0;
    let first_ticks = last;
    loop {
        let enough = (taken > least) & (last - first_ticks >= within_ticks);
        if enough | (taken > plan.samples) {
            break;
        }
        let (start, mut right) = (last, true);
        for _ in 0..plan.steps {
            right &= body(plan.iterations) == plan.expected;
            let now = counter::boundary().0;
            if let Some(Gap { start, end }) = steps.detour(last, now, plan.threshold_ticks) {
                into.gaps.push([start, end]);
            }
            last = now;
        }
        into.samples.push([start, last]);
        steps.ticks += last - start;
        steps.steps += plan.steps;
        wrong += u64::from(!right);
        taken += 1;
        if BETWEEN {
            between();
            last = counter::boundary().0;
        }
    }
    let step_ticks = steps.undisturbed_ticks().filter(|_| plan.threshold_ticks < u64::MAX);
    let first_ticks = into.samples.drop_first();
    into.gaps.drop_before(first_ticks);
    Done { first_ticks, last_ticks: last, taken: taken - 1, wrong, step_ticks, shortest_ticks: 0 }
}

/// Counts units of work in the window in which they end. The windows lie on a grid that begins with the first.
#[inline(never)]
pub fn fixed_time(plan: &Plan, body: &mut impl FnMut(u64) -> u64, into: &mut Buffers<'_>) -> Done {
    let (mut taken, mut wrong, mut steps) = (0, 0, StepTimes::default());
    let (mut count, mut right) = (0, true);
    let mut last = counter::boundary().0;
    let first_ticks = last;
    let mut window_end = first_ticks + plan.window_ticks;
    while taken < plan.samples {
        let unit_is_right = body(plan.iterations) == plan.expected;
        let now = counter::boundary().0;
        if let Some(Gap { start, end }) = steps.detour(last, now, plan.threshold_ticks) {
            into.gaps.push([start, end]);
        }
        last = now;
        steps.steps += 1;
        while now >= window_end && taken < plan.samples {
            into.samples.push([count, 0]);
            wrong += u64::from(!right);
            (taken, count, right) = (taken + 1, 0, true);
            window_end += plan.window_ticks;
        }
        count += 1;
        right &= unit_is_right;
    }
    steps.ticks = last - first_ticks;
    let step_ticks = steps.undisturbed_ticks();
    Done { first_ticks, last_ticks: last, taken, wrong, step_ticks, shortest_ticks: 0 }
}

/// Watches the counter for this many ticks.
#[inline(never)]
pub fn watch(duration_ticks: u64, threshold_ticks: u64, into: &mut Buffers<'_>) -> Done {
    let mut watch = Watch::begin();
    let first_ticks = watch.last;
    let until = first_ticks + duration_ticks;
    loop {
        let Gap { start, end } = watch.next_gap(threshold_ticks, until);
        if end - start > threshold_ticks {
            into.gaps.push([start, end]);
        }
        if end >= until {
            break;
        }
    }
    Done {
        first_ticks,
        last_ticks: watch.last,
        taken: watch.iterations,
        shortest_ticks: watch.shortest,
        ..Done::default()
    }
}
