//! What users see, as a whole: each screen beside the one that was looked at and found good.
//!
//! After a change that is meant, look at `INSTA_UPDATE=always cargo test --workspace --test report`
//! in the diff of `tests/snapshots`.

use crate::made;
use anechoic_analyze::coverage::{AuditDifference, Coverage};
use anechoic_analyze::histogram::{Bucket, HistogramCpu};
use anechoic_analyze::levels::{LevelChange, SourceChange};
use anechoic_analyze::noise::CpuNoise;
use anechoic_analyze::owners::{Owner, OwnerKind};
use anechoic_analyze::pace::{CpuPace, Pace};
use anechoic_analyze::sources::{SourceRow, ThreadShare};
use anechoic_analyze::stats::Interval;
use anechoic_analyze::suspects::Suspect;
use anechoic_analyze::tracer::{Difference, TracerCost};
use anechoic_analyze::waits::{Holder, HolderKind, LongWait};
use anechoic_analyze::{Histogram, Sources, Stopped, StoppedSecond, Summary, summarize_many};
use anechoic_recording::DelayKind;
use anechoic_recording::Policy;
use anechoic_recording::attribution::Alignment;
use anechoic_recording::check::{Check, Finding, Verdict};
use anechoic_recording::injection::{Injected, InjectionKind, InjectionTiming};
use anechoic_recording::machine::Machine;
use anechoic_recording::run::{DrainPolicy, NotAvailable, RunState};
use anechoic_recording::stop::{Kept, StopCondition};
use anechoic_recording::who::CpuLimits;
use anechoic_report::results::Found;
use anechoic_report::results::histogram::HISTOGRAM;
use anechoic_report::results::summary::SUMMARY;
use anechoic_report::{Style, View};
use std::path::Path;

fn screen(summary: &Summary) -> String {
    let path = Some(Path::new("anechoic-2026-05-09-073117"));
    let view = View { path, ..View::default() };
    anechoic_report::summary(summary, &view).to_text(&view)
}

/// Returns the screen with all rows.
fn whole(summary: &Summary) -> String {
    let view = View { all: true, ..View::default() };
    anechoic_report::summary(summary, &view).to_text(&view)
}

/// Looks at a screen: as it was, and never over 80 columns but for paths and single words.
macro_rules! golden {
    ($name:literal, $text:expr) => {
        let text = $text;
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{} has a line of {widest:?} columns:\n{text}", $name);
        insta::assert_snapshot!($name, text);
    };
}

#[test]
fn usual() {
    golden!("usual", screen(&made::summary()));
    golden!("usual_all", whole(&made::summary()));
    assert!(screen(&made::summary()).lines().count() <= 40, "it fits on a screen");
}

/// A machine that other programs use is called that, and not compared with published noise.
#[test]
fn competition_is_no_noise() {
    let said = "Other programs ran on them for 54.0 % of the time";
    for (name, command, noise, fifo, named) in [
        ("cc1", Some("make -j"), 0.6, false, true),
        ("cc1", Some("make -j"), 0.2, false, false),
        ("cc1", Some("make -j"), 0.6, true, false),
        ("rcu_preempt", Some(""), 0.6, false, false),
        // Threads that had ended when their processes were read.
        ("true", None, 0.6, false, true),
        ("kworker/0:1", None, 0.6, false, false),
    ] {
        let mut summary = made::summary();
        summary.total.noise = noise;
        summary.run.policy = if fifo { Policy::fifo(1) } else { Policy::other() };
        let sources = summary.sources.as_mut().expect("attributed");
        let mut row = made::source("thread", name, 0.9, [31_000, 55_000, 310_000, 310_000]);
        let command = command.map(str::to_owned);
        let (pid, cgroup, unit) = (command.is_some().then_some(7), None, None);
        row.threads = vec![ThreadShare { tid: 7, pid, command, cgroup, unit, share: 1.0 }];
        sources.rows = vec![row];
        let text = whole(&summary);
        let case = format!("{name}, {noise}, {fifo}: {text}");
        assert_eq!(
            text.split_whitespace().collect::<Vec<_>>().join(" ").contains(said),
            named,
            "{case}"
        );
        assert_eq!(text.contains("For comparison"), !named, "{case}");
    }
}

