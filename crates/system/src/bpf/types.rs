//! BTF type data for the kernel, as far as timers in maps and functions in programs need it.
//!
//! Structures and numbers are those of `include/uapi/linux/btf.h`.

use super::{bpf_open, fd_number};
use bytemuck::NoUninit;
use std::ffi::c_long;
use std::io;
use std::os::fd::OwnedFd;

const BPF_BTF_LOAD: c_long = 18;

const MAGIC: u16 = 0xeb9f;
const VERSION: u8 = 1;
const HEADER_BYTES: u32 = 24;

const INT: u32 = 1;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const FUNC: u32 = 12;
const FUNC_PROTO: u32 = 13;

/// Size of `struct bpf_timer` in bytes.
const TIMER_BYTES: u32 = 16;
/// Size of it in words.
pub const TIMER_WORDS: usize = TIMER_BYTES as usize / 8;

// Type ids of the types below, in order.
const U32: u32 = 1;
const U64: u32 = 2;
const TIMER: u32 = 3;
const WORDS: u32 = 4;
const VALUE: u32 = 5;
const PROTOTYPE: u32 = 6;
const FIRST_FUNCTION: u32 = 7;

/// The types of one map and one program: elements that start with a timer, and functions.
#[derive(Debug)]
pub struct Types {
    fd: OwnedFd,
}

/// The types of a map.
#[derive(Debug)]
pub struct MapTypes<'a> {
    pub(super) types: &'a OwnedFd,
    pub(super) key: u32,
    pub(super) value: u32,
}

/// A function of a program in the kernel's format.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct FunctionInfo {
    instruction: u32,
    of_type: u32,
}

/// The parts of a type blob.
#[derive(Default)]
struct Blob {
    types: Vec<u8>,
    strings: Vec<u8>,
}

impl Blob {
    fn string(&mut self, text: &str) -> u32 {
        let at = self.strings.len() as u32;
        self.strings.extend(text.bytes().chain([0]));
        at
    }

    /// Adds a `struct btf_type` and what follows it.
    fn add(&mut self, name: &str, kind: u32, members: u32, size_or_type: u32, rest: &[u32]) {
        let name = if name.is_empty() { 0 } else { self.string(name) };
        let words = [name, kind << 24 | members, size_or_type];
        let bytes = words.iter().chain(rest).flat_map(|word| word.to_ne_bytes());
        self.types.extend(bytes);
    }

    fn bytes(self) -> Vec<u8> {
        let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
        let head = [HEADER_BYTES, 0, types, types, strings];
        let mut bytes = Vec::from(MAGIC.to_ne_bytes());
        bytes.extend([VERSION, 0]);
        bytes.extend(head.iter().flat_map(|word| word.to_ne_bytes()));
        bytes.extend(self.types);
        bytes.extend(self.strings);
        bytes
    }
}

/// Builds the blob for elements with `words` words after the timer, and for functions with these names.
fn blob(words: u32, functions: &[&str]) -> Vec<u8> {
    let mut blob = Blob { strings: vec![0], ..Default::default() };
    let [opaque, timer, rest] = ["opaque", "timer", "words"].map(|name| blob.string(name));
    blob.add("u32", INT, 0, 4, &[32]);
    blob.add("u64", INT, 0, 8, &[64]);
    // Members have a name, a type and a bit offset. The kernel recognises a timer by its type's name.
    blob.add("bpf_timer", STRUCT, 2, TIMER_BYTES, &[opaque, U64, 0, opaque, U64, 64]);
    blob.add("", ARRAY, 0, 0, &[U64, U32, words]);
    let members = [timer, TIMER, 0, rest, WORDS, 8 * TIMER_BYTES];
    blob.add("anechoic_state", STRUCT, 2, TIMER_BYTES + 8 * words, &members);
    blob.add("", FUNC_PROTO, 0, U32, &[]);
    for name in functions {
        blob.add(name, FUNC, 0, PROTOTYPE, &[]); // static: they are never called by name
    }
    blob.bytes()
}

#[repr(C)]
#[derive(Default, Clone, Copy, NoUninit)]
struct BtfLoad {
    types: u64,
    log: u64,
    size: u32,
    log_size: u32,
    log_level: u32,
    padding: u32,
}

impl Types {
    /// Loads types for elements with a timer and `words` words after it, and for functions with these names.
    pub fn load(words: u32, functions: &[&str]) -> io::Result<Self> {
        let blob = blob(words, functions);
        let mut attributes =
            BtfLoad { types: blob.as_ptr() as u64, size: blob.len() as u32, ..Default::default() };
        // SAFETY: the blob has the given size and lives until the call returns; the command returns a
        // descriptor.
        let fd = unsafe { bpf_open(BPF_BTF_LOAD, &mut attributes)? };
        Ok(Types { fd })
    }

    /// Returns the types of a map's keys and values.
    pub fn map(&self) -> MapTypes<'_> {
        MapTypes { types: &self.fd, key: U32, value: VALUE }
    }

    pub(super) fn number(&self) -> u32 {
        fd_number(&self.fd)
    }

    /// Describes functions that begin at these instructions, in the order of their names.
    pub(super) fn functions(starts: &[u32]) -> Vec<FunctionInfo> {
        let types = FIRST_FUNCTION..;
        let info = |(&instruction, of_type)| FunctionInfo { instruction, of_type };
        starts.iter().zip(types).map(info).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_numbers_fit_together() {
        let bytes = blob(3, &["first", "second"]);
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        assert_eq!(bytes[..4], [0x9f, 0xeb, 1, 0], "on a little-endian machine");
        assert_eq!((word(4), word(8)), (HEADER_BYTES, 0));
        let (types, strings) = (word(12) as usize, word(20) as usize);
        assert_eq!((word(16) as usize, bytes.len()), (types, 24 + types + strings));
        // There are eight types of three words: two with one more, one with three more, and two with two
        // members.
        assert_eq!(types, 4 * (8 * 3 + 2 + 3 + 6 + 6));
        let names = String::from_utf8_lossy(&bytes[24 + types..]);
        assert!(names.starts_with('\0') && names.ends_with("first\0second\0"), "{names}");
        let starts: Vec<_> =
            Types::functions(&[0, 7]).iter().map(|f| (f.instruction, f.of_type)).collect();
        assert_eq!(starts, [(0, FIRST_FUNCTION), (7, FIRST_FUNCTION + 1)]);
    }
}
