//! What iterations of a recorded program look like.

use crate::made;
use crate::schema::validate;
use anechoic_analyze::Iterations;
use anechoic_analyze::iterations::{Iteration, MarkedThread, Slow, Times};
use anechoic_analyze::program::ProgramFacts;
use anechoic_analyze::repeat::Spread;
use anechoic_analyze::stats::Interval;
use anechoic_analyze::variance::{Decision, Explained, SourceShare, Taken, Without};
use anechoic_recording::{MarkKind, Marked};
use anechoic_report::View;
use anechoic_report::results::Found;
use anechoic_report::results::iterations::ITERATIONS;

const MS: f64 = 1e6;

fn iteration(number: u64) -> Iteration {
    let lost_ns = if number % 7 == 3 { 2_000_000 + 1_000 * number } else { 0 };
    let executed_ns = 1_000_000 + 3_571 * (number * 37 % 11);
    Iteration {
        number,
        thread: 4_711,
        label: String::new(),
        start_ns: number * 1_300_000,
        wall_ns: executed_ns + lost_ns,
        executed_ns,
        lost_ns,
        waited_ns: 0,
        slept_ns: 0,
        most: (lost_ns > 0).then(|| Taken {
            source: "thread".into(),
            name: "backup".into(),
            ns: lost_ns,
        }),
    }
}

fn spread(drawn: &[Iteration], ns: fn(&Iteration) -> u64) -> Spread {
    let values: Vec<f64> = drawn.iter().map(|it| ns(it) as f64).collect();
    Spread::from_values(&values).expect("iterations")
}

fn made_up(count: u64) -> Iterations {
    let drawn: Vec<Iteration> = (1..=count).map(iteration).collect();
    let mut slowest = drawn.clone();
    slowest.sort_by_key(|it| std::cmp::Reverse(it.wall_ns));
    let mut run = made::summary().run;
    run.program = Some(ProgramFacts {
        name: "my-simulation".into(),
        exit_code: Some(0),
        threads: 1,
        ran_ns: 300_000_000,
        lived_ns: Some(400_000_000),
        recording: None,
        account: None,
        marked: Some("step".into()),
    });
    let times = (count > 0).then(|| Times {
        wall_ns: spread(&drawn, |it| it.wall_ns),
        median_ns: 1.02 * MS,
        p99_ns: Some(3.2 * MS),
        executed_ns: spread(&drawn, |it| it.executed_ns),
        lost_ns: spread(&drawn, |it| it.lost_ns),
        waited_ns: spread(&drawn, |it| it.waited_ns),
        slept_ns: spread(&drawn, |it| it.slept_ns),
    });
    let known = count >= 20;
    Iterations {
        run,
        marked: Marked {
            by: MarkKind::Function,
            what: "model::step".into(),
            file: Some("/opt/my-simulation".into()),
            whole: false,
            joined_lines: 0,
        },
        marks: count + 1,
        foreign_marks: 0,
        iterations: count,
        left_out: 0,
        threads: vec![MarkedThread { thread: 4_711, name: None, iterations: count }],
        explained: Explained {
            decision: if known { Decision::Explained } else { Decision::TooFew },
            share: known.then_some(0.98),
            interval: known.then_some(Interval { low: 0.97, high: 0.99 }),
            slope: known.then_some(1.01),
            slope_interval: known.then_some(Interval { low: 0.99, high: 1.03 }),
            without: known.then_some(Without {
                mean_ns: 1.018 * MS,
                interval_ns: Interval { low: 1.016 * MS, high: 1.02 * MS },
                deviation_ns: 0.012 * MS,
            }),
        },
        sources: times
            .iter()
            .map(|times| SourceShare {
                source: "thread".into(),
                name: "backup".into(),
                lost_ns: times.lost_ns,
                share: known.then_some(0.98),
            })
            .collect(),
        slow: (count >= 100).then_some(Slow {
            iterations: count / 100,
            longer_ns: 2.2 * MS,
            lost_ns: 2.2 * MS,
        }),
        slowest,
        drawn,
        times,
    }
}

fn screen(found: &Iterations) -> String {
    let view = View::default();
    Found::from_value(&ITERATIONS, found.clone(), &[]).screen(&view).to_text(&view)
}

#[test]
fn iterations_that_noise_makes_longer() {
    let found = made_up(300);
    insta::assert_snapshot!("iterations_explained", screen(&found));
    validate("iterations.schema.json", &found).expect("as its schema says");
    assert!(screen(&found).lines().count() <= 40);
}

#[test]
fn what_is_doubtful_or_lacks_is_stated_with_what_helps() {
    let none = |change: fn(&mut Iterations)| {
        let mut found = made_up(0);
        change(&mut found);
        found
    };
    let changed = |change: fn(&mut Iterations)| {
        let mut found = made_up(300);
        change(&mut found);
        found
    };
    let cases = [
        ("few", made_up(5), "undecided: that takes 20 iterations or more"),
        ("one", made_up(1), "1 iteration of my-simulation took"),
        ("never entered", none(|it| it.marks = 0), "never entered model::step of"),
        ("once", made_up(0), "no thread passed the mark twice (1 mark)"),
        (
            "nothing written",
            none(|it| {
                (it.marks, it.marked.by) = (0, MarkKind::Descriptor);
            }),
            "wrote nothing to the descriptor in ANECHOIC_MARK_FD",
        ),
        ("losses", changed(|it| it.left_out = 3), "3 iterations do not count"),
        ("buffered", changed(|it| it.marked.joined_lines = 9), "flush after each line"),
        ("others", changed(|it| it.foreign_marks = 4), "4 marks came from other programs"),
        ("labels", changed(|it| it.slowest[0].label = "frame\u{1b}[2J 12".into()), "frame?[2J 12"),
        ("threads", changed(|it| it.threads.push(it.threads[0].clone())), "2 threads"),
        (
            "asleep",
            changed(|it| {
                it.times.as_mut().expect("times").slept_ns.mean = 0.9 * MS;
            }),
            "The thread slept",
        ),
    ];
    for (name, found, expected) in cases {
        let text = screen(&found).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(expected), "case: {name}: {text}");
    }
}
