//! Sorts random numbers: work that lives in the caches (Tsafrir 2007).
//!
//! Introsort (Musser 1997): quicksort with the median of three, insertion sort for short parts, and heapsort
//! if the parts shrink too slowly. It is our own so that it does the same with every compiler version.

use super::{Line, MemoryKernel, Params, Workspace};

pub(super) const KERNEL: MemoryKernel = MemoryKernel {
    id: "sort",
    what: "introsort of random numbers that fill the working set: longer when the core is taken away or clocked down, or others used its caches",
    instructions: 1,
    pass,
    prepare,
    run,
    // A number counts if its array was sorted and still had all its numbers.
    expected: |_, iterations| iterations,
};

/// Returns how many numbers the working set has; an iteration sorts one of them.
fn pass(params: &Params) -> u64 {
    params.bytes / size_of::<u32>() as u64
}

fn prepare<'m>(params: &Params, lines: &'m mut [Line]) -> Workspace<'m> {
    let mut workspace = Workspace { lines, params: *params };
    fill(numbers(&mut workspace));
    workspace
}

/// Returns the working set as numbers.
fn numbers<'a>(workspace: &'a mut Workspace<'_>) -> &'a mut [u32] {
    let Workspace { lines, params } = workspace;
    let count = size_of_val::<[Line]>(&**lines) / size_of::<u32>();
    // SAFETY: a line is sixteen numbers, any bits are a valid number, and the borrow of the lines continues.
    let all = unsafe { core::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), count) };
    &mut all[..pass(params) as usize]
}

/// Fills the working set with the same random numbers and sorts them, repeatedly; the last time only as many
/// as are left. Returns how many were sorted correctly.
#[inline(never)]
fn run(workspace: &mut Workspace<'_>, iterations: u64) -> u64 {
    let numbers = numbers(workspace);
    let (mut left, mut right) = (iterations, 0);
    while left > 0 {
        let part = left.min(numbers.len() as u64);
        let array = &mut numbers[..part as usize];
        let checksum = fill(array);
        introsort(array);
        right += if is_right(array, checksum) { part } else { 0 };
        left -= part.max(1);
    }
    right
}

/// Parts shorter than this are sorted by insertion.
const SHORT: usize = 16;
/// The initial state of the generator; any constant will do.
const SEED: u64 = 0x5851_F42D_4C95_7F2D;

/// Fills `array` with the same random numbers each time and returns their checksum.
///
/// The numbers are generated (a linear congruential generator, Knuth's constants, upper half) because a
/// stored copy of them would occupy part of the caches.
fn fill(array: &mut [u32]) -> u64 {
    let (mut state, mut sum) = (SEED, 0);
    for number in array {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *number = (state >> 32) as u32;
        sum = add(sum, *number);
    }
    sum
}

/// Returns whether `array` is in ascending order and has this checksum.
fn is_right(array: &[u32], checksum: u64) -> bool {
    array.is_sorted() && array.iter().fold(0, |sum, &number| add(sum, number)) == checksum
}

/// Adds the square of a number to the checksum, which detects a changed or duplicated number in any order.
fn add(sum: u64, number: u32) -> u64 {
    let number = u64::from(number);
    sum.wrapping_add(number.wrapping_mul(number))
}

/// Sorts in ascending order and in place.
#[inline(never)]
fn introsort(array: &mut [u32]) {
    let depth = 2 * array.len().checked_ilog2().unwrap_or(0);
    sort(array, depth);
}

/// Sorts recursively, at most `depth` deep. Only the shorter part is sorted by a call, so calls nest only as
/// often as a length can be halved.
fn sort(mut array: &mut [u32], mut depth: u32) {
    while array.len() >= SHORT {
        if depth == 0 {
            return heapsort(array);
        }
        depth -= 1;
        let middle = partition(array);
        let (low, high) = array.split_at_mut(middle);
        let (shorter, longer) = if low.len() < high.len() { (low, high) } else { (high, low) };
        sort(shorter, depth);
        array = longer;
    }
    insertion(array);
}

