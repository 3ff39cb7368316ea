//! The gate: each rule is passed, exceeded and undecided on made-up recordings, and nothing passes where something was
//! lost, cut off or not watched.

use anechoic_analyze::compare::{Beside, Change, ComparedRun, Comparison, compare};
use anechoic_analyze::gate::{
    Doubt, Doubtful, Gate, Outcome, RULES, Requirements, Rule, RuleOutcome, conclude, examine,
};
use anechoic_analyze::{Summary, summarize};
use anechoic_lab::trains::Interruption;
use anechoic_lab::two_cpus::{self, MICRO, SECOND};
use anechoic_recording::attribution::{Alignment, Attribution, Audit};
use anechoic_recording::parallel::Parallel;
use anechoic_recording::run::{Program, RanOn, Run, RunState};
use anechoic_recording::{Delay, DelayKind, Loss, ProgramThread, Recorder, Recording, Release};
use proptest::prelude::*;
use std::path::Path;

mod all_of_the_time;
mod kept;
mod largest_source;
mod nothing_seen;
mod slow;

/// Length of the usual recording, in seconds.
const SECONDS: u64 = 30;

fn rule(text: &str) -> Rule {
    let (id, given) = text.split_once(' ').expect("a name and a limit");
    let row = RULES.iter().find(|row| row.id == id).expect("a rule");
    row.read(given).expect("it can be read")
}

fn judged(recording: &Recording, rules: &[&str], requirements: Requirements) -> Gate {
    let rules: Vec<Rule> = rules.iter().map(|text| rule(text)).collect();
    let examined = examine(recording, &rules, &requirements, &mut |_| {}).expect("it can be read");
    conclude(vec![examined], &rules, requirements, None, vec![])
}

fn judge(recording: &Recording, text: &str) -> RuleOutcome {
    let mut gate = judged(recording, &[text], Requirements::default());
    let found = gate.rules.remove(0);
    assert_eq!(gate.outcome, found.outcome, "a single rule decides");
    found
}

/// Judges a rule beside one that limits the length of detours: 300 µs, as long as the longest of the usual recording.
fn judge_limited(recording: &Recording, text: &str) -> RuleOutcome {
    judged(recording, &[text, "max-detour 300us"], Requirements::default()).rules.remove(0)
}

/// Returns interruptions of this length at even times.
fn even(per_second: f64, length_s: f64, seconds: u64) -> Vec<Interruption> {
    let count = (per_second * seconds as f64) as u64;
    (0..count).map(|number| ((number as f64 + 0.5) / per_second, length_s)).collect()
}

/// A recording whose CPU 1 has ticks, 250 times a second 20 µs (0.5 %), and 15 times a thread of 300 µs (0.015 %).
fn usual(dir: &Path) -> Recording {
    noisy(dir, &two_cpus::run(SECONDS * SECOND))
}

fn noisy(dir: &Path, run: &Run) -> Recording {
    let threads = even(0.5, 300e-6, SECONDS).into_iter().map(|(at, length)| (at + 0.1, length));
    let sources = [("timer-tick", even(250.0, 20e-6, SECONDS)), ("thread", threads.collect())];
    two_cpus::record(dir, run, &sources)
}

#[test]
fn each_rule_is_passed_exceeded_and_undecided() {
    let dir = tempfile::tempdir().expect("a directory");
    let recording = usual(&dir.path().join("usual"));
    use Outcome::{Fail, Pass, Undecided};
    let cases = [
        ("max-noise 0.6%", Pass),
        ("max-noise 0.4%", Fail),
        ("max-noise 0.516%", Undecided),
        ("max-noise timer-tick=0.53%", Pass),
        ("max-noise thread=0.1%", Pass),
        ("max-noise thread=0.005%", Fail),
        ("max-noise thread=0.016%", Undecided),
        // As if three detours like the longest, of 300 µs, had come in 30 s.
        ("max-noise nmi=0.0031%", Pass),
        ("max-noise nmi=0.0029%", Undecided),
        ("max-detour 400us", Pass),
        ("max-detour 100us", Fail),
        ("max-detour thread=299us", Fail),
        ("max-detour timer-tick=25us", Pass),
        ("max-rate 300/s", Pass),
        ("max-rate 200/s", Fail),
        ("max-rate 251/s", Undecided),
        ("max-rate timer-tick=300hz", Pass),
        ("max-rate thread=1/s", Pass),
        ("max-rate thread=0.2/s", Fail),
        ("max-rate thread=0.6/s", Undecided),
        ("max-rate >200us=1/s", Pass),
        ("max-rate >200us=0.2/s", Fail),
        ("max-rate thread>400us=0.2/s", Pass),
        ("max-rate thread>200us=6/min", Fail),
        // Nothing was seen in 30 s: the rule of three.
        ("max-rate nmi=0.101/s", Pass),
        ("max-rate nmi=0.099/s", Undecided),
    ];
    for (text, expected) in cases {
        let found = judge_limited(&recording, text);
        assert_eq!(found.outcome, expected, "case: {text}: {:?}", found.decisive());
        assert_eq!(found.findings.len(), 2, "case: {text}: both CPUs are judged");
        let decisive = found.decisive().expect("both were watched");
        assert!(decisive.cpu == Some(1) || decisive.events == 0, "case: {text}: {decisive:?}");
    }
}