#[test]
fn what_only_the_policy_causes_is_stated() {
    for (source, part, fifo, named) in [
        ("fair-server", 0.9, true, true),
        ("rt-throttling", 0.5, true, true),
        ("fair-server", 0.9, false, false),
        ("rt-throttling", 0.5, false, false),
        ("thread", 0.9, true, false),
    ] {
        let mut summary = made::summary();
        summary.run.policy = if fifo { Policy::fifo(1) } else { Policy::other() };
        summary.total.noise = 0.05;
        let sources = summary.sources.as_mut().expect("attributed");
        sources.rows = vec![
            made::source(source, "cc1", part, [31_000, 55_000, 310_000, 310_000]),
            made::source("timer-tick", "", 0.9 - part, [9_000, 22_000, 44_000, 44_000]),
        ];
        let text = screen(&summary);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = format!("{:.1} % of it is an artefact of --fifo", part * 100.0);
        assert_eq!(words.contains(&said), named, "{source}: {text}");
        let rest = format!("The rest is {:.2} % of the time", 5.0 * (1.0 - part));
        assert_eq!(words.contains(&rest), named, "{source}: {text}");
        let most = "no other source took more than 44 µs at once (timer tick did)";
        assert_eq!(words.contains(most), named, "{source}: {text}");
    }
}

/// Without kernel events the loops' own account shows that they waited for their CPUs.
#[test]
fn waiting_for_the_cpus_is_competition_without_events() {
    for (counter, waited, cpus, fifo, named) in [
        ("victim/run_delay_ns", 0.5, vec![0, 1], false, true),
        ("victim/run_delay_ns", 0.5, vec![0, 1], true, false),
        ("victim/run_delay_ns", 0.5, vec![1], false, false), // a quarter of the time of both CPUs
        ("stat/steal_ns", 0.5, vec![0, 1], false, false),
    ] {
        let mut summary = made::summary();
        summary.sources = None;
        summary.total.noise = 0.6;
        summary.run.policy = if fifo { Policy::fifo(1) } else { Policy::other() };
        let case = format!("{counter}, {cpus:?}, {fifo}");
        let (total, rate_per_s, time_share) = (1, None, Some(waited));
        let (counter, what) = (counter.to_owned(), "it waited".to_owned());
        summary.suspects =
            Some(vec![Suspect { counter, what, total, rate_per_s, time_share, cpus }]);
        let text = whole(&summary);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = "For 50.0 % of the time the loops waited for their CPUs";
        assert_eq!(words.contains(said), named, "{case}: {text}");
        assert_eq!(text.contains("For comparison"), !named, "{case}: {text}");
    }
}

/// A detour of 1.2 ms that ended a run, as the summary stores it.
fn stopped() -> Stopped {
    let activity = |start_ns: u64, self_ns: u64, kind: &str, source: &str| {
        serde_json::json!({
            "start_ns": start_ns, "self_ns": self_ns, "depth": 0, "kind": kind, "source": source, "name": "evil",
            "pid": 4711, "function": null, "sent_by_cpu": 0, "sent_by_task": "cron"
        })
    };
    let story = serde_json::json!({
        "cpu": 1, "index": 76_000, "start_ns": 3_214_000_000_u64, "length_ns": 1_204_000, "steal_ns": 0,
        "activities": [
            activity(0, 4_000, "entry_gap", "thread"),
            activity(4_000, 1_200_000, "off_cpu", "thread"),
        ],
        "more": 0, "more_ns": 0
    });
    let mut before = made::longest();
    before.truncate(1);
    before[0].start_ns = 3_179_500_000;
    Stopped {
        condition: StopCondition::Longer(1_000_000),
        after_ns: Some(3_214_000_000),
        second: None,
        wait: None,
        detour: Some(serde_json::from_value(story).expect("a story")),
        before,
        kept: None,
    }
}

