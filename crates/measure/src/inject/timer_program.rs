//! The program of self-rearming timers: each time it picks the next entry of a table, or a random one.
//!
//! In C:
//!
//! ```c
//! struct state { struct bpf_timer timer; u64 first, end, next, random, due, duration_ns, horizon,
//!                until, count, cut_short, overruns, ended; };       // one for each CPU
//! struct { u64 gap_ns, duration_ns; } table[];
//! struct spin { u64 spent, start, duration_ns; struct state *state; };
//!
//! SEC("syscall")
//! int arm(struct { u64 cpu, on; } *asked)                              // on that CPU
//! {
//!     struct spin spin = { .state = bpf_map_lookup_elem(&states, &asked->cpu) };
//!     if (!asked->on) return bpf_timer_cancel(&spin.state->timer);
//!     if (asked->on > 1) { spin.state->until = asked->on; return; }
//!     spin.state->ended = 0;
//!     spin.state->horizon = bpf_ktime_get_ns();
//!     bpf_loop(MOST_SKIPPED, advance, &spin, 0);
//!     bpf_timer_init(&spin.state->timer, &states, CLOCK_MONOTONIC);
//!     bpf_timer_set_callback(&spin.state->timer, expired);
//!     return bpf_timer_start(&spin.state->timer, spin.state->due, ABS | CPU_PIN);
//! }
//!
//! static int expired(void *states, u32 *cpu, struct state *state)
//! {
//!     struct spin spin = { .start = bpf_ktime_get_ns(), .duration_ns = state->duration_ns, state };
//!     if (state->until <= spin.start) { state->ended = 1; return 0; }
//!     state->count++;
//!     state->horizon = max(state->due, spin.start - FORGIVEN_NS) + spin.duration_ns;
//!     bpf_loop(MOST_SKIPPED, advance, &spin, 0);
//!     bpf_timer_start(&state->timer, state->due, ABS | CPU_PIN);
//!     if (!spin.duration_ns) return 0;
//!     bpf_loop(MOST_READINGS, go_on, &spin, 0);
//!     if (spin.spent < spin.duration_ns) state->cut_short++;
//!     return 0;
//! }
//!
//! static int advance(u32 round, struct spin *spin)                     // to the next one that is not over
//! {
//!     entry = table[NEXT];                                             // by turns, or a random one
//!     state->due += entry.gap_ns; state->duration_ns = entry.duration_ns;
//!     if (state->due > state->horizon) return 1;
//!     state->overruns++;
//!     return 0;
//! }
//!
//! static int go_on(u32 round, struct spin *spin)
//! {
//!     spin->spent = bpf_ktime_get_ns() - spin->start;
//!     return spin->spent >= spin->duration_ns;
//! }
//! ```
//!
//! The next timer is armed before the spin, so that the spin absorbs the time that takes. Events that are due
//! before this one ends are left out and counted. A timer is always a little late, in a guest by 10 to 20 µs.
//! As long as the delay is small, the due time of this event decides, so that events shortly after it still
//! come, also late.

use anechoic_system::bpf::{
    Assembler, Instruction, KTIME_GET_NS, MAP, R0, R1, R2, R3, R4, Register, STACK, TIMER_WORDS,
    byte, link,
};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

/// Number of 64-bit words in a CPU's state: the timer, and those below.
pub(super) const STATE_WORDS: usize = DUE_WORDS + 12;
const DUE_WORDS: usize = TIMER_WORDS;
/// Words of the state: the CPU's range of table entries, first and end.
pub(super) const FIRST: usize = DUE_WORDS;
pub(super) const END: usize = DUE_WORDS + 1;
/// Word of the state: the next entry, in turn.
pub(super) const NEXT: usize = DUE_WORDS + 2;
/// Word of the state: the state of the random generator.
pub(super) const RANDOM: usize = DUE_WORDS + 3;
/// Word of the state: the time that the timer is set to (`CLOCK_MONOTONIC`, ns); initially the start.
pub(super) const DUE: usize = DUE_WORDS + 4;
/// Word of the state: the duration of that spin, in ns.
const DURATION: usize = DUE_WORDS + 5;
/// Word of the state: events due before this time are left out.
const HORIZON: usize = DUE_WORDS + 6;
/// Word of the state: from this time on no event comes, and the next one that would ends the noise.
pub(super) const UNTIL: usize = DUE_WORDS + 7;
/// Words of the state: how many came, how many ended before their duration, how many were left out.
pub(super) const COUNT: usize = DUE_WORDS + 8;
pub(super) const CUT_SHORT: usize = DUE_WORDS + 9;
pub(super) const OVERRUNS: usize = DUE_WORDS + 10;
/// Word of the state: whether the noise has ended by itself.
pub(super) const ENDED: usize = DUE_WORDS + 11;

