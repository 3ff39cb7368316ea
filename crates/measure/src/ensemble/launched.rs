//! The rank of this process and the size of its job, from the launcher's environment variables.

use anechoic_recording::{Problem, ProblemKind};

/// The variables in which a launcher passes rank and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launcher {
    /// Its name.
    pub name: &'static str,
    /// The variable with the rank, from 0.
    pub rank: &'static str,
    /// Variables with the number of ranks; the first that is set counts.
    pub size: &'static [&'static str],
    /// Variables that together identify the job, as far as they are set.
    pub job: &'static [&'static str],
}

/// The known launchers; the first one whose rank and size are both set counts.
///
/// A launcher that runs inside another one comes first: `mpirun` in a Slurm job also inherits Slurm's
/// variables, those of the script. `PMIX_RANK` has no row because it has no size; launchers that set it also
/// set one of these.
pub const LAUNCHERS: [Launcher; 8] = [
    Launcher {
        name: "by hand",
        rank: "ANECHOIC_RANK",
        size: &["ANECHOIC_SIZE"],
        job: &["ANECHOIC_JOB"],
    },
    Launcher {
        name: "Open MPI",
        rank: "OMPI_COMM_WORLD_RANK",
        size: &["OMPI_COMM_WORLD_SIZE"],
        job: &["PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"],
    },
    Launcher {
        name: "MVAPICH2",
        rank: "MV2_COMM_WORLD_RANK",
        size: &["MV2_COMM_WORLD_SIZE"],
        job: &["SLURM_JOB_ID", "PBS_JOBID"],
    },
    Launcher { name: "PALS", rank: "PALS_RANKID", size: &["PMI_SIZE"], job: &["PALS_APID"] },
    Launcher {
        name: "Flux",
        rank: "FLUX_TASK_RANK",
        size: &["FLUX_JOB_SIZE"],
        job: &["FLUX_JOB_ID"],
    },
    Launcher {
        name: "jsrun",
        rank: "JSM_NAMESPACE_RANK",
        size: &["JSM_NAMESPACE_SIZE"],
        job: &["LSB_JOBID"],
    },
    Launcher {
        name: "MPICH, Intel MPI and others with PMI",
        rank: "PMI_RANK",
        size: &["PMI_SIZE"],
        job: &["PMI_JOBID", "SLURM_JOB_ID", "SLURM_STEP_ID"],
    },
    // Not SLURM_NTASKS: a batch script has it with rank 0, but is no rank of a step that srun started.
    Launcher {
        name: "Slurm",
        rank: "SLURM_PROCID",
        size: &["SLURM_STEP_NUM_TASKS"],
        job: &["SLURM_JOB_ID", "SLURM_STEP_ID"],
    },
];

/// The largest number of ranks in a job.
const MOST_RANKS: u32 = 1 << 24;

/// The rank of this process in its job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launched {
    /// The launcher that set the variables.
    pub launcher: &'static str,
    /// The rank, below `size`.
    pub rank: u32,
    /// The number of ranks, at least 1.
    pub size: u32,
    /// A text that all ranks of this job share, and other jobs do not; absent if no variable provides it.
    pub job: Option<String>,
}

/// Why the environment does not contain a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchedError {
    /// No launcher has set its variables.
    Nothing {
        /// A variable that was set without its counterpart.
        half: String,
        /// The variables that were looked for.
        looked_for: String,
    },
    /// A variable is not a number.
    NoNumber {
        /// Name of the variable.
        variable: &'static str,
        /// Value of the variable.
        value: String,
        /// The expected kind of number.
        what: &'static str,
    },
    /// The rank is not below the size.
    Beyond {
        /// The variable of the rank.
        rank_variable: &'static str,
        /// The rank.
        rank: u32,
        /// The variable of the size.
        size_variable: &'static str,
        /// The size.
        size: u32,
    },
}

