//! The screen of what noise costs a parallel job: beside the one that was looked at and found good.
//!
//! After a change that is meant, look at `INSTA_UPDATE=always cargo test --workspace --test report`
//! in the diff of `tests/snapshots`.

use anechoic_predict::phases::{
    Ask, Host, Noise, PhaseModel, SourceCost, SourceFacts, Span, Timeline, predict,
};
use anechoic_report::results::Found;
use anechoic_report::results::phases::PHASES;
use anechoic_report::{Style, View, schemas};

const MS: u64 = 1_000_000;

fn screen(model: &PhaseModel, view: &View<'_>) -> String {
    Found::from_value(&PHASES, model.clone(), &[]).screen(view).to_text(view)
}

/// Looks at a screen: as it was, never over 80 columns, and as the schema says.
fn golden(name: &str, model: &PhaseModel) {
    let text = screen(model, &View::default());
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{name} has a line of {widest:?} columns:\n{text}");
    insta::assert_snapshot!(name, text);
    let (_, schema) =
        schemas().into_iter().find(|(name, _)| *name == "phases.schema.json").expect("listed");
    let schema = serde_json::from_str(&schema).expect("a schema is JSON");
    let mut json = vec![];
    anechoic_report::json(model, &mut json).expect("writing to memory");
    let printed = serde_json::from_slice(&json).expect("JSON reads back");
    assert!(jsonschema::is_valid(&schema, &printed), "{name}");
}

/// Two CPUs over 10 s: ticks of 10 to 20 µs every 4 ms, one of 5 ms.
fn ticks() -> Noise {
    let cpu = |cpu: u64| {
        let tick = |at: u64| {
            let start_ns = at * 4 * MS + 7 * cpu;
            let length = 10_000 + (at * 7_919 + cpu) % 10_000;
            Span { start_ns, end_ns: start_ns + length }
        };
        let daemon = Span { start_ns: 3_001 * MS + cpu * MS, end_ns: 3_006 * MS + cpu * MS };
        Timeline::new(10_000 * MS, (0..2_500).map(tick).chain([daemon]).collect())
    };
    let host = Host::new("noise".into(), vec![(2, cpu(0)), (3, cpu(1))]).expect("one window");
    Noise { threshold_ns: Some(100), ..Noise::from_hosts(vec![host]) }
}

fn ask(grains_ns: &[u64], ranks: &[u64]) -> Ask {
    let budget = 10_000_000;
    Ask { grains_ns: grains_ns.to_vec(), ranks: ranks.to_vec(), budget, ..Ask::default() }
}

#[test]
fn usual() {
    let ranks = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000];
    let model = predict(&ticks(), &ask(&[MS / 10, MS, 10 * MS], &ranks)).expect("a prediction");
    golden("phases_usual", &model);
    let colored = View { style: Style { color: true }, width: 100, ..View::default() };
    assert!(screen(&model, &colored).contains('\x1b'));
}

#[test]
fn sources() {
    let mut model = predict(&ticks(), &ask(&[MS], &[1, 1_000, 100_000])).expect("a prediction");
    let facts = |source: &str, name: &str, share, longest_ns| SourceFacts {
        source: source.into(),
        name: name.into(),
        share,
        longest_ns,
    };
    let (tick, daemon) =
        (("timer-tick", ""), ("thread", "updatedb\u{1b}[2J with a name that is long"));
    model.sources =
        Some(vec![facts(tick.0, tick.1, 0.9, 20_000), facts(daemon.0, daemon.1, 0.1, 5_000_000)]);
    model.not_available.retain(|gone| gone.what != "cost of each source");
    for cell in &mut model.grains[0].cells {
        let cost = |source: (&str, &str), without, alone| SourceCost {
            source: source.0.into(),
            name: source.1.into(),
            without,
            alone,
        };
        let all = cell.free_start.slowdown;
        let (tick, daemon) = (cost(tick, all - 0.003, 1.0037), cost(daemon, 1.02, all - 0.02));
        cell.sources = if cell.ranks == 1 { vec![tick] } else { vec![daemon, tick] };
    }
    golden("phases_sources", &model);
    model.grains[0].cells.iter_mut().for_each(|cell| {
        cell.sources.truncate(1);
        cell.sources[0].source = "vm-or-hardware".into();
    });
    for (guest, expected) in [(false, " hardware updatedb"), (true, "VM exit or hardware updat")] {
        model.guest = guest;
        let text = screen(&model, &View { width: 300, ..View::default() });
        assert_eq!(text.matches(expected).count(), 2, "{expected}\n{text}");
    }
}

#[test]
fn nothing_to_tell() {
    let quiet = Timeline::new(10_000 * MS, vec![]);
    let hosts = (0..6).map(|number| {
        let name =
            format!("{number} a host of a name that does not end where one would like it to");
        Host::new(name, vec![(0, quiet.clone())]).expect("one window")
    });
    let noise = Noise::from_hosts(hosts.collect());
    let model = predict(&noise, &ask(&[3_333], &[7])).expect("a prediction");
    golden("phases_nothing", &model);
}
