//! Files on the image's disk.

use super::{Guid, Table};
use core::fmt::{self, Arguments, Display, Formatter, Write};
use core::ptr::null;

/// Offset in a file system.
const OPEN_VOLUME: usize = 8;
/// Offsets in a file.
const OPEN: usize = 8;
const CLOSE: usize = 16;
const READ: usize = 32;
const WRITE: usize = 40;
const GET_INFO: usize = 64;
const FLUSH: usize = 80;
/// How a file is opened: to read, or to write and created.
const TO_READ: usize = 1;
const TO_CREATE: usize = 1 << 63 | 3;
/// What describes a whole file system; its fourth number is the free space.
const SYSTEM_INFO: Guid =
    Guid(0x0957_6e93, 0x6d3f, 0x11d2, [0x8e, 0x39, 0x00, 0xa0, 0xc9, 0x69, 0x72, 0x3b]);

/// Why the firmware did not do something; 0 is success.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Status(usize);

impl Status {
    /// There is no file system.
    const ABSENT: Self = Status(ERROR | 14);
    const FULL: Self = Status(ERROR | 11);

    fn ok(self) -> Result<(), Self> {
        if self == Status(0) { Ok(()) } else { Err(self) }
    }
}

/// The bit of all errors.
const ERROR: usize = 1 << 63;

impl Display for Status {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Status(code) = *self;
        match code ^ ERROR {
            7 => f.write_str("the disk does not work"),
            8 => f.write_str("the disk is write protected"),
            9 | 11 => f.write_str("the disk is full"),
            10 => f.write_str("the disk's file system is damaged"),
            12 | 13 => f.write_str("the disk was taken out"),
            14 => f.write_str("there is no file system on the image's disk"),
            15 => f.write_str("the disk does not allow it"),
            _ => write!(f, "the firmware reports {code:#x}"),
        }
    }
}

/// The disk that the image was started from.
pub(super) struct Disk {
    root: Option<Table>,
    result: Option<Table>,
}

impl Disk {
    /// Opens the root directory of a file system, if there is one.
    pub(super) fn new(system: Option<Table>) -> Self {
        let root = system.and_then(|system| {
            let mut root = Table(null());
            let status = system.method(OPEN_VOLUME, &[(&raw mut root).addr(), 0, 0, 0]);
            (status == 0).then_some(root)
        });
        Disk { root, result: None }
    }

    /// Opens a file in the root directory.
    fn open(&self, name: Arguments<'_>, mode: usize) -> Result<Table, Status> {
        let mut wide = Wide([0; 32], 0);
        let root = self.root.filter(|_| write!(wide, "{name}").is_ok()).ok_or(Status::ABSENT)?;
        let mut file = Table(null());
        let into = (&raw mut file).addr();
        Status(root.method(OPEN, &[into, wide.0.as_ptr().addr(), mode, 0])).ok()?;
        Ok(file)
    }

    /// Reads a file, if there is one; one that cannot be read is empty.
    pub(super) fn read<'b>(&self, name: Arguments<'_>, bytes: &'b mut [u8]) -> Option<&'b [u8]> {
        let file = self.open(name, TO_READ).ok()?;
        let mut count = bytes.len();
        let status = file.method(READ, &[(&raw mut count).addr(), bytes.as_mut_ptr().addr(), 0, 0]);
        file.method(CLOSE, &[0; 4]);
        Some(&bytes[..if status == 0 { count } else { 0 }])
    }

    /// Creates the first file for results that does not exist yet, and returns its number.
    pub(super) fn create_result(&mut self) -> Result<u32, Status> {
        let is_free = |number: &u32| {
            let old = self.open(format_args!("result-{number}.txt"), TO_READ);
            old.inspect(|old| _ = old.method(CLOSE, &[0; 4])).is_err()
        };
        let number = (1..=9999).find(is_free).unwrap_or(9999);
        self.result = Some(self.open(format_args!("result-{number}.txt"), TO_CREATE)?);
        Ok(number)
    }

    /// Returns whether there is a file that takes the result.
    pub(super) fn has_result(&self) -> bool {
        self.result.is_some()
    }

    /// Adds to the file of the result. After an error nothing more is added.
    pub(super) fn write(&mut self, news: &[u8]) -> Result<(), Status> {
        let Some(file) = self.result else { return Ok(()) };
        let mut count = news.len();
        let wrote = file.method(WRITE, &[(&raw mut count).addr(), news.as_ptr().addr(), 0, 0]);
        let flushed = file.method(FLUSH, &[0; 4]);
        let all = if count < news.len() { Err(Status::FULL) } else { Ok(()) };
        let done = Status(wrote).ok().and(all).and(Status(flushed).ok());
        if done.is_err() {
            self.close();
        }
        done
    }

    /// Closes the file of the result.
    pub(super) fn close(&mut self) {
        if let Some(file) = self.result.take() {
            file.method(CLOSE, &[0; 4]);
        }
    }

    /// Returns the free space in bytes.
    pub(super) fn free_bytes(&self) -> Option<u64> {
        let (id, mut info) = (SYSTEM_INFO, [0_u64; 64]);
        let mut bytes = size_of_val(&info);
        let into = [(&raw const id).addr(), (&raw mut bytes).addr(), info.as_mut_ptr().addr(), 0];
        let status = self.root?.method(GET_INFO, &into);
        (status == 0).then_some(info[3])
    }
}

/// A text as the firmware wants it, ended by 0.
struct Wide([u16; 32], usize);

impl Write for Wide {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for byte in text.bytes() {
            *self.0[..31].get_mut(self.1).ok_or(core::fmt::Error)? = u16::from(byte);
            self.1 += 1;
        }
        Ok(())
    }
}