/// Moves the numbers below the median of the first, middle and last one to the front (Hoare) and returns the
/// index where the others begin; neither part is empty. The array has at least three numbers.
fn partition(array: &mut [u32]) -> usize {
    let last = array.len() - 1;
    let (a, b, c) = (array[0], array[last / 2], array[last]);
    let median = a.min(b).max(a.max(b).min(c));
    let (mut low, mut high) = (0, last);
    loop {
        // The median stops both scans the first time, and the exchanged numbers stop them later.
        while array[low] < median {
            low += 1;
        }
        while array[high] > median {
            high -= 1;
        }
        if low >= high {
            return low.max(1);
        }
        array.swap(low, high);
        low += 1;
        high -= 1;
    }
}

fn insertion(array: &mut [u32]) {
    for end in 1..array.len() {
        let number = array[end];
        let mut at = end;
        while at > 0 && array[at - 1] > number {
            array[at] = array[at - 1];
            at -= 1;
        }
        array[at] = number;
    }
}

fn heapsort(array: &mut [u32]) {
    for root in (0..array.len() / 2).rev() {
        sift_down(array, root);
    }
    for end in (1..array.len()).rev() {
        array.swap(0, end);
        sift_down(&mut array[..end], 0);
    }
}

/// Moves the number at `root` down until none below it is greater.
fn sift_down(heap: &mut [u32], mut root: usize) {
    while let Some(&left) = heap.get(2 * root + 1) {
        let mut child = 2 * root + 1;
        if heap.get(child + 1).is_some_and(|&right| right > left) {
            child += 1;
        }
        if heap[child] <= heap[root] {
            return;
        }
        heap.swap(root, child);
        root = child;
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec::Vec;

    fn cases() -> Vec<(&'static str, Vec<u32>)> {
        let mut random = std::vec![0; 5_000];
        fill(&mut random);
        let few = random.iter().map(|number| number % 3).collect();
        let saw = (0..1_000).map(|i| i % 17).collect();
        let organ = (0..500).chain((0..500).rev()).collect();
        std::vec![
            ("empty", Vec::new()),
            ("one", std::vec![7]),
            ("two", std::vec![2, 1]),
            ("just short", (0..15).rev().collect()),
            ("just not short", (0..16).rev().collect()),
            ("ascending", (0..1_000).collect()),
            ("descending", (0..1_000).rev().collect()),
            ("all equal", std::vec![5; 1_000]),
            ("few values", few),
            ("saw", saw),
            ("organ pipes", organ),
            ("greatest and least", std::vec![u32::MAX, 0, u32::MAX, 0].repeat(100)),
            ("random", random),
        ]
    }

    #[test]
    fn every_array_is_sorted_and_keeps_its_numbers() {
        for (name, array) in cases() {
            let mut expected = array.clone();
            expected.sort_unstable();
            let whole: fn(&mut [u32]) = introsort;
            let heap: fn(&mut [u32]) = |array| sort(array, 0);
            let shallow: fn(&mut [u32]) = |array| sort(array, 3);
            for (way, by) in [("whole", whole), ("heap", heap), ("shallow", shallow)] {
                let mut sorted = array.clone();
                by(&mut sorted);
                assert_eq!(sorted, expected, "case: {name}, {way}");
            }
        }
    }

    #[test]
    fn both_parts_hold_something_and_belong_there() {
        for (name, mut array) in cases().into_iter().filter(|(_, array)| array.len() > 2) {
            let at = partition(&mut array);
            assert!(at > 0 && at < array.len(), "case: {name}: {at} of {}", array.len());
            let (low, high) = array.split_at(at);
            assert!(low.iter().max() <= high.iter().min(), "case: {name}");
        }
    }

    #[test]
    fn the_sequence_is_always_the_same_and_looks_random() {
        let (mut once, mut again) = (std::vec![0; 10_000], std::vec![1; 10_000]);
        assert_eq!(fill(&mut once), fill(&mut again));
        assert_eq!(once, again);
        let mean = once.iter().map(|&n| f64::from(n)).sum::<f64>() / 1e4 / f64::from(u32::MAX);
        assert!((mean - 0.5).abs() < 0.02, "{mean}");
        once.sort_unstable();
        once.dedup();
        assert!(once.len() > 9_990, "{} different numbers", once.len());
    }

    #[test]
    fn a_wrong_answer_is_seen() {
        let mut array = std::vec![0; 1_000];
        let checksum = fill(&mut array);
        assert!(!is_right(&array, checksum), "not sorted");
        introsort(&mut array);
        assert!(is_right(&array, checksum));
        array[500] = array[499];
        assert!(!is_right(&array, checksum), "one number stands there twice");
    }
}
