//! Names for the numbers in events: threads, kernel functions, device interrupts.

use anechoic_recording::{Name, NameKind};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The function of the timer that gives a control group with a CPU quota new time each period.
pub const REFILL_FUNCTION: &str = "sched_cfs_period_timer";
/// Functions that run the timer tick, in different kernel versions.
const TICK_FUNCTIONS: [&str; 5] = [
    "tick_nohz_handler",
    "tick_sched_timer",
    "tick_handle_periodic",
    "tick_nohz_highres_handler",
    "tick_nohz_lowres_handler",
];

/// The `names` table, indexed for look-ups.
#[derive(Debug, Clone)]
pub struct Names {
    /// The names of each thread with their start times, in time order.
    tasks: HashMap<i32, Vec<(u64, Arc<str>)>>,
    symbols: HashMap<u64, Arc<str>>,
    irqs: HashMap<u32, Arc<str>>,
    ticks: HashSet<u64>,
    /// The functions that give control groups new CPU time.
    refills: HashSet<u64>,
    idle: Arc<str>,
    empty: Arc<str>,
}

impl Names {
    /// Creates the names from rows in any order.
    #[must_use]
    pub fn new(rows: impl IntoIterator<Item = Name>) -> Self {
        let mut names = Self {
            tasks: HashMap::new(),
            symbols: HashMap::new(),
            irqs: HashMap::new(),
            ticks: HashSet::new(),
            refills: HashSet::new(),
            idle: "idle".into(),
            empty: "".into(),
        };
        rows.into_iter().for_each(|row| names.put(row));
        for spells in names.tasks.values_mut() {
            spells.sort_by_key(|(ticks, _)| *ticks);
        }
        names
    }

    /// Adds another row; a known one changes nothing.
    pub fn add(&mut self, row: Name) {
        let (kind, key) = (row.kind, row.key);
        self.put(row);
        if kind == NameKind::Task
            && let Some(spells) = i32::try_from(key).ok().and_then(|pid| self.tasks.get_mut(&pid))
        {
            spells.sort_by_key(|(ticks, _)| *ticks);
            spells.dedup();
        }
    }

    fn put(&mut self, row: Name) {
        match row.kind {
            NameKind::Task => {
                let Ok(pid) = i32::try_from(row.key) else { return };
                self.tasks
                    .entry(pid)
                    .or_default()
                    .push((row.ticks, without_queue(&row.name).into()));
            }
            NameKind::Symbol => {
                if TICK_FUNCTIONS.contains(&row.name.as_str()) {
                    self.ticks.insert(row.key);
                }
                if row.name == REFILL_FUNCTION {
                    self.refills.insert(row.key);
                }
                self.symbols.insert(row.key, row.name.into());
            }
            NameKind::Irq => {
                let Ok(irq) = u32::try_from(row.key) else { return };
                self.irqs.insert(irq, row.name.into());
            }
            NameKind::Program | NameKind::Cgroup | NameKind::Stack => {}
        }
    }

    /// Returns whether any kernel function had a name when the run was measured.
    #[must_use]
    pub(crate) fn has_symbols(&self) -> bool {
        !self.symbols.is_empty()
    }

    /// Sets the function of the timer tick, for recordings without symbols.
    pub(crate) fn set_tick(&mut self, function: u64) {
        self.ticks.insert(function);
    }

    /// Returns whether the function at this address runs the timer tick.
    #[must_use]
    pub fn is_tick(&self, function: u64) -> bool {
        self.ticks.contains(&function)
    }

    /// Returns whether the function at this address gives a control group with a CPU quota new time.
    #[must_use]
    pub(crate) fn is_refill(&self, function: u64) -> bool {
        self.refills.contains(&function)
    }

    /// Returns the functions that run the timer tick.
    pub(crate) fn tick_functions(&self) -> &HashSet<u64> {
        &self.ticks
    }

    /// Returns the functions that give control groups with a CPU quota new time.
    pub(crate) fn refills(&self) -> &HashSet<u64> {
        &self.refills
    }

