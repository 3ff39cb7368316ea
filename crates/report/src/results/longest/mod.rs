//! The table of the longest detours: when, where and what they were.

mod releases;
mod row;
pub(crate) mod stopped;
pub(crate) mod stories;
mod waits;

pub(crate) use releases::release_parts;
pub use row::{LONGEST, OPTIONS};

use crate::names::{sender, source_name};
use crate::style::plain;
use crate::table::Table;
use crate::units::{instant, length};
use anechoic_analyze::facts::Facts;
use anechoic_analyze::longest::{LongDetour, Part};
use anechoic_recording::sources;

/// Further parts of a detour are named from this share on.
const PART: f64 = 0.1;

/// Returns the longest detours, one row each.
pub(crate) fn table(longest: &[LongDetour], run: &Facts) -> Table {
    Table::with_rows(longest)
        .number("longest", |detour| length(detour.length_ns))
        .number("at", |detour| instant(detour.start_ns))
        .number("CPU", |detour| detour.cpu.to_string())
        .name("what it was", |detour| what(detour, run))
        .captioned("The longest detours")
        .last_takes_rest()
}

/// Describes the parts of a detour: the largest with function and sender, then the other large ones.
pub(crate) fn what(detour: &LongDetour, run: &Facts) -> String {
    let Some((first, others)) = detour.parts.split_first() else {
        return "not attributed".into();
    };
    let matter = |part: &&Part| part.charged_ns as f64 >= PART * detour.length_ns as f64;
    let others: Vec<&Part> = others.iter().filter(matter).collect();
    let mut words = source_name(&first.source, &first.name, run);
    if !others.is_empty() {
        words += &format!(" {}", length(first.charged_ns));
    }
    let function = first.function.as_deref().map(plain).filter(|name| *name != first.name);
    let sent = sender(first.sent_by_cpu, first.sent_by_task.as_deref());
    let sent = sent.map(|sent| format!("from {sent}"));
    let known: Vec<String> = [function, sent].into_iter().flatten().collect();
    if !known.is_empty() {
        words += &format!(" ({})", known.join(", "));
    }
    match detour.steal_ns {
        // The absence of steal is worth mentioning if nothing else is known.
        Some(0) if sources::VM_OR_HARDWARE.is(&first.source) => words += " · no steal",
        Some(0) | None => {}
        Some(steal) => words += &format!(" · steal {}", length(steal)),
    }
    for part in others {
        let name = source_name(&part.source, &part.name, run);
        words += &format!(" · {name} {}", length(part.charged_ns));
    }
    words
}
