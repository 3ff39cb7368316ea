//! The arguments of a call as numbers.

use super::line::Line;

/// The arguments of a call, those of each kind in order.
#[derive(Debug, Default)]
pub(super) struct Values {
    /// Numbers of elements or bytes.
    pub(super) counts: Vec<u64>,
    /// Other numbers.
    pub(super) numbers: Vec<i64>,
    /// Sizes of datatypes in bytes.
    pub(super) sizes: Vec<u64>,
    /// Ranks.
    pub(super) ranks: Vec<i64>,
    /// Tags.
    pub(super) tags: Vec<i64>,
    /// Arrays with a number for each rank.
    pub(super) arrays: Vec<Vec<i64>>,
    /// The communicator: handle, own rank, number of ranks.
    pub(super) communicator: Option<(i64, u32, u32)>,
    /// The address of the request, of the first of them, or of a communicator.
    pub(super) address: u64,
}

impl Values {
    /// Reads the arguments of a line, which are of these kinds: see [`Call`](super::calls::Call).
    pub(super) fn read(line: &Line<'_>, kinds: &str) -> Result<Self, String> {
        let mut values = Self::default();
        let mut rest = line.arguments();
        for kind in kinds.bytes() {
            match kind {
                b'n' => values.counts.push(rest.count()?),
                b'i' => values.numbers.push(rest.number()?),
                b'd' => values.sizes.push(rest.datatype()?),
                b'r' => values.ranks.push(rest.number()?),
                b't' => values.tags.push(rest.number()?),
                b'v' => values.arrays.push(rest.array()?),
                b'c' => values.communicator = Some(rest.communicator()?),
                b'q' => values.address = rest.address()?,
                _ => drop(rest.text()?),
            }
        }
        match rest.is_empty() {
            true => Ok(values),
            false => Err(format!("{} has more arguments than it can have", line.name)),
        }
    }

    /// Returns the bytes of a number of elements: `counts[count]` of `sizes[size]`.
    pub(super) fn bytes(&self, count: usize, size: usize) -> Result<u64, String> {
        bytes(self.counts[count], self.sizes[size])
    }

    /// Returns the bytes for each rank, from an array of numbers of elements.
    pub(super) fn bytes_each(&self, array: usize, size: usize) -> Result<Box<[u64]>, String> {
        let size = self.sizes[size];
        self.arrays[array].iter().map(|&count| bytes_of(count, size)).collect()
    }
}

fn bytes(count: u64, size: u64) -> Result<u64, String> {
    count.checked_mul(size).ok_or_else(|| format!("{count} elements of {size} bytes are too many"))
}

fn bytes_of(count: i64, size: u64) -> Result<u64, String> {
    bytes(u64::try_from(count).map_err(|_| format!("{count} is no number of elements"))?, size)
}