#[test]
fn a_detour_that_ended_the_run_comes_first() {
    let head = |stopped: Stopped| {
        let summary = Summary { stopped: Some(stopped), ..made::summary() };
        screen(&summary).lines().take(20).collect::<Vec<_>>().join("\n")
    };
    golden!("stopped", head(stopped()));
    let first = |stopped: Stopped| {
        let summary = Summary { stopped: Some(stopped), ..made::summary() };
        Found::from_value(&SUMMARY, summary, &[]).headline()[0].clone()
    };
    let none = Stopped { after_ns: None, detour: None, before: vec![], ..stopped() };
    assert_eq!(first(none.clone()), "No detour was longer than 1 ms.");
    let mut fifo = Summary { stopped: Some(none.clone()), ..made::summary() };
    fifo.run.policy = Policy::fifo(1);
    let words = Found::from_value(&SUMMARY, fifo, &[]).headline()[0].clone();
    assert_eq!(words, "Apart from artefacts of --fifo, no detour was longer than 1 ms.");
    let unsaved = Stopped { detour: None, ..stopped() };
    assert!(first(unsaved).contains("could not be saved"));
    let count = Stopped { condition: StopCondition::Count(100_000), ..none };
    assert_eq!(first(count.clone()), "The run ended before it had 100,000 detours.");
    let count = Stopped { after_ns: Some(3_214_000_000), ..count };
    assert_eq!(first(count), "The run has its 100,000 detours after 3.214 s.");
    let kept =
        |asked_s: u64| Kept { asked_ns: asked_s * 1_000_000_000, dropped_ns: 90_000_000_000_000 };
    let with_kept = |asked_s| first(Stopped { kept: Some(kept(asked_s)), ..stopped() });
    let whole = "are kept. The detour is the first over 1 ms in 25 h;";
    assert!(with_kept(1).contains(whole), "{}", with_kept(1));
    let less = "are kept, not 3,600 s: there was no memory for more. The detour is the first";
    assert!(with_kept(3_600).contains(less), "{}", with_kept(3_600));
    let counted = Stopped { condition: StopCondition::Count(9), kept: Some(kept(1)), ..stopped() };
    assert!(first(counted.clone()).ends_with("are kept."), "{}", first(counted));
    let condition = StopCondition::Lost(50_000);
    let earlier =
        StoppedSecond { start_ns: -600_000_000, lost_ns: 61_000_000, wanted_ns: 1_000_000_000 };
    let earlier = first(Stopped { condition, second: Some(earlier), ..stopped() });
    assert!(
        earlier.starts_with(
            "In the second that began 600 ms before the part that is kept, the program lost 6.10 %"
        ),
        "{earlier}"
    );
    let waits = StopCondition::Wait(15_000_000);
    let unmet = Stopped { condition: waits, after_ns: None, detour: None, ..stopped() };
    assert_eq!(first(unmet), "No thread waited longer than 15 ms for a CPU that others had.");
    let wait = LongWait {
        name: "worker".into(),
        tid: 71,
        cpu: 1,
        start_ns: 3_214_000_000,
        length_ns: 25_000_000,
        kind: DelayKind::Preempted,
        own_ns: 1_000_000,
        behind: Holder { kind: HolderKind::OtherThread, name: "hog".into() },
        behind_tid: Some(9),
        held_ns: 24_000_000,
        woken_by: None,
        inversion: false,
        calls: None,
        behind_calls: None,
    };
    let met = |wait| first(Stopped { condition: waits, wait, ..stopped() });
    assert!(met(None).contains("could not be saved"), "{}", met(None));
    let words = "Thread worker (71) was preempted at 3.214 s and waited 25 ms for CPU 1 behind hog (9) and 1.0 ms behind threads of the program. That ended the run (wait>15ms).";
    assert_eq!(met(Some(wait)), words);
    let unmet = Stopped { condition, after_ns: None, detour: None, ..stopped() };
    let words = "In no second of at least 100 ms in which the program wanted its CPUs, more than 5 % of that was lost.";
    assert_eq!(first(unmet), words);
    let (start_ns, lost_ns, wanted_ns) = (3_000_000_000, 61_000_000, 1_000_000_000);
    let second = Some(StoppedSecond { start_ns, lost_ns, wanted_ns });
    let lost = first(Stopped { condition, second, ..stopped() });
    let words = "In the second from 3.000 s on, the program lost 6.10 % of the 1.0 s in which it wanted its CPUs, which \
                 ended the run (lost>5%). The longest detour of it took 1.2 ms on CPU 1 at 3.214 s; ";
    assert!(lost.starts_with(words), "{lost}");
}