#[test]
fn an_undecided_rate_says_how_long_to_measure() {
    let dir = tempfile::tempdir().expect("a directory");
    let recording = usual(&dir.path().join("usual"));
    let needed = |text: &str| judge(&recording, text).decisive().expect("watched").needed_ns;
    let seconds = |text: &str| needed(text).map(|ns| (ns as f64 / 1e9).round());
    assert_eq!(seconds("max-rate nmi=0.01/s"), Some(300.0), "3 / rate");
    // 15 in 30 s: of 149 in 298 s the upper bound is 0.572/s, of 100 in 200 s still above 0.58/s.
    let longer = seconds("max-rate thread=0.58/s").expect("it can be shown");
    assert!((205.0..280.0).contains(&longer), "{longer}");
    assert_eq!(seconds("max-rate thread=1/s"), None, "it is decided");
    assert_eq!(seconds("max-rate thread=0.5/s"), None, "it is at the limit");
}

#[test]
fn a_doubtful_recording_hides_no_failure_of_another() {
    let dir = tempfile::tempdir().expect("a directory");
    let sound = usual(&dir.path().join("sound"));
    let mut run = two_cpus::run(SECONDS * SECOND);
    run.clock.residual_ppm = Some(2_000.0);
    let doubtful = noisy(&dir.path().join("doubtful"), &run);
    let outcome = |recordings: &[&Recording]| {
        let rules = [rule("max-detour 50us")];
        let examined = recordings.iter().map(|recording| {
            examine(recording, &rules, &Requirements::default(), &mut |_| {})
                .expect("it can be read")
        });
        conclude(examined.collect(), &rules, Requirements::default(), None, vec![]).outcome
    };
    assert_eq!(outcome(&[&doubtful]), Outcome::Undecided, "its times may be wrong");
    assert_eq!(outcome(&[&sound]), Outcome::Fail, "300 us");
    assert_eq!(outcome(&[&sound, &doubtful]), Outcome::Fail);
    assert_eq!(outcome(&[&doubtful, &sound]), Outcome::Fail);
}

/// What is wrong with a recording.
type Flaw = (&'static str, fn(&mut Run), fn(&Doubt) -> bool);

const FLAWS: &[Flaw] = &[
    (
        "interrupted",
        |run| run.state = RunState::Interrupted("SIGTERM".into()),
        |doubt| matches!(doubt, Doubt::Interrupted { .. }),
    ),
    ("cut off", |run| run.state = RunState::Running, |doubt| *doubt == Doubt::CutOff),
    (
        "lost",
        |run| run.cpus[0].lost_detours = 100,
        |doubt| matches!(doubt, Doubt::LostDetours { .. }),
    ),
    (
        "the counter is wrong",
        |run| run.clock.residual_ppm = Some(2_000.0),
        |doubt| matches!(doubt, Doubt::WrongRate { .. }),
    ),
    (
        "the threshold is high",
        |run| run.threshold_ticks = 2_000 * MICRO,
        |doubt| matches!(doubt, Doubt::Threshold { .. }),
    ),
    (
        "a CPU did not measure",
        |run| (run.cpus[0].last_ticks, run.cpus[0].iterations) = (0, 0),
        |doubt| *doubt == Doubt::NotMeasured { cpu: Some(0) },
    ),
    ("no CPU", |run| run.cpus.clear(), |doubt| matches!(doubt, Doubt::NotMeasured { .. })),
    (
        "a host is missing",
        |run| {
            run.parallel = Some(Parallel {
                job: None,
                through: "files".into(),
                ranks: 2,
                hosts: 2,
                host: "one".into(),
                here: vec![],
            });
        },
        |doubt| *doubt == Doubt::MissingHosts { present: 1, hosts: 2 },
    ),
    ("short", |run| shorten(run, SECOND), |doubt| matches!(doubt, Doubt::TooShort { .. })),
    ("empty", |run| shorten(run, 0), |doubt| matches!(doubt, Doubt::NotMeasured { .. })),
];

fn shorten(run: &mut Run, wall_ticks: u64) {
    run.end_ticks = wall_ticks;
    run.cpus.iter_mut().for_each(|cpu| cpu.last_ticks = wall_ticks);
    run.cpus.iter_mut().for_each(|cpu| cpu.iterations = wall_ticks / 25);
}

#[test]
fn a_flawed_recording_passes_nothing_and_names_the_flaw() {
    let dir = tempfile::tempdir().expect("a directory");
    for (name, spoil, is_it) in FLAWS {
        let mut run = two_cpus::run(SECONDS * SECOND);
        spoil(&mut run);
        let recording = two_cpus::record(&dir.path().join(name), &run, &[]);
        for text in ["max-noise 90%", "max-detour 1ms", "max-rate 1000000/s", "max-rate nmi=1000/s"]
        {
            let found = judge(&recording, text);
            assert_eq!(found.outcome, Outcome::Undecided, "case: {name}: {text}");
            let named = found.doubts.iter().any(|doubtful| is_it(&doubtful.doubt));
            assert!(named, "case: {name}: {text}: {:?}", found.doubts);
        }
    }
}

#[test]
fn what_is_exceeded_fails_also_in_a_flawed_recording() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut run = two_cpus::run(SECONDS * SECOND);
    run.state = RunState::Interrupted("SIGTERM".into());
    run.cpus[1].lost_detours = 100;
    let recording = noisy(&dir.path().join("one"), &run);
    for text in ["max-noise 0.1%", "max-detour 100us", "max-rate 10/s", "max-rate thread=0.1/s"] {
        let found = judge(&recording, text);
        assert_eq!((found.outcome, found.doubts.len()), (Outcome::Fail, 0), "{text}");
    }
    let mut run = two_cpus::run(SECONDS * SECOND);
    run.clock.residual_ppm = Some(400_000.0);
    let recording = noisy(&dir.path().join("wrong rate"), &run);
    for (text, expected) in
        [("max-noise 0.1%", Outcome::Fail), ("max-detour 100us", Outcome::Undecided)]
    {
        assert_eq!(judge(&recording, text).outcome, expected, "{text}: of a wrong rate");
    }
}

