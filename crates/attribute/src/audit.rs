//! The completeness audit compares the kernel's own counts of interrupts with the events seen.

use anechoic_recording::attribution::Audit;
use anechoic_recording::run::Run;
use anechoic_recording::sources::SOFTIRQS;
use anechoic_recording::{Counter, EVENTS, EventKind, KernelEvent};
use std::collections::{BTreeMap, HashMap};

/// Rows of /proc/interrupts that are part of another row: TLB of CAL, PMI of NMI.
const PARTS: [&str; 2] = ["TLB", "PMI"];

/// What the events of a counter have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Class {
    Kind(EventKind),
    Irq(u64),
    Softirq(u64),
}

/// Two readings of one counter of one CPU.
#[derive(Debug)]
struct Window {
    counter: String,
    cpu: u32,
    first: (u64, u64),
    last: (u64, u64),
    seen: u64,
}

/// Counts the events between the two readings.
#[derive(Debug)]
pub(crate) struct Auditor {
    windows: Vec<Window>,
    /// The window in which an event counts.
    by_class: HashMap<(u32, Class), usize>,
    /// Whether the events of each window were recorded.
    traced: Vec<bool>,
}

impl Auditor {
    /// Creates the audit; `counters` may contain other counters too, in any order of counters.
    pub(crate) fn new(run: &Run, counters: impl IntoIterator<Item = Counter>) -> Self {
        let measured = |cpu| run.cpus.iter().any(|measured| measured.cpu == cpu);
        let mut readings: BTreeMap<(String, u32), Window> = BTreeMap::new();
        for Counter { name, cpu, ticks, value } in counters {
            if !measured(cpu) || !(name.starts_with("interrupts/") || name.starts_with("softirqs/"))
            {
                continue;
            }
            let now = (ticks, value);
            let window = readings.entry((name, cpu)).or_insert_with_key(|(name, cpu)| Window {
                counter: name.clone(),
                cpu: *cpu,
                first: now,
                last: now,
                seen: 0,
            });
            window.first = window.first.min(now);
            window.last = window.last.max(now);
        }
        let mut auditor = Self {
            windows: readings.into_values().collect(),
            by_class: HashMap::new(),
            traced: Vec::new(),
        };
        for (index, window) in auditor.windows.iter().enumerate() {
            let classes = classes(run, &window.counter);
            auditor.traced.push(!classes.is_empty());
            auditor.by_class.extend(classes.into_iter().map(|class| ((window.cpu, class), index)));
        }
        auditor
    }

    /// Counts an event, if it begins something that the kernel counts.
    pub(crate) fn event(&mut self, event: &KernelEvent) {
        let class = match event.kind {
            EventKind::IrqEntry => Class::Irq(event.args[0]),
            EventKind::SoftirqEntry => Class::Softirq(event.args[0]),
            // A non-maskable interrupt runs several handlers, each with an event; only those that handled
            // something count.
            EventKind::Nmi if event.args[2] == 0 => return,
            EventKind::Nmi => Class::Kind(EventKind::Nmi),
            // A kind that the kernel does not count has no window.
            kind => Class::Kind(kind),
        };
        if let Some(index) = self.by_class.get(&(event.cpu, class)) {
            let window = &mut self.windows[*index];
            if (window.first.0..=window.last.0).contains(&event.ticks) {
                window.seen += 1;
            }
        }
    }

    /// Returns the rows, and describes which interrupts have no event.
    pub(crate) fn finish(self) -> (Vec<Audit>, Vec<String>) {
        let mut unseen: BTreeMap<String, u64> = BTreeMap::new();
        let mut rows = Vec::new();
        for (window, traced) in self.windows.into_iter().zip(self.traced) {
            let counted = window.last.1.saturating_sub(window.first.1);
            let key = window.counter.split_once('/').map_or("", |(_, key)| key);
            if !traced && counted > 0 && !PARTS.contains(&key) {
                let sum = unseen.entry(window.counter.clone()).or_default();
                *sum = sum.saturating_add(counted);
            }
            let seen = traced.then_some(window.seen);
            rows.push(Audit { counter: window.counter, cpu: window.cpu, counted, seen });
        }
        let words = |(counter, count)| {
            format!("{counter}: {count} counted, but there is no kernel event for them")
        };
        (rows, unseen.into_iter().map(words).collect())
    }
}

