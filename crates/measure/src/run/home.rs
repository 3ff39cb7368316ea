//! Where the thread that is not a loop runs.

use anechoic_system::cpus;

/// CPUs that this process may use and that are not measured; where there are such, only those without
/// injected noise too.
pub(super) fn free_cpus(measured: &[u32], traced: &[u32]) -> Vec<u32> {
    let allowed = cpus::allowed();
    let without = |taken: &[u32]| -> Vec<u32> {
        allowed.iter().copied().filter(|cpu| !taken.contains(cpu)).collect()
    };
    let quiet = without(traced);
    if quiet.is_empty() { without(measured) } else { quiet }
}

/// The thread that is not a loop stays off the measured CPUs, and goes back when dropped.
pub(super) struct Home(Vec<u32>);

impl Home {
    pub(super) fn move_to(free: &[u32]) -> Self {
        let home = cpus::allowed();
        if !free.is_empty() {
            let _ = cpus::pin(free); // a thread that stays where it is only disturbs more
        }
        Home(home)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = cpus::pin(&self.0);
    }
}
