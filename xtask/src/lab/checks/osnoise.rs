//! The kernel's own observer of noise, in the same seconds.
//!
//! Both are loops that look for time that they did not get, so one CPU cannot run both at once. Here the kernel's loop
//! has the higher priority: while it runs, ours is away, and the tool's events show what interrupted the kernel's loop.
//! What that loop lost is therefore compared with what the tool reports about it, one by one.

use super::Check;
use crate::lab::boots::Boot;
use crate::lab::evidence::{Evidence, rows};
use anyhow::{Context, ensure};
use serde_json::Value;

pub(super) const CHECK: Check = Check {
    name: "osnoise",
    tests: "in the same seconds the kernel's tracer osnoise (`rtla`) and the tool count the same NMIs, interrupts, \
            softirqs and threads, each at the same time, and no hardware noise",
    script: "instance=/sys/kernel/tracing/instances/truth
mkdir $instance
if grep -q x86-tsc $instance/trace_clock; then clock=x86-tsc; else clock=mono_raw; fi
echo $clock >$instance/trace_clock
for kind in nmi irq softirq thread; do echo 1 >$instance/events/osnoise/${kind}_noise/enable; done
anechoic run --allow-variant-tsc -d 26s -q -o rec --json >summary.json &
# Its loop runs after five seconds of preparations.
sleep 7
# A thread of higher priority than the kernel's loop.
anechoic inject --kind thread --rate 20hz --length 1ms --cpus 0 --for 22s --force --allow-variant-tsc -q &
rtla osnoise top -q -c 0 -P f:1 -p 500000 -r 300000 -d 2 >rtla 2>&1
wait
cat $instance/trace >trace
anechoic longest -n 100 --activities 10000 --json rec >longest.json",
    skipped,
    judge,
};

/// The thread of the kernel's loop.
const OBSERVER: &str = "osnoise/0";
/// How long it runs each time, in nanoseconds: `-r` of `rtla`.
const RUNTIME_NS: u64 = 300_000_000;
/// How long after its thread has the CPU the loop begins to look, in nanoseconds of exact time: a tick after 5.4 µs was
/// before it (Linux 7.3), and its own interrupt came 7.8 µs after its time (6.1).
const LOOKS_AFTER_NS: u64 = 7_000;
/// Longer than between two ticks, shorter than between two samples (`-p` less `-r`), in nanoseconds.
const BETWEEN_NS: u64 = 100_000_000;
/// How the tracer's events are called, in the order of the columns in `rtla`'s table.
const KINDS: [&str; 4] = ["nmi_noise", "irq_noise", "softirq_noise", "thread_noise"];
/// The longest time between the tool's and the tracer's start of one interruption, in nanoseconds: the code of both, and
/// what interrupted a thread, which the tracer takes off its duration.
const NEAR_NS: u64 = 50_000;

fn skipped(boot: &Boot) -> Option<&'static str> {
    (!boot.kernel.is_real_time())
        .then_some("Debian's kernels without real-time lack the tracer osnoise")
}

fn judge(evidence: &Evidence<'_>) -> anyhow::Result<String> {
    evidence.succeeded()?;
    let (samples, [hardware, totals @ ..]) = totals(&evidence.text("rtla")?)?;
    ensure!(hardware == 0, "rtla: {hardware} times hardware noise");
    let run: Value = serde_json::from_slice(&std::fs::read(evidence.dir.join("rec/run.json"))?)?;
    let mut traced = traced(&evidence.text("trace")?, &run)?;
    let longest = evidence.json("longest.json")?;
    let mut seen = seen(rows(&longest, "/detours"));
    if run["trace"]["clock"] != "x86-tsc" {
        let first = |times: &[Vec<u64>; 4]| times[1].first().copied().context("no interrupt");
        let before = first(&traced)?.checked_sub(first(&seen)?).context("a trace from before")?;
        traced.iter_mut().flatten().for_each(|at| *at = at.saturating_sub(before));
    }
    let from = counted_from(&traced, samples)?;
    for times in traced.iter_mut().chain(&mut seen) {
        times.retain(|at| *at + NEAR_NS >= from);
    }
    for (at, kind) in KINDS.iter().enumerate() {
        let (traced, seen) = (&traced[at], &seen[at]);
        ensure!(
            [traced.len(), seen.len()] == [totals[at]; 2],
            "{kind}: rtla {}, tracer {}, tool {}",
            totals[at],
            traced.len(),
            seen.len()
        );
        for (traced, seen) in traced.iter().zip(seen) {
            ensure!(traced.abs_diff(*seen) < NEAR_NS, "{kind}: at {traced} ns, not at {seen} ns");
        }
    }
    let [nmis, interrupts, softirqs, threads] = totals;
    ensure!(interrupts > 0 && threads > 0, "{interrupts} interrupts and {threads} threads");
    Ok(format!(
        "both saw {nmis} NMIs, {interrupts} interrupts, {softirqs} softirqs, {threads} threads, and no hardware noise"
    ))
}

