//! Direct costs taken out of samples whose interruptions are known.

use crate::interrupted::{Chance, Made, entry, exit, measure, nested, ran, result, unexplained};
use anechoic_analyze::samples::subtraction::{Step, Subtracted, Subtraction};
use anechoic_lab::two_cpus::{MICRO, SECOND};
use anechoic_recording::{ActivityKind, Fixed, Loss};

const WORK: u64 = SECOND / 1000;

fn subtraction(made: &Made) -> Subtraction {
    result(made).subtraction.expect("fixed work, attributed")
}

fn step(found: &Subtraction, taken: Subtracted) -> &Step {
    found.steps.iter().find(|step| step.taken == taken).expect("this step")
}

/// An added interrupt of 1.25 µs with 8 to 14 µs before it and 3 µs after it in every sample, a tick every fourth.
fn thousand_hz(watched: bool, indirect: u64) -> Made {
    let mut made = Made::new(0, "counter", watched, SECOND);
    let mut chance = Chance(1);
    for number in 0..4_000 {
        let before = (8_000 + chance.below(6_000)) * MICRO / 1_000;
        let added =
            [entry("timer", before), ran("timer", "", 5 * MICRO / 4), exit("timer", 3 * MICRO)];
        let tick = [
            entry("timer-tick", 9 * MICRO),
            ran("timer-tick", "", MICRO),
            nested("timer-tick", "", MICRO, 1),
            ran("softirq", "NET_RX", 2 * MICRO),
            exit("timer-tick", 2 * MICRO),
        ];
        let jitter = chance.below(100);
        if number % 4 == 0 {
            made.sample(WORK + jitter + indirect, &[&added, &tick]);
        } else {
            made.sample(WORK + jitter, &[&added]);
        }
    }
    made
}

#[test]
fn interrupts_of_known_cost_are_accounted_for_with_their_gaps() {
    let found = subtraction(&thousand_hz(true, 0));
    assert_eq!((found.samples, found.judged, found.undisturbed), (4_000, 4_000, 0));
    assert_eq!((found.outside_ns, found.overdrawn), (0.0, 0));
    let order: Vec<Subtracted> = found.steps.iter().map(|step| step.taken).collect();
    use Subtracted::{AllSources, Gaps, Network, Nothing, Ticks, VmOrHardware};
    assert_eq!(order, [Nothing, Ticks, Network, AllSources, Gaps, VmOrHardware]);
    // Each step lowers the mean by what it takes out: a tick of 2 µs and NET_RX of 2 µs in every fourth sample,
    // 1.25 µs in every one; the gaps are 3 µs + 8 to 14 µs, and 11 µs with the tick.
    let means: Vec<f64> =
        found.steps.iter().filter_map(|s| Some(s.judged.as_ref()?.mean_ns)).collect();
    let falls: Vec<f64> = means.windows(2).map(|pair| pair[0] - pair[1]).collect();
    for (got, expected) in falls.iter().zip([500.0, 500.0, 1_250.0, 14_000.0 + 2_750.0, 0.0]) {
        assert!((got - expected).abs() < 100.0, "{falls:?}");
    }
    let gaps = step(&found, Gaps).judged.as_ref().expect("judged");
    assert!(gaps.iqr_explained > Some(0.99) && gaps.p99_p1_explained > Some(0.99), "{gaps:?}");
    assert_eq!(gaps.min_ns, 1e6, "nothing is left but work");
    assert!(gaps.max_ns < 1e6 + 40.0, "and its jitter");
    let direct = step(&found, AllSources).judged.as_ref().expect("judged");
    assert!(direct.iqr_explained < Some(0.5), "without gaps: {direct:?}");
    assert!(found.verdict.accounted > Some(0.99), "{:?}", found.verdict);
    assert_eq!(found.verdict.after, Gaps);
    assert_eq!(found.verdict.unseen_ns, Some(250.0));
    assert!(found.verdict.residual_ns < Some(15.0), "{:?}", found.verdict);
    // In one of four samples the tick adds 13 µs of 17 at most: it alone rules p99 − p1.
    let rows: Vec<_> =
        found.sources.iter().map(|s| (s.source.as_str(), s.name.as_str(), s.samples)).collect();
    assert_eq!(rows[0], ("timer-tick", "", 1_000));
    let tick = &found.sources[0];
    assert_eq!((tick.direct_ns, tick.gap_ns, tick.alone), (2_000.0, Some(11_000.0), 0));
    let network = found.sources.iter().find(|s| s.source == "softirq").expect("a row");
    assert_eq!((network.direct_ns, network.gap_ns), (2_000.0, Some(0.0)));
}

