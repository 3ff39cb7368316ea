//! What gives a user the rights that a measurement needs.

/// Returns the remedy for a user without these capabilities, which are written as `setcap` reads them: `cap_bpf,cap_perfmon`.
#[must_use]
pub fn remedy(capabilities: &str) -> String {
    format!(
        "run as root, or give this program the right with: setcap {capabilities}+ep PATH/anechoic"
    )
}

/// Returns the remedy for a user who may not use real-time priorities.
#[must_use]
pub fn fifo_remedy() -> String {
    format!(
        "{}; or set rtprio to 1 or more for your user in /etc/security/limits.conf, and log in again",
        remedy("cap_sys_nice")
    )
}

/// Returns the remedy for a user who may not open perf events; `paranoid` is the largest value of the kernel's setting that
/// permits them.
#[must_use]
pub fn perf_remedy(paranoid: u8) -> String {
    format!("{}; or, as root: sysctl kernel.perf_event_paranoid={paranoid}", remedy("cap_perfmon"))
}
