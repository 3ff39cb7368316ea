//! The text that netgauge's selfish pattern writes and LogGOPSim replays as the noise of its processes.

use super::{Export, Format, Holds, Recorded};
use anechoic_recording::{Problem, Stint};
use std::io::Write;

/// The row of the format.
pub(super) static FORMAT: Format = Format {
    id: "netgauge",
    title: "netgauge's selfish text, which LogGOPSim's --noise-trace reads",
    details: "Comments begin with #. Each other line has the start of a detour and its duration in nanoseconds, separated by a \
              tab. Times count from the start of the measurement, without pauses between series; a line of duration 0 stands for \
              its start, and one for its end. A file is the noise of one process, so each CPU has one of its own.",
    extension: "txt",
    binary: false,
    holds: Holds::OneCpu,
    takes: &[Recorded::Loops],
    options: &[],
    examples: "  anechoic export netgauge before --cpus 1 -o noise.txt\n  LogGOPSim --noise-trace noise.txt -f schedule.bin",
    write,
};

/// Writes the detours of the CPU as netgauge's `write_results_selfish` does, between two lines of duration 0 for the start
/// and the end of the measurement: LogGOPSim (`Noise.hpp`) replays a trace from its first to its last line, so without them
/// the quiet time before the first and after the last detour would be missing.
///
/// The last line has no line feed, because LogGOPSim takes an empty line for one more detour, as long as the last; nor is it
/// a comment, after which LogGOPSim would read on. So netgauge's closing comments stand before it.
fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<(), Problem> {
    let run = export.run();
    for (cpu, stints) in export.cpus() {
        let iteration = stints.first().map_or(0, |stint| stint.shortest_gap_ticks);
        let threshold_percent =
            run.threshold_ticks.saturating_mul(100).checked_div(iteration).unwrap_or(0);
        writeln!(out, "# Benchmark Method: selfish")?;
        for line in export.comments() {
            writeln!(out, "# {line}")?;
        }
        writeln!(out, "# CPU {}", cpu.cpu)?;
        writeln!(out, "# Selfish Benchmark")?;
        writeln!(out, "# Minimal cycle length [ns]: {:.6} ", 1e9 * run.clock.seconds(iteration))?;
        writeln!(out, "# Number of iterations (recorded+unrecorded): {} ", cpu.iterations)?;
        writeln!(out, "# Threshold: [% minimal cycle length]: {threshold_percent} ")?;
        writeln!(out, "# \n# Time [ns]\tselfish duration [ns]\n0\t0")?;
        let (mut end_ns, mut lost_ns) = (0, 0_u64);
        let begins = begins(stints);
        export.bare_detours((cpu, stints), |detour| {
            let begins = begins[detour.stint];
            let start_ns = run.clock.ns(detour.start_ticks.saturating_sub(begins));
            let ns = run.clock.ns(detour.lost_ticks);
            writeln!(out, "{start_ns}\t{ns}")?;
            end_ns = run.clock.ns(detour.end_ticks.saturating_sub(begins));
            lost_ns = lost_ns.saturating_add(ns);
            Ok(())
        })?;
        let last = stints.last().zip(begins.last());
        let whole = last.map_or(0, |(stint, begins)| stint.last_ticks.saturating_sub(*begins));
        // A run that was cut off has detours after its last known time.
        let end_ns = run.clock.ns(whole).max(end_ns);
        let noise = 100.0 * lost_ns as f64 / end_ns.max(1) as f64;
        writeln!(out, "# CPU overhead due to noise: {noise:.2}%")?;
        writeln!(out, "# Measurement period: {:.2} s", end_ns as f64 / 1e9)?;
        write!(out, "{end_ns}\t0")?;
    }
    Ok(())
}

/// Returns for each stint the counter value that stands for the start of the measurement if pauses are left out.
fn begins(stints: &[Stint]) -> Vec<u64> {
    let (mut paused, mut last) = (0, stints.first().map_or(0, |stint| stint.first_ticks));
    let first = last;
    let begin = |stint: &Stint| {
        paused += stint.first_ticks.saturating_sub(last);
        last = stint.last_ticks;
        first + paused
    };
    stints.iter().map(begin).collect()
}
