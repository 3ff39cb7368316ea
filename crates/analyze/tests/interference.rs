//! The interference matrix, from recordings in which the cost of every interrupt is known.

use crate::matrix::{KERNEL, Made, Plan, US};
use anechoic_analyze::interference::{Interference, Pair, Proximity};
use anechoic_recording::Loss;

fn only(made: &Interference) -> &Pair {
    assert_eq!(made.pairs.len(), 1, "{made:?}");
    &made.pairs[0]
}

/// Every planted cost lies in its interval: a wider one would say nothing, a narrower one would be luck.
#[test]
fn planted_costs_come_back() {
    let drift = Plan { drift_per_repetition: 1, ..Plan::default() };
    let host = Plan { holes: true, ..Plan::default() };
    let ticks = Plan { own_ticks: true, ..Plan::default() };
    let all = Plan { own_ticks: true, holes: true, drift_per_repetition: 1, ..Plan::default() };
    // Name, plan, source, CPU, cost, half of the widest interval, in µs.
    let cases: [(&str, Plan, u32, u32, f64, f64); 12] = [
        ("same thread", Plan::default(), 0, 0, 10.0, 0.1),
        ("sibling", Plan::default(), 0, 4, 1.0, 0.1),
        ("other core", Plan::default(), 0, 1, 0.0, 0.1),
        ("same thread, ticks in phase", ticks.clone(), 0, 0, 10.0, 0.1),
        ("sibling, ticks in phase", ticks.clone(), 0, 4, 1.0, 0.1),
        ("other core, ticks in phase", ticks, 0, 1, 0.0, 0.1),
        ("sibling, drift", drift.clone(), 0, 4, 1.0, 0.1),
        ("other core, drift", drift, 0, 1, 0.0, 0.1),
        ("other core, host", host.clone(), 0, 1, 0.0, 0.1),
        ("sibling, host", host, 0, 4, 1.0, 0.1),
        ("same thread, all at once", all.clone(), 0, 0, 10.0, 0.1),
        ("other core, all at once", all, 0, 1, 0.0, 0.1),
    ];
    for (name, plan, source, cpu, cost_us, widest_us) in cases {
        let plan = Plan { cost_ticks: (cost_us * US as f64) as u64, ..plan };
        let made = Made::new(&plan, &[(source, cpu)]).analyze();
        let alone = only(&made).alone.unwrap_or_else(|| panic!("{name}: {made:?}"));
        let interval = alone.interval.unwrap_or_else(|| panic!("{name}: {alone:?}"));
        let (low, high) = (interval.low / 1e3, interval.high / 1e3);
        assert!(low <= cost_us && cost_us <= high, "{name}: {low} to {high}, not {cost_us}");
        assert!((high - low) / 2.0 <= widest_us, "{name}: {low} to {high} is wide");
        assert_eq!(alone.differs, cost_us > 0.0, "{name}: {alone:?}");
        assert!(alone.interrupts > 300, "{name}: {alone:?}");
    }
}

/// What comes at the same time by chance is in the plain mean; that is why it is not the figure.
#[test]
fn the_plain_mean_has_what_came_by_chance() {
    let plan = Plan { own_ticks: true, cost_ticks: 0, ..Plan::default() };
    let made = Made::new(&plan, &[(0, 1)]).analyze();
    let all = only(&made).all.expect("both kinds");
    // Every fourth interrupt falls together with a tick of 15 µs.
    assert!((all.per_interrupt_ns - 3_750.0).abs() < 400.0, "{all:?}");
    assert!(!only(&made).alone.expect("some alone").differs);
}

/// An interrupt at the very edge of a repetition is felt in the next one, too.
#[test]
fn what_spills_over_an_edge_is_counted() {
    let plan = Plan { cost_ticks: 4 * US, spill: true, ..Plan::default() };
    let made = Made::new(&plan, &[(0, 4)]).analyze();
    let alone = only(&made).alone.expect("enough");
    let interval = alone.interval.expect("enough");
    assert!(interval.low <= 4_000.0 && 4_000.0 <= interval.high, "{alone:?}");
    assert!(alone.with > alone.interrupts, "{alone:?}");
}

#[test]
fn work_that_is_slowed_is_no_hole() {
    // Steps of twice their time are detours without an event.
    let plan = Plan { cost_ticks: 5 * US, slow_steps: true, ..Plan::default() };
    let made = Made::new(&plan, &[(0, 4)]).analyze();
    let alone = only(&made).alone.expect("enough");
    assert!(
        alone.interrupts > 450 && (alone.per_interrupt_ns - 5_000.0).abs() < 100.0,
        "{alone:?}"
    );
}

