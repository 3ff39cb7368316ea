//! Wake-up latency beside the kernel's tracer of it.
//!
//! Both wake a thread of the same priority every millisecond. One CPU cannot be measured by both at once without one
//! delaying the other, so they take turns; in exact time a turn is like the next.

use super::Check;
use crate::lab::boots::Boot;
use crate::lab::evidence::Evidence;
use anyhow::{Context, ensure};
use serde_json::Value;

pub(super) const CHECK: Check = Check {
    name: "timerlat",
    tests: "`measure wakeup` and the kernel's tracer timerlat (`rtla`) agree on how late the interrupt is and on how \
            late the thread runs",
    // That tracer has its interrupt's time from the timer's function, without the cost of other events: those of an earlier
    // check are removed.
    script: "rmdir /sys/kernel/tracing/instances/* 2>/dev/null
measure='-q --cpus 0 --interval 1ms --priority 95 --blocks 1 --duration 2s --allow-variant-tsc --json'
anechoic measure wakeup $measure --no-trace -o bare >bare.json
for run in 1 2 3; do anechoic measure wakeup $measure -o events$run >events$run.json; done
rtla timerlat hist -c 0 -p 1000 -P f:95 -n -b 100 -E 9999 -d 2 >rtla",
    skipped,
    judge,
};

/// The longest time between the medians of the interrupt's latency, in nanoseconds.
const NEAR_NS: f64 = 1_000.0;
/// The runs with events. Of a dozen, one had all its interrupts half a microsecond earlier, for a reason that is not known: the
/// run in the middle counts.
const RUNS: [&str; 3] = ["events1.json", "events2.json", "events3.json"];
/// What the tracer itself does between its interrupt and its thread, in nanoseconds at most: it writes a record, and follows
/// interrupts, softirqs and threads. In exact time its thread was 1.9 µs later than ours (Linux 6.12).
const ITS_OWN_NS: f64 = 3_000.0;
/// The resolution of its histogram, in nanoseconds.
const BUCKET_NS: f64 = 100.0;

fn skipped(boot: &Boot) -> Option<&'static str> {
    if !boot.kernel.is_real_time() {
        return Some("Debian's kernels without real-time lack the tracer timerlat");
    }
    (!boot.machine.exact).then_some("only in exact time is one turn like the next")
}

fn judge(evidence: &Evidence<'_>) -> anyhow::Result<String> {
    evidence.succeeded()?;
    let [interrupt_ns, thread_ns] = medians(&evidence.text("rtla")?)?;
    let number = |file, place| number(evidence, file, place);
    let mut timer_ns = [0.0; RUNS.len()];
    for (ns, file) in timer_ns.iter_mut().zip(RUNS) {
        *ns = number(file, "/causes/mean/timer_ns")?;
        let unknown = number(file, "/causes/not_attributable")?;
        ensure!(unknown == 0.0, "{file}: {unknown} wake-ups are not attributable");
    }
    timer_ns.sort_by(f64::total_cmp);
    let [least_ns, timer_ns, most_ns] = timer_ns;
    let latency_ns = number("bare.json", "/rows/0/p50_ns")?;
    for file in RUNS.into_iter().chain(["bare.json"]) {
        let expiries = number(file, "/rows/0/samples")? + number(file, "/rows/0/overruns")?;
        ensure!(expiries == 2_000.0, "{file}: {expiries} of 2000 expiries");
    }
    let both = format!(
        "interrupt {timer_ns:.0} ns ({least_ns:.0} to {most_ns:.0}), for timerlat {interrupt_ns:.0} ns; thread {latency_ns:.0} ns, for timerlat {thread_ns:.0} ns"
    );
    ensure!((interrupt_ns - timer_ns).abs() <= NEAR_NS, "{both}");
    let later = thread_ns - latency_ns;
    ensure!((-BUCKET_NS..=ITS_OWN_NS).contains(&later), "{both}");
    Ok(both)
}

fn number(evidence: &Evidence<'_>, file: &str, place: &str) -> anyhow::Result<f64> {
    let found = evidence.json(file)?;
    let value = found.pointer(place).and_then(Value::as_f64);
    value.with_context(|| format!("{file} lacks {place}"))
}

/// Returns the medians of interrupt and thread in the tracer's histogram, whose rows are `NS INTERRUPTS THREADS`.
fn medians(histogram: &str) -> anyhow::Result<[f64; 2]> {
    let rows = histogram.lines().filter_map(|line| {
        let numbers = line.split_whitespace().map(str::parse::<f64>);
        let numbers = numbers.collect::<Result<Vec<_>, _>>().ok()?;
        <[f64; 3]>::try_from(numbers).ok()
    });
    let rows: Vec<[f64; 3]> = rows.collect();
    Ok([median(&rows, 1)?, median(&rows, 2)?])
}

fn median(rows: &[[f64; 3]], column: usize) -> anyhow::Result<f64> {
    let half = rows.iter().map(|row| row[column]).sum::<f64>() / 2.0;
    let mut below = 0.0;
    for row in rows {
        below += row[column];
        if half > 0.0 && below >= half {
            return Ok(row[0] + BUCKET_NS / 2.0);
        }
    }
    anyhow::bail!("rtla counted nothing")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_read_from_the_histogram() {
        let text = "# RTLA timerlat histogram\nIndex   IRQ-000   Thr-000\n2100  7  0\n2700  5  0\n15700  0  2\n\
                    15900  0  9\nover:  0  0\ncount:  12  11\nmin:  2136  15732\n";
        assert_eq!(medians(text).unwrap(), [2_150.0, 15_950.0]);
        assert!(medians("Index IRQ-000 Thr-000\nover: 0 0\n").is_err());
    }
}
