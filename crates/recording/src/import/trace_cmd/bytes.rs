//! The bytes of a `trace.dat`, read in order, with their place in every error.

use crate::import::lines::wrong;
use crate::problem::Problem;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};

/// More bytes than anything but the trace itself has.
pub(super) const MOST_BYTES: u64 = 64 << 20;

/// Bytes that are read in order: a file, or a section of it in memory.
pub(super) struct Bytes<R> {
    reader: BufReader<R>,
    at: u64,
    /// What the place is counted in: empty for the file itself.
    within: String,
}

impl Bytes<File> {
    pub(super) fn new(file: File) -> Self {
        Self { reader: BufReader::new(file), at: 0, within: String::new() }
    }

    /// Goes to a byte of the file.
    pub(super) fn seek(&mut self, at: u64) -> Result<(), Problem> {
        self.at = at;
        let done = self.reader.seek(SeekFrom::Start(at)).map(|_| ());
        done.map_err(|error| self.failed(&error))
    }

    /// Reads a section with its header: its identifier, whether it is compressed, and its content.
    pub(super) fn section(
        &mut self,
        at: u64,
        codec: Codec,
    ) -> Result<Bytes<Cursor<Vec<u8>>>, Problem> {
        self.seek(at)?;
        let compressed = self.section_header()?.1;
        let content = match compressed {
            true => self.block(codec)?,
            false => {
                self.seek(at + 8)?;
                let size = self.u64()?;
                self.take(size)?
            }
        };
        let within = format!(" of the section at byte {at}");
        Ok(Bytes { reader: BufReader::new(Cursor::new(content)), at: 0, within })
    }

    /// Reads the header of a section: its identifier, and whether it is compressed.
    pub(super) fn section_header(&mut self) -> Result<(u16, bool), Problem> {
        let (id, flags) = (self.u16()?, self.u16()?);
        self.skip(4 + 8)?;
        Ok((id, flags & 1 != 0))
    }

    /// Reads a compressed block: its size, the size of its content, and itself.
    pub(super) fn block(&mut self, codec: Codec) -> Result<Vec<u8>, Problem> {
        let (size, whole) = (self.u32()?, self.u32()?);
        if u64::from(whole) > MOST_BYTES {
            return Err(self.wrong(&format!("a block of {whole} bytes")));
        }
        let packed = self.take(u64::from(size))?;
        codec.unpack(&packed, whole as usize).map_err(|why| self.wrong(&why))
    }
}

impl<R: Read> Bytes<R> {
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Returns what is wrong at the present place.
    pub(super) fn wrong(&self, why: &str) -> Problem {
        wrong(format!("byte {}{}: {why}", self.at, self.within))
    }

    fn failed(&self, error: &io::Error) -> Problem {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => self.wrong("it ends here"),
            _ => self.wrong(&error.to_string()),
        }
    }

    /// Reads so many bytes.
    pub(super) fn take(&mut self, size: u64) -> Result<Vec<u8>, Problem> {
        if size > MOST_BYTES {
            return Err(self.wrong(&format!("{size} bytes are more than it can have")));
        }
        let mut bytes = vec![];
        let read = self.reader.by_ref().take(size).read_to_end(&mut bytes);
        match read {
            Ok(read) if read as u64 == size => {
                self.at += size;
                Ok(bytes)
            }
            Ok(_) => Err(self.failed(&io::ErrorKind::UnexpectedEof.into())),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// Skips so many bytes.
    pub(super) fn skip(&mut self, size: u64) -> Result<(), Problem> {
        let skipped = io::copy(&mut self.reader.by_ref().take(size), &mut io::sink());
        match skipped {
            Ok(skipped) if skipped == size => {
                self.at += size;
                Ok(())
            }
            Ok(_) => Err(self.failed(&io::ErrorKind::UnexpectedEof.into())),
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Problem> {
        let mut bytes = [0; N];
        self.reader.read_exact(&mut bytes).map_err(|error| self.failed(&error))?;
        self.at += N as u64;
        Ok(bytes)
    }

    pub(super) fn u8(&mut self) -> Result<u8, Problem> {
        self.array::<1>().map(|bytes| bytes[0])
    }

    pub(super) fn u16(&mut self) -> Result<u16, Problem> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Problem> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Problem> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads a text up to its zero.
    pub(super) fn text(&mut self) -> Result<String, Problem> {
        const LONGEST: u64 = 4 << 10;
        let mut bytes = vec![];
        let read = self.reader.by_ref().take(LONGEST).read_until(0, &mut bytes);
        read.map_err(|error| self.failed(&error))?;
        if bytes.pop() != Some(0) {
            return Err(self.wrong("a text without an end"));
        }
        self.at += bytes.len() as u64 + 1;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Reads a text after its size in eight bytes.
    pub(super) fn sized_text(&mut self) -> Result<String, Problem> {
        let size = self.u64()?;
        self.take(size).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// How sections are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codec {
    None,
    Zlib,
    Zstd,
}

impl Codec {
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::None),
            "zlib" => Some(Self::Zlib),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Unpacks a block of exactly so many bytes.
    fn unpack(self, packed: &[u8], whole: usize) -> Result<Vec<u8>, String> {
        let mut content = Vec::new();
        let most = whole as u64 + 1;
        let read = match self {
            Self::None => return Err("it is compressed, and the file names no compression".into()),
            Self::Zlib => {
                flate2::read::ZlibDecoder::new(packed).take(most).read_to_end(&mut content)
            }
            Self::Zstd => zstd::stream::read::Decoder::new(packed)
                .and_then(|decoder| decoder.take(most).read_to_end(&mut content)),
        };
        match read {
            Ok(read) if read == whole => Ok(content),
            Ok(_) => Err(format!("the block does not have the {whole} bytes that it states")),
            Err(error) => Err(format!("the block cannot be unpacked: {error}")),
        }
    }
}