#[test]
fn the_matrix_by_distance_and_kernel() {
    let plan = Plan { cost_ticks: US, ..Plan::default() };
    let pairs = [(0, 0), (0, 4), (0, 1), (0, 2), (0, 6), (4, 0), (0, 1)];
    let made = Made::new(&plan, &pairs).analyze();
    let places: Vec<Proximity> = made.pairs.iter().map(|pair| pair.place).collect();
    use Proximity::{OtherSocket, SameThread, SharedL2, SharedL3, SmtSibling};
    let expected = [SameThread, SmtSibling, SharedL2, SharedL3, OtherSocket, SmtSibling, SharedL2];
    assert_eq!(places, expected);
    assert_eq!((made.sources, made.cpus), (vec![0, 4], vec![0, 1, 2, 4, 6]));
    let rows: Vec<(Proximity, u64, u64)> =
        made.classes.iter().map(|class| (class.place, class.pairs, class.felt)).collect();
    let expected = [
        (SameThread, 1, 1),
        (SmtSibling, 2, 2),
        (SharedL2, 2, 2),
        (SharedL3, 1, 1),
        (OtherSocket, 1, 1),
    ];
    assert_eq!(rows, expected);
    let class = &made.classes[1];
    assert_eq!(class.kernel, KERNEL);
    let interval = class.interval.expect("two pairs");
    assert!(interval.low <= 1_000.0 && 1_000.0 <= interval.high, "{class:?}");
    let alone = made.pairs[1].alone.and_then(|cost| cost.standard_error_ns).expect("enough");
    let error = (interval.high - interval.low) / 2.0 / 1.96;
    assert!(
        (error / alone - 0.5_f64.sqrt()).abs() < 0.2,
        "two pairs tell more than one: {class:?}"
    );
    assert!(class.lowest_ns <= class.mean_ns && class.mean_ns <= class.highest_ns);
    assert_eq!(made.kernels[0].cycles_per_instruction, Some(1.5));
    assert_eq!((made.injected[0].rate_hz, made.grain_ns), (1_000.0, Some(100_000)));
    let delivered = made.pairs[0].delivered_hz;
    assert!((delivered - 1_000.0).abs() < 10.0, "{delivered}");
    assert_eq!(made.not_available, []);
}

#[test]
fn what_was_lost_counts_nowhere() {
    let plan = Plan { cost_ticks: 10 * US, ..Plan::default() };
    let whole = only(&Made::new(&plan, &[(0, 1)]).analyze()).clone();
    for (what, cpu, unknown) in [
        ("events", 0, true),
        ("events", 1, true),
        ("untraced", 1, true),
        ("detours", 1, true),
        ("detours", 0, false),
        ("steal", 1, false),
        ("events", 2, false),
    ] {
        let mut made = Made::new(&plan, &[(0, 1)]);
        let (start_ticks, end_ticks) = made.part(0.25, 0.5);
        made.losses.push(Loss { what: what.into(), cpu, start_ticks, end_ticks, count: 7 });
        if unknown && what != "detours" {
            // They did come: were they taken for known, the cost would be smaller.
            made.events.retain(|e| e.cpu != cpu || e.ticks < start_ticks || e.ticks > end_ticks);
        }
        let found = made.analyze();
        let pair = only(&found);
        let case = format!("{what} of CPU {cpu}: {pair:?}");
        assert_eq!(pair.repetitions + pair.unknown, whole.repetitions, "{case}");
        let quarter = whole.repetitions / 4;
        assert!(
            if unknown { pair.unknown.abs_diff(quarter) < 5 } else { pair.unknown == 0 },
            "{case}"
        );
        let cost = pair.alone.expect("enough").per_interrupt_ns;
        assert!((cost - 10_000.0).abs() < 50.0, "{case}");
        assert!((pair.delivered_hz - 1_000.0).abs() < 20.0, "{case}");
    }
}