/// Returns what `rtla` counted: samples, and in them hardware noise, NMIs, interrupts, softirqs, threads.
fn totals(table: &str) -> anyhow::Result<(usize, [usize; 5])> {
    let row = table.lines().rev().find(|line| line.trim_start().starts_with("0 #"));
    let row = row.with_context(|| format!("rtla printed no row of CPU 0: {table}"))?;
    let numbers: Vec<usize> = row.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let last = numbers.len().checked_sub(5).context("rtla's row is too short")?;
    let samples = row.split_whitespace().find_map(|word| word.strip_prefix('#'));
    let samples = samples.context("rtla's row has no number of samples")?.parse()?;
    Ok((samples, numbers[last..].try_into()?))
}

/// Returns when the first of the samples began that `rtla` counted. On one CPU it may miss the very first: up to Linux
/// 6.1 the kernel's loop starts before `rtla` has switched its trace on, and keeps it from the CPU for a sample.
fn counted_from(traced: &[Vec<u64>; 4], samples: usize) -> anyhow::Result<u64> {
    let mut times: Vec<u64> = traced.iter().flatten().copied().collect();
    times.sort_unstable();
    let far = |pair: &[u64]| pair[1] - pair[0] > BETWEEN_NS;
    let later = times.windows(2).filter(|pair| far(pair)).map(|pair| pair[1]);
    let begins: Vec<u64> = times.first().copied().into_iter().chain(later).collect();
    let missed = begins.len().checked_sub(samples).filter(|missed| *missed <= 1);
    let first = missed.and_then(|missed| begins.get(missed));
    first.copied().with_context(|| format!("{} samples, of which rtla saw {samples}", begins.len()))
}

/// Returns when each interruption began for the tracer, by kind, in nanoseconds since the start of the run; where the
/// trace has no ticks of the counter, since the machine started. Then the first interrupt is taken to be the same one for
/// the tracer and the tool, and all others are judged by their distance from it.
fn traced(trace: &str, run: &Value) -> anyhow::Result<[Vec<u64>; 4]> {
    let number = |value: &Value| value.as_u64().context("run.json lacks a number");
    let millihertz = u128::from(number(&run["clock"]["frequency_millihertz"])?);
    let [start, end] = [number(&run["start_ticks"])?, number(&run["end_ticks"])?];
    let mut found = [const { Vec::new() }; 4];
    for line in trace.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let kind = words
            .iter()
            .find_map(|word| KINDS.iter().position(|kind| word.strip_suffix(':') == Some(kind)));
        let time = words
            .iter()
            .find(|word| word.strip_suffix(':').is_some_and(|word| word.parse::<f64>().is_ok()));
        let duration = words.iter().skip_while(|word| **word != "duration").nth(1);
        let duration = duration.and_then(|word| word.parse::<u64>().ok());
        if let (Some(kind), Some(time), Some(duration)) = (kind, time, duration) {
            let time = time.trim_end_matches(':');
            let ended = match time.split_once('.') {
                Some((seconds, us)) => {
                    seconds.parse::<u64>()? * 1_000_000_000 + us.parse::<u64>()? * 1_000
                }
                None => {
                    let ticks = time.parse()?;
                    ensure!((start..end).contains(&ticks), "the tracer ran beyond the run: {line}");
                    u64::try_from(u128::from(ticks - start) * 1_000_000_000_000 / millihertz)?
                }
            };
            found[kind].push(ended.saturating_sub(duration));
        }
    }
    Ok(found)
}

