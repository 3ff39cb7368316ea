//! The text that netgauge's selfish pattern writes and LogGOPSim replays as the noise of its processes.

use super::{Export, Format, Holds};
use anechoic_recording::{Problem, ProblemKind};
use std::io::Write;

/// The row of the format.
pub(super) static FORMAT: Format = Format {
    id: "netgauge",
    title: "netgauge's selfish text, which LogGOPSim's --noise-trace reads",
    details: "Comments begin with #. Each other line has the start of a detour and its duration in nanoseconds, separated by a \
              tab; times count from the first detour. A file is the noise of one process, so each CPU has one of its own.",
    extension: "txt",
    binary: false,
    holds: Holds::OneCpu,
    options: &[],
    examples: "  anechoic export netgauge before --cpus 1 -o noise.txt\n  LogGOPSim --noise-trace noise.txt -f schedule.bin",
    write,
};

/// Writes the detours of the CPU as netgauge's `write_results_selfish` does.
///
/// The last line has no line feed: LogGOPSim (`Noise.hpp`) takes an empty line for one more detour, as long as the last.
/// It needs the time between the first and the last, so one detour is not enough.
fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<(), Problem> {
    let run = export.run();
    for (cpu, stints) in export.cpus() {
        let iteration = stints.first().map_or(0, |stint| stint.shortest_gap_ticks);
        let of_iteration =
            run.threshold_ticks.saturating_mul(100).checked_div(iteration).unwrap_or(0);
        writeln!(out, "# Benchmark Method: selfish")?;
        for line in export.comments() {
            writeln!(out, "# {line}")?;
        }
        writeln!(out, "# CPU {}", cpu.cpu)?;
        writeln!(out, "# Selfish Benchmark")?;
        writeln!(out, "# Minimal cycle length [ns]: {:.6} ", 1e9 * run.clock.seconds(iteration))?;
        writeln!(out, "# Number of iterations (recorded+unrecorded): {} ", cpu.iterations)?;
        writeln!(out, "# Threshold: [% minimal cycle length]: {of_iteration} ")?;
        write!(out, "# \n# Time [ns]\tselfish duration [ns]")?;
        let (mut first_ticks, mut written) = (None, 0_u64);
        export.bare_detours((cpu, stints), |detour| {
            let first = *first_ticks.get_or_insert(detour.start_ticks);
            let start_ns = run.clock.ns(detour.start_ticks.saturating_sub(first));
            write!(out, "\n{start_ns}\t{}", run.clock.ns(detour.lost_ticks))?;
            written += 1;
            Ok(())
        })?;
        if written < 2 {
            let why = format!("CPU {} has {written} detours, and a noise trace needs two", cpu.cpu);
            return Err(ProblemKind::NoVerdict.problem(why, "measure for longer"));
        }
    }
    Ok(())
}
