//! What every measuring command asks for: on which CPUs, traced or not, and where to write.

use crate::ask::{self, CpuList};
use crate::exit::Usage;
use anechoic_measure::cpus;
use std::path::PathBuf;

/// Options of every measuring command.
#[derive(Debug, clap::Args)]
pub struct SetupArgs {
    /// CPUs to measure, like 0-3,8 [default: all that this process may use]
    #[arg(long, short, value_parser = ask::cpu_list, value_name = "LIST")]
    cpus: Option<CpuList>,
    /// Do not record kernel events: nothing measured has a cause then
    #[arg(long)]
    pub no_trace: bool,
    /// Measure although the counter may change its rate
    #[arg(long)]
    pub allow_variant_tsc: bool,
    /// Directory for the recording, new or empty [default: anechoic-TIME]
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// No progress on stderr
    #[arg(long, short)]
    pub quiet: bool,
}

impl SetupArgs {
    /// The CPUs asked for, else all that this process may use.
    pub fn cpus(&self) -> Vec<u32> {
        self.cpus.as_ref().map_or_else(cpus::allowed, |list| list.0.clone())
    }

    /// Where the recording goes.
    pub fn dir(&self) -> PathBuf {
        self.output.clone().unwrap_or_else(default_dir)
    }
}

/// A name that sorts by time.
pub fn default_dir() -> PathBuf {
    PathBuf::from(format!("anechoic-{}", jiff::Zoned::now().strftime("%Y%m%dT%H%M%S")))
}

/// Refuses to run under SCHED_FIFO on every CPU of the machine, unless that was asked for by name.
pub fn leave_one(cpus: &[u32], all_cpus: bool, option: &str) -> Result<(), Usage> {
    let online = cpus::system("online");
    if !all_cpus && online.iter().all(|cpu| cpus.contains(cpu)) {
        return Err(Usage(format!(
            "{option} would take every CPU of this machine and nothing else could run; \
             leave one out with --cpus, or say --all-cpus"
        )));
    }
    Ok(())
}