#[test]
fn what_cannot_be_said_is_said_so() {
    type Change = fn(&mut Made);
    let cases: [(&str, Change, &str); 8] = [
        ("no events", |made| made.run.trace = None, "no kernel events were recorded"),
        ("no names", |made| made.names.clear(), "names of kernel functions are hidden"),
        ("no injection", |made| made.series[0].parameters.injection = None, "measure with"),
        (
            "one that is not there",
            |made| made.series[0].parameters.injection = Some(9),
            "measure with",
        ),
        ("on two CPUs", |made| made.run.injections[0].cpus.push(7), "measure with"),
        ("not pinned", |made| made.series[0].cpu = None, "measure with"),
        ("in every repetition", Made::interrupt_all, "a lower rate"),
        ("next to no repetitions", |made| made.samples.truncate(3), ""),
    ];
    for (name, change, expected) in cases {
        let mut made = Made::new(&Plan::default(), &[(0, 1)]);
        change(&mut made);
        let found = made.analyze();
        let said: Vec<String> = found
            .not_available
            .iter()
            .map(|missing| format!("{} ({}): {}", missing.what, missing.why, missing.remedy))
            .collect();
        assert!(said.join("\n").contains(expected), "{name}: {said:?}");
        assert!(!found.pairs.iter().any(|pair| pair.alone.is_some()), "{name}: {:?}", found.pairs);
    }
}

/// Few interrupts have a cost, and no interval.
#[test]
fn few_interrupts_have_no_interval() {
    let plan = Plan { repetitions: 85, cost_ticks: 10 * US, ..Plan::default() };
    let made = Made::new(&plan, &[(0, 0)]).analyze();
    let alone = only(&made).alone.expect("some");
    assert!((3..10).contains(&alone.interrupts), "{alone:?}");
    assert_eq!((alone.interval, alone.smallest_effect_ns, alone.differs), (None, None, false));
    assert_eq!((made.classes[0].pairs, made.classes[0].interval), (1, None));
}

/// Tables that no measurement gives do not stop the analysis.
#[test]
fn tables_that_do_not_fit() {
    type Change = fn(&mut Made);
    let cases: [(&str, Change); 7] = [
        ("samples of an unknown series", |made| {
            made.samples.iter_mut().for_each(|sample| sample.series = 77);
        }),
        ("samples of another CPU", |made| {
            made.samples.iter_mut().for_each(|sample| sample.cpu = 3);
        }),
        ("a sample without end", |made| {
            made.samples.truncate(1);
            made.samples[0].end_ticks = u64::MAX;
        }),
        ("a detour without end", |made| {
            let last = made.samples.last().expect("some").start_ticks;
            made.detours.retain(|detour| detour.end_ticks < last);
            let (cpu, start_ticks, end_ticks) = (made.cpu(), last, u64::MAX);
            made.detours.push(anechoic_recording::Detour { cpu, start_ticks, end_ticks });
        }),
        ("the last numbers", |made| {
            let mut index = u64::MAX - made.samples.len() as u64 / 2;
            for sample in &mut made.samples {
                sample.index = index;
                index = index.saturating_add(1);
            }
        }),
        ("no machine", |made| made.run.machine.cpus.clear()),
        ("a period of nothing", |made| {
            (made.run.injections[0].period_ns, made.run.injections[0].duration_ns) = (0, u64::MAX);
        }),
    ];
    for (name, change) in cases {
        let mut made = Made::new(&Plan::default(), &[(0, 1)]);
        change(&mut made);
        let found = made.analyze();
        assert_eq!(found.pairs.len(), 1, "case: {name}");
    }
}

/// Every interrupt is as far from a tick as the one before, or every second, third or fourth; or none is.
#[test]
fn rates_in_step_with_ticks() {
    let cases = [
        (1_000_000, Some(250), None, Some(250.0)),
        (4_000_000, Some(1_000), None, Some(1_000.0)),
        (1_333_333, Some(1_000), None, Some(1_000.0)),
        (1_333_333, Some(250), None, Some(250.0)),
        (750_000, Some(250), None, None),
        (1_067_000, Some(250), Some("KVM"), None),
        (1_000_000, Some(300), None, None),
        (1_000_000, Some(300), Some("KVM"), Some(1_000.0)),
        (1_000_000, None, None, None),
        (1_000_000, Some(0), None, None),
        (10_000_000, Some(1_000), None, Some(1_000.0)),
        (50_000_000, Some(1_000), None, Some(1_000.0)),
    ];
    for (period_ns, tick_hz, hypervisor, expected) in cases {
        let mut made = Made::new(&Plan { repetitions: 3, ..Plan::default() }, &[(0, 1)]);
        made.run.injections[0].period_ns = period_ns;
        (made.run.machine.tick_hz, made.run.machine.hypervisor) =
            (tick_hz, hypervisor.map(str::to_owned));
        let found = made.analyze().injected[0].in_step_with_hz;
        assert_eq!(found, expected, "case: {period_ns} ns, {tick_hz:?} Hz, {hypervisor:?}");
    }
}
