//! Memory shared with BPF programs.

use super::types::MapTypes;
use super::{bpf, bpf_open, fd_number, name_bytes};
use bytemuck::NoUninit;
use std::ffi::c_long;
use std::io;
use std::os::fd::OwnedFd;

const BPF_MAP_CREATE: c_long = 0;
const BPF_MAP_LOOKUP_ELEM: c_long = 1;
const BPF_MAP_UPDATE_ELEM: c_long = 2;
const BPF_MAP_UPDATE_BATCH: c_long = 26;

/// The type of a map.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MapKind {
    /// One array.
    Array = 2,
    /// One array per CPU.
    PerCpuArray = 6,
    /// Records of any length, written by the program and read through shared memory.
    RingBuffer = 27,
}

#[repr(C)]
#[derive(Default, Clone, Copy, NoUninit)]
struct MapCreate {
    kind: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    flags: u32,
    inner_map_fd: u32,
    numa_node: u32,
    name: [u8; 16],
    interface: u32,
    types: u32,
    key_type: u32,
    value_type: u32,
}

#[repr(C)]
#[derive(Default, Clone, Copy, NoUninit)]
struct MapElement {
    map_fd: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
#[derive(Default, Clone, Copy, NoUninit)]
struct MapBatch {
    in_batch: u64,
    out_batch: u64,
    keys: u64,
    values: u64,
    count: u32,
    map_fd: u32,
    element_flags: u64,
    flags: u64,
}

/// Creates a map. A ring buffer has no keys or values; its `max_entries` is a size in bytes.
pub(crate) fn create_map(
    name: &str,
    kind: MapKind,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    types: Option<&MapTypes<'_>>,
) -> io::Result<OwnedFd> {
    let (kind, name) = (kind as u32, name_bytes(name));
    let mut attributes =
        MapCreate { kind, key_size, value_size, max_entries, name, ..Default::default() };
    if let Some(types) = types {
        attributes.types = fd_number(types.types);
        (attributes.key_type, attributes.value_type) = (types.key, types.value);
    }
    // SAFETY: the attributes contain no addresses, and the command returns a descriptor.
    unsafe { bpf_open(BPF_MAP_CREATE, &mut attributes) }
}

/// Reads or writes the element of `key`.
///
/// # Safety
/// `value` must point to as many bytes as the map has for one key: on all possible CPUs, if it has one per CPU.
unsafe fn element(fd: &OwnedFd, command: c_long, key: u32, value: *mut u64) -> io::Result<()> {
    let mut attributes = MapElement {
        map_fd: fd_number(fd),
        key: (&raw const key) as u64,
        value: value as u64,
        ..Default::default()
    };
    // SAFETY: the key has 4 bytes; the caller guarantees the value.
    unsafe { bpf(command, &mut attributes).map(drop) }
}

/// An array with elements of `WORDS` 64-bit words.
#[derive(Debug)]
pub struct Array<const WORDS: usize> {
    fd: OwnedFd,
}

impl<const WORDS: usize> Array<WORDS> {
    /// Creates an array of zeros.
    pub fn new(name: &str, length: u32) -> io::Result<Self> {
        Self::create(name, length, None)
    }

    /// Creates an array whose elements have parts of known type, which only the kernel writes.
    pub fn with_types(name: &str, length: u32, types: &MapTypes<'_>) -> io::Result<Self> {
        Self::create(name, length, Some(types))
    }

    fn create(name: &str, length: u32, types: Option<&MapTypes<'_>>) -> io::Result<Self> {
        let fd = create_map(name, MapKind::Array, 4, 8 * WORDS as u32, length, types)?;
        Ok(Array { fd })
    }

    /// Returns the map's descriptor, by which programs refer to it.
    pub fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// Reads one element; parts that only the kernel uses are 0.
    pub fn read(&self, index: u32) -> io::Result<[u64; WORDS]> {
        let mut value = [0; WORDS];
        // SAFETY: an element has 8 × WORDS bytes.
        unsafe { element(&self.fd, BPF_MAP_LOOKUP_ELEM, index, value.as_mut_ptr())? };
        Ok(value)
    }

    /// Writes one element; what the kernel keeps in it, such as a timer, ends.
    pub fn write(&self, index: u32, mut value: [u64; WORDS]) -> io::Result<()> {
        // SAFETY: an element has 8 × WORDS bytes.
        unsafe { element(&self.fd, BPF_MAP_UPDATE_ELEM, index, value.as_mut_ptr()) }
    }

    /// Writes the first elements.
    pub fn fill(&self, values: &[[u64; WORDS]]) -> io::Result<()> {
        let keys: Vec<u32> = (0..values.len() as u32).collect();
        let mut attributes = MapBatch {
            keys: keys.as_ptr() as u64,
            values: values.as_ptr() as u64,
            count: keys.len() as u32,
            map_fd: fd_number(&self.fd),
            ..Default::default()
        };
        // SAFETY: there are `count` keys of 4 bytes and values of 8 × WORDS bytes, which are only read.
        unsafe { bpf(BPF_MAP_UPDATE_BATCH, &mut attributes).map(drop) }
    }
}

/// An array with one element per possible CPU, each of `WORDS` 64-bit words.
#[derive(Debug)]
pub struct PerCpu<const WORDS: usize> {
    fd: OwnedFd,
    cpus: usize,
}

impl<const WORDS: usize> PerCpu<WORDS> {
    /// `possible_cpus` must be at least the kernel's count, or reads would write beyond the buffer.
    pub fn new(name: &str, possible_cpus: usize) -> io::Result<Self> {
        let fd = create_map(name, MapKind::PerCpuArray, 4, 8 * WORDS as u32, 1, None)?;
        Ok(PerCpu { fd, cpus: possible_cpus })
    }

    /// Returns the map's descriptor, by which programs refer to it.
    pub fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// Reads the elements of all possible CPUs, in the order of the kernel's list of possible CPUs.
    pub fn read(&self) -> io::Result<Vec<[u64; WORDS]>> {
        let mut values = vec![[0; WORDS]; self.cpus];
        // SAFETY: there are 8 × WORDS bytes for each possible CPU.
        unsafe { element(&self.fd, BPF_MAP_LOOKUP_ELEM, 0, values.as_mut_ptr().cast())? };
        Ok(values)
    }

    /// Writes the elements of all possible CPUs.
    pub fn write(&self, mut values: Vec<[u64; WORDS]>) -> io::Result<()> {
        values.resize(self.cpus, [0; WORDS]);
        // SAFETY: there are 8 × WORDS bytes for each possible CPU.
        unsafe { element(&self.fd, BPF_MAP_UPDATE_ELEM, 0, values.as_mut_ptr().cast()) }
    }
}
