//! The labels of one rank's operations.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

/// Labels with the numbers of their operations. Their texts are kept one after the other, without memory of their own.
#[derive(Debug, Default)]
pub(super) struct Labels {
    texts: Vec<u8>,
    places: HashMap<u64, (Range<usize>, u32), BuildHasherDefault<Unchanged>>,
}

impl Labels {
    /// Forgets all labels.
    pub(super) fn clear(&mut self) {
        self.texts.clear();
        self.places.clear();
    }

    /// Returns the number of the operation with this label.
    pub(super) fn get(&self, label: &[u8]) -> Option<u32> {
        let mut key = hash(label);
        loop {
            let (text, number) = self.places.get(&key)?;
            if &self.texts[text.clone()] == label {
                return Some(*number);
            }
            key = key.wrapping_add(1);
        }
    }

    /// Adds a label. Returns false if it exists.
    pub(super) fn add(&mut self, label: &[u8], number: u32) -> bool {
        let mut key = hash(label);
        while let Some((text, _)) = self.places.get(&key) {
            if &self.texts[text.clone()] == label {
                return false;
            }
            key = key.wrapping_add(1);
        }
        let begin = self.texts.len();
        self.texts.extend_from_slice(label);
        self.places.insert(key, (begin..self.texts.len(), number));
        true
    }
}

/// Returns the FNV-1a hash of a label, spread over all bits.
fn hash(label: &[u8]) -> u64 {
    let fold = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = label.iter().fold(0xcbf2_9ce4_8422_2325, fold);
    hash.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A hasher of keys that are hashes.
#[derive(Debug, Default)]
struct Unchanged(u64);

impl Hasher for Unchanged {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}