impl LaunchedError {
    fn problem(&self) -> Problem {
        match self {
            Self::Nothing { half, looked_for } => ProblemKind::Usage.problem(
                format!("no environment variable gives this process its rank{half}"),
                format!(
                    "start it under a launcher (srun, mpirun, …), or set ANECHOIC_RANK (0, 1, \
                     …) and ANECHOIC_SIZE for each process (looked for {looked_for})"
                ),
            ),
            Self::NoNumber { variable, value, what } => ProblemKind::Usage.problem(
                format!("{variable} is '{value}', which is not a {what}"),
                "set it to a number, or unset it",
            ),
            Self::Beyond { rank_variable, rank, size_variable, size } => ProblemKind::Usage
                .problem(
                    format!("{rank_variable} is {rank}, and {size_variable} is {size}"),
                    format!("the ranks of {size} are 0 to {}", size - 1),
                ),
        }
    }
}

anechoic_recording::error_from_problem!(LaunchedError);

impl Launched {
    /// Reads the rank from the environment of this process.
    ///
    /// # Errors
    /// [`LaunchedError`].
    pub fn from_env() -> Result<Self, LaunchedError> {
        Self::read(&|name| std::env::var(name).ok())
    }

    fn read(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, LaunchedError> {
        let value = |name| variable(name).filter(|value| !value.trim().is_empty());
        for launcher in &LAUNCHERS {
            let size = launcher.size.iter().find_map(|&name| Some((name, value(name)?)));
            let (Some(rank), Some((size_variable, size))) = (value(launcher.rank), size) else {
                continue;
            };
            let rank = number(launcher.rank, rank, 0, "rank")?;
            let size = number(size_variable, size, 1, "number of ranks")?;
            if rank >= size {
                let rank_variable = launcher.rank;
                return Err(LaunchedError::Beyond { rank_variable, rank, size_variable, size });
            }
            let job =
                launcher.job.iter().filter_map(|&name| Some(format!("{name}={}", value(name)?)));
            let job = job.collect::<Vec<_>>().join(" ");
            let job = Some(job).filter(|job| !job.is_empty());
            return Ok(Self { launcher: launcher.name, rank, size, job });
        }
        Err(nothing(&value))
    }
}

/// Names the variables that were looked for, and those that were set alone.
fn nothing(value: &dyn Fn(&'static str) -> Option<String>) -> LaunchedError {
    let alone = LAUNCHERS.iter().filter(|launcher| value(launcher.rank).is_some());
    let alone: Vec<String> = alone
        .map(|launcher| format!("{} without {}", launcher.rank, launcher.size.join(" or ")))
        .collect();
    let half = match &alone[..] {
        [] => String::new(),
        alone => format!(" (there is {})", alone.join(", ")),
    };
    let pairs = LAUNCHERS
        .iter()
        .map(|launcher| format!("{} and {}", launcher.rank, launcher.size.join(" or ")));
    LaunchedError::Nothing { half, looked_for: pairs.collect::<Vec<_>>().join(", ") }
}

fn number(
    variable: &'static str,
    value: String,
    least: u32,
    what: &'static str,
) -> Result<u32, LaunchedError> {
    let number = value.trim().parse().ok().filter(|number| (least..=MOST_RANKS).contains(number));
    number.ok_or(LaunchedError::NoNumber { variable, value, what })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(environment: &[(&str, &str)]) -> Result<Launched, LaunchedError> {
        let value =
            |name: &str| environment.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
        Launched::read(&value)
    }

    #[test]
    fn every_launcher_is_understood() {
        for launcher in &LAUNCHERS {
            let job: Vec<_> = launcher.job.iter().map(|&name| (name, "77")).collect();
            let all = [&[(launcher.rank, "2"), (launcher.size[0], "5")], &job[..]].concat();
            let expected = launcher.job.iter().map(|name| format!("{name}=77"));
            let expected = Launched {
                launcher: launcher.name,
                rank: 2,
                size: 5,
                job: Some(expected.collect::<Vec<_>>().join(" ")),
            };
            assert_eq!(read(&all), Ok(expected), "{}", launcher.name);
            let without = read(&[(launcher.rank, "0"), (launcher.size[0], "1")]);
            assert_eq!(without.map(|launched| launched.job), Ok(None), "{}", launcher.name);
        }
    }

    #[test]
    fn of_several_launchers_the_inner_one_counts() {
        type Case =
            (&'static str, &'static [(&'static str, &'static str)], (&'static str, u32, u32));
        let cases: [Case; 5] = [
            (
                "mpirun in a step of Slurm",
                &[
                    ("SLURM_PROCID", "0"),
                    ("SLURM_NTASKS", "8"),
                    ("SLURM_STEP_NUM_TASKS", "1"),
                    ("OMPI_COMM_WORLD_RANK", "3"),
                    ("OMPI_COMM_WORLD_SIZE", "4"),
                ],
                ("Open MPI", 3, 4),
            ),
            (
                "by hand within all that",
                &[
                    ("OMPI_COMM_WORLD_RANK", "3"),
                    ("OMPI_COMM_WORLD_SIZE", "4"),
                    ("ANECHOIC_RANK", "1"),
                    ("ANECHOIC_SIZE", "2"),
                ],
                ("by hand", 1, 2),
            ),
            (
                "a step of fewer tasks than its job",
                &[("SLURM_PROCID", "1"), ("SLURM_NTASKS", "8"), ("SLURM_STEP_NUM_TASKS", "2")],
                ("Slurm", 1, 2),
            ),
            (
                "a rank without a size does not count",
                &[("PALS_RANKID", "7"), ("SLURM_PROCID", "1"), ("SLURM_STEP_NUM_TASKS", "2")],
                ("Slurm", 1, 2),
            ),
            (
                "an empty variable is none",
                &[
                    ("ANECHOIC_RANK", ""),
                    ("ANECHOIC_SIZE", "2"),
                    ("PMI_RANK", " 1\n"),
                    ("PMI_SIZE", "2"),
                ],
                ("MPICH, Intel MPI and others with PMI", 1, 2),
            ),
        ];
        for (name, environment, expected) in cases {
            let launched = read(environment).map(|l| (l.launcher, l.rank, l.size));
            assert_eq!(launched, Ok(expected), "case: {name}");
        }
    }

    #[test]
    fn variables_that_were_looked_for_are_named() {
        type Case =
            (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);
        let cases: [Case; 8] = [
            (
                "a batch script of Slurm, without srun",
                &[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8"), ("SLURM_JOB_ID", "3")],
                &["(there is SLURM_PROCID without SLURM_STEP_NUM_TASKS)", "launcher (srun, "],
            ),
            (
                "nothing",
                &[],
                &["its rank; start", "SLURM_PROCID and SLURM_STEP_NUM_TASKS", "PMI_RANK"],
            ),
            (
                "no size",
                &[("ANECHOIC_RANK", "0")],
                &["(there is ANECHOIC_RANK without ANECHOIC_SIZE)"],
            ),
            ("no rank", &[("ANECHOIC_SIZE", "2")], &["its rank; start"]),
            (
                "words",
                &[("ANECHOIC_RANK", "one"), ("ANECHOIC_SIZE", "2")],
                &["ANECHOIC_RANK is 'one'", "not a rank"],
            ),
            (
                "below 0",
                &[("ANECHOIC_RANK", "-1"), ("ANECHOIC_SIZE", "2")],
                &["ANECHOIC_RANK is '-1'"],
            ),
            (
                "of none",
                &[("ANECHOIC_RANK", "0"), ("ANECHOIC_SIZE", "0")],
                &["ANECHOIC_SIZE is '0'", "number of ranks"],
            ),
            (
                "beyond",
                &[("PMI_RANK", "2"), ("PMI_SIZE", "2")],
                &["PMI_RANK is 2, and PMI_SIZE is 2; the ranks of 2 are 0 to 1"],
            ),
        ];
        for (name, environment, parts) in cases {
            let error = read(environment).expect_err(name).to_string();
            for part in parts {
                assert!(error.contains(part), "case: {name}: {error}");
            }
        }
    }
}
