//! A single delay of one CPU, on top of other noise.

/// A delay of one CPU. Times are in ps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delay {
    /// The CPU of all ranks.
    pub cpu: usize,
    /// Its start.
    pub start_ps: u64,
    /// Its end.
    pub end_ps: u64,
}

impl Delay {
    /// Returns when work ends that starts at `start_ps` on that CPU. `end` returns when work ends with the other noise, given
    /// its start and length.
    pub(super) fn end(
        &self,
        start_ps: u64,
        work_ps: u64,
        mut end: impl FnMut(u64, u64) -> u64,
    ) -> u64 {
        if work_ps == 0 || start_ps >= self.end_ps {
            return end(start_ps, work_ps);
        }
        if start_ps >= self.start_ps {
            return end(self.end_ps, work_ps);
        }
        let without_ps = end(start_ps, work_ps);
        if without_ps <= self.start_ps {
            return without_ps;
        }
        // What was done before the delay: more work never ends earlier.
        let (mut done_ps, mut too_much_ps) = (0, work_ps);
        while too_much_ps - done_ps > 1 {
            let middle_ps = done_ps + (too_much_ps - done_ps) / 2;
            match end(start_ps, middle_ps) <= self.start_ps {
                true => done_ps = middle_ps,
                false => too_much_ps = middle_ps,
            }
        }
        end(self.end_ps, work_ps - done_ps)
    }

    /// Returns until when there is no detour from `at_ps` on if the other noise has none until `until_ps`.
    pub(super) fn quiet_until(&self, at_ps: u64, until_ps: u64) -> u64 {
        match at_ps < self.end_ps {
            true => until_ps.min(self.start_ps.max(at_ps)),
            false => until_ps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;
    use crate::noise::phase::Phase;
    use crate::noise::trace::Trace;
    use proptest::prelude::*;

    proptest! {
        /// One picosecond after the other: the CPU works unless a recorded detour or the delay is in progress.
        #[test]
        fn work_ends_when_the_cpu_was_free_for_as_long(
            gaps in prop::collection::vec((1_u64..20, 1_u64..9), 0..8),
            start in 0_u64..150,
            work in 0_u64..150,
            delay in 0_u64..200,
            length in 1_u64..80,
        ) {
            let (mut at, mut detours) = (0, vec![]);
            for (gap, length) in gaps {
                detours.push(at + gap..at + gap + length);
                at += gap + length;
            }
            let window = at + 3;
            let delay = Delay { cpu: 0, start_ps: delay, end_ps: delay + length };
            let is_free = |at: u64| {
                let is_recorded = detours.iter().any(|detour| detour.contains(&(at % window)));
                !is_recorded && !(delay.start_ps..delay.end_ps).contains(&at)
            };
            let (mut end, mut left) = (start, work);
            while left > 0 {
                left -= u64::from(is_free(end));
                end += 1;
            }
            let trace = Trace::new(detours.clone(), window);
            let noise = Noise::recorded(vec![trace], &[1], 2, Phase::Common, 1);
            let Noise::Recorded { traces, .. } = noise else { unreachable!() };
            let places = vec![(0, 0); 2];
            let mut noise = Noise::Recorded { traces, places, delay: Some(delay) };
            prop_assert_eq!(noise.end(0, start, work), end);
            if work > 0 {
                let (same, quiet) = noise.end_and_quiet(0, start, work);
                prop_assert_eq!(same, end);
                prop_assert!((end..quiet.min(end + 300)).all(is_free));
            }
        }
    }
}