/// CPU 1 has detours of up to 300 us: one is at least as long, and a hundred lost ones take up to 0.1 % of 30 s.
#[test]
fn lost_detours_may_be_as_long_as_the_longest() {
    let dir = tempfile::tempdir().expect("a directory");
    let found = |lost: u64, text: &str| {
        let mut run = two_cpus::run(SECONDS * SECOND);
        run.cpus[1].lost_detours = lost;
        let place = tempfile::tempdir_in(&dir).expect("a directory");
        judge(&noisy(&place.path().join("lost"), &run), text).findings.swap_remove(1)
    };
    let close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.01;
    let [none, many] = [0, 100].map(|lost| found(lost, "max-noise 90%").at_most.expect("a bound"));
    assert!(close(many - none, 100.0 * 300e-6 / 30.0), "{none} and {many}");
    let [none, many] = [0, 100].map(|lost| found(lost, "max-detour 1ms"));
    for finding in [&none, &many] {
        assert!(close(finding.at_least, 300_000.0), "{finding:?}");
        assert_eq!(finding.value, finding.at_least, "{finding:?}");
    }
    assert_eq!(none.at_most, Some(none.value));
    assert_eq!(many.at_most, None, "a lost detour may have had any length");
}

#[test]
fn rules_on_sources_need_reliable_sources() {
    let dir = tempfile::tempdir().expect("a directory");
    let alignment = |outside| Alignment { events: 1_000, outside, ..Alignment::default() };
    let audit = Audit { counter: "interrupts/LOC".into(), cpu: 1, counted: 900, seen: Some(100) };
    let not_seen = vec!["NMI: 5000 on CPU 1".to_owned()];
    let cases: [(&str, Attribution, Outcome); 4] = [
        (
            "aligned",
            Attribution { alignment: alignment(1), ..Attribution::default() },
            Outcome::Pass,
        ),
        (
            "misaligned",
            Attribution { alignment: alignment(2), ..Attribution::default() },
            Outcome::Undecided,
        ),
        ("audit", Attribution { audit: vec![audit], ..Attribution::default() }, Outcome::Undecided),
        (
            "interrupts without events",
            Attribution { untraced: not_seen, ..Attribution::default() },
            Outcome::Undecided,
        ),
    ];
    for (name, attribution, expected) in cases {
        let recording = usual(&dir.path().join(name));
        recording.write_attribution(&attribution).expect("writable");
        let recording = Recording::open(&dir.path().join(name)).expect("just written");
        assert_eq!(judge(&recording, "max-rate thread=1/s").outcome, expected, "case: {name}");
        assert_eq!(judge(&recording, "max-rate 300/s").outcome, Outcome::Pass, "case: {name}");
        // Sources that may be wrong prove no fault either; missing ones could only add to it.
        let wrong = matches!(name, "misaligned" | "audit");
        let exceeded = if wrong { Outcome::Undecided } else { Outcome::Fail };
        assert_eq!(judge(&recording, "max-rate thread=0.1/s").outcome, exceeded, "case: {name}");
    }
    let bare = dir.path().join("not attributed");
    let run = two_cpus::run(SECONDS * SECOND);
    Recorder::create(&bare, &run).expect("a new directory").finish(&run).expect("there is space");
    let found = judge(&Recording::open(&bare).expect("just written"), "max-rate thread=1/s");
    assert_eq!(found.outcome, Outcome::Undecided);
    assert!(
        found.doubts.iter().any(|doubtful| doubtful.doubt == Doubt::NotAttributed),
        "{:?}",
        found.doubts
    );
}

