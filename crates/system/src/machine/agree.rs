//! Decides whether a requested setting is in effect.

use super::value::NONE;

/// How a requested value is compared with the effective one.
#[derive(Debug, Clone, Copy)]
pub enum Agree {
    /// The present value does not show it.
    Unknown,
    /// All requested CPUs must be in effect, ignoring flags (`isolcpus=managed_irq,domain,2-7`); other
    /// settings may add CPUs (`nohz_full` adds to `rcu_nocbs`).
    Includes,
    /// Exactly these CPUs must be in effect.
    Cpus,
    /// The same word must be in effect, or one of these pairs (requested, effective).
    Words(&'static [(&'static str, &'static str)]),
}

impl Agree {
    /// Returns whether `requested` is in effect, given `effective`; true if that is unknown.
    pub fn holds(self, requested: &str, effective: &str) -> bool {
        match self {
            Agree::Unknown => true,
            Agree::Words(pairs) => {
                requested == effective || pairs.contains(&(requested, effective))
            }
            Agree::Includes => agrees_on_cpus(requested, effective, false),
            Agree::Cpus => agrees_on_cpus(requested, effective, true),
        }
    }
}

/// Returns whether the requested CPUs are in effect, and with `exactly` no others. Other notations (`all`,
/// `0-N`) count as in effect.
fn agrees_on_cpus(requested: &str, effective: &str, exactly: bool) -> bool {
    let mut parts: Vec<&str> = requested.split(',').collect();
    let is_flag = |part: &&str| part.starts_with(|c: char| c.is_ascii_alphabetic());
    let flags: Vec<&str> = parts.extract_if(.., |part| is_flag(part)).collect();
    // These flags alone do not remove a CPU from the scheduler's domains, which is all that the kernel shows.
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
/// `kernel.numa_balancing`: 2 also means on.
pub(crate) const NUMA: Agree = Agree::Words(&[("enable", "1"), ("enable", "2"), ("disable", "0")]);
/// `psi`.
pub(crate) const PSI: Agree = Agree::Words(&[("1", "on"), ("0", "off"), ("y", "on"), ("n", "off")]);
/// Module parameters that are boolean.
#[rustfmt::skip]
pub(crate) const FLAG: Agree = Agree::Words(&[
    ("1", "Y"), ("0", "N"), ("y", "Y"), ("n", "N"),
    ("on", "Y"), ("off", "N"), ("true", "Y"), ("false", "N"),
]);
/// `kernel.nmi_watchdog`.
#[rustfmt::skip]
pub const NMI: Agree = Agree::Words(&[
    ("nopanic", "1"), ("panic", "1"), ("nopanic,1", "1"), ("panic,1", "1"),
    ("nopanic,0", "0"), ("panic,0", "0"),
]);
/// `smt`: a machine without SMT need not switch it off.
#[rustfmt::skip]
pub(crate) const SMT: Agree = Agree::Words(&[
    ("nosmt", "off"), ("nosmt", "notsupported"), ("nosmt", "notimplemented"), ("force", "forceoff"),
    ("force", "notsupported"), ("force", "notimplemented"),
]);
/// `preempt`: `uname -v` of such a kernel shows only that the mode can be chosen, not which one is.
#[rustfmt::skip]
pub(crate) const PREEMPT: Agree = Agree::Words(&[
    ("none", "dynamic"), ("voluntary", "dynamic"), ("full", "dynamic"), ("lazy", "dynamic"),
]);
/// `intel_pstate`: the requested driver may run in either mode.
#[rustfmt::skip]
pub(crate) const PSTATE: Agree = Agree::Words(&[
    ("no_hwp", "active"), ("no_hwp", "passive"), ("force", "active"), ("force", "passive"),
    ("hwp_only", "active"), ("hwp_only", "passive"), ("support_acpi_ppc", "active"), ("support_acpi_ppc", "passive"),
    ("per_cpu_perf_limits", "active"), ("disable", "off"),
]);
