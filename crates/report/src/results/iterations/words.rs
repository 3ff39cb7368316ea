//! The iterations of a recorded program, in sentences.

use crate::results::variance::words::{Repeated, explained, largest, spread, without};
use crate::style::plain;
use crate::units::{count, counted, share, time};
use anechoic_analyze::Iterations;
use anechoic_analyze::iterations::{MOST_MARKS, Slow};
use anechoic_analyze::variance::FEWEST_IN_ORDER;
use anechoic_recording::MarkKind;

/// Part of the wall time from which on it is stated that threads slept.
const ASLEEP: f64 = 0.5;
const ITERATIONS: Repeated = Repeated { many: "iterations", fewest: FEWEST_IN_ORDER };

/// Names the program.
fn program(found: &Iterations) -> String {
    found.run.program.as_ref().map_or("the program".into(), |program| plain(&program.name))
}

/// Returns what marks the iterations.
pub(super) fn marked(found: &Iterations) -> String {
    let what = plain(&found.marked.what);
    let by = match found.marked.by {
        MarkKind::Function => format!("function {what}"),
        MarkKind::Descriptor => "lines in the descriptor for marks".to_owned(),
        MarkKind::TraceMarker => format!("texts in trace_marker that begin with '{what}'"),
    };
    let threads = match found.threads.len() {
        0 | 1 => String::new(),
        many => format!(", {}", counted(many as u64, "thread", "threads")),
    };
    format!("{} · {by}{threads}", program(found))
}

/// Returns what was found: how long iterations took, how much of their variance noise explains, and what hit the slow ones.
pub(super) fn sentences(found: &Iterations) -> Vec<String> {
    let Some(times) = &found.times else { return vec![nothing(found)] };
    let all = counted(found.iterations, "iteration", "iterations");
    let each = if found.iterations == 1 { "" } else { " each" };
    let took = format!("{all} of {} took {}{each}", program(found), spread(&times.wall_ns));
    let first = explained(&took, &found.explained, &times.lost_ns, ITERATIONS);
    let largest = largest(&found.explained, &found.sources, &found.run);
    let slow = found.slow.map(slow);
    [Some(first), without(&found.explained), largest, slow].into_iter().flatten().collect()
}

fn slow(slow: Slow) -> String {
    let which = match slow.iterations {
        1 => "The slowest iteration".to_owned(),
        many => format!("The slowest {} iterations (1 %)", count(many)),
    };
    let longer = time(slow.longer_ns.max(0.0));
    let lost = if slow.lost_ns > 0.0 { time(slow.lost_ns) } else { "no time".to_owned() };
    format!("{which} took {longer} longer than the median and lost {lost}.")
}

/// Returns why there are no iterations, and what to do.
fn nothing(found: &Iterations) -> String {
    let what = plain(&found.marked.what);
    let program = program(found);
    if found.left_out > 0 {
        return "There are no iterations: events were lost in all of them.".to_owned();
    }
    match (found.marks - found.foreign_marks, found.marked.by) {
        (0, MarkKind::Function) => {
            let file = found.marked.file.as_deref().unwrap_or_default();
            format!(
                "There are no iterations: {program} never entered {what} of {}. Calls may be inlined: declare it noinline, or mark with --mark-fd.",
                plain(file)
            )
        }
        (0, MarkKind::Descriptor) => format!(
            "There are no iterations: {program} wrote nothing to the descriptor in ANECHOIC_MARK_FD. It may have closed it (sudo does: sudo -C), or buffer what it writes."
        ),
        (0, MarkKind::TraceMarker) => format!(
            "There are no iterations: {program} wrote no text to trace_marker that begins with '{what}'."
        ),
        (marks, _) => format!(
            "There are no iterations: no thread passed the mark twice ({}). Iterations are those of a thread.",
            counted(marks, "mark", "marks")
        ),
    }
}

/// Returns what makes the result doubtful.
pub(super) fn warnings(found: &Iterations) -> Vec<String> {
    let mut warnings = vec![];
    if found.iterations > 0 && found.left_out > 0 {
        let all = counted(found.left_out, "iteration does", "iterations do");
        warnings.push(format!("{all} not count, because events were lost meanwhile."));
    }
    if found.marked.joined_lines > 0 {
        let lines = counted(found.marked.joined_lines, "line", "lines");
        warnings.push(format!(
            "{lines} came in one write with an earlier line and count as no mark: flush after each line."
        ));
    }
    if found.marks > MOST_MARKS as u64 {
        warnings.push(format!(
            "Only the first {} of {} marks count.",
            count(MOST_MARKS as u64),
            count(found.marks)
        ));
    }
    warnings
}

/// Returns what else is to know about the times.
pub(super) fn notes(found: &Iterations) -> Vec<String> {
    let mut notes = vec![];
    if let Some(times) = &found.times {
        let slept = times.slept_ns.mean / times.wall_ns.mean.max(1.0);
        if found.marked.whole {
            notes.push("Lost time is that of all threads of the program; the other times are those of the thread that passes the mark.".to_owned());
        } else if slept > ASLEEP {
            notes.push(format!(
                "The thread slept {} of the time. What delays threads for which it waits is not in its lost time: record with --mark-whole, or mark a function that these execute.",
                share(slept)
            ));
        }
        if times.waited_ns.mean > 0.01 * times.wall_ns.mean {
            notes.push(format!(
                "Besides, it waited {} in an iteration for a CPU that other threads of the program had.",
                time(times.waited_ns.mean)
            ));
        }
    }
    if found.foreign_marks > 0 {
        let marks = counted(found.foreign_marks, "mark", "marks");
        notes.push(format!("{marks} came from other programs and count for nothing."));
    }
    notes
}
