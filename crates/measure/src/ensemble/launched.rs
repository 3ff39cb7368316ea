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
    launcher("by hand", "ANECHOIC_RANK", &["ANECHOIC_SIZE"], &["ANECHOIC_JOB"]),
    launcher(
        "Open MPI",
        "OMPI_COMM_WORLD_RANK",
        &["OMPI_COMM_WORLD_SIZE"],
        &["PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"],
    ),
    launcher(
        "MVAPICH2",
        "MV2_COMM_WORLD_RANK",
        &["MV2_COMM_WORLD_SIZE"],
        &["SLURM_JOB_ID", "PBS_JOBID"],
    ),
    launcher("PALS", "PALS_RANKID", &["PMI_SIZE"], &["PALS_APID"]),
    launcher("Flux", "FLUX_TASK_RANK", &["FLUX_JOB_SIZE"], &["FLUX_JOB_ID"]),
    launcher("jsrun", "JSM_NAMESPACE_RANK", &["JSM_NAMESPACE_SIZE"], &["LSB_JOBID"]),
    launcher(
        "MPICH, Intel MPI and others with PMI",
        "PMI_RANK",
        &["PMI_SIZE"],
        &["PMI_JOBID", "SLURM_JOB_ID", "SLURM_STEP_ID"],
    ),
    // Not SLURM_NTASKS: a batch script has it with rank 0, but is no rank of a step that srun started.
    launcher(
        "Slurm",
        "SLURM_PROCID",
        &["SLURM_STEP_NUM_TASKS"],
        &["SLURM_JOB_ID", "SLURM_STEP_ID"],
    ),
];

const fn launcher(
    name: &'static str,
    rank: &'static str,
    size: &'static [&'static str],
    job: &'static [&'static str],
) -> Launcher {
    Launcher { name, rank, size, job }
}

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

impl Launched {
    /// Reads the rank from the environment of this process.
    ///
    /// # Errors
    /// Fails if no launcher has set its variables, or if they are no rank and size.
    pub fn from_env() -> Result<Self, Problem> {
        Self::read(&|name| std::env::var(name).ok())
    }

    /// Returns whether a launcher started this process.
    #[must_use]
    pub fn is_rank() -> bool {
        variables(&|name| std::env::var(name).ok()).is_some()
    }

    fn read(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, Problem> {
        let Some((launcher, rank, size_variable, size)) = variables(variable) else {
            return Err(nothing(variable));
        };
        let rank = number(launcher.rank, &rank, 0, "rank")?;
        let size = number(size_variable, &size, 1, "number of ranks")?;
        if rank >= size {
            let why = format!("{} is {rank}, and {size_variable} is {size}", launcher.rank);
            let remedy = format!("the ranks of {size} are 0 to {}", size - 1);
            return Err(ProblemKind::Usage.problem(why, remedy));
        }
        let job = launcher
            .job
            .iter()
            .filter_map(|&name| Some(format!("{name}={}", set(variable, name)?)));
        let job = Some(job.collect::<Vec<_>>().join(" ")).filter(|job| !job.is_empty());
        Ok(Self { launcher: launcher.name, rank, size, job })
    }
}

fn set(variable: &dyn Fn(&str) -> Option<String>, name: &str) -> Option<String> {
    variable(name).filter(|value| !value.trim().is_empty())
}

/// Returns the launcher that counts, the value of its rank, and name and value of its size.
fn variables(
    variable: &dyn Fn(&str) -> Option<String>,
) -> Option<(&'static Launcher, String, &'static str, String)> {
    LAUNCHERS.iter().find_map(|launcher| {
        let mut sizes = launcher.size.iter();
        let (name, size) = sizes.find_map(|&name| Some((name, set(variable, name)?)))?;
        Some((launcher, set(variable, launcher.rank)?, name, size))
    })
}

/// Names the variables that were looked for, and those that were set alone.
fn nothing(variable: &dyn Fn(&str) -> Option<String>) -> Problem {
    let alone = LAUNCHERS.iter().filter(|launcher| set(variable, launcher.rank).is_some());
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
    let why = format!("no environment variable gives this process its rank{half}");
    let remedy = format!(
        "start it under a launcher (srun, mpirun, …), or set ANECHOIC_RANK (0, 1, …) and ANECHOIC_SIZE \
         for each process (looked for {})",
        pairs.collect::<Vec<_>>().join(", ")
    );
    ProblemKind::Usage.problem(why, remedy)
}

fn number(variable: &str, value: &str, least: u32, what: &str) -> Result<u32, Problem> {
    let number = value.trim().parse().ok().filter(|number| (least..=MOST_RANKS).contains(number));
    number.ok_or_else(|| {
        let why = format!("{variable} is '{value}', which is not a {what}");
        ProblemKind::Usage.problem(why, "set it to a number, or unset it")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(environment: &[(&str, &str)]) -> Result<Launched, Problem> {
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
    fn the_inner_one_of_several_launchers_counts() {
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
