//! The list of settings that can be tried, and the explanation of one.

use crate::schema::validate;
use anechoic_recording::tunable::{Recommended, TUNABLES, TunableState, TunableStates};
use anechoic_report::View;

/// All settings of the table, of which every other one is not on this machine.
fn states(explained: bool) -> TunableStates {
    let state = |(at, row): (usize, &anechoic_recording::tunable::Tunable)| TunableState {
        name: row.name.to_owned(),
        file: row.file.to_owned(),
        value: (at % 2 == 0 && !row.has_parts()).then(|| "1".to_owned()),
        in_effect: (at == 0).then(|| "2".to_owned()),
        absent: (at % 2 == 1).then(|| "no such file".to_owned()),
        what: row.what.to_owned(),
        recommended: match row.recommended {
            Recommended::Value(value) => Some(value.to_owned()),
            Recommended::OtherCpus => Some("other CPUs".to_owned()),
            Recommended::Depends => None,
        },
        goal: row.goal.to_owned(),
        risk: row.risk.to_owned(),
        needs: row.needs.to_owned(),
        keep: row.to_keep(row.name, row.file, "1"),
        acts_on: row.acts_on.to_owned(),
        reference: row.reference.to_owned(),
    };
    let settings = TUNABLES.iter().enumerate().map(state).collect();
    TunableStates { host: "node17".into(), kernel: "6.18.5".into(), explained, settings }
}

#[test]
fn the_list_fits_on_a_screen_and_every_row_of_the_table_in_it_is_whole() {
    let mut all = states(false);
    all.settings.iter_mut().for_each(|state| state.absent = None);
    let text = anechoic_report::settings(&all, &View::default()).to_text(&View::default());
    assert!(text.lines().count() <= 40, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(!text.contains('…'), "{text}");
    for row in TUNABLES {
        assert!(text.contains(row.name) && text.contains(row.acts_on), "{}: {text}", row.name);
    }
    validate("settings.schema.json", &all).expect("a list");
}

#[test]
fn what_is_not_here_is_named_and_explained_on_request() {
    let all = states(false);
    let brief = anechoic_report::settings(&all, &View::default()).to_text(&View::default());
    assert!(brief.contains("workqueue/cpumask") && !brief.contains("no such file"), "{brief}");
    let view = View { all: true, ..View::default() };
    let whole = anechoic_report::settings(&all, &view).to_text(&view);
    assert!(whole.contains("khugepaged/defrag") && whole.contains("  no such file"), "{whole}");
}

#[test]
fn an_explained_setting_has_all_facts_of_its_row() {
    for (at, state) in states(true).settings.into_iter().enumerate() {
        let one = TunableStates { settings: vec![state], ..states(true) };
        let text = anechoic_report::settings(&one, &View::default()).to_text(&View::default());
        let text = text.split_whitespace().collect::<Vec<&str>>().join(" ");
        let row = &TUNABLES[at];
        for fact in [row.what, row.goal, row.risk, row.needs, row.acts_on, row.file, row.reference]
        {
            assert!(text.contains(fact), "{}: {fact}: {text}", row.name);
        }
        assert!(text.contains(row.also) && text.contains("to keep it"), "{}: {text}", row.name);
        assert_eq!(text.contains("measure it: anechoic try"), at % 2 == 0, "{}: {text}", row.name);
    }
}
