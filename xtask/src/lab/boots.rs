//! What is booted, and which checks run there.

use super::kernels::{KERNELS, Kernel};
use super::machines::{COMMAND_LINES, CommandLine, MACHINES, Machine};

/// A row: each of the kernels is booted on this machine, with this command line, and the checks run one after the
/// other.
struct Row {
    kernels: &'static [&'static str],
    machine: &'static str,
    command_line: &'static str,
    checks: &'static [&'static str],
}

/// What a kernel must pass wherever it runs.
const EVERYWHERE: &[&str] = &[
    "check",
    "run",
    "old-recordings",
    "inject",
    "ftq",
    "unprivileged",
    "killed",
    "container",
    "no-bpf",
    "osnoise",
    "timerlat",
];
const ALL: &[&str] = &["6.1", "6.1-rt", "6.12", "6.12-rt", "6.12-rt-arm64", "newest", "newest-rt"];

const ROWS: &[Row] = &[
    Row { kernels: ALL, ..EXACT },
    Row { kernels: ALL, command_line: "isolated", checks: &["check", "isolated"], ..TWO },
    Row { kernels: &["6.12-rt-arm64"], checks: &["check", "run"], ..TWO },
    Row { command_line: "threadirqs", checks: &["check", "run", "inject"], ..TWO },
    Row {
        kernels: &["6.12", "6.12-rt"],
        command_line: "lockdown",
        checks: &["check", "run", "unprivileged"],
        ..EXACT
    },
    Row { kernels: &["6.12", "6.12-rt"], command_line: "by kexec", checks: &["kexec"], ..EXACT },
    Row { command_line: "tracefs not mounted", checks: &["check", "run"], ..EXACT },
    Row {
        machine: "8 CPUs, 2 sockets, SMT",
        checks: &["check", "run", "interference", "memory-node"],
        ..TWO
    },
    Row { machine: "32 CPUs", checks: &["check", "run"], ..EXACT },
    Row { kernels: &["6.12"], machine: "300 CPUs", checks: &["check", "many-cpus"], ..EXACT },
];

/// What the rows of one kernel have in common.
const EXACT: Row = Row {
    kernels: &["6.12-rt"],
    machine: "1 CPU, exact time",
    command_line: "default",
    checks: EVERYWHERE,
};
/// The fast part (`make lab-fast`): events, and the exact truth.
const FAST: &[Row] = &[Row { checks: &["check", "run", "osnoise", "timerlat"], ..EXACT }];
/// What the rows of machines with two CPUs and more have in common.
const TWO: Row = Row { kernels: &["6.12", "6.12-rt"], machine: "2 CPUs", ..EXACT };

/// One boot of one kernel.
#[derive(Debug)]
pub struct Boot {
    /// The kernel.
    pub kernel: &'static Kernel,
    /// The machine.
    pub machine: &'static Machine,
    /// The kernel command line.
    pub command_line: &'static CommandLine,
    /// The names of the checks, in order.
    pub checks: &'static [&'static str],
}

impl Boot {
    /// Returns the name of the boot: kernel, machine, command line.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}, {}, {}", self.kernel.name, self.machine.name, self.command_line.name)
    }
}

/// Returns the boots whose name contains `only`; those of the fast part if `fast`.
///
/// # Panics
/// Panics if a row names what no table has.
#[must_use]
pub fn boots(fast: bool, only: &str) -> Vec<Boot> {
    let rows = if fast { FAST } else { ROWS };
    let all = rows.iter().flat_map(|row| row.kernels.iter().map(|kernel| boot(row, kernel)));
    all.filter(|boot| boot.name().contains(only)).collect()
}

fn boot(row: &Row, kernel: &str) -> Boot {
    Boot {
        kernel: named(KERNELS, kernel, |kernel| kernel.name),
        machine: named(MACHINES, row.machine, |machine| machine.name),
        command_line: named(COMMAND_LINES, row.command_line, |line| line.name),
        checks: row.checks,
    }
}

/// Returns the row of a table that has this name.
///
/// # Panics
/// Panics if there is none.
#[must_use]
pub fn named<T>(table: &'static [T], name: &str, name_of: fn(&T) -> &'static str) -> &'static T {
    table
        .iter()
        .find(|row| name_of(row) == name)
        .unwrap_or_else(|| panic!("no row is called {name:?}"))
}