/// Number of 64-bit words in a table entry: the time since the one before, and the spin, in ns.
pub(super) const ENTRY_WORDS: usize = 2;

/// Bits of the random entry number: a table of random entries has 2 to this power of them.
pub(super) const RANDOM_BITS: u32 = 16;

/// `BPF_MAX_LOOPS`.
const MOST_READINGS: i32 = 1 << 23;
/// Most events skipped at once after a standstill of the machine; those still due then come late.
const MOST_SKIPPED: i32 = 1 << 17;
/// The longest spin of this program: no machine reads its clock in the kernel in less than 4.8 ns.
pub(super) const LONGEST: Duration = Duration::from_millis(40);

/// How late an event may be before others are left out because of it.
const FORGIVEN_NS: i32 = 50_000;

/// Numbers of kernel functions (`BPF_FUNC_*`).
const TIMER_INIT: i32 = 169;
const TIMER_SET_CALLBACK: i32 = 170;
const TIMER_START: i32 = 171;
const TIMER_CANCEL: i32 = 172;
const LOOP: i32 = 181;

const CLOCK_MONOTONIC: i32 = 1;
/// `BPF_F_TIMER_ABS` (Linux 6.4) and `BPF_F_TIMER_CPU_PIN` (6.7).
const AT_THAT_TIME_HERE: i32 = 1 | 2;

/// The functions of the program, in the order in which they are linked.
pub(super) const FUNCTIONS: [&str; 4] = ["arm", "expired", "advance", "go_on"];
const EXPIRED: usize = 1;
const ADVANCE: usize = 2;
const GO_ON: usize = 3;

/// The registers that calls preserve.
const STATE: Register = Register(6);
const START: Register = Register(7);
const SPIN: Register = Register(8);
const ON: Register = Register(9);

/// The offset of `struct spin` from the end of the stack, and its members.
const SPIN_AT: i16 = -32;
const SPENT_OF: i16 = 0;
const START_OF: i16 = 8;
const DURATION_OF: i16 = 16;
const STATE_OF: i16 = 24;
/// The offset of a key on the stack, below that.
const KEY: i16 = -40;

/// The random generator: Knuth's multiplier for a modulus of 2^64 and an odd increment (MMIX). Its upper bits
/// are used.
const MULTIPLIER: u64 = 6_364_136_223_846_793_005;
const INCREMENT: u64 = 1_442_695_040_888_963_407;

/// What the program is asked to do with a CPU's timer. A larger number is the time from which on no event comes ([`UNTIL`]).
pub(super) const CANCEL: u64 = 0;
pub(super) const ARM: u64 = 1;

/// How the next entry is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The following one, and after the last the first again.
    ByTurns,
    /// A random one.
    Random,
}

/// Assembles all functions; returns also where each begins.
pub(super) fn program(
    states: &OwnedFd,
    table: &OwnedFd,
    order: Order,
) -> (Vec<Instruction>, Vec<u32>) {
    link(vec![arm(states), expired(), advance(table, order), go_on()])
}

fn arm(states: &OwnedFd) -> Assembler {
    let mut a = Assembler::default();
    a.load(ON, R1, 8);
    a.load(R2, R1, 0);
    a.store(STACK, KEY, R2);
    a.find(states, KEY);
    a.address(STATE, R0, 0);

    let on = a.skip_unless_zero(ON);
    a.address(R1, STATE, 0);
    a.call(TIMER_CANCEL);
    a.leave();
    a.land(on);
    a.set(R1, 1);
    let arms = a.skip_if_not_less(R1, ON);
    a.store(STATE, byte(UNTIL), ON);
    a.set(R0, 0);
    a.leave();
    a.land(arms);

    a.set(R1, 0);
    a.store(STATE, byte(ENDED), R1);
    a.call(KTIME_GET_NS);
    a.store(STATE, byte(HORIZON), R0);
    a.set(R1, 0);
    a.store(STACK, SPIN_AT + SPENT_OF, R1);
    a.store(STACK, SPIN_AT + START_OF, R1);
    a.store(STACK, SPIN_AT + DURATION_OF, R1);
    a.store(STACK, SPIN_AT + STATE_OF, STATE);
    call_loop(&mut a, MOST_SKIPPED, ADVANCE);
    a.address(R1, STATE, 0);
    a.set_address(R2, MAP, states.as_raw_fd());
    a.set(R3, CLOCK_MONOTONIC);
    a.call(TIMER_INIT);
    a.address(R1, STATE, 0);
    a.set_function(R2, EXPIRED);
    a.call(TIMER_SET_CALLBACK);
    start_timer(&mut a);
    a.leave();
    a
}

