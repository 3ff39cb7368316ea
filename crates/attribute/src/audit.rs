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
