//! Doubts about what a recording shows, and those that a run itself knew of, which go with its noise into every later
//! result.

use crate::competition::Competition;
use anechoic_recording::Run;
use anechoic_recording::notes::{BESIDE_ANOTHER, INJECTED_AROUND};
use anechoic_recording::run::RunState;
use anechoic_recording::stop::{DETOUR, StopCondition};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::mem::discriminant;

/// Share of the noise of a self-test that must be found.
const FOUND: f64 = 0.9;

/// Why something is not passed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Doubt {
    /// The run ended early, for this reason.
    Interrupted {
        /// The reason.
        why: String,
    },
    /// The run was cut off: killed, or the power failed.
    CutOff,
    /// A CPU was not watched at all.
    NotMeasured {
        /// The CPU; absent if there is none.
        cpu: Option<u32>,
    },
    /// It is not known for how long another tool measured.
    NoTime,
    /// Latencies of wake-ups were counted, which are no lost time.
    Latencies,
    /// Only the part of a run before the detour that ended it is kept, which is no sample of the run.
    Kept {
        /// Longer detours ended the run, and how often they come is known; absent under a real-time policy, whose
        /// artefacts may have been longer and ended nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        longer_than_ns: Option<u64>,
    },
    /// The CPUs were watched for less than the required time.
    TooShort {
        /// Shortest time of a CPU.
        wall_ns: u64,
    },
    /// The rate of the counter is wrong, so no time is right.
    WrongRate {
        /// Its error in parts per million.
        ppm: f64,
    },
    /// Too many detours were lost.
    LostDetours {
        /// Their share of all detours.
        share: f64,
    },
    /// Kernel events were lost for too long.
    LostEvents {
        /// Share of the time in which some were lost.
        share: f64,
    },
    /// Too many kernel events lie outside all detours.
    Misaligned {
        /// Their share of all.
        share: f64,
    },
    /// The kernel's own counts differ from the recorded events.
    Audit {
        /// Number of counters that differ.
        counters: u64,
    },
    /// The kernel counted interrupts of which it has no events.
    NoEvents {
        /// Which interrupts, with their number.
        what: String,
    },
    /// Hosts of the parallel job are missing.
    MissingHosts {
        /// Number of hosts that are present.
        present: u64,
        /// Number of hosts of the job.
        #[serde(rename = "of")]
        hosts: u64,
    },
    /// The sources of the lost time are unknown.
    NotAttributed,
    /// The threshold hides detours that count.
    Threshold {
        /// The threshold.
        threshold_ns: u64,
    },
    /// Other programs had the CPUs, or the loops waited for them, for a large part of the time.
    Competition {
        /// What had the CPUs.
        competition: Competition,
    },
    /// Another anechoic measured the same CPUs at the same time.
    MeasuredTogether,
    /// The processor was emulated in software, where durations mean nothing.
    Emulated,
    /// The last self-test on the machine before the run found too few of the interruptions that it made.
    SelfTest {
        /// Number that it found.
        found: u64,
        /// Number that it made.
        delivered: u64,
    },
    /// Noise was injected during the run.
    Injected,
    /// The run ended at a detour that it waited for, and only the part before that is kept.
    EndedByEvent {
        /// The condition, as it was given.
        condition: String,
    },
    /// There are fewer than three runs of a recorded program, which do not show how much its runs differ.
    FewRunsOfProgram {
        /// Their number.
        runs: u64,
    },
    /// The kernel counted more CPU time of a program than its events show, so some are missing.
    CpuTime {
        /// How much more.
        missing_ns: u64,
    },
    /// The rule is for recordings of a program, and none was recorded.
    NoProgram,
    /// The rule is for threads that timers release, and the recording has none.
    NoReleases,
    /// The rule is for recordings of wake-ups, and this is none.
    NoWakeups,
    /// The pace of the loops is not known.
    NoPace,
    /// A recording beside this one could not be read.
    Unread,
    /// One side of the comparison has a single run, which does not show how much runs differ.
    OneRun,
    /// The runs of each side follow each other, and two of a side do not show how much successive runs are alike.
    Successive,
    /// A run has no noise, so there is no ratio.
    NoNoise,
    /// The runs of both sides measured different CPUs.
    OtherCpus,
    /// The thresholds of both sides differ.
    OtherThresholds,
    /// The two sides recorded different programs.
    OtherPrograms,
    /// Time below the kernel changed as well, so the host may have changed.
    HostMoved,
    /// More than ten minutes lie between the two sides, and a side has only one session, so that the host may have changed
    /// by itself.
    OneSession,
    /// Some runs of the comparison are not whole.
    NotWhole {
        /// Which runs, and what is wrong with them.
        why: String,
    },
    /// The runs differ too much from each other for a decision.
    FewRuns {
        /// Number of runs on each side that would find a change of 10 %, if known.
        planned: Option<u64>,
    },
}

