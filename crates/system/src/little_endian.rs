//! Numbers in bytes of the kernel and of files, the lowest byte first.

/// Reads a number of 2 bytes; 0 beyond the end.
pub(crate) fn half(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |it| u16::from_le_bytes(*it))
}

/// Reads a number of 4 bytes; 0 beyond the end.
pub(crate) fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |it| u32::from_le_bytes(*it))
}

/// Reads a number of 8 bytes; 0 beyond the end.
pub(crate) fn long(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |it| u64::from_le_bytes(*it))
}
