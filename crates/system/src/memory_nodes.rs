//! NUMA nodes: binding memory to one, and on which one it lies.

use crate::machine::{FreeMemory, Root, memory_bytes};
use anechoic_recording::{Problem, ProblemKind};
use std::io;
use std::ptr::{self, NonNull};

/// Bits of a mask of nodes; Linux has at most 1,024 of them.
const MOST: usize = 1024;
const BITS: usize = libc::c_ulong::BITS as usize;
/// At most this many pages of a range are asked for.
const ASKED: usize = 4096;

/// While it exists, memory that this thread and those that it starts touch for the first time is on one node.
#[derive(Debug)]
pub struct Bound(());

/// Binds new memory of this thread, and of threads that it starts, to a node.
///
/// # Errors
/// Fails if the machine has no such node, or this process may not use its memory.
pub fn bind(node: u32) -> Result<Bound, Problem> {
    let mut mask = [0 as libc::c_ulong; MOST / BITS];
    let place = node as usize;
    let word = mask.get_mut(place / BITS).ok_or_else(|| refused(node, "there is none"))?;
    *word |= 1 << (place % BITS);
    policy(libc::MPOL_BIND, &mask).map_err(|error| match error.raw_os_error() {
        Some(libc::EINVAL) => refused(node, "there is none, or this process may not use it"),
        _ => refused(node, &error.to_string()),
    })?;
    Ok(Bound(()))
}

impl Drop for Bound {
    fn drop(&mut self) {
        let _ = policy(libc::MPOL_DEFAULT, &[]); // it cannot fail
    }
}

fn policy(mode: libc::c_int, mask: &[libc::c_ulong]) -> io::Result<()> {
    let bits = if mask.is_empty() { 0 } else { MOST + 1 }; // the kernel counts one less
    // SAFETY: the kernel reads that many bits of the mask at most.
    let set = unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, mask.as_ptr(), bits) };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn refused(node: u32, why: &str) -> Problem {
    let why = format!("cannot use the memory of node {node}: {why}");
    ProblemKind::Usage.problem(
        why,
        "ls -d /sys/devices/system/node/node* shows the nodes; in a container see cpuset.mems",
    )
}

/// Returns the node of memory that was touched, if all of it is on the same; of large ranges some pages are asked for.
#[must_use]
pub fn node_of(start: NonNull<u8>, bytes: usize) -> Option<u32> {
    let page = rustix::param::page_size();
    let count = bytes.div_ceil(page);
    let every = count.div_ceil(ASKED).max(1);
    let pages: Vec<*mut libc::c_void> =
        (0..count).step_by(every).map(|at| start.as_ptr().wrapping_add(at * page).cast()).collect();
    let mut nodes: Vec<libc::c_int> = vec![-1; pages.len()];
    // SAFETY: without target nodes nothing is moved; the kernel writes one number for each page.
    let done = unsafe {
        let (own, no_targets) = (0, ptr::null::<libc::c_int>());
        let (addresses, found) = (pages.as_ptr(), nodes.as_mut_ptr());
        libc::syscall(libc::SYS_move_pages, own, pages.len(), addresses, no_targets, found, 0)
    };
    let first = *nodes.first().filter(|_| done == 0)?;
    let same = nodes.iter().all(|&node| node == first);
    u32::try_from(first).ok().filter(|_| same)
}

/// Returns the free memory of a node; none if there is no such node.
#[must_use]
pub fn free(root: &Root, node: u32) -> Option<FreeMemory> {
    let list = root.read(&format!("/sys/devices/system/node/node{node}/meminfo"))?;
    let prefix = format!("Node {node} ");
    let lines: String = list
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix(&prefix))
        .flat_map(|line| [line, "\n"])
        .collect();
    // Pages of files that nobody used lately are given up for others.
    let of_files = memory_bytes(&lines, "Inactive(file):").unwrap_or(0);
    let bytes = memory_bytes(&lines, "MemFree:")?.saturating_add(of_files);
    Some(FreeMemory { bytes, by_cgroup: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_memory_is_on_the_node_that_it_is_bound_to() {
        let _bound = bind(0).expect("every machine has node 0");
        let mut memory = vec![1_u8; 8 << 20];
        let start = NonNull::new(memory.as_mut_ptr()).expect("there is some");
        assert_eq!(node_of(start, memory.len()), Some(0));
    }

    #[test]
    fn a_node_that_does_not_exist_is_refused() {
        for node in [1023, 1024, u32::MAX] {
            let problem = bind(node).expect_err("no machine has that many").to_string();
            assert!(problem.contains(&format!("node {node}")), "{problem}");
        }
    }

    #[test]
    fn memory_that_was_never_touched_is_on_no_node() {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
        let page = rustix::param::page_size();
        // SAFETY: a new mapping at an address that the kernel chooses, which is given back below.
        let start =
            unsafe { mmap_anonymous(ptr::null_mut(), page, ProtFlags::READ, MapFlags::PRIVATE) };
        let start = start.expect("a page");
        assert_eq!(node_of(NonNull::new(start.cast()).expect("not null"), page), None);
        // SAFETY: nothing borrows from it.
        unsafe { munmap(start, page) }.expect("it was mapped");
    }

    #[test]
    fn free_memory_of_a_node_includes_what_files_give_up() {
        let list =
            "Node 1 MemTotal:  4000 kB\nNode 1 MemFree:   1000 kB\nNode 1 Inactive(file):  24 kB\n";
        let (_directory, root) = Root::tree(&[("sys/devices/system/node/node1/meminfo", list)]);
        assert_eq!(free(&root, 1).map(|free| free.bytes), Some(1024 << 10));
        assert_eq!(free(&root, 0), None);
    }
}
