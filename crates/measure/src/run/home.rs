//! Keeps the threads that are not loops off the measured CPUs.

use anechoic_system::cpus;

/// Returns the CPUs that this process may use and that are not measured; of these, only those without
/// injected noise if there are any.
pub(super) fn free_cpus(measured: &[u32], traced: &[u32]) -> Vec<u32> {
    let allowed = cpus::allowed();
    let without = |taken: &[u32]| -> Vec<u32> {
        allowed.iter().copied().filter(|cpu| !taken.contains(cpu)).collect()
    };
    let quiet = without(traced);
    if quiet.is_empty() { without(measured) } else { quiet }
}

/// Keeps the calling thread off the measured CPUs, and moves it back when dropped.
pub(super) struct Home(Vec<u32>);

impl Home {
    pub(super) fn move_to(free: &[u32]) -> Self {
        let home = cpus::allowed();
        if !free.is_empty() {
            let _ = cpus::pin(free); // on failure the thread only disturbs more
        }
        Home(home)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = cpus::pin(&self.0);
    }
}
