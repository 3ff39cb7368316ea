//! Every work kernel with a workspace does its work as often as requested.

use anechoic_kernels::memory::{KERNELS, Line, Params, find};
use anechoic_kernels::work;
use std::collections::HashSet;

#[test]
fn the_value_is_the_one_expected_each_time() {
    for kernel in KERNELS {
        for bytes in [64, 4_000, 4_096, 100_000] {
            let params = Params { bytes };
            let mut memory = vec![Line::ZERO; params.lines() + 1];
            let mut workspace = (kernel.prepare)(&params, &mut memory);
            let pass = (kernel.pass)(&params);
            assert!(pass > 0, "{} of {bytes} bytes", kernel.id);
            for iterations in [1, 2, pass, pass, 2 * pass + 1] {
                let value = (kernel.run)(&mut workspace, iterations);
                let expected = (kernel.expected)(&params, iterations);
                assert_eq!(value, expected, "{}: {iterations} of {bytes} bytes", kernel.id);
            }
        }
    }
}

#[test]
fn each_kernel_is_found_by_its_name() {
    let names: HashSet<_> = KERNELS.iter().map(|kernel| kernel.id).collect();
    assert_eq!(names.len(), KERNELS.len(), "two kernels have one name");
    for kernel in KERNELS {
        assert!(std::ptr::eq(find(kernel.id).expect("found"), kernel));
        assert!(work::find(kernel.id).is_none(), "{} has two rows", kernel.id);
    }
}
