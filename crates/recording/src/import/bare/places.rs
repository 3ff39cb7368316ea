//! The CPUs of a result, and what they share.

use super::FIRST_CPU;
use super::text::{Line, Wrong};
use crate::machine::{Cache, Cpu};
use crate::topology::list;
use std::collections::BTreeSet;

/// Largest number of CPUs that the image measures on.
const MOST_CPUS: u32 = 1_024;

/// The CPUs that measured.
#[derive(Debug, Default)]
pub(super) struct Places {
    places: Vec<Place>,
}

/// A CPU as it described itself. CPUs share what their numbers name alike without some of the lowest bits.
#[derive(Debug, Default)]
struct Place {
    cpu: u32,
    /// Number of its interrupt controller.
    id: u64,
    core_shift: u64,
    /// 0 if the CPU does not describe its package.
    package_shift: u64,
    class: String,
    /// Its caches, and the bits without which the numbers of CPUs that share them are equal; absent if that is not known.
    caches: Vec<(Cache, Option<u64>)>,
}

impl Place {
    fn without(&self, bits: u64) -> u64 {
        self.id.checked_shr(bits.min(63) as u32).unwrap_or(0)
    }
}

impl Places {
    /// Takes in the line of a CPU, or of a cache of the last one.
    pub(super) fn take(&mut self, line: &Line<'_>) -> Result<(), Wrong> {
        if line.word == "cpu" {
            let (cpu, fields) = line.fields()?;
            let known = |cpu: u32| self.places.iter().any(|place| place.cpu == cpu);
            let number = u32::try_from(cpu).ok().filter(|&cpu| cpu < MOST_CPUS && !known(cpu));
            let wrong = || line.wrong("there is no such CPU, or it is described twice");
            self.places.push(Place {
                cpu: number.ok_or_else(wrong)?,
                id: fields.number("id")?,
                core_shift: fields.number("core")?,
                package_shift: fields.number("package")?,
                class: fields.text("class")?.to_owned(),
                caches: vec![],
            });
            return Ok(());
        }
        let [level, kind, bytes, rest] = line.words()?;
        let (width, shift) = rest.split_once(' ').map_or((rest, None), |(a, b)| (a, Some(b)));
        let cache = Cache {
            level: line.number(level)? as u32,
            kind: kind.to_owned(),
            size_bytes: line.number(bytes)?,
            line_bytes: line.number(width)? as u32,
            ways: 0,
            shared_cpus: FIRST_CPU.to_string(),
        };
        let shift = shift.map(|shift| line.number(shift)).transpose()?;
        if self.places.is_empty() {
            self.places.push(Place::default());
        }
        let last_caches = self.places.last_mut().map(|place| &mut place.caches);
        last_caches.into_iter().for_each(|caches| caches.push((cache.clone(), shift)));
        Ok(())
    }

    /// Returns the CPUs whose numbers equal that of `place` without some of the lowest bits, as a list.
    fn sharing(&self, place: &Place, bits: u64) -> String {
        let same = self.places.iter().filter(|other| other.without(bits) == place.without(bits));
        let cpus: BTreeSet<u32> = same.map(|other| other.cpu).collect();
        list(&cpus.into_iter().collect::<Vec<_>>())
    }

    /// Returns the class of a CPU: the model, and what distinguishes it where there are several kinds.
    pub(super) fn class(&self, cpu: u32, model: &str) -> String {
        let described = self.places.iter().find(|place| place.cpu == cpu);
        let other =
            described.filter(|own| self.places.iter().any(|place| place.class != own.class));
        other.map_or_else(|| model.to_owned(), |own| format!("{model} {}", own.class))
    }

    /// Returns whether threads share a core; absent if the CPUs that measured do not show that.
    pub(super) fn smt(&self) -> Option<bool> {
        let shares = |place: &Place| self.sharing(place, place.core_shift).contains([',', '-']);
        let places = || self.places.iter().filter(|place| place.package_shift > 0);
        if places().any(shares) {
            return Some(true);
        }
        (places().count() > 0 && places().all(|place| place.core_shift == 0)).then_some(false)
    }

    /// Describes all CPUs; without any, the first one.
    pub(super) fn cpus(&self, model: &str) -> Vec<Cpu> {
        match &self.places[..] {
            [] => vec![self.cpu(&Place::default(), model)],
            places => places.iter().map(|place| self.cpu(place, model)).collect(),
        }
    }

    fn cpu(&self, place: &Place, model: &str) -> Cpu {
        let known = place.package_shift > 0;
        let core_bits = place.package_shift.saturating_sub(place.core_shift).min(32);
        let core = place.without(place.core_shift) & ((1 << core_bits) - 1);
        let caches = place.caches.iter().map(|(cache, shift)| Cache {
            shared_cpus: shift.map_or(place.cpu.to_string(), |bits| self.sharing(place, bits)),
            ..cache.clone()
        });
        Cpu {
            cpu: place.cpu,
            class: self.class(place.cpu, model),
            package: known.then(|| place.without(place.package_shift) as u32),
            core: known.then_some(core as u32),
            node: None,
            siblings: self.sharing(place, place.core_shift),
            caches: caches.collect(),
            governor: None,
        }
    }
}
