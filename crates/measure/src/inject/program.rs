//! The programs that run in the interrupts of a `cpu-clock` event: one that spins, one that only
//! counts.
//!
//! In C, the one that spins (the other has no loop):
//!
//! ```c
//! SEC("perf_event")
//! int spin(struct bpf_perf_event_data *sample)
//! {
//!     u64 start = bpf_ktime_get_ns(), spent;
//!     struct state *state = bpf_map_lookup_elem(&states, &(u32){0});   // this CPU's
//!     if (!state) return 0;
//!     u32 round = 0;
//!     do {
//!         for (int i = 1; i < READINGS; i++) bpf_ktime_get_ns();       // written out
//!         spent = bpf_ktime_get_ns() - start;
//!         if (++round >= ROUNDS) break;
//!     } while (spent < state->duration_ns);
//!     if (spent < state->duration_ns) state->cut_short++;
//!     state->count++;
//!     return 0;                                                        // nobody wants the sample
//! }
//! ```
//!
//! Why a plain loop: it is all that needs no kprobe, no `bpf_loop` (5.17) and no raised limit. The
//! verifier walks through every round of it (since Linux 5.3) and accepts a million instructions
//! (since 5.2), so the number of rounds is bounded. Why a round reads the clock several times: the
//! reading is what takes time, and the fewer other instructions stand between, the longer a program
//! of a million may spin. Why the way back is a jump that depends on the time and the way out is
//! not: the verifier puts what a jump leads to aside, 8,192 of them at most, and follows what does
//! not jump. So it meets each way out, which it knows from the round before, and has one way back
//! aside instead of a way out for each round.

use anechoic_system::bpf::{Assembler, Instruction, KTIME_GET_NS, R0, R1, R2, Register, STACK};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// 64-bit words of one CPU's state: duration, count, cut short.
pub(super) const STATE_WORDS: usize = 3;
/// Word of the state: how long to spin, in nanoseconds.
pub(super) const DURATION: usize = 0;
/// Word of the state: how often the program ran.
pub(super) const COUNT: usize = 1;
/// Word of the state: how often the rounds were over before the duration.
pub(super) const CUT_SHORT: usize = 2;

/// The longest spin that is offered.
pub(super) const LONGEST: Duration = Duration::from_millis(1);

/// Readings of the clock in a round; the end of a spin is late by one round at most.
const READINGS: u32 = 8;
/// No machine reads its clock in the kernel in less: a serialised counter read alone is 20 cycles
/// and more.
const LEAST_READING_NS: u32 = 5;

/// What survives the calls.
const STATE: Register = Register(6);
const START: Register = Register(7);
const ROUND: Register = Register(8);
const LENGTH: Register = Register(9);

const KEY: i16 = -8;

/// Byte of a word of the state.
const fn byte(word: usize) -> i16 {
    8 * word as i16
}

/// Rounds that take at least `duration`, of at most [`LONGEST`], on any machine.
fn rounds(duration: Duration) -> i32 {
    let ns = duration.min(LONGEST).as_nanos() as u32; // a millisecond: 20 bits
    (ns / (READINGS * LEAST_READING_NS) + 1) as i32
}

/// `STATE` = this CPU's state; leaves if there is none, which cannot be.
fn find_state(a: &mut Assembler, states: &OwnedFd) {
    a.set(R1, 0);
    a.store(STACK, KEY, R1);
    a.find(states, KEY);
    a.address(STATE, R0, 0);
}

/// The program that spins as long as the state says, up to `longest`.
pub(super) fn spin(states: &OwnedFd, longest: Duration) -> Vec<Instruction> {
    let mut a = Assembler::default();
    a.call(KTIME_GET_NS);
    a.address(START, R0, 0);
    find_state(&mut a, states);
    a.load(LENGTH, STATE, byte(DURATION));
    a.set(ROUND, 0);

    let round = a.here();
    (0..READINGS).for_each(|_| a.call(KTIME_GET_NS));
    a.subtract(R0, START);
    let over = a.count_to(ROUND, rounds(longest));
    a.repeat_if_less(round, R0, LENGTH);
    a.land(over);

    let whole = a.skip_if_not_less(R0, LENGTH);
    a.set(R1, 1);
    a.add_to(STATE, byte(CUT_SHORT), R1, R2);
    a.land(whole);
    a.set(R1, 1);
    a.add_to(STATE, byte(COUNT), R1, R2);
    a.end()
}

/// The program that only counts.
pub(super) fn count(states: &OwnedFd) -> Vec<Instruction> {
    let mut a = Assembler::default();
    find_state(&mut a, states);
    a.set(R1, 1);
    a.add_to(STATE, byte(COUNT), R1, R2);
    a.end()
}