#[test]
fn what_is_not_attributable_may_be_the_source() {
    let dir = tempfile::tempdir().expect("a directory");
    let sources = [("not-attributable", even(2.0, 500e-6, SECONDS))];
    let run = two_cpus::run(SECONDS * SECOND);
    let recording = two_cpus::record(&dir.path().join("one"), &run, &sources);
    use Outcome::{Pass, Undecided};
    let cases = [
        ("max-rate thread=1/s", Undecided),
        ("max-rate thread=10/s", Pass),
        ("max-noise thread=0.01%", Undecided),
        ("max-noise thread=1%", Pass),
        ("max-detour thread=100us", Undecided),
        ("max-detour thread=1ms", Pass),
    ];
    for (text, expected) in cases {
        assert_eq!(judge_limited(&recording, text).outcome, expected, "case: {text}");
    }
}

#[test]
fn lost_events_beyond_the_stated_share_pass_no_source() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("one");
    let run = two_cpus::run(SECONDS * SECOND);
    let (start_ticks, end_ticks) = (SECOND, 2 * SECOND);
    let loss = Loss { what: "events".into(), cpu: 1, start_ticks, end_ticks, count: 9 };
    let mut recorder = Recorder::create(&path, &run).expect("a new directory");
    recorder.append(&[loss]).expect("in order");
    recorder.finish(&run).expect("there is space");
    let recording = Recording::open(&path).expect("just written");
    recording.derive::<anechoic_recording::Activity>().expect("writable").finish().expect("space");
    recording.write_attribution(&Attribution::default()).expect("writable");
    let recording = Recording::open(&path).expect("just written");
    let found = judge(&recording, "max-rate thread=1/s");
    assert_eq!(found.outcome, Outcome::Undecided, "a second of sixty");
    assert!(matches!(found.doubts[0].doubt, Doubt::LostEvents { .. }), "{:?}", found.doubts);
    let lenient = Requirements { max_lost: 0.02, ..Requirements::default() };
    assert_eq!(judged(&recording, &["max-rate thread=1/s"], lenient).outcome, Outcome::Pass);
}

#[test]
fn hosts_of_two_jobs_do_not_complete_each_other() {
    let dir = tempfile::tempdir().expect("a directory");
    let rules = [rule("max-detour 1ms")];
    let requirements = Requirements::default();
    let half = |name: &str, id: &str, host: &str| {
        let mut run = two_cpus::run(SECONDS * SECOND);
        run.parallel = Some(Parallel {
            job: Some(id.into()),
            through: "files".into(),
            ranks: 2,
            hosts: 2,
            host: host.into(),
            here: vec![],
        });
        two_cpus::record(&dir.path().join(name), &run, &[])
    };
    let together = |recordings: &[&Recording]| {
        let examined = recordings.iter().map(|recording| {
            examine(recording, &rules, &requirements, &mut |_| {}).expect("it can be read")
        });
        let gate = conclude(examined.collect(), &rules, requirements, None, vec![]);
        gate.rules.into_iter().next().expect("a rule")
    };
    let (a1, b1, b2) = (half("a1", "1", "a"), half("b1", "1", "b"), half("b2", "2", "b"));
    assert_eq!(together(&[&a1, &b1]).outcome, Outcome::Pass, "a whole job");
    let halves = together(&[&a1, &b2]);
    assert_eq!(halves.outcome, Outcome::Undecided);
    let missing = Doubt::MissingHosts { present: 1, hosts: 2 };
    let expected = [0, 1].map(|at| Doubtful { recording: Some(at), doubt: missing.clone() });
    assert_eq!(halves.doubts, expected);
    let also = together(&[&a1, &b1, &b2]);
    assert_eq!(also.doubts, [Doubtful { recording: Some(2), doubt: missing }]);
}

