//! The bytes of a part file, read a block at a time.
//!
//! Parquet's own reader of files takes another descriptor for every read, and reports the lack of one as damage. It also
//! asks for each header and page by itself: in a file of many small row groups, as other programs write them, most of the
//! time would go into these reads.

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

/// At least this much is read at once.
const BLOCK: u64 = 256 << 10;

/// The file of a part. Copies share what was read last.
#[derive(Clone)]
pub(crate) struct PartFile {
    file: Arc<File>,
    bytes: u64,
    last: Arc<Mutex<Block>>,
}

/// Some bytes of the file, and where they begin.
#[derive(Default)]
struct Block {
    start: u64,
    bytes: Bytes,
}

impl Block {
    /// Returns these bytes of the file if the block has all of them.
    fn part(&self, start: u64, length: usize) -> Option<Bytes> {
        let from = usize::try_from(start.checked_sub(self.start)?).ok()?;
        let end = from.checked_add(length)?;
        (end <= self.bytes.len()).then(|| self.bytes.slice(from..end))
    }
}

impl PartFile {
    /// Reads this file, which is so long.
    pub(crate) fn new(file: File, bytes: u64) -> Self {
        Self { file: Arc::new(file), bytes, last: Arc::default() }
    }

    /// Returns as many bytes as there are, up to this length.
    fn read_at(&self, start: u64, length: usize) -> io::Result<Bytes> {
        let left = self.bytes.saturating_sub(start);
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(length);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(part) = last.part(start, length) {
            return Ok(part);
        }
        let mut bytes = Vec::new();
        let mut file = &*self.file;
        file.seek(SeekFrom::Start(start))?;
        file.take(left.min(BLOCK.max(length as u64))).read_to_end(&mut bytes)?;
        *last = Block { start, bytes: bytes.into() };
        let length = last.bytes.len().min(length); // it may have become shorter
        Ok(last.bytes.slice(..length))
    }
}

impl Length for PartFile {
    fn len(&self) -> u64 {
        self.bytes
    }
}

impl ChunkReader for PartFile {
    type T = From;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(From { file: self.clone(), at: start })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let bytes = self.read_at(start, length)?;
        if bytes.len() < length {
            return Err(ParquetError::EOF(format!("{} bytes of {length} at {start}", bytes.len())));
        }
        Ok(bytes)
    }
}

/// Reads on from a place in the file.
pub(crate) struct From {
    file: PartFile,
    at: u64,
}

impl Read for From {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read_at(self.at, buffer.len())?;
        buffer[..bytes.len()].copy_from_slice(&bytes);
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn any_bytes_are_those_of_the_file() {
        let mut file = tempfile::tempfile().expect("a file");
        let content: Vec<u8> =
            (0..600_000_u32).map(|at| (at.wrapping_mul(31) >> 3) as u8).collect();
        file.write_all(&content).expect("there is space");
        let part = PartFile::new(file, content.len() as u64);
        for (start, length) in
            [(0, 4), (10, 300_000), (5, 20), (262_000, 400), (599_990, 10), (0, 600_000)]
        {
            let bytes = part.get_bytes(start, length).expect("it is there");
            assert_eq!(
                bytes,
                content[start as usize..start as usize + length],
                "{length} at {start}"
            );
        }
        let mut rest = vec![];
        part.get_read(100).expect("it is there").read_to_end(&mut rest).expect("readable");
        assert_eq!(rest, content[100..]);
        for (start, length) in [(599_991, 10), (600_000, 1), (u64::MAX, 1)] {
            assert!(part.get_bytes(start, length).is_err(), "{length} at {start}");
        }
        assert!(part.get_bytes(600_000, 0).is_ok_and(|bytes| bytes.is_empty()));
    }
}