#[test]
fn a_hidden_indirect_cost_stays_and_is_told() {
    // 2 µs of slower work after the tick in every fourth sample; nothing else.
    let mut made = Made::new(0, "counter", true, 0);
    for number in 0..2_000 {
        let tick = [entry("timer-tick", 9 * MICRO), ran("timer-tick", "", 2 * MICRO)];
        if number % 4 == 0 {
            made.sample(WORK + 2 * MICRO, &[&tick]);
        } else {
            made.sample(WORK, &[]);
        }
    }
    let found = subtraction(&made);
    let tick = &found.sources[0];
    // The first has no neighbours before it.
    assert_eq!((tick.alone, tick.indirect_ns), (499, Some(2_000.0)));
    let interval = tick.indirect_interval.expect("enough samples");
    assert_eq!((interval.low, interval.high), (2_000.0, 2_000.0), "all alike");
    // Three of four samples are undisturbed: the quartiles see nothing.
    assert_eq!((tick.p99_p1_fall_ns, tick.iqr_fall_ns), (Some(11_000.0), Some(0.0)));
    // Of 13 µs 11 are accounted for, and 2 stay.
    let p99_p1 = found.verdict.p99_p1.expect("enough samples");
    assert_eq!(
        (p99_p1.raw_ns, p99_p1.left_ns, p99_p1.undisturbed_ns),
        (13_000.0, 2_000.0, Some(0.0))
    );
    assert!((found.verdict.accounted.expect("a verdict") - 11.0 / 13.0).abs() < 1e-9);
    assert_eq!(found.undisturbed, 1_500);
}

#[test]
fn slow_changes_of_speed_are_told_from_interrupts() {
    // The core is slower by up to 2 %, a little more with each sample of 1,000, and then as before; besides a tick
    // of 11 µs in every eighth sample, with 1 µs of slower work after it.
    let mut made = Made::new(0, "counter", true, 0);
    for number in 0..8_000 {
        let work = WORK + (number % 1_000) * 20 * MICRO / 1_000;
        let tick = [entry("timer-tick", 9 * MICRO), ran("timer-tick", "", 2 * MICRO)];
        match number % 8 {
            0 => made.sample(work + MICRO, &[&tick]),
            _ => made.sample(work, &[]),
        }
    }
    let verdict = subtraction(&made).verdict;
    let iqr = verdict.iqr.expect("enough");
    assert!(iqr.share.is_none(), "the core's own spread hides what ticks do: {iqr:?}");
    let paced = verdict.paced.expect("enough");
    assert_eq!(paced.samples, 8_000 - 4);
    let near = |got: f64, expected: f64| (got - expected).abs() < 50.0;
    assert!(near(paced.p99_p1.raw_ns, 12_000.0), "{paced:?}");
    assert!(near(paced.p99_p1.left_ns, 1_000.0), "{paced:?}");
    assert!((paced.accounted.expect("a share") - 11.0 / 12.0).abs() < 0.01, "{paced:?}");

    // Where samples are missing there are no neighbours.
    made.samples.retain(|sample| sample.index % 5 != 0);
    assert_eq!(subtraction(&made).verdict.paced, None);
}