/// Returns everything that a run knew and that makes its noise doubtful. `competition` is what had its CPUs.
#[must_use]
pub fn known_doubts(run: &Run, competition: Option<Competition>) -> Vec<Doubt> {
    let noted = |begin: &str| run.notes.iter().any(|note| note.starts_with(begin));
    let waited = run.kept_after_stop().and(run.stop_on.as_ref());
    let doubts = [
        doubt_of_state(run),
        competition.map(|competition| Doubt::Competition { competition }),
        noted(BESIDE_ANOTHER).then_some(Doubt::MeasuredTogether),
        run.machine.is_emulated().then_some(Doubt::Emulated),
        run.clock
            .residual_ppm
            .filter(|_| run.clock.rate_is_wrong())
            .map(|ppm| Doubt::WrongRate { ppm }),
        self_test(run),
        (!run.injections.is_empty() || noted(INJECTED_AROUND)).then_some(Doubt::Injected),
        waited.map(|stop| Doubt::EndedByEvent { condition: stop.condition.to_string() }),
    ];
    doubts.into_iter().flatten().collect()
}

/// Groups the doubts of several runs by kind: the one of each that is worst, with the runs that have it.
#[must_use]
pub fn by_kind<'a, T>(doubts: impl Iterator<Item = (T, &'a Doubt)>) -> Vec<(&'a Doubt, Vec<T>)> {
    let mut kinds: Vec<(&Doubt, Vec<T>)> = vec![];
    for (run, doubt) in doubts {
        match kinds.iter_mut().find(|(other, _)| discriminant(*other) == discriminant(doubt)) {
            Some((worst, runs)) => {
                *worst = if doubt.part() > worst.part() { doubt } else { *worst };
                runs.push(run);
            }
            None => kinds.push((doubt, vec![run])),
        }
    }
    kinds
}

/// Returns a doubt if a run did not end as planned.
pub(crate) fn doubt_of_state(run: &Run) -> Option<Doubt> {
    match &run.state {
        RunState::Complete => None,
        RunState::Running => Some(Doubt::CutOff),
        RunState::Interrupted(why) => Some(Doubt::Interrupted { why: why.clone() }),
    }
}

/// Returns a doubt if the last self-test before the run found too little of what it made.
fn self_test(run: &Run) -> Option<Doubt> {
    let kinds = run.self_test.iter().flat_map(|test| &test.kinds);
    let (found, delivered) = kinds.fold((0_u64, 0_u64), |(found, delivered), kind| {
        (found.saturating_add(kind.found), delivered.saturating_add(kind.delivered))
    });
    let few = (found as f64) < FOUND * delivered as f64;
    few.then_some(Doubt::SelfTest { found, delivered })
}

impl Doubt {
    /// Returns the share of the time that something else had the CPUs; 0 for other doubts.
    #[must_use]
    pub fn part(&self) -> f64 {
        match self {
            Self::Competition {
                competition: Competition::Programs(part) | Competition::Waiting(part),
            } => *part,
            _ => 0.0,
        }
    }

