//! Every work kernel does its work as often as requested.

use anechoic_kernels::work::{Family, KERNELS, find};
use std::collections::HashSet;

#[test]
fn the_value_is_the_one_expected() {
    for kernel in KERNELS {
        for iterations in [1, 2, 3, 4, 7, 250, 251, 1_000, 12_345] {
            let value = (kernel.run)(iterations);
            assert_eq!(value, (kernel.expected)(iterations), "{} × {iterations}", kernel.id);
        }
    }
}

#[test]
fn every_iteration_counts_in_the_value() {
    // The division chains of AArch64 return to their initial values, so they are summed instead.
    for kernel in KERNELS {
        let values: HashSet<u64> = (1..=64).map(kernel.expected).collect();
        // F(1) = F(2) are the only two equal numbers.
        let equal = usize::from(kernel.id.starts_with("fibonacci"));
        assert_eq!(values.len() + equal, 64, "{}", kernel.id);
    }
}

#[test]
fn what_is_expected_of_very_many_iterations_is_known_at_once() {
    for kernel in KERNELS {
        assert_ne!((kernel.expected)(u64::MAX), (kernel.expected)(u64::MAX - 1), "{}", kernel.id);
    }
}

#[test]
fn each_kernel_is_found_by_its_name() {
    let names: HashSet<_> = KERNELS.iter().map(|kernel| kernel.id).collect();
    assert_eq!(names.len(), KERNELS.len(), "two kernels have one name");
    for kernel in KERNELS {
        assert!(std::ptr::eq(find(kernel.id).expect("found"), kernel));
        let instructions = match kernel.family {
            Family::Null => 0,
            Family::Tick => 512,
            Family::DoNothing | Family::Trap => 1,
        };
        assert_eq!(kernel.instructions, instructions, "{}", kernel.id);
    }
    assert!(find("").is_none() && find("INTADD").is_none());
}