#[test]
fn unexplained_giants_are_not_judged_and_not_called_explained() {
    let mut made = thousand_hz(true, 0);
    for number in 0..1_000 {
        let tick = [entry("timer-tick", 9 * MICRO), ran("timer-tick", "", 2 * MICRO)];
        let hole = [unexplained(400 * MICRO)];
        let stolen = [entry("vm-or-hardware", 300 * MICRO), ran("timer", "", MICRO)];
        match number % 40 {
            0 | 20 => made.sample(WORK, &[&tick, &hole]),
            1 | 21 => made.sample(WORK, &[&stolen]),
            2 => made.sample(WORK, &[&[unexplained(4 * MICRO)]]),
            _ => made.sample(WORK, &[&tick]),
        }
    }
    let found = subtraction(&made);
    assert_eq!((found.left_out_large, found.large_ns, found.judged), (100, 5_000, 4_900));
    let raw = step(&found, Subtracted::Nothing);
    let (all, judged) = (raw.all.as_ref().expect("all"), raw.judged.as_ref().expect("judged"));
    assert_eq!((all.samples, judged.samples), (5_000, 4_900));
    assert!(all.p99_p1_ns > 250_000.0 && judged.p99_p1_ns < 40_000.0, "{all:?}");
    let gaps = step(&found, Subtracted::Gaps);
    let all = gaps.all.as_ref().expect("all");
    assert!(all.variance_explained < Some(0.1), "holes are not explained: {all:?}");
    let host = step(&found, Subtracted::VmOrHardware).all.as_ref().expect("all");
    assert!(host.variance_explained > Some(0.99), "they were seen: {host:?}");
    assert!(found.verdict.accounted > Some(0.95), "{:?}", found.verdict);
    let row = found.sources.iter().find(|s| s.source == "vm-or-hardware").expect("a row");
    assert_eq!((row.samples, row.direct_ns), (125, 0.0));
}

#[test]
fn where_events_were_lost_nothing_is_judged() {
    let made = thousand_hz(true, 0);
    let lost = |what: &str, from: usize, to: usize| Loss {
        what: what.into(),
        cpu: 0,
        start_ticks: made.samples[from].start_ticks + 1,
        end_ticks: made.samples[to].end_ticks,
        count: 7,
    };
    let losses = [lost("events", 10, 19), lost("untraced", 15, 29), lost("steal", 100, 200)];
    let found = measure(&[&made], &losses, true).series.remove(0);
    let ticks = found.ticks.expect("attributed");
    let found = found.subtraction.expect("attributed");
    assert_eq!((found.left_out_unknown, found.judged), (20, 3_980));
    assert_eq!(found.steps.last().map(|step| step.taken), Some(Subtracted::NotAttributable));
    assert_eq!(ticks.unknown, 20);
}

#[test]
fn pure_series_have_no_gaps_and_say_so() {
    let found = subtraction(&thousand_hz(false, 0));
    let order: Vec<Subtracted> = found.steps.iter().map(|step| step.taken).collect();
    assert_eq!(
        order,
        [Subtracted::Nothing, Subtracted::Ticks, Subtracted::Network, Subtracted::AllSources]
    );
    assert_eq!((found.verdict.after, found.verdict.unseen_ns), (Subtracted::AllSources, None));
    assert!(found.verdict.accounted < Some(0.5), "{:?}", found.verdict);
    assert!(found.sources.iter().all(|source| source.gap_ns.is_none()));
    let missing: Vec<&str> = found.not_available.iter().map(|n| n.what.as_str()).collect();
    assert_eq!(missing, ["gaps around interrupts"]);
}

#[test]
fn without_attribution_detours_are_seen_but_not_their_cause() {
    let found = measure(&[&thousand_hz(true, 0)], &[], false).series.remove(0);
    assert_eq!(found.ticks, None);
    let found = found.subtraction.expect("there are detours");
    let order: Vec<Subtracted> = found.steps.iter().map(|step| step.taken).collect();
    assert_eq!(order, [Subtracted::Nothing, Subtracted::Detours]);
    let left = found.steps[1].judged.as_ref().expect("judged");
    assert_eq!(left.min_ns, 1e6, "a step is work, not detour");
    assert!(found.verdict.accounted > Some(0.99));
    assert_eq!(found.sources, []);
    assert_eq!(found.not_available[0].what, "direct costs by source");

    let pure = measure(&[&thousand_hz(false, 0)], &[], false).series.remove(0);
    assert_eq!((pure.subtraction, pure.ticks), (None, None), "nothing tells of anything");
}