#[test]
fn a_histogram_is_a_table_that_gnuplot_reads() {
    let bucket =
        |from_ns, to_ns, counts: [u64; 2]| Bucket { from_ns, to_ns, counts: counts.to_vec() };
    let cpu = |cpu, over, lost, [min_ns, max_ns]: [u64; 2]| HistogramCpu {
        cpu,
        detours: 60 + over,
        over,
        lost,
        min_ns: Some(min_ns),
        mean_ns: Some(1_234.567_8),
        max_ns: Some(max_ns),
    };
    let nothing = HistogramCpu {
        detours: 0,
        min_ns: None,
        mean_ns: None,
        max_ns: None,
        ..cpu(1, 0, 0, [0, 0])
    };
    let logarithmic = Histogram {
        run: made::facts(),
        stopped: None,
        bucket_ns: None,
        buckets: vec![bucket(79, 100, [20, 0]), bucket(1_258_925, 1_584_893, [40, 0])],
        cpus: vec![cpu(0, 0, 0, [91, 1_300_000]), nothing],
    };
    let equal = Histogram {
        stopped: Some(stopped()),
        bucket_ns: Some(2_000),
        buckets: vec![bucket(0, 2_000, [123_456_789, 7]), bucket(4_000, 6_000, [1, 53])],
        cpus: vec![cpu(0, 3, 0, [91, 1_300_000]), cpu(1, 0, 8, [4_001, 5_000])],
        ..logarithmic.clone()
    };
    let view = View::default();
    let text = |histogram: Histogram| {
        Found::from_value(&HISTOGRAM, histogram, &[]).screen(&view).to_text(&view)
    };
    insta::assert_snapshot!("histogram", format!("{}\n\n{}", text(logarithmic), text(equal)));
}

#[test]
fn long_names() {
    let mut summary = made::summary();
    summary.run.host = "a-host-name-that-goes-on.and-on.cluster.example.org".into();
    summary.run.model = "Intel(R) Xeon(R) Platinum 8480+ with a long name".into();
    let hostile = "evil\x1b[2J\x1b[31m-thread\n";
    let rows = vec![
        SourceRow {
            functions: made::function(
                "a_kernel_function_with_an_extraordinarily_long_name_and_more",
            ),
            senders: made::sender(255, "kworker/u512:13-events_unbound"),
            cpus: vec![0],
            ..made::source(
                "thread",
                "kworker/u512:13-events_unbound",
                0.6,
                [1, 2_000, 3_000, 4_000],
            )
        },
        made::source("thread", hostile, 0.3, [1, 2_000_000, 300_000_000, 54_321_000_000]),
        made::source("source-of-the-future", "x", 0.1, [1, 2, 3, 4]),
    ];
    summary.sources.as_mut().expect("made so").rows = rows;
    let text = screen(&summary);
    assert!(!text.contains('\x1b'), "names cannot move the cursor");
    golden!("long_names", text);
}

/// What steal means there, with and without any.
#[test]
fn a_confidential_guest_is_told_what_its_steal_means() {
    let mut summary = made::summary();
    let said = |summary: &Summary| whole(summary).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!said(&summary).contains("confidential"));
    summary.run.confidential = Some("AMD SEV-SNP".into());
    let without = "This is a confidential guest (AMD SEV-SNP): that no steal is reported is what the host claims";
    assert!(said(&summary).contains(without), "{}", said(&summary));
    let hypervisor = Owner {
        kind: OwnerKind::Hypervisor,
        name: String::new(),
        lost_ns: 1_000_000,
        noise: 0.001,
        share: 0.5,
        at_most: false,
    };
    summary.owners.get_or_insert_default().push(hypervisor);
    let with =
        "AMD SEV-SNP): the steal above is what the host claims, which the guest cannot check";
    assert!(said(&summary).contains(with), "{}", said(&summary));
    summary.run.hypervisor = None;
    assert!(!said(&summary).contains("confidential"), "no guest");
}

