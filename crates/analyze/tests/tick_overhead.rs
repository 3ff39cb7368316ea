//! The overhead of a tick, from repetitions in which it is known.

use crate::interrupted::{
    Chance, Made, Piece, entry, exit, measure, nested, ran, result, unexplained,
};
use anechoic_analyze::samples::tick_overhead::TickOverhead;
use anechoic_analyze::samples::tick_overhead_table::Table1;
use anechoic_lab::two_cpus::{MICRO, SECOND};
use anechoic_recording::Loss;

/// A repetition of 100 µs.
const WORK: u64 = 100 * MICRO;

fn tick_overhead(made: &Made) -> TickOverhead {
    result(made).ticks.expect("fixed work, attributed")
}

/// 2 µs of handler, the timer in it included, and 11 µs of gaps.
fn tick() -> [Piece; 4] {
    [
        entry("timer-tick", 8 * MICRO),
        ran("timer-tick", "", MICRO / 2),
        nested("timer-tick", "", 3 * MICRO / 2, 1),
        exit("timer-tick", 3 * MICRO),
    ]
}

/// Every 40th of 8,000 repetitions holds a tick, every second of those a softirq of 4 µs after it; the work then
/// takes 1 µs more. Of the others every 80th is hit by a hole of 200 µs, if that is seen.
fn made(watched: bool) -> Made {
    let mut made = Made::new(0, "intadd", watched, SECOND);
    let mut chance = Chance(3);
    for number in 0..8_000 {
        let work = WORK + chance.below(3);
        match number % 80 {
            0 => made.sample(work + MICRO, &[&tick()]),
            40 => made.sample(work + MICRO, &[&tick(), &[ran("softirq", "RCU", 4 * MICRO)]]),
            7 if watched => made.sample(work, &[&[unexplained(200 * MICRO)]]),
            _ => made.sample(work, &[]),
        }
    }
    made
}

fn close(got: f64, expected: f64) -> bool {
    (got - expected).abs() < 2.0
}

#[test]
fn a_tick_of_known_cost() {
    let found = tick_overhead(&made(true));
    assert_eq!((found.with_tick, found.without_tick, found.ticks), (200, 7_800, 200));
    let all = found.overhead.expect("both kinds");
    // 13 µs of tick, half of 4 µs of softirq, 1 µs of slower work.
    assert!(close(all.per_tick_ns, 16_000.0), "{all:?}");
    assert!(close(all.direct_ns, 2_000.0) && close(all.other_ns, 2_000.0), "{all:?}");
    assert!(all.gap_ns.is_some_and(|gap| close(gap, 11_000.0)), "{all:?}");
    assert!(close(all.indirect_ns, 1_000.0), "{all:?}");
    // Half of the ticks cost 14 µs and half 18 µs: the standard error of 200 is 2 / sqrt(200) µs.
    let interval = all.interval.expect("enough");
    assert!((interval.high - interval.low - 2.0 * 1.97 * 2_000.0 / 200_f64.sqrt()).abs() < 6.0);
    assert!(interval.low < 16_000.0 && 16_000.0 < interval.high);
    let clean = found.clean.expect("both kinds");
    // The first repetition has no neighbours before it.
    assert_eq!((clean.repetitions, clean.baseline), (99, 7_700));
    assert!(close(clean.per_tick_ns, 14_000.0) && close(clean.indirect_ns, 1_000.0), "{clean:?}");
    assert_eq!((clean.other_ns, clean.ticks_per_repetition), (0.0, 1.0));
    assert_eq!((found.direct_ns, found.gap_ns), (400_000.0, Some(2_200_000.0)));
    assert!((found.share - 13.0 / (40.0 * 100.0)).abs() < 2e-4, "{}", found.share);
    assert_eq!(found.not_available, []);
}

#[test]
fn without_gaps_they_are_in_the_residual() {
    let found = tick_overhead(&made(false));
    let all = found.overhead.expect("both kinds");
    assert!(close(all.per_tick_ns, 16_000.0) && close(all.indirect_ns, 12_000.0), "{all:?}");
    assert_eq!((all.gap_ns, found.gap_ns), (None, None));
    assert_eq!(found.not_available[0].what, "gaps around ticks");
}

