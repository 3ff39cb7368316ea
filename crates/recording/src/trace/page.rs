//! A sub-buffer of the kernel's ring buffer, as `trace_pipe_raw` returns it.
//!
//! ```text
//! u64 time stamp | long commit | data ...
//! commit: bytes of data; bit 31: events were lost before this page; bit 30: how many is
//!         stored as a long right after the data
//! data:   u32 head = type_len:5 (low bits), time_delta:27, then by type_len
//!         0       u32 length (itself included), payload
//!         1..=28  payload of 4 * type_len bytes
//!         29      padding: to the end if time_delta = 0, else u32 length (itself included)
//!         30      time extend: u32 upper bits of the delta
//!         31      absolute time: u32, with time_delta the lower 59 bits of the time
//! ```
//! Everything is little endian, like all supported machines. The parser is pure: it trusts no length,
//! advances by at least four bytes in every step, and copies nothing.

const MISSED_EVENTS: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
const TIME_BITS: u32 = 27;
/// Bits of an absolute timestamp; the upper bits come from the time before it.
const ABSOLUTE_BITS: u32 = 59;
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

/// Where the parts of a page lie, from `events/header_page`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLayout {
    /// Offset of the commit word, in bytes.
    pub commit_offset: usize,
    /// Size of the commit word: 4 or 8 bytes.
    pub commit_size: usize,
    /// Offset of the data, in bytes.
    pub data_offset: usize,
    /// Size of the whole page (sub-buffer), in bytes.
    pub size: usize,
}

/// Why a page could not be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// The header is truncated.
    #[error("the page has {size} bytes and ends inside its header")]
    Header {
        /// Number of bytes.
        size: usize,
    },
    /// The commit count exceeds the page.
    #[error("it claims {commit} bytes of data but has room for {room}")]
    Commit {
        /// The number in the header.
        commit: u64,
        /// Number of bytes available.
        room: usize,
    },
    /// A record extends beyond the end of the data.
    #[error("the record at byte {at} of its data extends beyond the end")]
    Overrun {
        /// Offset in the data.
        at: usize,
    },
    /// A record's length is less than the size of its length field.
    #[error("the record at byte {at} of its data has the impossible length {length}")]
    Length {
        /// Offset in the data.
        at: usize,
        /// The length that it states.
        length: u32,
    },
}

/// How many events were lost between the previous page and this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missed {
    /// None.
    Nothing,
    /// This number of events.
    Count(u64),
    /// Some events: the page was too full for the kernel to store the number.
    Unknown,
}

/// A parsed page header with its data.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// The time of the page, from which the first record's delta counts.
    pub time: u64,
    /// How many events were lost before this page.
    pub missed: Missed,
    data: &'a [u8],
}

/// An event of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// The time, in the unit of the buffer's clock.
    pub time: u64,
    /// The event, starting with its `common_type`.
    pub payload: &'a [u8],
}

impl<'a> Page<'a> {
    /// Parses the header of `bytes`.
    ///
    /// # Errors
    /// Returns [`PageError::Header`] and [`PageError::Commit`].
    pub fn parse(bytes: &'a [u8], layout: &PageLayout) -> Result<Self, PageError> {
        let short = PageError::Header { size: bytes.len() };
        let time = word(bytes, 0, 8).ok_or(short)?;
        let commit = word(bytes, layout.commit_offset, layout.commit_size).ok_or(short)?;
        let room = bytes.get(layout.data_offset..).ok_or(short)?;
        // The kernel adds bit 31 as a signed number, so the upper half of a long has its sign.
        let length = commit & u64::from(u32::MAX) & !(MISSED_EVENTS | MISSED_STORED);
        let data = usize::try_from(length)
            .ok()
            .and_then(|length| room.get(..length))
            .ok_or(PageError::Commit { commit: length, room: room.len() })?;
        let missed = match (commit & MISSED_EVENTS != 0, commit & MISSED_STORED != 0) {
            (false, _) => Missed::Nothing,
            (true, false) => Missed::Unknown,
            (true, true) => {
                word(room, data.len(), layout.commit_size).map_or(Missed::Unknown, Missed::Count)
            }
        };
        Ok(Self { time, missed, data })
    }

    /// Returns the events in time order.
    #[must_use]
    pub fn records(&self) -> Records<'a> {
        Records { data: self.data, at: 0, time: self.time }
    }
}

/// Iterates over the events of one page. An error is the last item.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    data: &'a [u8],
    at: usize,
    time: u64,
}

impl<'a> Records<'a> {
    /// Advances past the next record; returns `Ok(None)` if it is not an event.
    #[inline]
    fn step(&mut self, head: u32) -> Result<Option<Record<'a>>, PageError> {
        let (type_len, delta) = (head & 31, u64::from(head >> 5));
        match type_len {
            PADDING if delta == 0 => self.at = self.data.len(),
            PADDING => {
                self.long()?;
                self.time = self.time.wrapping_add(delta);
            }
            TIME_EXTEND => {
                self.time = self.time.wrapping_add(self.extended(delta)?);
                self.at += 8;
            }
            TIME_STAMP => {
                self.time = absolute(self.extended(delta)?, self.time);
                self.at += 8;
            }
            words => {
                let payload = if words == 0 { self.long()? } else { self.short(words)? };
                self.time = self.time.wrapping_add(delta);
                return Ok(Some(Record { time: self.time, payload }));
            }
        }
        Ok(None)
    }

    /// Takes a record whose length is in its head.
    #[inline]
    fn short(&mut self, words: u32) -> Result<&'a [u8], PageError> {
        let (start, end) = (self.at + 4, self.at + 4 + 4 * words as usize);
        let payload = self.data.get(start..end).ok_or(PageError::Overrun { at: self.at })?;
        self.at = end;
        Ok(payload)
    }

    /// Takes a record whose length follows its head and includes itself.
    fn long(&mut self) -> Result<&'a [u8], PageError> {
        let at = self.at;
        let length = u32_at(self.data, at + 4).ok_or(PageError::Overrun { at })?;
        if length < 4 {
            return Err(PageError::Length { at, length });
        }
        let end = (at + 4).checked_add(length as usize).ok_or(PageError::Overrun { at })?;
        let payload = self.data.get(at + 8..end).ok_or(PageError::Overrun { at })?;
        self.at = end;
        Ok(payload)
    }

    fn extended(&self, delta: u64) -> Result<u64, PageError> {
        let upper = u32_at(self.data, self.at + 4).ok_or(PageError::Overrun { at: self.at })?;
        Ok((u64::from(upper) << TIME_BITS) + delta)
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, PageError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while self.at < self.data.len() {
            let head = u32_at(self.data, self.at).ok_or(PageError::Overrun { at: self.at });
            match head.and_then(|head| self.step(head)) {
                Ok(None) => {}
                Ok(Some(record)) => return Some(Ok(record)),
                Err(error) => {
                    self.at = self.data.len();
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

/// Completes an absolute time with the upper bits of the time before it, like the kernel's own reader.
fn absolute(stamp: u64, before: u64) -> u64 {
    let upper = before >> ABSOLUTE_BITS << ABSOLUTE_BITS;
    let time = stamp & ((1 << ABSOLUTE_BITS) - 1) | upper;
    // The lower bits have overflowed since the time before.
    if upper != 0 && time < before { time.wrapping_add(1 << ABSOLUTE_BITS) } else { time }
}

#[inline]
fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*bytes))
}

/// Reads a word of 4 or 8 bytes.
fn word(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    match size {
        4 => u32_at(bytes, at).map(u64::from),
        8 => Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk::<8>()?)),
        _ => None,
    }
}