#[test]
fn every_recording_must_pass() {
    let dir = tempfile::tempdir().expect("a directory");
    let quiet = two_cpus::record(&dir.path().join("quiet"), &two_cpus::run(SECONDS * SECOND), &[]);
    let rules = [rule("max-noise 0.4%"), rule("max-detour 1ms")];
    let requirements = Requirements::default();
    let together = |recordings: &[&Recording], unread: &[&str]| {
        let examined = recordings.iter().map(|recording| {
            examine(recording, &rules, &requirements, &mut |_| {}).expect("it can be read")
        });
        let unread = unread.iter().map(|why| (*why).to_owned()).collect();
        conclude(examined.collect(), &rules, requirements, None, unread)
    };
    let noisy = usual(&dir.path().join("noisy"));
    let gate = together(&[&quiet, &noisy], &[]);
    let outcomes: Vec<Outcome> = gate.rules.iter().map(|rule| rule.outcome).collect();
    assert_eq!((gate.outcome, &outcomes[..]), (Outcome::Fail, &[Outcome::Fail, Outcome::Pass][..]));
    assert_eq!(gate.rules[0].decisive().expect("one").recording, Some(1), "the noisy one");
    assert_eq!(together(&[&quiet], &[]).outcome, Outcome::Pass);
    assert_eq!(together(&[&quiet], &["damaged"]).outcome, Outcome::Undecided);
    assert_eq!(together(&[], &[]).outcome, Outcome::Undecided, "nothing was measured");
}

/// Compares runs with the given noise of CPU 1, made one minute apart, with the given number of minutes between the sides.
fn compared(dir: &Path, sides: [&[f64]; 2], pause_min: usize) -> Comparison {
    let mut number = 0;
    let sides = sides.map(|side| {
        number += if number == 0 { 0 } else { pause_min };
        let record = |noise: &f64| {
            number += 1;
            let mut run = two_cpus::run(5 * SECOND);
            run.start_utc = format!("2026-05-09T07:{number:02}:00Z");
            let ticks = [("timer-tick", even(100.0, noise / 100.0, 5))];
            let recording = two_cpus::record(&dir.join(number.to_string()), &run, &ticks);
            let summary = summarize(&recording).expect("it can be read");
            (recording, summary)
        };
        side.iter().map(record).collect::<Vec<(Recording, Summary)>>()
    });
    let runs = sides.each_ref().map(|side| {
        let owned = |(recording, summary): &'_ (Recording, Summary)| {
            (recording.run().clone(), summary.clone())
        };
        side.iter().map(owned).collect::<Vec<_>>()
    });
    let runs = runs.each_ref().map(|side| {
        side.iter().map(|(run, summary)| ComparedRun { run, summary }).collect::<Vec<_>>()
    });
    compare(["a".into(), "b".into()], [&runs[0], &runs[1]], Beside::default())
        .expect("they can be compared")
}

#[test]
fn an_increase_is_judged_by_repeated_runs() {
    let dir = tempfile::tempdir().expect("a directory");
    use Outcome::{Fail, Pass, Undecided};
    let before = [0.0100, 0.0101, 0.0099, 0.0100, 0.0102];
    let cases: [(&str, &[f64], Outcome); 7] = [
        ("alike", &[0.0101, 0.0100, 0.0099, 0.0101, 0.0100], Pass),
        ("quieter", &[0.0051, 0.0050, 0.0049, 0.0051, 0.0050], Pass),
        ("noisier", &[0.0151, 0.0150, 0.0149, 0.0151, 0.0150], Fail),
        ("too different", &[0.0060, 0.0180, 0.0120, 0.0070, 0.0100], Undecided),
        ("one run", &[0.0100], Undecided),
        ("two in a row", &[0.0050, 0.0051], Undecided),
        ("two in a row, noisier", &[0.0500, 0.0501], Undecided),
    ];
    let rules = [rule("max-increase 10%")];
    let requirements = Requirements::default();
    for (name, after, expected) in cases {
        let comparison = compared(&dir.path().join(name), [&before, after], 0);
        let run = two_cpus::run(SECONDS * SECOND);
        let recording = two_cpus::record(&dir.path().join(format!("{name}, now")), &run, &[]);
        let examined = examine(&recording, &rules, &requirements, &mut |_| {}).expect("readable");
        let gate = conclude(vec![examined], &rules, requirements, Some(&comparison), vec![]);
        assert_eq!(gate.outcome, expected, "case: {name}: {:?}", gate.rules);
        assert_eq!(gate.rules[0].doubts.is_empty(), expected != Undecided, "case: {name}");
    }
}