/// Returns the classes of a counter's events; empty if this run recorded none of these events.
fn classes(run: &Run, counter: &str) -> Vec<Class> {
    let recorded = |kind: EventKind| {
        let events = run.trace.iter().flat_map(|trace| &trace.events);
        events.into_iter().any(|event| event.number == kind as u16)
    };
    let all = |kinds: &[EventKind]| kinds.iter().all(|kind| recorded(*kind));
    match counter.split_once('/') {
        Some(("softirqs", key)) if all(&[EventKind::SoftirqEntry]) => {
            let vector = SOFTIRQS.iter().position(|name| *name == key);
            vector.map(|vector| Class::Softirq(vector as u64)).into_iter().collect()
        }
        Some(("interrupts", key)) => match key.parse() {
            Ok(irq) if all(&[EventKind::IrqEntry]) => vec![Class::Irq(irq)],
            Ok(_) => Vec::new(),
            Err(_) => {
                let counted = EVENTS.iter().filter(|spec| spec.counted == Some(key));
                let kinds: Vec<EventKind> = counted.map(|spec| spec.kind).collect();
                let seen = if all(&kinds) { kinds } else { vec![] };
                seen.into_iter().map(Class::Kind).collect()
            }
        },
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::builders;
    use anechoic_recording::run::RecordedEvent;

    /// A run on CPU 1 that recorded these events.
    fn run(kinds: &[EventKind]) -> Run {
        let mut run = builders::run(
            "detours",
            builders::clock(1_000_000_000),
            vec![builders::cpu_run(1, (0, 100), 1)],
        );
        let event = |kind: &EventKind| RecordedEvent {
            number: *kind as u16,
            name: String::new(),
            args: vec![],
        };
        run.trace = Some(builders::trace());
        run.trace.as_mut().expect("just set").events = kinds.iter().map(event).collect();
        run
    }

    fn counter(name: &str, cpu: u32, ticks: u64, value: u64) -> Counter {
        Counter { name: name.into(), cpu, ticks, value }
    }

    const ALL: [EventKind; 6] = [
        EventKind::LocalTimerEntry,
        EventKind::IrqEntry,
        EventKind::SoftirqEntry,
        EventKind::Nmi,
        EventKind::CallFunctionEntry,
        EventKind::CallFunctionSingleEntry,
    ];

    #[test]
    fn events_count_for_their_counter_between_its_readings() {
        use EventKind::{
            CallFunctionEntry, CallFunctionSingleEntry, IrqEntry, LocalTimerEntry, LocalTimerExit,
            Nmi, SoftirqEntry,
        };
        let names =
            ["interrupts/24", "interrupts/LOC", "interrupts/NMI", "interrupts/CAL", "softirqs/RCU"];
        // In any order, the last reading first; readings in between change nothing.
        let readings = names.iter().flat_map(|name| {
            [(90, 17), (10, 3), (50, 11)].map(|(ticks, value)| counter(name, 1, ticks, value))
        });
        let mut auditor = Auditor::new(&run(&ALL), readings);
        let event = |cpu, ticks, kind, args| KernelEvent { cpu, ticks, kind, pid: 1, args };
        for (cpu, ticks, kind, args) in [
            (1, 9, LocalTimerEntry, [0; 3]),
            (1, 10, LocalTimerEntry, [0; 3]),
            (1, 90, LocalTimerEntry, [0; 3]),
            (1, 91, LocalTimerEntry, [0; 3]),
            (1, 20, LocalTimerExit, [0; 3]),
            (0, 20, LocalTimerEntry, [0; 3]),
            (1, 20, IrqEntry, [24, 0, 0]),
            (1, 20, IrqEntry, [25, 0, 0]),
            (1, 20, SoftirqEntry, [9, 0, 0]),
            (1, 21, SoftirqEntry, [9, 0, 0]),
            (1, 22, SoftirqEntry, [9, 0, 0]),
            (1, 20, SoftirqEntry, [1, 0, 0]),
            (1, 20, Nmi, [5, 0, 1]),
            (1, 21, Nmi, [6, 0, 1]),
            (1, 20, Nmi, [5, 0, 0]),
            (1, 20, CallFunctionEntry, [0; 3]),
            (1, 20, CallFunctionSingleEntry, [0; 3]),
        ] {
            auditor.event(&event(cpu, ticks, kind, args));
        }
        let (rows, unseen) = auditor.finish();
        let found: Vec<(&str, u32, u64, Option<u64>)> =
            rows.iter().map(|row| (&*row.counter, row.cpu, row.counted, row.seen)).collect();
        let expected = [
            ("interrupts/24", 1, 14, Some(1)),
            ("interrupts/CAL", 1, 14, Some(2)),
            ("interrupts/LOC", 1, 14, Some(2)),
            ("interrupts/NMI", 1, 14, Some(2)),
            ("softirqs/RCU", 1, 14, Some(3)),
        ];
        assert_eq!((found.as_slice(), unseen), (&expected[..], vec![]));
    }

    #[test]
    fn interrupts_without_events_are_listed_if_they_came() {
        let both = |name: &'static str, cpu, more: u64| {
            [counter(name, cpu, 10, 5), counter(name, cpu, 90, 5 + more)]
        };
        let cases = [
            ("no event of it exists", "interrupts/MCE", 1, 3, &ALL[..], Some(3)),
            ("none came", "interrupts/MCE", 1, 0, &ALL[..], None),
            ("a part of another one", "interrupts/TLB", 1, 3, &ALL[..], None),
            ("its event was not recorded", "interrupts/LOC", 1, 3, &ALL[1..], Some(3)),
            ("one of its two events was not", "interrupts/CAL", 1, 3, &ALL[..5], Some(3)),
            ("no device interrupts were", "interrupts/24", 1, 3, &ALL[..1], Some(3)),
            ("no softirqs were", "softirqs/RCU", 1, 3, &ALL[..2], Some(3)),
            ("an unknown softirq", "softirqs/NEW", 1, 3, &ALL[..], Some(3)),
            ("another CPU", "interrupts/MCE", 0, 3, &ALL[..], None),
            ("no count of interrupts", "steal_ns", 1, 3, &ALL[..], None),
        ];
        for (name, key, cpu, more, recorded, expected) in cases {
            let (rows, unseen) = Auditor::new(&run(recorded), both(key, cpu, more)).finish();
            let is_row = cpu == 1 && key.contains('/');
            assert_eq!(rows.len(), usize::from(is_row), "case: {name}");
            assert!(rows.iter().all(|row| row.seen.is_none()), "case: {name}");
            let words = expected.map(|count| {
                format!("{key}: {count} counted, but there is no kernel event for them")
            });
            assert_eq!(unseen, words.into_iter().collect::<Vec<_>>(), "case: {name}");
        }
    }
}
