//! Where the threads of a program lost their CPUs, in the folded format of flame graphs.

use super::{Export, Format, Holds, Recorded};
use crate::style::plain;
use anechoic_analyze::waits::{Calls, places_of_pools};
use anechoic_recording::{Problem, ProblemKind, Recording};
use std::io::Write;

/// What stands for the calls of a wait without a stack.
const NO_STACK: &str = "[no stack]";

/// The row of the format.
pub(super) static FORMAT: Format = Format {
    id: "folded",
    title: "folded stacks for flame graphs: where the threads of a program lost their CPUs",
    details: "speedscope, flamegraph.pl and inferno read it. Each line is a place: the thread or the pool of threads, its calls from \
              the outermost to the innermost, those of the kernel with _[k] at their end, and the time in \
              µs in which a thread waited there for a CPU and no thread of the program executed on it. A place with less than half a µs has no \
              line. [no stack] stands for waits whose calls are not known. Only recordings of `record --stacks` have calls.",
    extension: "folded",
    binary: false,
    holds: Holds::Stacks,
    takes: &[Recorded::Loops, Recorded::Program],
    options: &[],
    examples: "  anechoic export folded slow -o slow.folded\n  anechoic export folded slow | flamegraph.pl --countname us > slow.svg",
    write,
};

fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<(), Problem> {
    let recording = export.recording();
    let places = places_of_pools(recording, &|cpu| export.has(cpu))?;
    for place in places.ok_or_else(|| no_stacks(recording))? {
        let lost_us = place.delayed_ns.saturating_add(500) / 1_000;
        if lost_us > 0 {
            let pool = place.pool.replace(';', ":");
            let calls = place.calls.as_ref().map_or_else(|| NO_STACK.to_owned(), Calls::folded);
            writeln!(out, "{} {lost_us}", plain(&format!("{pool};{calls}")))?;
        }
    }
    Ok(())
}

fn no_stacks(recording: &Recording) -> Problem {
    let (why, remedy) = match &recording.run().program {
        Some(_) => {
            ("it has no call stacks", "record the program again with `anechoic record --stacks`")
        }
        None => (
            "only a recording of a program has call stacks",
            "record one with `anechoic record --stacks`",
        ),
    };
    ProblemKind::Data.problem(why, remedy).about(recording.dir().display())
}
