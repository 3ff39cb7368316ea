//! A unit sorts 96 numbers by insertion, always the same: once the CPU has learned which way its branches go, it is fast.
//!   rustc -O --edition 2024 --crate-type cdylib -o sort.so sort.rs
//!   anechoic measure fwq --work ./sort.so:step --cpus 1

type Numbers = [u32; 96];

#[unsafe(no_mangle)]
extern "C" fn step_bytes() -> usize {
    size_of::<Numbers>()
}

#[unsafe(no_mangle)]
extern "C" fn step_prepare(numbers: &mut Numbers) -> i32 {
    let mut state = 1_u32;
    for number in numbers {
        state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        *number = state >> 8;
    }
    0
}

#[unsafe(no_mangle)]
extern "C" fn step(numbers: &Numbers, units: u64) -> u64 {
    let mut sum = 0;
    for _ in 0..units {
        let mut sorted = std::hint::black_box(*numbers);
        for end in 1..sorted.len() {
            let (number, mut at) = (sorted[end], end);
            while at > 0 && sorted[at - 1] > number {
                sorted[at] = sorted[at - 1];
                at -= 1;
            }
            sorted[at] = number;
        }
        sum += u64::from(sorted[sorted.len() / 2]);
    }
    sum
}
