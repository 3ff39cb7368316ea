//! The screen of a bulk-synchronous job: beside the one that was looked at and found good.
//!
//! After a change that is meant, look at `INSTA_UPDATE=always cargo test --workspace --test report`
//! in the diff of `tests/snapshots`.

use anechoic_analyze::stats::Interval;
use anechoic_predict::bsp::{
    Alone, Basis, Brackets, Bsp, Cell, Estimate, Explanation, Happened, HostFacts, Part, Played,
    RankFacts, SourceTime, Undisturbed, Unexplained,
};
use anechoic_recording::parallel::Meeting;
use anechoic_recording::run::NotAvailable;
use anechoic_report::results::Found;
use anechoic_report::results::bsp::BSP;
use anechoic_report::{Style, View, schemas};

fn screen(found: &Bsp, view: &View<'_>) -> String {
    Found::from_value(&BSP, found.clone(), &[]).screen(view).to_text(view)
}

/// Looks at a screen: as it was, never over 80 columns, and as the schema says.
fn golden(name: &str, found: &Bsp) {
    let text = screen(found, &View::default());
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{name} has a line of {widest:?} columns:\n{text}");
    insta::assert_snapshot!(name, text);
    let (_, schema) =
        schemas().into_iter().find(|(name, _)| *name == "bsp.schema.json").expect("listed");
    let schema = serde_json::from_str(&schema).expect("a schema is JSON");
    let mut json = vec![];
    anechoic_report::json(found, &mut json).expect("writing to memory");
    let printed = serde_json::from_slice(&json).expect("JSON reads back");
    assert!(jsonschema::is_valid(&schema, &printed), "{name}");
}

pub fn sure(value: f64, by: f64) -> Estimate {
    let interval = Interval { low: value * (1.0 - by), high: value * (1.0 + by) };
    Estimate { value, interval: Some(interval), at_least: Some(interval.low) }
}

fn explanation(measured: f64, predicted: f64, phases: u64) -> Explanation {
    let part =
        |happened, phases, measured, predicted| Part { happened, phases, measured, predicted };
    let waits = phases / 500;
    let disturbed = phases / 40;
    Explanation {
        parts: vec![
            part(Happened::InWork, disturbed, measured * 0.98, predicted),
            part(Happened::InWait, waits, 0.0, 0.0),
            part(Happened::Nothing, phases - disturbed - waits - 2, 0.0, 0.0),
            part(Happened::Unexplained, 2, measured * 0.02, 0.0),
        ],
        extra_ns: Some(sure(1_900.0, 0.3)),
        speed: measured * 0.03,
        long_ns: 102_400.0,
        longest: vec![
            unexplained(31_415, 3_141_500_000, 311_000.0),
            unexplained(7, 700_000, 120_000.0),
        ],
    }
}

fn unexplained(phase: u64, at_ns: u64, took_ns: f64) -> Unexplained {
    Unexplained { round: 0, phase, at_ns, took_ns, last: 1, work_ns: took_ns - 200.0 }
}

fn rank(rank: u32, host: u64, cost: f64) -> RankFacts {
    RankFacts {
        rank,
        host,
        cpu: Some(rank % 2),
        noise: Some(0.011 + f64::from(rank) / 1e3),
        work_ns: Some(100_100.0 + f64::from(rank)),
        disturbed_work_ns: Some(102_000.0 + f64::from(rank)),
        last: 2_000 + u64::from(rank),
        last_disturbed: 600,
        cost,
        alone: None,
    }
}

fn source(source: &str, name: &str, share: f64) -> SourceTime {
    let ns = (share * 1e8) as u64;
    SourceTime { source: source.into(), name: name.into(), share, ns }
}

/// Ranks that met, where the recursion says `ratio` times too little.
pub fn cell(grain_ns: u64, meeting: Meeting, measured: f64, ratio: f64) -> Cell {
    let phases = 5_000_000_000 / grain_ns;
    let predicted = measured / ratio;
    Cell {
        grain_ns,
        meeting,
        injection: None,
        ranks: 2,
        phases,
        left_out: 0,
        undisturbed: Undisturbed {
            ns: sure(grain_ns as f64 * 1.002, 0.0004),
            meeting_ns: 190.0,
            phases: phases * 9 / 10,
            basis: Basis::Undisturbed,
            wander: Some(0.004),
        },
        measured: sure(measured, 0.06),
        predicted: Some(sure(predicted, 0.06)),
        ratio: Some(sure(ratio, 0.02)),
        played: Some(Played::Through),
        anew: Some(sure(predicted, 0.06)),
        brackets: Some(Brackets { free_start: predicted * 0.8, wall_start: predicted * 2.4 }),
        explanation: Some(explanation(measured, predicted, phases)),
        of_ranks: vec![rank(0, 0, measured / 3.0), rank(1, 0, measured / 1.5)],
        sources: Some(vec![
            source("timer-tick", "", 0.82),
            source("thread", "updatedb\u{1b}[2J with a name that is long", 0.15),
            source("a-source-of-later", "", 0.03),
        ]),
    }
}