#[test]
fn what_compare_leaves_unproven_is_undecided() {
    let dir = tempfile::tempdir().expect("a directory");
    let before = [0.0100, 0.0101, 0.0099, 0.0100, 0.0102];
    let after = [
        ("alike", [0.0101, 0.0100, 0.0099, 0.0101, 0.0100], Change::NotShown),
        ("noisier", [0.0151, 0.0150, 0.0149, 0.0151, 0.0150], Change::Unproven),
    ];
    let rules = [rule("max-increase 10%")];
    for (name, after, verdict) in after {
        let comparison = compared(&dir.path().join(name), [&before, &after], 20);
        assert_eq!(comparison.verdict, verdict, "case: {name}");
        let now = two_cpus::record(
            &dir.path().join(format!("{name}, now")),
            &two_cpus::run(SECONDS * SECOND),
            &[],
        );
        let requirements = Requirements::default();
        let examined = examine(&now, &rules, &requirements, &mut |_| {}).expect("readable");
        let gate = conclude(vec![examined], &rules, requirements, Some(&comparison), vec![]);
        assert_eq!(gate.outcome, Outcome::Undecided, "case: {name}");
        let doubts = [Doubtful { recording: None, doubt: Doubt::OneSession }];
        assert_eq!(gate.rules[0].doubts, doubts, "case: {name}");
    }
}

#[test]
fn a_program_is_judged_by_the_time_in_which_it_wanted_its_cpu() {
    let dir = tempfile::tempdir().expect("a directory");
    // Of 30 s it ran 50 ms, and was kept from its CPU for 150 ms: 15 times 10 ms.
    let ran = RanOn { cpu: 1, ticks: SECOND / 20, ..RanOn::default() };
    let mut run = two_cpus::run(SECONDS * SECOND);
    run.cpus.remove(0);
    run.method = "program".into();
    run.program = Some(Program { ran: vec![ran], ..Program::default() });
    let recording =
        two_cpus::record(&dir.path().join("one"), &run, &[("thread", even(0.5, 10e-3, SECONDS))]);
    let gate = judged(&recording, &["max-wait 1ms"], Requirements::default());
    assert_eq!(gate.rules[0].doubts[0].doubt, Doubt::NotAttributed, "its threads are not known");
    let recording = with_waits(&recording, &[(1, 10_000, 0)]);
    let summary = summarize(&recording).expect("it can be read");
    assert!((summary.cpus[0].noise - 0.75).abs() < 0.001, "{}", summary.cpus[0].noise);
    use Outcome::{Fail, Pass, Undecided};
    // One run decides only what its longest detour shows; nothing else is an interrupt.
    let cases = [
        ("max-noise 5%", Undecided, 0.75),
        ("max-noise 80%", Undecided, 0.75),
        ("max-noise nmi=1%", Undecided, 0.0),
        ("max-rate 10/s", Undecided, 0.5),
        ("max-detour 11ms", Pass, 10e6),
        ("max-detour 9ms", Fail, 10e6),
        ("max-wait 11ms", Pass, 10e6),
        ("max-wait 9ms", Fail, 10e6),
    ];
    for (text, expected, value) in cases {
        let gate = judged(&recording, &[text], Requirements::default());
        assert_eq!(gate.outcome, expected, "case: {text}: {:?}", gate.rules[0]);
        let found = gate.rules[0].decisive().expect("it ran");
        assert!((found.value - value).abs() < 0.001 * (1.0 + value), "case: {text}: {found:?}");
    }
    let gate = judged(&recording, &["max-noise 5%"], Requirements::default());
    assert!((gate.rules[0].findings[0].value - 0.75).abs() < 0.001, "that of the summary");
    let doubts = [Doubtful { recording: Some(0), doubt: Doubt::FewRunsOfProgram { runs: 1 } }];
    assert_eq!(gate.rules[0].doubts, doubts);
}

/// A program runs for 1 s of 30 s on CPU 1, on top of the time that it loses.
fn run_of_program(dir: &Path, name: &str, at: u64, per_second: f64) -> Recording {
    let ran = RanOn { cpu: 1, ticks: SECOND, ..RanOn::default() };
    let mut run = two_cpus::run(SECONDS * SECOND);
    run.method = "program".into();
    run.program = Some(Program { name: name.into(), ran: vec![ran], ..Program::default() });
    let ticks = ("timer-tick", even(per_second, 100e-6, SECONDS));
    let threads = ("thread", even(0.1, 2e-3, SECONDS));
    let recording = two_cpus::record(&dir.join(format!("{name}{at}")), &run, &[ticks, threads]);
    // Behind others for 2 ms, and for 50 ms of which threads of the program had the CPU for 49 ms.
    with_waits(&recording, &[(1, 2_000, 0), (1, 50_000, 49_000), (0, 10, 0)])
}