fn expired() -> Assembler {
    let mut a = Assembler::default();
    a.address(STATE, R3, 0);
    a.call(KTIME_GET_NS);
    a.load(R1, STATE, byte(UNTIL));
    let goes_on = a.skip_if_greater(R1, R0);
    a.set(R1, 1);
    a.store(STATE, byte(ENDED), R1);
    a.set(R0, 0);
    a.leave();
    a.land(goes_on);
    a.set(R1, 0);
    a.store(STACK, SPIN_AT + SPENT_OF, R1);
    a.store(STACK, SPIN_AT + START_OF, R0);
    a.load(START, STATE, byte(DURATION));
    a.store(STACK, SPIN_AT + DURATION_OF, START);
    a.store(STACK, SPIN_AT + STATE_OF, STATE);
    a.set(R1, FORGIVEN_NS);
    a.subtract(R0, R1);
    a.load(R1, STATE, byte(DUE));
    let late = a.skip_if_not_less(R0, R1);
    a.address(R0, R1, 0);
    a.land(late);
    a.add(R0, START);
    a.store(STATE, byte(HORIZON), R0);
    a.set(R1, 1);
    a.add_to(STATE, byte(COUNT), R1, R2);

    call_loop(&mut a, MOST_SKIPPED, ADVANCE);
    start_timer(&mut a);

    a.leave_if_zero(START);
    call_loop(&mut a, MOST_READINGS, GO_ON);
    a.load(R1, STACK, SPIN_AT + SPENT_OF);
    let whole = a.skip_if_not_less(R1, START);
    a.set(R1, 1);
    a.add_to(STATE, byte(CUT_SHORT), R1, R2);
    a.land(whole);
    a
}

/// Calls `bpf_loop` with one of our functions, on the caller's spin.
fn call_loop(a: &mut Assembler, most: i32, function: usize) {
    a.set(R1, most);
    a.set_function(R2, function);
    a.address(R3, STACK, SPIN_AT);
    a.set(R4, 0);
    a.call(LOOP);
}

fn start_timer(a: &mut Assembler) {
    a.address(R1, STATE, 0);
    a.load(R2, STATE, byte(DUE));
    a.set(R3, AT_THAT_TIME_HERE);
    a.call(TIMER_START);
}

fn advance(table: &OwnedFd, order: Order) -> Assembler {
    let mut a = Assembler::default();
    a.load(STATE, R2, STATE_OF);
    match order {
        Order::ByTurns => {
            a.load(R1, STATE, byte(NEXT));
            a.store(STACK, KEY, R1);
            a.set(R2, 1);
            a.add(R1, R2);
            a.load(R2, STATE, byte(END));
            let inside = a.skip_if_greater(R2, R1);
            a.load(R1, STATE, byte(FIRST));
            a.land(inside);
            a.store(STATE, byte(NEXT), R1);
        }
        Order::Random => {
            a.load(R1, STATE, byte(RANDOM));
            a.set_number(R2, MULTIPLIER);
            a.multiply(R1, R2);
            a.set_number(R2, INCREMENT);
            a.add(R1, R2);
            a.store(STATE, byte(RANDOM), R1);
            a.shift_right(R1, 64 - RANDOM_BITS.cast_signed());
            a.store(STACK, KEY, R1);
        }
    }
    a.find(table, KEY);
    a.load(R1, R0, 8);
    a.store(STATE, byte(DURATION), R1);
    a.load(R1, R0, 0);
    a.load(R2, STATE, byte(DUE));
    a.add(R1, R2);
    a.store(STATE, byte(DUE), R1);
    a.load(R2, STATE, byte(HORIZON));
    let late = a.skip_if_not_less(R2, R1);
    a.set(R0, 1);
    a.leave();
    a.land(late);
    a.set(R1, 1);
    a.add_to(STATE, byte(OVERRUNS), R1, R2);
    a
}

fn go_on() -> Assembler {
    let mut a = Assembler::default();
    a.address(SPIN, R2, 0);
    a.call(KTIME_GET_NS);
    a.load(R1, SPIN, START_OF);
    a.subtract(R0, R1);
    a.store(SPIN, SPENT_OF, R0);
    a.load(R1, SPIN, DURATION_OF);
    let short = a.skip_if_greater(R1, R0);
    a.set(R0, 1);
    a.leave();
    a.land(short);
    a
}