#[test]
fn what_cannot_be_judged_has_no_verdict() {
    type Change = fn(&mut Made);
    let quiet: Change = |made| (0..500).for_each(|_| made.sample(WORK, &[]));
    let few: Change = |made| (0..99).for_each(|_| made.sample(WORK, &[&[unexplained(MICRO)]]));
    let cases = [("no spread", quiet, 500), ("too few", few, 99)];
    for (name, fill, samples) in cases {
        let mut made = Made::new(0, "sum", true, 0);
        fill(&mut made);
        let found = subtraction(&made);
        assert_eq!((found.judged, found.verdict.accounted), (samples, None), "case: {name}");
        let missing = &found.not_available[0];
        assert_eq!(missing.what, "verdict of the subtraction", "case: {name}");
    }
    let mut other = Made::new(0, "sum", true, 0);
    other.sample(WORK, &[]);
    other.series.fixed = Fixed::Time;
    let time = result(&other);
    assert_eq!((time.subtraction, time.ticks), (None, None), "fixed time");
    (other.series.fixed, other.series.cpu) = (Fixed::Work, None);
    let unpinned = result(&other);
    assert_eq!((unpinned.subtraction, unpinned.ticks), (None, None), "not pinned");
}

#[test]
fn two_series_of_one_cpu_keep_what_is_theirs() {
    let first = thousand_hz(true, 0);
    let mut second = Made::new(1, "sum", true, first.end() + SECOND);
    for _ in 0..200 {
        second.sample(WORK, &[&[entry("ipi", MICRO), ran("ipi", "", 3 * MICRO)]]);
    }
    let found = measure(&[&first, &second], &[], true).series;
    let [a, b] = &found[..] else { panic!("two series") };
    let sources = |s: &Option<Subtraction>| s.as_ref().map(|s| s.sources.len());
    assert_eq!((sources(&a.subtraction), sources(&b.subtraction)), (Some(3), Some(1)));
    let b = b.subtraction.as_ref().expect("attributed");
    assert_eq!((b.samples, b.outside_ns), (200, 0.0));
    assert_eq!((b.sources[0].source.as_str(), b.sources[0].direct_ns), ("ipi", 3_000.0));
}

#[test]
fn hostile_activities_neither_panic_nor_hide() {
    let huge = u64::MAX / 2;
    type Spoil = fn(&mut Made, u64);
    let cases: [(&str, Spoil); 6] = [
        ("more than the sample", |made, _| {
            made.activities.iter_mut().for_each(|row| row.self_ticks = 2 * WORK);
        }),
        ("huge", |made, huge| made.activities.iter_mut().for_each(|row| row.self_ticks = huge)),
        ("outside of all samples", |made, _| {
            made.samples.retain(|sample| sample.index % 2 == 0);
        }),
        ("parents that are not there", |made, _| {
            made.activities.iter_mut().for_each(|row| row.parent = Some(u32::MAX));
        }),
        ("all at once", |made, _| {
            let first = made.activities[0].start_ticks;
            made.activities.iter_mut().for_each(|row| {
                (row.start_ticks, row.end_ticks, row.detour) = (first, first, 0);
            });
        }),
        ("no samples", |made, _| made.samples.clear()),
    ];
    for (name, spoil) in cases {
        let mut made = thousand_hz(true, 0);
        spoil(&mut made, huge);
        let found = result(&made).subtraction.expect("attributed");
        let touched = found.overdrawn > 0 || found.outside_ns > 0.0 || found.samples == 0;
        assert!(touched || name == "parents that are not there", "case: {name}");
        let finite = |value: f64| value.is_finite();
        let lefts = || found.steps.iter().flat_map(|step| [&step.all, &step.judged]).flatten();
        assert!(lefts().all(|left| finite(left.mean_ns) && finite(left.p99_p1_ns)), "case: {name}");
    }
}

#[test]
fn many_sources_are_told_apart_up_to_a_bound() {
    let mut made = Made::new(0, "sum", true, 0);
    for number in 0..300_u64 {
        made.sample(WORK, &[&[(ActivityKind::OffCpu, "thread", "", (number + 1) * MICRO, None)]]);
        made.activities.last_mut().expect("just made").name = format!("kworker/{number}").into();
    }
    let found = subtraction(&made);
    assert_eq!(found.sources.len(), 129);
    let rest = found.sources.iter().find(|source| source.source.is_empty()).expect("the others");
    assert_eq!(rest.samples, 300 - 128);
}
