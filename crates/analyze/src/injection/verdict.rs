//! What a verification comes to.

use super::result::{CpuVerification, Verification};
use crate::stats::wilson;
use anechoic_recording::injection::InjectionKind;
use anechoic_recording::run::RunState;

/// So many may have had hardly any of the CPU: a kernel need not run the program in every interrupt (up to
/// 0.8 % seen on Linux 6.18 as a guest).
const SHARE_TOO_SHORT: f64 = 0.01;

/// What a verification comes to, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// What was asked for came, and all of it was seen.
    Good,
    /// There is a result, and something in it that the user must know.
    Warning,
    /// Nothing was verified: nothing came, or nobody knows what was seen of it.
    Nothing,
}

impl Verification {
    /// Whether what was injected came as asked and was seen.
    ///
    /// A warning: something came and was not seen; the time that each had the CPU is off by more than
    /// 5 % and 1 µs; surely more than 1 % had it for less than half of what was asked; some were cut
    /// short; a CPU, or some events, could not be looked at; or the recording did not run to its end.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        if !self.cpus.iter().any(CpuVerification::is_verified) {
            return Verdict::Nothing;
        }
        let kind = self.injected.kind;
        let doubtful = |cpu: &CpuVerification| !cpu.is_verified() || cpu.is_doubtful(kind);
        let whole = self.run.state == RunState::Complete && self.not_available.is_empty();
        let warning = !whole || self.cpus.iter().any(doubtful);
        if warning { Verdict::Warning } else { Verdict::Good }
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

    /// Whether more were cut short than the one spin of a thread that switching off ends.
    #[must_use]
    pub fn many_cut_short(&self, kind: InjectionKind) -> bool {
        self.cut_short > u64::from(kind == InjectionKind::Thread)
    }

    /// Whether those that hardly had the CPU are more than 1 % of all, and not by chance (Wilson 1927).
    #[must_use]
    pub fn many_too_short(&self) -> bool {
        let (Some(short), Some(came)) = (self.too_short, self.delivered) else { return false };
        wilson(short.min(came), came).low > SHARE_TOO_SHORT
    }
}