/// Returns when each interruption of the kernel's loop began for the tool, in the same form.
fn seen(detours: &[Value]) -> [Vec<u64>; 4] {
    let mut found = [const { Vec::new() }; 4];
    for detour in detours {
        let activities = rows(detour, "/activities");
        let at = |row: &Value| row["start_ns"].as_u64().unwrap_or(0);
        let is_observer = |row: &&Value| row["kind"] == "off_cpu" && row["name"] == OBSERVER;
        let Some(first) = activities.iter().position(|row| is_observer(&row)) else { continue };
        // Its own interrupt follows, by which it announces what it counted.
        let begin = at(&activities[first]) + LOOKS_AFTER_NS;
        let looks = begin..begin + RUNTIME_NS;
        for row in activities[first..].iter().filter(|row| looks.contains(&at(row))) {
            if let Some(kind) = kind(row) {
                found[kind].push(detour["start_ns"].as_u64().unwrap_or(0) + at(row));
            }
        }
    }
    found.iter_mut().for_each(|times| times.sort_unstable());
    found
}

/// Returns which of the kinds an activity is.
fn kind(row: &Value) -> Option<usize> {
    let source = row["source"].as_str()?;
    match row["kind"].as_str()? {
        "off_cpu" if row["name"] != OBSERVER => Some(3),
        // A row with a function is what ran in the interrupt.
        "activity" if !row["function"].is_null() => None,
        "activity" if source == "nmi" => Some(0),
        "activity" if source == "softirq" => Some(2),
        "activity" => Some(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_sides_of_the_comparison_are_read() {
        let table = "CPU Period Runtime Noise % CPU Aval Max Noise Max Single HW NMI IRQ Softirq Thread\n\
                       0 #4  1200000  33007  97.24941  8290  1059  0  1  329  0  25\n";
        assert_eq!(totals(table).unwrap(), (4, [0, 1, 329, 0, 25]));
        assert!(totals("CPU Period\n").is_err());
        let run = json!({
            "clock": { "frequency_millihertz": 500_000_000_000_u64 },
            "start_ticks": 1_000, "end_ticks": 2_000,
        });
        let event = |ticks: u32, what: &str| {
            format!("  osnoise/0-180  [000] d.h11  {ticks}: {what} start 39.5 duration 100 ns\n")
        };
        let text = ["# tracer\n", &event(1_100, "irq_noise: local_timer:236")].concat();
        let text = text + &event(1_200, "thread_noise: inject 0:180");
        assert_eq!(traced(&text, &run).unwrap(), [vec![], vec![100], vec![], vec![300]]);
        assert!(traced(&event(2_001, "nmi_noise:"), &run).is_err());
        let seconds = event(0, "irq_noise: arch_timer:11").replace(" 0:", " 2.000150:");
        assert_eq!(traced(&seconds, &run).unwrap()[1], [2_000_149_900]);
    }

    #[test]
    fn a_sample_before_the_trace_of_rtla_is_left_out() {
        let ms = |times: &[u64]| times.iter().map(|at| at * 1_000_000).collect::<Vec<u64>>();
        let traced = [vec![], ms(&[4, 8, 500, 504]), vec![], ms(&[496, 1_000])];
        for (samples, from) in [(3, Some(4)), (2, Some(496)), (1, None), (4, None), (0, None)] {
            let found = counted_from(&traced, samples).ok();
            assert_eq!(found, from.map(|at| at * 1_000_000), "{samples} samples");
        }
    }

    #[test]
    fn what_interrupts_the_kernels_loop_is_counted_while_it_looks() {
        let row = |start_ns: u64, kind: &str, source: &str, name: &str, function: Option<&str>| {
            json!({
                "start_ns": start_ns,
                "kind": kind,
                "source": source,
                "name": name,
                "function": function,
            })
        };
        let activities = [
            row(0, "activity", "timer", "hrtimer_wakeup", None), // which wakes the loop
            row(10, "off_cpu", "thread", OBSERVER, None),
            row(5_410, "activity", "timer-tick", "", None), // before it looks
            row(7_020, "activity", "timer-tick", "", None),
            row(7_021, "activity", "timer-tick", "", Some("tick_nohz_handler")),
            row(7_030, "off_cpu", "thread", "inject 0", None),
            row(7_040, "activity", "softirq", "TIMER", None),
            row(7_050, "off_cpu", "thread", OBSERVER, None),
            row(7_009 + RUNTIME_NS, "activity", "timer-tick", "", None),
            row(7_011 + RUNTIME_NS, "activity", "ipi", "irq work", None),
            row(7_060 + RUNTIME_NS, "off_cpu", "thread", "rtla", None),
        ];
        let others = json!({ "start_ns": 5, "activities": [row(0, "activity", "nmi", "", None)] });
        let detours = [json!({ "start_ns": 1_000, "activities": activities }), others];
        assert_eq!(
            seen(&detours),
            [vec![], vec![8_020, 8_009 + RUNTIME_NS], vec![8_040], vec![8_030]]
        );
    }
}