#[test]
fn many_cpus() {
    let mut summary = made::summary();
    summary.run.hypervisor = None;
    summary.run.cpus = (0..256).collect();
    summary.cpus = (0..256)
        .map(|cpu| made::cpu(cpu, 0.001 + f64::from((cpu * 97) % 256) / 20_000.0))
        .collect();
    let rows = &mut summary.sources.as_mut().expect("made so").rows;
    rows[0].cpus = (0..256).collect();
    rows[1].cpus = (0..256).filter(|cpu| cpu % 3 == 0).collect();
    rows.extend((0..20).map(|n| {
        made::source("thread", &format!("worker-{n}"), 0.01 / f64::from(n + 1), [1, 2, 3, 4])
    }));
    rows.sort_by(|a, b| b.share.total_cmp(&a.share));
    golden!("many_cpus", screen(&summary));
}

/// The headline names the larger of two changes; a third is too small. The second change has no source and lies on several CPUs.
#[test]
fn changes_of_level() {
    let change = |at_s, (before, after), cpu, sources| LevelChange {
        at_s,
        interval_s: Interval { low: at_s - 0.01, high: at_s + 0.02 },
        before,
        after,
        sources,
        cpu,
    };
    let inject =
        SourceChange { source: "thread".into(), name: "inject".into(), before: 0.0, after: 0.39 };
    let levels = vec![
        change(3.33, (0.012, 0.41), Some(1), vec![inject]),
        change(7.1, (0.41, 0.0202), None, vec![]),
        change(9.1, (0.0202, 0.0203), None, vec![]),
    ];
    let changed = Summary { levels, ..made::summary() };
    insta::assert_snapshot!(screen(&changed));
    insta::assert_snapshot!(whole(&changed));
}

/// One CPU of two lost time by a slower pace at times, and the other was slower than its class all the time.
#[test]
fn a_slower_pace() {
    let cpu = |cpu, calm_ns, slower_than_class, slow: f64| CpuPace {
        cpu,
        calm_ns,
        slower_than_class,
        slow,
        interval: (slow > 0.0).then_some(Interval { low: 0.6 * slow, high: 1.5 * slow }),
        at_least: None,
        at_most: None,
        clearly_slow: 3.0 * slow,
        p99_slowdown: 4.0 * slow,
        // The loop of CPU 0 ended earlier.
        by_time: (0..49 + cpu).map(|step| slow * f64::from(step % 10) / 4.5).collect(),
    };
    let cpus = vec![cpu(0, 11.36, 0.097, 0.0), cpu(1, 10.36, 0.0, 0.082)];
    let interval = Some(Interval { low: 0.025, high: 0.062 });
    let level = LevelChange {
        at_s: 4.2,
        interval_s: Interval { low: 4.19, high: 4.3 },
        before: 0.01,
        after: 0.07,
        sources: vec![],
        cpu: Some(1),
    };
    let pace = |slow, cpus| Pace {
        cpus,
        slow,
        interval,
        at_least: None,
        lost: 0.0207 + slow,
        step_s: 0.2,
        lost_interval: Some(Interval { low: 0.042, high: 0.083 }),
        levels: vec![level.clone()],
    };
    let slow = Summary { pace: Some(pace(0.041, cpus.clone())), ..made::summary() };
    insta::assert_snapshot!(screen(&slow));
    insta::assert_snapshot!(whole(&slow));
    let calm = vec![cpu(0, 10.36, 0.0, 0.0), cpu(1, 10.36, 0.0, 0.0004)];
    let calm = Summary { pace: Some(pace(0.0002, calm)), ..made::summary() };
    assert!(screen(&calm).contains("checks passed: alignment, audit, losses none, slow time"));
    assert!(!screen(&calm).contains("slower"), "{}", screen(&calm));
}

