//! The verdict of a verification.

use super::result::{CpuVerification, SelfTestResult, Verification};
use crate::stats::wilson;
use anechoic_recording::injection::InjectionKind;
use anechoic_recording::run::RunState;

/// Largest share that may have had hardly any of the CPU, because a kernel need not run the program in every interrupt
/// (up to 0.8 % observed on Linux 6.18 as a guest).
const SHARE_TOO_SHORT: f64 = 0.01;

/// Verdicts, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The requested noise was delivered and seen completely.
    Good,
    /// There is a result with something that the user must know.
    Warning,
    /// A limit that the user set is exceeded.
    Failed,
    /// Nothing was verified: nothing was delivered, or detection is unknown.
    Nothing,
}

impl Verification {
    /// Returns whether the injected noise was delivered as requested and seen.
    ///
    /// A warning means: a delivered injection was not seen; own times are off by more than 5 % plus 1 µs; significantly
    /// more than 1 % had less than half of the requested time; some were cut short; a CPU, or some events, could not be
    /// examined; or the recording did not run to its end.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        if !self.cpus.iter().any(CpuVerification::is_verified) {
            return Verdict::Nothing;
        }
        let whole = self.run.state == RunState::Complete && self.not_available.is_empty();
        let verified = self.cpus.iter().all(CpuVerification::is_verified);
        if whole && verified && !self.failed() { Verdict::Good } else { Verdict::Warning }
    }

    /// Returns whether some of what was delivered was missed or measured wrongly.
    #[must_use]
    pub fn failed(&self) -> bool {
        let kind = self.injected.kind;
        self.cpus.iter().any(|cpu| cpu.is_verified() && cpu.is_doubtful(kind))
    }
}

impl SelfTestResult {
    /// Returns `Nothing` if no noise was delivered, and `Warning` if some of it deviated or could not be injected, or
    /// if the result could not be stored.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        if self.self_test.is_none() {
            return Verdict::Nothing;
        }
        let good = self.kinds.iter().all(|kind| kind.verdict() == Verdict::Good);
        let all = self.not_available.is_empty() && self.not_stored.is_none();
        if good && all { Verdict::Good } else { Verdict::Warning }
    }

    /// Returns whether some noise was missed or measured wrongly.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.kinds.iter().any(Verification::failed)
    }
}

impl CpuVerification {
    fn is_verified(&self) -> bool {
        self.seen.is_some() && self.delivered.is_some_and(|came| came > 0)
    }

    fn is_doubtful(&self, kind: InjectionKind) -> bool {
        self.seen.as_ref().is_some_and(|seen| seen.missing > 0)
            || self.own_time.is_some_and(|own| own.within == Some(false))
            || self.many_too_short()
            || self.many_cut_short(kind)
    }

    /// Returns whether more were cut short than the one spin that switching off ends.
    #[must_use]
    pub fn many_cut_short(&self, kind: InjectionKind) -> bool {
        self.cut_short > u64::from(kind == InjectionKind::Thread)
    }

    /// Returns whether those that hardly had the CPU are significantly more than 1 % of all (Wilson 1927).
    #[must_use]
    pub fn many_too_short(&self) -> bool {
        let (Some(short), Some(came)) = (self.too_short, self.delivered) else { return false };
        wilson(short.min(came), came).low > SHARE_TOO_SHORT
    }
}
