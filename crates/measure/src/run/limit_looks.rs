//! Looks at the limits of a program's CPU time, again and again while it is recorded.

use anechoic_recording::who::CpuLimits;
use anechoic_system::who::Limits;
use std::time::{Duration, Instant};

/// Pause between two looks at the limits of a program.
const AGAIN: Duration = Duration::from_millis(900);
/// Pause before the first look, which grows from look to look: a program may enter a group as soon as it begins.
const FIRST: Duration = Duration::from_millis(20);

/// The last look.
pub(super) struct LimitLooks {
    limits: Limits,
    at: Instant,
    /// Until the next one.
    pause: Duration,
}

impl LimitLooks {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, at: Instant::now(), pause: FIRST }
    }

    /// Reads them again when that is due, soon after the start and later once a second: of a control group that is removed, the
    /// last counts are kept, and those of the groups in which these processes and their descendants are now are added to it and
    /// to `before`. Returns them since then.
    pub(super) fn look(
        &mut self,
        before: &mut Limits,
        processes: impl FnOnce() -> Vec<i32>,
    ) -> Option<CpuLimits> {
        if self.at.elapsed() >= self.pause {
            self.limits = self.limits.read_again();
            self.limits.join(&processes(), before);
            (self.at, self.pause) = (Instant::now(), AGAIN.min(self.pause * 2));
        }
        self.limits.since(before)
    }

    /// Returns how long it takes until the next look.
    pub(super) fn until_next(&self) -> Duration {
        self.pause.saturating_sub(self.at.elapsed())
    }

    /// Returns what was seen last.
    pub(super) fn last(self) -> Limits {
        self.limits
    }
}