#[test]
fn no_detours_at_all() {
    let mut summary = made::summary();
    for cpu in &mut summary.cpus {
        *cpu = CpuNoise {
            noise: 0.0,
            interval: None,
            at_least: None,
            detours: 0,
            rate_per_s: 0.0,
            lengths: None,
            ..cpu.clone()
        };
    }
    summary.total.noise = 0.0;
    (summary.total.interval, summary.total.at_least) = (None, None);
    summary.total.lengths = None;
    summary.total.rate_per_s = 0.0;
    summary.curve.clear();
    summary.longest.clear();
    let sources = summary.sources.as_mut().expect("made so");
    sources.rows.clear();
    sources.coverage = None;
    sources.alignment = Alignment::default();
    golden!("no_detours", screen(&summary));
}

#[test]
fn unprivileged() {
    let mut summary = made::summary();
    summary.run.traced = false;
    summary.sources = None;
    summary.longest.iter_mut().for_each(|detour| detour.parts.clear());
    summary.run.not_available = vec![NotAvailable {
        what: "kernel events".into(),
        why: "tracefs: permission denied".into(),
        remedy: "run as root, or give this user /sys/kernel/tracing: see `anechoic check`".into(),
    }];
    let suspect = |what: &str, rate_per_s, time_share, cpus| Suspect {
        counter: "c".into(),
        what: what.into(),
        total: 5_000,
        rate_per_s,
        time_share,
        cpus,
    };
    summary.suspects = Some(vec![
        suspect("time stolen by the hypervisor", None, Some(0.012), vec![0, 1]),
        suspect("local timer interrupts", Some(250.1), None, vec![0, 1]),
        suspect("kernel timers (softirq)", Some(31.7), None, vec![0, 1]),
        suspect("interrupts of IRQ 25", Some(0.3), None, vec![1]),
    ]);
    golden!("unprivileged", screen(&summary));
}

#[test]
fn interrupted_and_cut_off() {
    let mut summary = made::summary();
    summary.run.state = RunState::Interrupted("SIGINT".into());
    summary.run.wall_ns = 3_400_000_000;
    let early = screen(&summary);
    summary.run.state = RunState::Running;
    summary.cpus.iter_mut().for_each(|cpu| cpu.shortest_gap_ns = None);
    let cut_off = screen(&summary);
    let head = |text: &str| text.lines().take(8).collect::<Vec<_>>().join("\n");
    golden!("interrupted", format!("{}\n\n{}", head(&early), head(&cut_off)));
}

#[test]
fn losses_and_doubts() {
    let mut summary = made::summary();
    summary.run.drain = DrainPolicy::HighWater;
    summary.run.policy = "fifo 50".into();
    summary.run.repetition = Some((2, 5));
    summary.run.notes = vec!["CPU 1 is measured and the tool's own: no CPU was left for it, so its writing is part of the noise".into()];
    summary.cpus[1].lost_detours = 12_345;
    summary.cpus[1].page_faults = 2;
    summary.cpus[0].ended_on = Some(1);
    summary.total.lost_detours = 12_345;
    summary.total.page_faults = 2;
    summary.losses = vec![made::loss("detours", 12_345, 0.07), made::loss("events", 0, 0.0002)];
    let sources = summary.sources.as_mut().expect("made so");
    sources.alignment = Alignment { events: 38_213, outside: 1_200, ..Alignment::default() };
    sources.coverage = Some(Coverage {
        explained: 0.4,
        explained_without_gaps: 0.2,
        unexplained: 0.39,
        not_attributable: 0.2,
        unattributed: 0.01,
    });
    sources.audit_differences = (0..5)
        .map(|cpu| AuditDifference {
            counter: "interrupts/LOC".into(),
            cpu,
            counted: 2_510,
            seen: 2_400,
            allowed: 12,
        })
        .collect();
    golden!("losses", screen(&summary));
}