/// Adds waits of a thread: the CPU, the length and the part behind its own, in µs.
fn with_waits(recording: &Recording, waits: &[(u32, u64, u64)]) -> Recording {
    let us = SECOND / 1_000_000;
    let delays = waits.iter().zip(1..).map(|(&(cpu, length, own), at)| Delay {
        cpu,
        start_ticks: at * SECOND,
        end_ticks: at * SECOND + length * us,
        thread: 0,
        kind: DelayKind::Preempted,
        own_ticks: own * us,
        holder: Some(9),
        holder_name: "hog".into(),
        holder_thread: None,
        held_ticks: (length - own) * us,
        waker_thread: None,
        waker: None,
        waker_source: None,
        waker_name: None,
        slept_ticks: None,
        priority: None,
        other_priority: None,
    });
    let blocked = Delay {
        kind: DelayKind::Blocked,
        end_ticks: 9 * SECOND,
        ..delays.clone().next().expect("a wait")
    };
    let mut delays: Vec<Delay> = delays.chain([blocked]).collect();
    delays.sort_by_key(|delay| delay.cpu);
    let mut table = recording.derive::<Delay>().expect("writable");
    table.append(&delays).expect("in order");
    table.finish().expect("written");
    recording.derive::<ProgramThread>().expect("writable").finish().expect("written");
    Recording::open(recording.dir()).expect("just written")
}

/// Judges a rule on these of the recordings.
fn judged_together(recordings: &[Recording], which: &[usize], text: &str) -> Gate {
    let rules = [rule(text)];
    let examined = which.iter().map(|at| {
        examine(&recordings[*at], &rules, &Requirements::default(), &mut |_| {}).expect(text)
    });
    conclude(examined.collect(), &rules, Requirements::default(), None, vec![])
}

#[test]
fn runs_of_a_program_are_judged_together_and_each_program_by_itself() {
    let dir = tempfile::tempdir().expect("a directory");
    let record =
        |name: &str, at: u64, per_second: f64| run_of_program(dir.path(), name, at, per_second);
    let recordings = [
        record("calm", 1, 1.0),
        record("calm", 2, 1.2),
        record("calm", 3, 0.9),
        record("busy", 1, 100.0),
        record("busy", 2, 110.0),
        record("busy", 3, 105.0),
    ];
    let gate = |which: &[usize], text: &str| judged_together(&recordings, which, text);
    use Outcome::{Fail, Pass, Undecided};
    let (calm, busy, all) = ([0, 1, 2], [3, 4, 5], [0, 1, 2, 3, 4, 5]);
    let cases: [(&[usize], &str, Outcome); 9] = [
        (&calm, "max-noise 10%", Pass),
        (&busy, "max-noise 10%", Fail),
        (&busy, "max-noise thread=20%", Pass),
        (&all, "max-noise 10%", Fail),
        (&calm, "max-noise 0.9%", Undecided),
        (&calm, "max-rate 10/s", Pass),
        (&busy, "max-rate timer-tick=10/s", Fail),
        // Interrupts on top of the program are no wait.
        (&all, "max-wait 2.1ms", Pass),
        (&all, "max-wait 1.9ms", Fail),
    ];
    for (which, text, expected) in cases {
        let gate = gate(which, text);
        assert_eq!(gate.outcome, expected, "{text}: {:?}", gate.rules[0]);
    }
    let both = gate(&all, "max-noise 10%");
    let programs: Vec<_> =
        both.rules[0].findings.iter().map(|found| (found.program.as_deref(), found.runs)).collect();
    assert_eq!(programs, [(Some("calm"), Some(3)), (Some("busy"), Some(3))]);
    let largest = both.rules[0].decisive().and_then(|found| found.largest_source.clone());
    assert_eq!(largest.expect("it fails").source, "timer-tick");
    let wait = gate(&all, "max-wait 1.9ms");
    let largest = wait.rules[0].decisive().and_then(|found| found.largest_source.clone());
    let largest = largest.expect("it fails");
    assert_eq!((&*largest.source, &*largest.name, largest.share), ("thread", "hog", 1.0));
    let loops = usual(&dir.path().join("loops"));
    let gate = judged(&loops, &["max-wait 1ms"], Requirements::default());
    assert_eq!(gate.rules[0].doubts[0].doubt, Doubt::NoProgram);
}

/// Adds releases of a thread: the latency, how much later it may have had its CPU, and how late it set its timer, in µs.
fn with_releases(recording: &Recording, releases: &[(u64, u64, u64)]) -> Recording {
    let us = SECOND / 1_000_000;
    let rows = releases.iter().zip(1..).map(|(&(latency, unseen, busy), at)| Release {
        cpu: 1,
        due_ticks: at * SECOND,
        end_ticks: at * SECOND + latency * us,
        thread: 0,
        armed_ticks: at * SECOND + busy * us,
        slack_ticks: 0,
        expired_ticks: at * SECOND + (busy + 1) * us,
        timer_cpu: 1,
        woken_ticks: at * SECOND + (busy + 1) * us,
        unseen_ticks: unseen * us,
        previous_ticks: None,
        source: "thread".into(),
        name: "hog".into(),
        source_ticks: (latency - busy) * us,
    });
    let mut table = recording.derive::<Release>().expect("writable");
    table.append(&rows.collect::<Vec<_>>()).expect("in order");
    table.finish().expect("written");
    Recording::open(recording.dir()).expect("just written")
}