#[test]
fn what_there_is_nothing_to_compare_with() {
    let second = SECOND / 10;
    let mut cumulative = Made::new(0, "intadd", true, 0);
    for _ in 0..5 {
        let ticks = [tick(); 25];
        let ticks: Vec<&[Piece]> = ticks.iter().map(|tick| &tick[..]).collect();
        cumulative.sample(second, &ticks);
    }
    let found = tick_overhead(&cumulative);
    assert_eq!((found.with_tick, found.without_tick, found.ticks), (5, 0, 125));
    assert_eq!((found.overhead, found.clean, found.without_median_ns), (None, None, None));
    assert_eq!(found.direct_ns, 250_000.0);
    assert!((found.share - 0.00325 / 1.00325).abs() < 1e-9, "{}", found.share);
    assert!(found.not_available[0].remedy.contains("shorter than the tick's period"));

    let mut tickless = Made::new(0, "intadd", true, 0);
    (0..50).for_each(|_| tickless.sample(WORK, &[]));
    let found = tick_overhead(&tickless);
    assert_eq!((found.overhead, found.share), (None, 0.0));
    assert!(found.not_available[0].why.contains("no repetition contains a tick"));
}

#[test]
fn several_ticks_in_a_repetition_are_shared_out() {
    let mut made = Made::new(0, "intadd", true, 0);
    for number in 0..100 {
        let twice: &[&[Piece]] = &[&tick(), &tick()];
        made.sample(WORK, if number % 10 == 0 { twice } else { &[] });
    }
    let all = tick_overhead(&made).overhead.expect("both kinds");
    assert_eq!((all.ticks_per_repetition, all.per_tick_ns), (2.0, 13_000.0));
}

#[test]
fn the_table_of_kernels_and_cpus() {
    let first = made(true);
    let mut second = Made::new(1, "intmul", true, first.end() + SECOND);
    (0..10).for_each(|_| second.sample(WORK, &[]));
    let mut again = Made::new(2, "intadd", true, second.end() + SECOND);
    again.sample(WORK, &[]);
    again.sample(WORK, &[&tick()]);
    let table = Table1::from_measured(&measure(&[&first, &second, &again], &[], true));
    assert_eq!(table.kernels, ["intadd", "intmul"]);
    assert_eq!(table.cpus, [0]);
    let cell = table.cells[0][0].expect("measured twice: that with more ticks counts");
    assert_eq!((cell.series, cell.overhead.repetitions), (0, 200));
    assert!(cell.clean.is_some());
    assert_eq!(table.cells[1][0], None, "no tick was seen");
    let with_tick: &[&[Piece]] = &[&tick()];
    let [few, more] = [1, 2].map(|ticks| {
        let mut made = Made::new(ticks as u32, "intadd", true, u64::from(ticks as u32) * SECOND);
        (0..4).for_each(|at| made.sample(WORK, if at < ticks { with_tick } else { &[] }));
        made
    });
    let table = Table1::from_measured(&measure(&[&few, &more], &[], true));
    assert_eq!(table.cells[0][0].map(|cell| cell.series), Some(2), "the later one has more ticks");

    again.series.policy = "fifo 1".into();
    let table = Table1::from_measured(&measure(&[&first, &second, &again], &[], true));
    assert_eq!(table.kernels, ["intadd (other)", "intmul (other)", "intadd (fifo 1)"]);
    assert_eq!(Table1::from_measured(&measure(&[], &[], true)).cells, Vec::<Vec<_>>::new());
}

/// Ticks every 4 ms; for 2 of 10 s events were lost. Those that were seen still come at their rate.
#[test]
fn the_rate_of_ticks_is_that_of_the_time_in_which_they_are_known() {
    let mut made = Made::new(0, "intadd", true, SECOND);
    let ticks = [ran("timer-tick", "", 0)];
    let one: &[&[Piece]] = &[&ticks];
    for number in 0..100_000 {
        made.sample(WORK, if number % 40 == 7 { one } else { &[] });
    }
    let first = SECOND + 3 * SECOND;
    let lost = Loss {
        what: "events".into(),
        cpu: 0,
        start_ticks: first,
        end_ticks: first + 2 * SECOND,
        count: 500,
    };
    let measured = measure(&[&made], &[lost], true);
    let found = measured.series[0].ticks.as_ref().expect("attributed");
    assert!((19_900..20_100).contains(&found.unknown), "{found:?}");
    let hz = found.ticks as f64 / found.known_ns * 1e9;
    assert!((hz - 250.0).abs() < 0.2, "{hz} Hz");
}
