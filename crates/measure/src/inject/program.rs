//! The programs that run in the interrupts of a `cpu-clock` event: one that spins and one that only counts.
//!
//! The spinning program in C (the other one has no loop):
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
//!     return 1;                                                        // one of those that are allowed
//! }
//! ```
//!
//! A plain loop needs no kprobe, no `bpf_loop` (5.17) and no raised limit. The verifier (since Linux 5.3)
//! walks through every iteration and (since 5.2) accepts a million instructions, so the number of rounds is
//! bounded. Each round reads the clock several times, because the reading is what takes time: the fewer other
//! instructions there are, the longer a program of a million may spin. The jump back depends on the time and
//! the exit does not, because the verifier sets jump targets aside, at most 8,192 of them, and follows the
//! fall-through path. So it reaches each exit with a round number that it knows, and has one jump back set
//! aside instead of one exit per round.

use anechoic_system::bpf::{
    Assembler, Instruction, KTIME_GET_NS, R0, R1, R2, Register, STACK, byte,
};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Number of 64-bit words in one CPU's state: duration, count, cut short.
pub(super) const STATE_WORDS: usize = 3;
/// Word of the state: duration of the spin in nanoseconds.
pub(super) const DURATION: usize = 0;
/// Word of the state: number of runs of the program.
pub(super) const COUNT: usize = 1;
/// Word of the state: number of spins whose rounds ended before the duration.
pub(super) const CUT_SHORT: usize = 2;

/// The longest spin of this program.
pub(super) const LONGEST: Duration = Duration::from_millis(1);

/// Clock readings in a round; a spin ends at most one round late.
const READINGS: u32 = 8;
/// No machine reads its clock in the kernel faster: a serialised counter read alone takes at least 20 cycles.
const LEAST_READING_NS: u32 = 5;

/// The register of the state, which calls preserve.
const STATE: Register = Register(6);
const START: Register = Register(7);
const ROUND: Register = Register(8);
const LENGTH: Register = Register(9);

const KEY: i16 = -8;

/// Returns a number of rounds that take at least `duration`, at most [`LONGEST`], on any machine.
fn rounds(duration: Duration) -> i32 {
    let ns = duration.min(LONGEST).as_nanos() as u32; // a millisecond: 20 bits
    (ns / (READINGS * LEAST_READING_NS) + 1) as i32
}

/// Loads this CPU's state into `STATE`; returns from the program if it does not exist, which cannot happen.
fn find_state(a: &mut Assembler, states: &OwnedFd) {
    a.set(R1, 0);
    a.store(STACK, KEY, R1);
    a.find(states, KEY);
    a.address(STATE, R0, 0);
}

/// Assembles the program that spins for the duration in the state, up to `longest`.
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
    a.end_with(1)
}

/// Assembles the program that only counts.
pub(super) fn count(states: &OwnedFd) -> Vec<Instruction> {
    let mut a = Assembler::default();
    find_state(&mut a, states);
    a.set(R1, 1);
    a.add_to(STATE, byte(COUNT), R1, R2);
    a.end_with(1)
}