pub fn usual() -> Bsp {
    let host = HostFacts { name: "node17".into(), ranks: vec![0, 1], cpus: vec![0, 1] };
    Bsp {
        hosts: vec![host],
        guest: false,
        ranks: Some(2),
        through: Some("threads".into()),
        wait_threshold_ns: Some(2_000),
        kernel: "intadd-chain".into(),
        cells: vec![
            cell(100_000, Meeting::Barrier, 0.0231, 1.03),
            cell(1_000_000, Meeting::Allreduce, 0.0187, 0.99),
        ],
        not_available: vec![],
        notes: vec![],
    }
}

#[test]
fn as_it_should_be() {
    golden("bsp_usual", &usual());
    let colored = View { style: Style { color: true }, width: 120, ..View::default() };
    assert!(screen(&usual(), &colored).contains('\x1b'));
    let narrow = screen(&usual(), &View { width: 60, ..View::default() });
    assert!(!narrow.is_empty());
}

#[test]
fn where_they_part() {
    let mut found = usual();
    let mut alone = cell(1_000_000, Meeting::Nothing, 0.012, 1.0);
    alone.brackets = None;
    for (rank, measured) in alone.of_ranks.iter_mut().zip([0.011, 0.013]) {
        rank.alone = Some(Alone { measured, law: Some(measured * 1.01) });
    }
    found.cells = vec![cell(100_000, Meeting::Barrier, 0.0231, 1.31), alone];
    found.cells[0].left_out = 17;
    found.cells[0].predicted = Some(sure(0.0195, 0.06));
    found.cells[0].ratio = Some(sure(0.0231 / 0.0195, 0.02));
    found.cells[0].undisturbed.basis = Basis::Corrected;
    found.cells[0].undisturbed.wander = Some(0.047);
    found.hosts = (0..6)
        .map(|number| HostFacts {
            name: format!("{number} a host of a name that does not end where one would like"),
            ranks: vec![2 * number, 2 * number + 1],
            cpus: vec![0, 1],
        })
        .collect();
    found.ranks = Some(14);
    found.cells[0].of_ranks =
        (0..12).map(|number| rank(number, u64::from(number / 2), 0.001)).collect();
    found.notes = vec!["12 of 14 ranks are compared: what the others cost is measured".into()];
    golden("bsp_apart", &found);
    let all = screen(&found, &View { all: true, ..View::default() });
    assert!(all.lines().count() > screen(&found, &View::default()).lines().count());
}

#[test]
fn sources_have_their_names_on_a_guest_and_without_a_hypervisor() {
    let mut found = usual();
    found.cells[0].sources = Some(vec![source("vm-or-hardware", "", 0.8)]);
    for (guest, expected) in [(false, "last rank: hardware 80"), (true, "VM exit or hardware 80")] {
        found.guest = guest;
        let text = screen(&found, &View::default());
        assert!(text.contains(expected), "{expected} is not in\n{text}");
    }
}

#[test]
fn unexplained_phases_are_listed_or_not_mentioned() {
    let mut found = usual();
    found.cells.truncate(1);
    let longest = |found: &mut Bsp, longest| {
        found.cells[0].explanation.as_mut().expect("made so").longest = longest;
        screen(found, &View { width: 300, ..View::default() })
    };
    let text = longest(&mut found, vec![unexplained(3, 0, 0.0)]);
    assert!(text.contains("the longest: 0 ns at"), "{text}");
    let text = longest(&mut found, vec![]);
    assert!(!text.contains("the longest:"), "{text}");
}

#[test]
fn nothing_predicted() {
    let mut found = usual();
    found.cells.truncate(1);
    let cell = &mut found.cells[0];
    cell.undisturbed.basis = Basis::Calibrated;
    cell.undisturbed.wander = None;
    (cell.predicted, cell.ratio, cell.anew, cell.brackets) = (None, None, None, None);
    cell.played = None;
    (cell.explanation, cell.sources) = (None, None);
    cell.measured = Estimate { value: 1.13, interval: None, at_least: Some(1.06) };
    for rank in &mut cell.of_ranks {
        (rank.noise, rank.work_ns, rank.disturbed_work_ns) = (None, None, None);
    }
    found.not_available = vec![NotAvailable {
        what: "prediction".into(),
        why: "detours of rank 0, 1 are not known: they share a CPU, or were not watched".into(),
        remedy: "measure with one CPU per rank".into(),
    }];
    golden("bsp_shared", &found);
    found.cells.clear();
    golden("bsp_empty", &found);
}
