//! Where the running kernel keeps what the program reads.

use super::btf::{Btf, Kind, bad};
use crate::tracefs::symbols::{self, TICK_FUNCTIONS};

/// How the program gets the address of the timer tick's function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tick {
    /// The function's type id, from which the kernel fills in the address (Linux 6.4 and later).
    Type(u32),
    /// The address itself.
    Address(u64),
}

/// Offsets in bytes, and type ids.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    pub(super) tracepoint: u32,
    pub(super) tick: Tick,
    tick_name: &'static str,
    pub(super) timer_function: i16,
    pub(super) task_cfs_rq: i16,
    pub(super) cfs_rq_rq: i16,
    pub(super) rq_steal: i16,
}

impl Layout {
    /// Looks up everything. The verifier checks each step again against the kernel's types.
    pub(super) fn find(btf: &Btf) -> Result<Layout, String> {
        let function = |name| btf.id(Kind::Function, name).map(|id| (name, id));
        let [older, newer] = TICK_FUNCTIONS.map(function);
        let (tick_name, tick) = older.or(newer)?;
        let entity = btf.field_offset("task_struct", "se")?;
        let queue = btf.field_offset("sched_entity", "cfs_rq")?;
        Ok(Layout {
            rq_steal: near(btf.field_offset("rq", "prev_steal_time")?)?,
            cfs_rq_rq: near(btf.field_offset("cfs_rq", "rq")?)?,
            task_cfs_rq: near(entity.saturating_add(queue))?,
            timer_function: near(btf.field_offset("hrtimer", "function")?)?,
            tick: Tick::Type(tick),
            tick_name,
            tracepoint: btf.id(Kind::Typedef, "btf_trace_hrtimer_expire_exit")?,
        })
    }

    /// Replaces the type id by the address of the function, for kernels before 6.4; returns `None` if
    /// `/proc/kallsyms` does not show it to this process.
    pub(super) fn with_address(self) -> Option<Layout> {
        let address = symbols::function_address(self.tick_name)?;
        Some(Layout { tick: Tick::Address(address), ..self })
    }
}

/// Converts to an offset that fits into an instruction.
fn near(offset: u32) -> Result<i16, String> {
    i16::try_from(offset).map_err(|_| bad("offset too large", offset as usize))
}