    /// Returns what a run knew in words, without capital and full stop, and what removes it; absent for a doubt that
    /// depends on the requirements of a gate.
    #[must_use]
    pub fn known_in_words(&self) -> Option<String> {
        const IDLE: &str =
            "that is competition, not operating-system noise; repeat when the CPUs are idle";
        Some(match self {
            Self::Interrupted { why } => format!("the run ended early ({why})"),
            Self::CutOff => "the run was cut off".into(),
            Self::Competition { competition: Competition::Programs(part) } => format!(
                "other programs had the CPUs for {:.0} % of the time: {IDLE}, or use --fifo",
                part * 100.0
            ),
            Self::Competition { competition: Competition::Waiting(part) } => format!(
                "for {:.0} % of the time the loops waited for their CPUs, because other threads ran there or a CPU quota was used up: {IDLE}",
                part * 100.0
            ),
            Self::MeasuredTogether => "another anechoic measured the same CPUs at the same time, and each disturbed the other; repeat it alone".into(),
            Self::Emulated => "the processor was emulated in software, where durations mean nothing".into(),
            Self::WrongRate { ppm } => {
                format!("the counter's rate is off by {:.0} ppm, so no time is right", ppm.abs())
            }
            Self::SelfTest { found, delivered } => {
                format!("the last self-test before the run found only {found} of {delivered} injected interruptions")
            }
            Self::Injected => "noise was injected during the run".into(),
            Self::EndedByEvent { condition } => {
                let condition_read = condition.parse::<StopCondition>();
                let what = condition_read.map_or(DETOUR, |condition| condition.awaited());
                format!(
                    "only the part before the {what} that the run waited for (--stop-on '{condition}') is kept, which is no sample of the run"
                )
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::builders::{clock, run};
    use anechoic_recording::injection::{InjectionKind, SelfTest, SelfTestKind};
    use anechoic_recording::stop::{Kept, Stop, StopCondition, StoppedBy};

    #[test]
    fn what_a_run_knew_is_found() {
        type Change = fn(&mut Run);
        let cases: [(&str, Change, Option<Doubt>); 11] = [
            ("sound", |_| (), None),
            ("cut off", |run| run.state = RunState::Running, Some(Doubt::CutOff)),
            (
                "ended early",
                |run| run.state = RunState::Interrupted("SIGTERM".into()),
                Some(Doubt::Interrupted { why: "SIGTERM".into() }),
            ),
            (
                "beside another",
                |run| run.notes.push("another anechoic (process 7) measured CPU 1".into()),
                Some(Doubt::MeasuredTogether),
            ),
            ("another note", |run| run.notes.push("CPUs 1-3 were not measured".into()), None),
            (
                "emulated",
                |run| run.machine.model = "QEMU TCG CPU 2.5".into(),
                Some(Doubt::Emulated),
            ),
            (
                "injected around it",
                |run| run.notes.push("noise was injected around this run on CPU 1: ...".into()),
                Some(Doubt::Injected),
            ),
            ("all of a self-test", |run| run.self_test = Some(self_test_of(100, 100)), None),
            ("most of it", |run| run.self_test = Some(self_test_of(95, 100)), None),
            (
                "half of it",
                |run| run.self_test = Some(self_test_of(50, 100)),
                Some(Doubt::SelfTest { found: 50, delivered: 100 }),
            ),
            ("a condition that was not met", |run| run.stop_on = Some(stop(false)), None),
        ];
        for (name, change, expected) in cases {
            let mut run = run("detours", clock(1_000_000_000), vec![]);
            change(&mut run);
            let found = known_doubts(&run, None);
            assert_eq!(found, expected.clone().into_iter().collect::<Vec<_>>(), "case: {name}");
            assert!(found.iter().all(|doubt| doubt.known_in_words().is_some()), "case: {name}");
        }
        let mut run = run("detours", clock(1_000_000_000), vec![]);
        run.stop_on = Some(Stop { kept: kept(5), ..stop(true) });
        let competition = Competition::Programs(0.4);
        let condition = "detour>1ms".to_owned();
        let expected = [Doubt::Competition { competition }, Doubt::EndedByEvent { condition }];
        assert_eq!(known_doubts(&run, Some(competition)), expected);
    }

    #[test]
    fn a_run_that_ended_at_its_condition_is_doubted_where_it_dropped_the_time_before() {
        let (longer, count) = (StopCondition::Longer(1_000_000), StopCondition::Count(2_000));
        let cases = [
            ("the number was reached, and all is kept", count, None, false),
            ("the number was reached, and its end is kept", count, kept(5), false),
            ("all before the detour is kept", longer, None, false),
            ("the run was shorter than what was to be kept", longer, kept(0), false),
            ("the part before the detour", longer, kept(5), true),
            ("too much was lost", StopCondition::Lost(50_000), kept(5), true),
        ];
        for (name, condition, kept, expected) in cases {
            let mut run = run("detours", clock(1_000_000_000), vec![]);
            run.stop_on = Some(Stop { condition, kept, ..stop(true) });
            let found = known_doubts(&run, None);
            assert_eq!(!found.is_empty(), expected, "case: {name}: {found:?}");
            assert!(found.iter().all(|doubt| doubt.known_in_words().is_some()), "case: {name}");
        }
    }

    fn kept(dropped_ns: u64) -> Option<Kept> {
        Some(Kept { asked_ns: 10, dropped_ns })
    }

    fn self_test_of(found: u64, delivered: u64) -> SelfTest {
        let kind = SelfTestKind {
            kind: InjectionKind::Interrupt,
            rate_hz: 100.0,
            duration_ns: 0,
            delivered,
            found,
            error_ns: None,
            error_low_ns: None,
            error_high_ns: None,
        };
        SelfTest {
            utc: "2026-05-09T07:31:17Z".into(),
            tool_version: "0.1.0".into(),
            model: "made up".into(),
            kernel: "6.1".into(),
            cpu: 1,
            threshold_ns: 100.0,
            kinds: vec![kind],
        }
    }

    fn stop(met: bool) -> Stop {
        let met = met.then_some(StoppedBy {
            cpu: 1,
            start_ticks: 5,
            end_ticks: 9,
            second: None,
            thread: None,
        });
        Stop { condition: StopCondition::Longer(1_000_000), met, kept: None }
    }
}