    /// Returns the thread's comm at a time, or `pid N` if it is unknown.
    #[must_use]
    pub fn task(&self, pid: i32, ticks: u64) -> Arc<str> {
        if pid == 0 {
            return Arc::clone(&self.idle);
        }
        let Some(spells) = self.tasks.get(&pid) else { return format!("pid {pid}").into() };
        let after = spells.partition_point(|(from, _)| *from <= ticks);
        // If the name was found only later, it is still the best available.
        Arc::clone(&spells[after.saturating_sub(1)].1)
    }

    /// Returns the function at this address, or the address itself if symbols are hidden.
    #[must_use]
    pub fn function(&self, address: u64) -> Arc<str> {
        self.symbols.get(&address).map_or_else(|| format!("{address:#x}").into(), Arc::clone)
    }

    /// Returns the name of a device interrupt, or `irq N` if it has none.
    #[must_use]
    pub fn irq(&self, irq: u32) -> Arc<str> {
        self.irqs.get(&irq).map_or_else(|| format!("irq {irq}").into(), Arc::clone)
    }

    /// Returns the empty name, for sources with only one instance.
    #[must_use]
    pub fn none(&self) -> Arc<str> {
        Arc::clone(&self.empty)
    }
}

/// Removes from a kworker's comm the workqueue that it last served: `kworker/1:1-events` becomes
/// `kworker/1:1`.
///
/// Rescuers are named after their queue (`kworker/R-ext4`) and keep it.
fn without_queue(comm: &str) -> &str {
    match comm.strip_prefix("kworker/") {
        Some(rest) if !rest.starts_with("R-") => comm.split(['-', '+']).next().unwrap_or(comm),
        _ => comm,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comms_lose_the_workqueue() {
        let cases = [
            ("bound", "kworker/1:1-events", "kworker/1:1"),
            ("running", "kworker/1:1+events", "kworker/1:1"),
            ("high priority", "kworker/3:0H-kblockd", "kworker/3:0H"),
            ("unbound", "kworker/u8:2-ext4-rsv-conversion", "kworker/u8:2"),
            ("rescuer", "kworker/R-rcu_gp", "kworker/R-rcu_gp"),
            ("plain", "kworker/0:0", "kworker/0:0"),
            ("no kworker", "my-thread+1", "my-thread+1"),
            ("empty", "", ""),
        ];
        for (name, comm, expected) in cases {
            assert_eq!(without_queue(comm), expected, "case: {name}");
        }
    }

    #[test]
    fn a_name_holds_from_its_time_on() {
        let row =
            |ticks, name: &str| Name { kind: NameKind::Task, key: 7, ticks, name: name.into() };
        let names = Names::new([row(200, "ls"), row(100, "bash")]);
        let cases = [(50, "bash"), (100, "bash"), (199, "bash"), (200, "ls"), (u64::MAX, "ls")];
        for (ticks, expected) in cases {
            assert_eq!(&*names.task(7, ticks), expected, "at {ticks}");
        }
        let mut grown = names;
        let rows = [row(300, "cat"), row(150, "sh"), row(300, "cat")];
        rows.into_iter().for_each(|row| grown.add(row));
        let then = [100, 160, 250, 300].map(|ticks| grown.task(7, ticks));
        assert_eq!(then.each_ref().map(|name| &**name), ["bash", "sh", "ls", "cat"]);
        assert_eq!(grown.tasks[&7].len(), 4);
        let names = grown;
        assert_eq!(&*names.task(8, 100), "pid 8");
        assert_eq!(&*names.task(0, 100), "idle");
    }

    #[test]
    fn what_has_no_name_shows_its_number() {
        let names = Names::new([]);
        assert_eq!(&*names.function(0xffff_ffff_8123_0000), "0xffffffff81230000");
        assert_eq!(&*names.irq(24), "irq 24");
        assert!(!names.has_symbols());
        let symbol =
            Name { kind: NameKind::Symbol, key: 5, ticks: 0, name: "vmstat_update".into() };
        assert!(Names::new([symbol]).has_symbols());
    }
}
