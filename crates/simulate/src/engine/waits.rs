//! How many others each operation still waits for.

use crate::schedule::Schedule;
use std::collections::HashMap;

/// Numbers from this on stand in the table of large ones.
const LARGE: u8 = u8::MAX;

/// For each operation of all ranks, how many others it still waits for.
#[derive(Debug)]
pub(super) struct Waits {
    /// A byte each, because almost all wait for few and the bytes of a rank then share a line of the cache.
    small: Vec<u8>,
    large: HashMap<usize, u32>,
}

impl Waits {
    /// Returns the numbers at the start of a simulation.
    pub(super) fn new(schedule: &Schedule) -> Self {
        let (mut small, mut large) = (Vec::with_capacity(schedule.len()), HashMap::new());
        schedule.each_wait(|number, waits| {
            if waits >= u32::from(LARGE) {
                large.insert(number, waits);
            }
            small.push(waits.min(u32::from(LARGE)) as u8);
        });
        Self { small, large }
    }

    /// Returns whether an operation waits for nothing.
    #[inline]
    pub(super) fn is_free(&self, operation: usize) -> bool {
        self.small.get(operation) == Some(&0)
    }

    /// Notes that an operation waits for one less. Returns whether it waits for nothing any more.
    #[inline]
    pub(super) fn one_less(&mut self, operation: usize) -> bool {
        let small = &mut self.small[operation];
        if *small == LARGE
            && let Some(large) = self.large.get_mut(&operation)
        {
            *large -= 1;
            if *large >= u32::from(LARGE) {
                return false;
            }
            *small = *large as u8;
            return false;
        }
        *small -= 1;
        *small == 0
    }
}
