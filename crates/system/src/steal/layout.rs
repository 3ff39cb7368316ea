//! Where the running kernel keeps what the program reads.

use super::btf::{Btf, Kind, bad};
use std::io::{BufRead, BufReader};

/// The timer tick's function before and since Linux 6.8. The older name is looked up first, because older
/// kernels use the newer name for something else.
const TICK_FUNCTIONS: [&str; 2] = ["tick_sched_timer", "tick_nohz_handler"];

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
        let symbols = std::fs::File::open("/proc/kallsyms").ok()?;
        let address = address(BufReader::new(symbols), self.tick_name)?;
        Some(Layout { tick: Tick::Address(address), ..self })
    }
}

/// Converts to an offset that fits into an instruction.
fn near(offset: u32) -> Result<i16, String> {
    i16::try_from(offset).map_err(|_| bad("offset too large", offset as usize))
}

/// Finds the address of a function in lines of `address type name [module]`. All addresses are 0 for
/// processes that may not see them.
fn address(symbols: impl BufRead, name: &str) -> Option<u64> {
    symbols.lines().map_while(Result::ok).find_map(|line| {
        let mut words = line.split_whitespace();
        let (address, _, symbol) = (words.next()?, words.next()?, words.next()?);
        let address = (symbol == name).then(|| u64::from_str_radix(address, 16).ok())??;
        (address != 0).then_some(address)
    })
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn addresses_are_found_by_whole_name() {
        let text = "ffffffff81000000 T tick_nohz_handler_setup\n\nnothing\n\
                    ffffffff814352e0 t tick_nohz_handler\n\
                    0000000000000000 t hidden\nzz t broken\nffffffffc0000010 t late\t[module]\n";
        let cases = [
            ("tick_nohz_handler", Some(0xffff_ffff_8143_52e0)),
            ("late", Some(0xffff_ffff_c000_0010)),
            ("hidden", None),
            ("broken", None),
            ("tick_nohz", None),
        ];
        for (name, expected) in cases {
            assert_eq!(address(text.as_bytes(), name), expected, "case: {name}");
        }
    }
}
