//! Requests: which messages a wait waits for.

use std::collections::HashMap;

/// A message that was begun and has not ended.
#[derive(Debug)]
struct Open {
    /// Its number among those that the rank began.
    number: u32,
    /// The last call that may have ended it.
    perhaps: Option<usize>,
}

/// The requests of a rank, known by the addresses of their handles.
///
/// A trace has addresses of handles, not the handles. Some calls end requests that the trace does not name
/// (`MPI_Waitany`, `MPI_Test` and their like): a request that no other call ends has ended at the last of those that could
/// have ended it, before its handle is used again.
#[derive(Debug, Default)]
pub(super) struct Requests {
    open: HashMap<u64, Open>,
    begun: u32,
    /// Messages that ended at calls that do not name them: the call, and the message.
    ended: Vec<(usize, u32)>,
    /// Messages for which nothing waits.
    lost: u64,
}

/// Addresses of handles: the first, how many, and their distance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Handles {
    pub(super) first: u64,
    pub(super) count: u64,
    pub(super) distance: u64,
}

impl Handles {
    fn contains(self, address: u64) -> bool {
        address.checked_sub(self.first).is_some_and(|offset| {
            offset % self.distance == 0 && offset / self.distance < self.count
        })
    }
}

impl Requests {
    /// Begins a message whose handle is at this address, and returns its number.
    pub(super) fn begin(&mut self, address: u64) -> u32 {
        let number = self.begun;
        self.begun += 1;
        if let Some(before) = self.open.insert(address, Open { number, perhaps: None }) {
            self.end_perhaps(before);
        }
        number
    }

    /// Ends the messages with these handles, and returns their numbers in order.
    pub(super) fn end(&mut self, handles: Handles) -> Vec<u32> {
        let mut ended: Vec<u32> = self
            .addresses(handles)
            .iter()
            .filter_map(|address| Some(self.open.remove(address)?.number))
            .collect();
        ended.sort_unstable();
        ended
    }

    /// Notes that this call may have ended messages with these handles.
    pub(super) fn perhaps_end(&mut self, handles: Handles, call: usize) {
        for address in self.addresses(handles) {
            if let Some(open) = self.open.get_mut(&address) {
                open.perhaps = Some(call);
            }
        }
    }

    /// Forgets the message with this handle: nothing waits for it.
    pub(super) fn forget(&mut self, address: u64) {
        self.open.remove(&address);
    }

    /// Returns which messages ended at which calls that do not name them, and how many nothing waits for.
    pub(super) fn finish(mut self) -> (Vec<(usize, u32)>, u64) {
        let open: Vec<Open> = self.open.drain().map(|(_, open)| open).collect();
        open.into_iter().for_each(|open| self.end_perhaps(open));
        self.ended.sort_unstable();
        (self.ended, self.lost)
    }

    fn end_perhaps(&mut self, Open { number, perhaps }: Open) {
        match perhaps {
            Some(call) => self.ended.push((call, number)),
            None => self.lost += 1,
        }
    }

    /// Returns the addresses among these at which there are open messages.
    fn addresses(&self, handles: Handles) -> Vec<u64> {
        let Handles { first, count, distance } = handles;
        if count > self.open.len() as u64 {
            return self.open.keys().copied().filter(|&at| handles.contains(at)).collect();
        }
        let at = |place: u64| first.checked_add(place.checked_mul(distance)?);
        (0..count).filter_map(at).filter(|at| self.open.contains_key(at)).collect()
    }
}