#[test]
fn the_longest_release_decides_and_none_proves_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let recording = run_of_program(dir.path(), "control", 1, 1.0);
    use Outcome::{Fail, Pass, Undecided};
    let judge = |recording: &Recording| {
        judged(recording, &["max-release 500us"], Requirements::default()).rules.remove(0)
    };
    let older = judge(&recording);
    assert_eq!((older.outcome, &older.doubts[0].doubt), (Undecided, &Doubt::NoReleases));
    for (releases, expected, cause) in [
        (&[][..], Undecided, None),
        (&[(400, 0, 0), (90, 0, 0)], Pass, None),
        (&[(90, 0, 0), (600, 0, 0)], Fail, Some(("thread", "hog"))),
        (&[(400, 200, 0)], Undecided, None), // the switch was not reported
        (&[(600, 200, 0)], Fail, Some(("thread", "hog"))),
        (&[(600, 0, 500)], Fail, Some(("overrun", ""))),
    ] {
        let rule = judge(&with_releases(&recording, releases));
        assert_eq!(rule.outcome, expected, "{releases:?}: {rule:?}");
        let largest = rule.decisive().and_then(|found| found.largest_source.clone());
        assert_eq!(largest.as_ref().map(|it| (&*it.source, &*it.name)), cause, "{rule:?}");
    }
}

#[test]
fn other_methods_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let run = Run { method: "fwq".into(), ..two_cpus::run(SECOND) };
    let recording = two_cpus::record(&dir.path().join("fwq"), &run, &[]);
    let rules = [rule("max-noise 1%")];
    let error =
        examine(&recording, &rules, &Requirements::default(), &mut |_| {}).expect_err("fwq");
    assert!(error.to_string().contains("the gate judges those of `anechoic run`"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever the noise, the limits and the flaw: a recording with a flaw passes nothing.
    #[test]
    fn no_flawed_recording_passes(
        flaw in 0..FLAWS.len(),
        noise in prop::collection::vec((0.0..29.0_f64, 1e-6..1e-3_f64), 0..40),
        percent in 0.0..100.0_f64,
        per_second in 0.001..1e6_f64,
        micros in 1_u64..1_000,
    ) {
        let dir = tempfile::tempdir().expect("a directory");
        let mut run = two_cpus::run(SECONDS * SECOND);
        FLAWS[flaw].1(&mut run);
        let mut noise = noise;
        noise.retain(|_| run.cpus.len() == 2 && run.end_ticks > SECOND);
        let recording = two_cpus::record(&dir.path().join("one"), &run, &[("thread", noise)]);
        let rules = [
            format!("max-noise {percent}%"),
            format!("max-noise thread={percent}%"),
            format!("max-detour {micros}us"),
            format!("max-detour thread={micros}us"),
            format!("max-rate {per_second}/s"),
            format!("max-rate thread>{micros}us={per_second}/s"),
        ];
        for text in &rules {
            let found = judge(&recording, text);
            prop_assert_ne!(found.outcome, Outcome::Pass, "{}: {}", FLAWS[flaw].0, text);
        }
    }
}

#[test]
fn as_much_as_may_be_lost_is_no_doubt() {
    let dir = tempfile::tempdir().expect("a directory");
    let whole = usual(&dir.path().join("whole"));
    let strict = Requirements { max_lost: 0.0, max_misaligned: 0.0, ..Requirements::default() };
    let rules = ["max-noise timer-tick=0.6%", "max-detour 300us"];
    assert_eq!(judged(&whole, &rules, strict).outcome, Outcome::Pass);
    // 7,515 detours, and as many as a fifth of these again.
    let mut run = two_cpus::run(SECONDS * SECOND);
    run.cpus[1].lost_detours = 1_503;
    let lossy = noisy(&dir.path().join("lossy"), &run);
    for (max_lost, doubted) in [(1_503.0 / 9_018.0, false), (0.1666, true)] {
        let requirements = Requirements { max_lost, ..Requirements::default() };
        let gate = judged(&lossy, &["max-noise 5%"], requirements);
        let doubt = Doubt::LostDetours { share: 1_503.0 / 9_018.0 };
        let doubts = gate.rules[0].doubts.iter().any(|doubtful| doubtful.doubt == doubt);
        assert_eq!(doubts, doubted, "{max_lost}: {:?}", gate.rules[0].doubts);
    }
}
