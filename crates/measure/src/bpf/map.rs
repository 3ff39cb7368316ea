//! Memory that programs and we share.

use super::{bpf, bpf_open, fd_number, name_bytes};
use std::ffi::c_long;
use std::io;
use std::os::fd::OwnedFd;

const BPF_MAP_CREATE: c_long = 0;
const BPF_MAP_LOOKUP_ELEM: c_long = 1;
const BPF_MAP_UPDATE_ELEM: c_long = 2;

/// Kinds of map.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MapKind {
    /// One array per CPU.
    PerCpuArray = 6,
    /// Records of any length, written by the kernel and read through shared memory.
    RingBuffer = 27,
}

#[repr(C)]
#[derive(Default)]
struct MapCreate {
    kind: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    flags: u32,
    inner_map_fd: u32,
    numa_node: u32,
    name: [u8; 16],
}

#[repr(C)]
#[derive(Default)]
struct MapElement {
    map_fd: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// Makes a map. A ring buffer has no keys and values; its `max_entries` are bytes.
pub(crate) fn create_map(
    name: &str,
    kind: MapKind,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
) -> io::Result<OwnedFd> {
    let (kind, name) = (kind as u32, name_bytes(name));
    let mut attributes =
        MapCreate { kind, key_size, value_size, max_entries, name, ..Default::default() };
    // SAFETY: no addresses inside; the command returns a descriptor.
    unsafe { bpf_open(BPF_MAP_CREATE, &mut attributes) }
}

/// An array that has one element per possible CPU, each of `WORDS` 64-bit words.
#[derive(Debug)]
pub(crate) struct PerCpu<const WORDS: usize> {
    fd: OwnedFd,
    cpus: usize,
}

impl<const WORDS: usize> PerCpu<WORDS> {
    /// `possible_cpus` must not be less than the kernel's count, or reads would write beyond.
    pub(crate) fn new(name: &str, possible_cpus: usize) -> io::Result<Self> {
        let fd = create_map(name, MapKind::PerCpuArray, 4, 8 * WORDS as u32, 1)?;
        Ok(PerCpu { fd, cpus: possible_cpus })
    }

    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// The element of every possible CPU, in the order of the kernel's list of possible CPUs.
    pub(crate) fn read(&self) -> io::Result<Vec<[u64; WORDS]>> {
        let mut values = vec![[0; WORDS]; self.cpus];
        self.element(BPF_MAP_LOOKUP_ELEM, &mut values)?;
        Ok(values)
    }

    /// Sets the element of every possible CPU.
    pub(crate) fn write(&self, mut values: Vec<[u64; WORDS]>) -> io::Result<()> {
        values.resize(self.cpus, [0; WORDS]);
        self.element(BPF_MAP_UPDATE_ELEM, &mut values)
    }

    fn element(&self, command: c_long, values: &mut [[u64; WORDS]]) -> io::Result<()> {
        let key = 0_u32;
        let mut attributes = MapElement {
            map_fd: fd_number(&self.fd),
            key: (&raw const key) as u64,
            value: values.as_mut_ptr() as u64,
            ..Default::default()
        };
        // SAFETY: the key is 4 bytes; the values are 8 × WORDS bytes for each possible CPU.
        unsafe { bpf(command, &mut attributes).map(drop) }
    }
}
