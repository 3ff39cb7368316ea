//! Keeps the threads that are not loops off the measured CPUs.

use anechoic_recording::machine::Machine;
use anechoic_recording::topology::ranges;
use anechoic_system::cpus;

/// Returns the CPUs that this process may use and that are not measured; of these, only those without injected noise if there
/// are any, and of these only those that share no core with a measured one.
pub(super) fn free_cpus(machine: &Machine, measured: &[u32], traced: &[u32]) -> Vec<u32> {
    free_of(cpus::allowed(), machine, measured, traced)
}

/// Returns whether two CPUs are threads of one core, as far as is known.
fn shares_core(machine: &Machine, cpu: u32, other: u32) -> bool {
    let known = machine.cpus.iter().find(|known| known.cpu == cpu);
    known.is_some_and(|known| ranges(&known.siblings).any(|range| range.contains(&other)))
}

fn free_of(allowed: Vec<u32>, machine: &Machine, measured: &[u32], traced: &[u32]) -> Vec<u32> {
    let without = |taken: &[u32]| -> Vec<u32> {
        allowed.iter().copied().filter(|cpu| !taken.contains(cpu)).collect()
    };
    let quiet = without(traced);
    let free = if quiet.is_empty() { without(measured) } else { quiet };
    let is_apart = |cpu: &u32| !measured.iter().any(|&other| shares_core(machine, other, *cpu));
    let apart: Vec<u32> = free.iter().copied().filter(is_apart).collect();
    if apart.is_empty() { free } else { apart }
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

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_recording::machine::Cpu;

    #[test]
    fn the_cpu_of_another_core_is_preferred() {
        // Two cores with two threads each.
        let cpu = |cpu: u32| Cpu {
            cpu,
            siblings: if cpu.is_multiple_of(2) { "0,2" } else { "1,3" }.to_owned(),
            ..Cpu::default()
        };
        let machine = Machine { cpus: (0..4).map(cpu).collect(), ..Machine::default() };
        type Case<'a> = (&'a str, &'a [u32], &'a [u32], &'a [u32]);
        let cases: [Case<'_>; 4] = [
            ("another core is free", &[0], &[0], &[1, 3]),
            ("only siblings are free", &[0, 1], &[0, 1], &[2, 3]),
            ("noise on the other core", &[0], &[0, 1, 3], &[2]),
            ("nothing is free", &[0, 1, 2, 3], &[0, 1, 2, 3], &[]),
        ];
        for (name, measured, traced, expected) in cases {
            let found = free_of(vec![0, 1, 2, 3], &machine, measured, traced);
            assert_eq!(found, expected, "case: {name}");
        }
    }
}