#[test]
fn tracer_cost() {
    let mut summary = made::summary();
    summary.run.alternate_ns = Some(250_000_000);
    summary.losses = vec![made::loss("untraced", 0, 0.5)];
    let difference = Difference {
        on_ns: 21_400.0,
        off_ns: 20_500.0,
        difference_ns: 912.0,
        interval: Interval { low: 610.0, high: 1_190.0 },
        smallest_effect_ns: 415.0,
    };
    summary.tracer_cost = Some(TracerCost {
        pairs: 119,
        ticks_on: 13_500,
        ticks_off: 13_400,
        missed_on: 3,
        missed_off: 5,
        median: difference,
        mean: Difference { difference_ns: -380.0, ..difference },
    });
    golden!("tracer_cost", screen(&summary));
}

#[test]
fn colour_is_the_same_text() {
    let summary = made::summary();
    let view = View { style: Style { color: true }, ..View::default() };
    let coloured = anechoic_report::summary(&summary, &view).to_text(&view);
    let plain = anechoic_report::summary(&summary, &View::default()).to_text(&View::default());
    assert_ne!(coloured, plain);
    let mut stripped = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once("\x1b[") {
        stripped += before;
        rest = after.split_once('m').expect("a code ends").1;
    }
    assert_eq!(stripped + rest, plain);
}

#[test]
fn one_is_not_many() {
    let mut summary = made::summary();
    (summary.total.lost_detours, summary.total.page_faults) = (1, 1);
    let alignment = &mut summary.sources.as_mut().expect("made so").alignment;
    (alignment.events, alignment.outside) = (1, 0);
    let wide = View { width: 300, all: true, ..View::default() };
    let text = anechoic_report::summary(&summary, &wide).to_text(&wide);
    for expected in
        ["! 1 detour was lost:", "! 1 page fault occurred", "the only kernel event lies"]
    {
        assert!(text.contains(expected), "{expected} is not in\n{text}");
    }
    summary.sources.as_mut().expect("made so").alignment.events = 8;
    summary.sources.as_mut().expect("made so").alignment.outside = 1;
    let text = anechoic_report::summary(&summary, &wide).to_text(&wide);
    assert!(text.contains("1 of 8 kernel events lies outside"), "{text}");
}

#[test]
fn sources_wide_and_whole() {
    let Summary { run, total, sources, losses, .. } = made::summary();
    let sources = Sources { run, noise: total.noise, sources: sources.expect("made so"), losses };
    golden!(
        "sources",
        anechoic_report::sources(&sources, &View::default()).to_text(&View::default())
    );
    let wide = View { width: 140, all: true, ..View::default() };
    insta::assert_snapshot!(
        "sources_wide",
        anechoic_report::sources(&sources, &wide).to_text(&wide)
    );
}

