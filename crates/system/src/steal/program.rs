//! The BPF program that runs at every timer tick.
//!
//! It is assembled by hand, so that no eBPF compiler and no kernel headers are needed. In C:
//!
//! ```c
//! SEC("tp_btf/hrtimer_expire_exit")
//! int steal(u64 *arguments)
//! {
//!     struct hrtimer *timer = arguments[0];
//!     if (timer->function != tick_nohz_handler) return 0;
//!     struct state *state = bpf_map_lookup_elem(&states, &(u32){0});   // this CPU's
//!     if (!state || !state->asked) return 0;
//!     u64 steal = bpf_get_current_task_btf()->se.cfs_rq->rq->prev_steal_time;
//!     u64 now = bpf_ktime_get_ns(), before = state->at, steal_before = state->steal;
//!     state->at = now; state->steal = steal;
//!     if (before == 0 || steal == steal_before) return 0;
//!     u64 record[] = { bpf_get_smp_processor_id(), before, now, steal_before, steal };
//!     if (bpf_ringbuf_output(&ring, record, sizeof record, BPF_RB_NO_WAKEUP)) state->lost++;
//!     return 0;
//! }
//! ```
//!
//! Why this tracepoint: the timer tick is a high-resolution timer on every architecture, and its function
//! (`account_process_tick`) updates `prev_steal_time`, so the end of that function is the first moment at
//! which the new value can be read. The end of the interrupt (`local_timer_exit`) exists on x86 only and
//! occurs for other timers too: a reading there would place the steal between two interrupts instead of two
//! ticks.
//!
//! Why through the running task: the per-CPU symbol `runqueues` can be loaded only if the kernel keeps the
//! addresses of data (`CONFIG_KALLSYMS_ALL`), which small guest kernels do not. Every kernel knows the
//! addresses of its functions, and the running task's `cfs_rq` belongs to its CPU, whatever its scheduling
//! class.

use super::layout::{Layout, Tick};
use crate::bpf::{
    Assembler, Instruction, KERNEL_SYMBOL, KTIME_GET_NS, MAP, R0, R1, R2, R3, R4, Register, STACK,
    byte,
};
use std::os::fd::{AsRawFd, OwnedFd};

/// Number of 64-bit words in one CPU's state: asked, at, steal, lost.
pub(super) const STATE_WORDS: usize = 4;
/// Word of the state: 1 if this CPU is to be read.
pub(super) const ASKED: usize = 0;
/// Word of the state: `bpf_ktime_get_ns` of the last reading; 0 before the first.
const AT: usize = 1;
/// Word of the state: the last reading.
const STEAL: usize = 2;
/// Word of the state: number of readings that found the ring buffer full.
pub(super) const LOST: usize = 3;

/// Number of 64-bit words in a record: CPU, previous time, time, previous steal, steal.
pub(super) const RECORD_WORDS: usize = 5;

/// The registers that calls preserve.
const TIMER_FUNCTION: Register = Register(6);
const STATE: Register = Register(7);
const STOLEN: Register = Register(8);
const NOW: Register = Register(9);

const GET_SMP_PROCESSOR_ID: i32 = 8;
const RINGBUF_OUTPUT: i32 = 130;
const GET_CURRENT_TASK_BTF: i32 = 158;
/// A record wakes nobody, because a wakeup would be noise of our own.
const RB_NO_WAKEUP: i32 = 1;

/// Stack offsets: the record ends at the top, and the map key lies below it.
const RECORD: i16 = -8 * RECORD_WORDS as i16;
const KEY: i16 = RECORD - 8;

/// Assembles the program for these maps.
pub(super) fn assemble(layout: &Layout, states: &OwnedFd, ring: &OwnedFd) -> Vec<Instruction> {
    let mut a = Assembler::default();
    a.load(R1, R1, 0); // the timer is the tracepoint's only argument
    a.load(TIMER_FUNCTION, R1, layout.timer_function);
    match layout.tick {
        Tick::Type(id) => a.set_address(R1, KERNEL_SYMBOL, id as i32),
        Tick::Address(address) => a.set_number(R1, address),
    }
    a.leave_if_different(TIMER_FUNCTION, R1);

    a.set(R1, 0);
    a.store(STACK, KEY, R1);
    a.find(states, KEY);
    a.address(STATE, R0, 0);
    a.load(R1, STATE, byte(ASKED));
    a.leave_if_zero(R1);

    a.call(GET_CURRENT_TASK_BTF);
    a.load(R1, R0, layout.task_cfs_rq);
    a.load(R1, R1, layout.cfs_rq_rq);
    a.load(STOLEN, R1, layout.rq_steal);
    a.call(KTIME_GET_NS);
    a.address(NOW, R0, 0);
    a.load(R1, STATE, byte(AT));
    a.load(R2, STATE, byte(STEAL));
    a.store(STATE, byte(AT), NOW);
    a.store(STATE, byte(STEAL), STOLEN);
    a.leave_if_zero(R1);
    a.leave_if_equal(R2, STOLEN);

    a.store(STACK, RECORD + byte(1), R1);
    a.store(STACK, RECORD + byte(2), NOW);
    a.store(STACK, RECORD + byte(3), R2);
    a.store(STACK, RECORD + byte(4), STOLEN);
    a.call(GET_SMP_PROCESSOR_ID);
    a.store(STACK, RECORD, R0);
    a.set_address(R1, MAP, ring.as_raw_fd());
    a.address(R2, STACK, RECORD);
    a.set(R3, 8 * RECORD_WORDS as i32);
    a.set(R4, RB_NO_WAKEUP);
    a.call(RINGBUF_OUTPUT);
    a.leave_if_zero(R0);
    a.load(R1, STATE, byte(LOST));
    a.address(R1, R1, 1);
    a.store(STATE, byte(LOST), R1);
    a.end()
}
