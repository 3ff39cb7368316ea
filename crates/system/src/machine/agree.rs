//! When a setting that was asked for counts as in effect.

use super::value::NONE;

/// When a request counts as in effect.
#[derive(Debug, Clone, Copy)]
pub enum Agree {
    /// Cannot be told from the present value.
    Untold,
    /// All of the CPUs asked for, once flags (`isolcpus=managed_irq,domain,2-7`) are left out;
    /// other settings may add to them (`nohz_full` to `rcu_nocbs`).
    Includes,
    /// These CPUs and no others.
    Cpus,
    /// The same word, or one of these pairs (requested, effective).
    Words(&'static [(&'static str, &'static str)]),
}

impl Agree {
    /// Whether `requested` is in effect where `effective` is seen; true if it cannot be told.
    pub fn holds(self, requested: &str, effective: &str) -> bool {
        match self {
            Agree::Untold => true,
            Agree::Words(pairs) => {
                requested == effective || pairs.contains(&(requested, effective))
            }
            Agree::Includes => agrees_on_cpus(requested, effective, false),
            Agree::Cpus => agrees_on_cpus(requested, effective, true),
        }
    }
}

/// Whether the CPUs asked for are in effect, and `exactly` they if so asked. What is no list
/// (`all`, `0-N`) cannot be told.
fn agrees_on_cpus(requested: &str, effective: &str, exactly: bool) -> bool {
    let mut parts: Vec<&str> = requested.split(',').collect();
    let is_flag = |part: &&str| part.starts_with(|c: char| c.is_ascii_alphabetic());
    let flags: Vec<&str> = parts.extract_if(.., |part| is_flag(part)).collect();
    // These flags alone do not take a CPU out of the scheduler's domains, which is all that
    // the kernel shows.
    if !flags.is_empty() && !flags.contains(&"domain") {
        return true;
    }
    let effective = if effective == NONE { "" } else { effective };
    match (crate::cpus::parse(&parts.join(",")), crate::cpus::parse(effective)) {
        (Ok(requested), Ok(effective)) => {
            let includes = requested.iter().all(|cpu| effective.contains(cpu));
            includes && (!exactly || requested.len() == effective.len())
        }
        _ => true,
    }
}

/// `enable` and `disable`.
pub(crate) const SWITCH: Agree = Agree::Words(&[("enable", "1"), ("disable", "0")]);
/// `kernel.numa_balancing`: 2 is one more way of being on.
pub(crate) const NUMA: Agree = Agree::Words(&[("enable", "1"), ("enable", "2"), ("disable", "0")]);
/// `psi`.
pub(crate) const PSI: Agree = Agree::Words(&[("1", "on"), ("0", "off"), ("y", "on"), ("n", "off")]);
/// Module parameters that are flags.
pub(crate) const FLAG: Agree = Agree::Words(&[
    ("1", "Y"),
    ("0", "N"),
    ("y", "Y"),
    ("n", "N"),
    ("on", "Y"),
    ("off", "N"),
    ("true", "Y"),
    ("false", "N"),
]);
/// `kernel.nmi_watchdog`.
pub const NMI: Agree = Agree::Words(&[
    ("nopanic", "1"),
    ("panic", "1"),
    ("nopanic,1", "1"),
    ("panic,1", "1"),
    ("nopanic,0", "0"),
    ("panic,0", "0"),
]);
/// `smt`: a machine without it needs no switching off.
pub(crate) const SMT: Agree = Agree::Words(&[
    ("nosmt", "off"),
    ("nosmt", "notsupported"),
    ("nosmt", "notimplemented"),
    ("force", "forceoff"),
    ("force", "notsupported"),
    ("force", "notimplemented"),
]);
/// `uname -v` says of such a kernel only that the mode can be chosen, not which one is.
pub(crate) const PREEMPT: Agree = Agree::Words(&[
    ("none", "dynamic"),
    ("voluntary", "dynamic"),
    ("full", "dynamic"),
    ("lazy", "dynamic"),
]);
/// `intel_pstate`: the driver as asked for may run in either mode.
pub(crate) const PSTATE: Agree = Agree::Words(&[
    ("no_hwp", "active"),
    ("no_hwp", "passive"),
    ("force", "active"),
    ("force", "passive"),
    ("hwp_only", "active"),
    ("hwp_only", "passive"),
    ("support_acpi_ppc", "active"),
    ("support_acpi_ppc", "passive"),
    ("per_cpu_perf_limits", "active"),
    ("disable", "off"),
]);