/// A quota is to be raised only where there is one, and threads are missing from /proc only where it was asked for them.
#[test]
fn the_largest_owner_has_a_remedy_and_a_reason() {
    let text = |kind, at_most, policy: &str, quota_us| {
        let mut summary = made::summary();
        let (name, lost_ns, noise, share) = (String::new(), 1, 0.1, 1.0);
        summary.owners = Some(vec![Owner { kind, name, lost_ns, noise, share, at_most }]);
        summary.run.policy = policy.into();
        summary.run.limits = Some(CpuLimits { quota_us, ..CpuLimits::default() });
        whole(&summary).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let quota = Some((20_000, 100_000));
    for (at_most, policy, quota, expected) in [
        (
            true,
            "other",
            quota,
            " Up to 100.0 % of the lost time is the run's own CPU limit, not its neighbours: raise the quota. ",
        ),
        (
            false,
            "fifo 1",
            None,
            " 100.0 % of the lost time is the run's own CPU limit, not its neighbours: measure without --fifo. ",
        ),
        (false, "fifo 1", quota, ": raise the quota, or measure without --fifo. "),
    ] {
        let text = text(OwnerKind::OwnQuota, at_most, policy, quota);
        assert!(text.contains(expected), "{expected} is not in {text}");
    }
    let text = text(OwnerKind::Unknown, false, "other", None);
    let why = "is unknown: this recording does not list which threads ran.";
    assert!(text.contains(why) && !text.contains("process not known"), "{text}");
}

/// What each costs with others of its kind comes first by the sum; what was injected is nobody's fault.
#[test]
fn advice_counts_kinds_and_leaves_out_what_was_injected() {
    let mut summary = made::summary();
    let made_of =
        |source: &str, name: &str, share| made::source(source, name, share, [90, 410, 900, 9_000]);
    let mut rows =
        vec![made_of("timer", "perf_swevent_hrtimer", 0.3), made_of("timer-tick", "", 0.2)];
    rows.extend((0..4).map(|n| made_of("thread", &format!("worker/{n}"), 0.1)));
    summary.sources.as_mut().expect("it was traced").rows = rows;
    let advice = |summary: &Summary| {
        let text = screen(summary);
        let (_, advice) = text.split_once("what would help").expect("advice");
        advice
            .lines()
            .skip(1)
            .take_while(|line| !line.is_empty())
            .flat_map(str::split_whitespace)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let all = advice(&summary);
    assert!(
        all.starts_with(
            "· thread worker/0 takes 0.21 % of the CPUs' time, 0.83 % together with 3 similar sources: "
        ),
        "{all}"
    );
    assert!(all.contains("· timer perf_swevent_hrtimer takes 0.62 % of"), "{all}");
    summary.run.injections = vec![Injected {
        kind: InjectionKind::Interrupt,
        timing: InjectionTiming::Periodic,
        period_ns: 1_000_000,
        duration_ns: 0,
        cpus: vec![1],
        tids: vec![],
        spells: vec![],
        starts: None,
    }];
    let without = advice(&summary);
    assert!(!without.contains("perf_swevent_hrtimer"), "{without}");
    assert!(without.contains("· timer tick takes 0.41 % of"), "{without}");
}

#[test]
fn repeated_runs() {
    let runs: Vec<Summary> = [0.0201, 0.0187, 0.0244]
        .into_iter()
        .map(|noise| {
            let mut summary = made::summary();
            summary.total.noise = noise;
            summary.cpus = vec![made::cpu(0, noise * 0.9), made::cpu(1, noise * 1.1)];
            summary
        })
        .collect();
    let repeat = summarize_many(&runs).expect("three runs");
    golden!("repeat", anechoic_report::repeat(&repeat, &View::default()).to_text(&View::default()));
    assert_eq!(summarize_many(&[]), None);
}

#[test]
fn what_can_be_measured() {
    golden!("check", anechoic_report::check(&check(), &View::default()).to_text(&View::default()));
}

fn check() -> Check {
    let finding = |what: &str, verdict, found: &str, remedy: Option<&str>| Finding {
        what: what.into(),
        verdict,
        found: found.into(),
        remedy: remedy.map(str::to_owned),
    };
    Check {
        tool_version: "0.1.0".into(),
        findings: vec![
            finding(
                "counter",
                Verdict::Good,
                "tsc, invariant (CPUID 80000007h); 2,449,999 kHz from the perf mmap page, 0.3 ppm beside CLOCK_MONOTONIC_RAW",
                None,
            ),
            finding(
                "tracefs",
                Verdict::Missing,
                "not mounted",
                Some("mount -t tracefs nodev /sys/kernel/tracing, as root"),
            ),
            finding(
                "huge pages",
                Verdict::Limited,
                "transparent ones only",
                Some("echo 64 > /proc/sys/vm/nr_hugepages"),
            ),
            finding("SMT", Verdict::Fact, "off", None),
        ],
        machine: Machine {
            host: "node17".into(),
            model: "AMD EPYC 7B13".into(),
            arch: "x86_64".into(),
            kernel: "6.18.5 #1 SMP".into(),
            command_line: String::new(),
            tick_hz: Some(250),
            hypervisor: Some("KVM".into()),

            confidential: None,
            data_tlb: None,
            online: "0-1".into(),
            allowed: "0-1".into(),
            smt: Some(false),
            memory_bytes: 0,
            cpus: vec![],
            settings: vec![],
        },
        clock: None,
    }
}
