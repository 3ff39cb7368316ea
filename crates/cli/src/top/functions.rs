//! Names of kernel functions for what was seen before their names were read.

use anechoic_analyze::live::{LiveSource, Snapshot};
use anechoic_recording::{Name, NameKind};
use std::collections::HashMap;
use std::sync::Arc;

/// The names of kernel functions by their addresses, as sources write these.
#[derive(Debug, Default)]
pub(super) struct Functions(HashMap<String, Arc<str>>);

impl Functions {
    /// Adds the functions among these names.
    pub(super) fn add(&mut self, names: &[Name]) {
        let functions = names.iter().filter(|name| name.kind == NameKind::Symbol);
        self.0
            .extend(functions.map(|name| (format!("{:#x}", name.key), name.name.as_str().into())));
    }

    /// Replaces addresses by names, and joins what has one name then.
    pub(super) fn rename(&self, snapshot: &mut Snapshot) {
        for (_, name, _) in snapshot.longest.iter_mut().flat_map(|detour| &mut detour.parts) {
            self.named(name);
        }
        let mut joined: Vec<LiveSource> = vec![];
        for mut source in std::mem::take(&mut snapshot.sources) {
            self.named(&mut source.name);
            let same = |other: &&mut LiveSource| {
                (&other.source, &other.name) == (&source.source, &source.name)
            };
            match joined.iter_mut().find(same) {
                Some(other) => join(other, source),
                None => joined.push(source),
            }
        }
        snapshot.sources = joined;
    }

    /// Replaces an address by its name if that is known.
    fn named(&self, name: &mut Arc<str>) {
        if let Some(known) = self.0.get(&**name) {
            *name = Arc::clone(known);
        }
    }
}

/// Adds what was seen under the address of a function to what was seen under its name.
fn join(source: &mut LiveSource, other: LiveSource) {
    source.noise += other.noise;
    source.noise_now += other.noise_now;
    source.share += other.share;
    source.share_late += other.share_late;
    source.detours += other.detours;
    source.rate_now_per_s += other.rate_now_per_s;
    source.worst_ns = source.worst_ns.max(other.worst_ns);
    source.cpus.extend(other.cpus);
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_analyze::live::LiveDetour;

    fn source(name: &str, noise: f64, worst_ns: u64) -> LiveSource {
        LiveSource {
            source: "timer".into(),
            name: name.into(),
            noise,
            noise_now: 0.0,
            share: noise,
            share_late: noise / 2.0,
            detours: 1,
            rate_now_per_s: 0.0,
            worst_ns,
            cpus: [worst_ns as u32].into(),
        }
    }

    #[test]
    fn an_address_and_its_name_are_one_source() {
        let mut functions = Functions::default();
        let name = |kind, name: &str| Name { kind, key: 0xc7, ticks: 0, name: name.into() };
        functions.add(&[name(NameKind::Symbol, "perf_swevent_hrtimer"), name(NameKind::Irq, "x")]);
        let detour = LiveDetour {
            cpu: 0,
            start_ns: 0,
            length_ns: 9,
            parts: vec![("timer".into(), "0xc7".into(), 9)],
            stages: None,
        };
        let mut snapshot = Snapshot {
            sources: vec![
                source("0xc7", 0.25, 1),
                source("0xc8", 0.1, 3),
                source("perf_swevent_hrtimer", 0.5, 2),
            ],
            longest: vec![detour],
            ..Snapshot::default()
        };
        functions.rename(&mut snapshot);
        let seen: Vec<(&str, f64, u64, usize)> = snapshot
            .sources
            .iter()
            .map(|source| (&*source.name, source.noise, source.worst_ns, source.cpus.len()))
            .collect();
        assert_eq!(seen, [("perf_swevent_hrtimer", 0.75, 2, 2), ("0xc8", 0.1, 3, 1)]);
        assert_eq!(snapshot.sources[0].share_late, 0.375);
        assert_eq!(&*snapshot.longest[0].parts[0].1, "perf_swevent_hrtimer");
    }
}
