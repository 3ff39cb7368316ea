//! The settings of this machine that `anechoic try` can change: all in a table, or some explained.

use crate::screen::{Fact, Screen};
use crate::style::{Tone, View, plain, width};
use crate::table::Table;
use anechoic_recording::tunable::{TunableState, TunableStates, find};

/// Widest value in the table.
const VALUE_COLUMNS: usize = 10;

/// Shows the settings of a machine that can be tried, or explains those that were asked for.
#[must_use]
pub fn settings(found: &TunableStates, view: &View<'_>) -> Screen {
    if !found.explained {
        return all(found, view);
    }
    let mut screen = Screen::default();
    for (at, state) in found.settings.iter().enumerate() {
        if at > 0 {
            screen.gap();
        }
        explain(state, &mut screen);
    }
    screen
}

fn all(found: &TunableStates, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    let (host, kernel) = (plain(&found.host), plain(&found.kernel));
    screen.heading(&format!("settings that can be tried on {host} · Linux {kernel}"));
    let (here, absent): (Vec<&TunableState>, Vec<&TunableState>) =
        found.settings.iter().partition(|state| state.absent.is_none());
    screen.gap();
    screen.table(
        Table::with_rows(&here)
            .name("setting", |state| plain(&state.name))
            .name("now", |state| value(state))
            .cut_at(VALUE_COLUMNS)
            .name("try", |state| worth(state))
            .name("acts on", |state| plain(&state.acts_on))
            .captioned("Settings that can be tried here")
            .last_takes_rest(),
    );
    if !absent.is_empty() {
        screen.section("not here");
        match view.all {
            true => {
                let widest = absent.iter().map(|state| width(&plain(&state.name))).max();
                screen
                    .list(widest.unwrap_or(0) + 2, absent.iter().map(|state| why(state)).collect());
            }
            false => {
                let names: Vec<String> = absent.iter().map(|state| plain(&state.name)).collect();
                screen.sentence(&format!("{} (--all: why)", names.join(", ")));
            }
        }
    }
    screen.gap();
    screen.note("`anechoic try NAME` explains one, `anechoic try NAME=VALUE` measures it");
    screen
}

fn why(state: &TunableState) -> Fact {
    Fact::new(plain(&state.name), Tone::Quiet, plain(state.absent.as_deref().unwrap_or_default()))
}

fn value(state: &TunableState) -> String {
    let value = state.value.as_deref().map(plain);
    value.unwrap_or_else(|| "several".to_owned())
}

/// Returns the value that is worth a trial, unless the setting has it.
fn worth(state: &TunableState) -> String {
    match state.recommended.as_deref() {
        None => "depends".to_owned(),
        Some(wanted) if has(state, wanted) => "as it is".to_owned(),
        Some(wanted) => plain(wanted),
    }
}

fn has(state: &TunableState, wanted: &str) -> bool {
    let row = find(&state.name);
    row.zip(state.value.as_deref()).is_some_and(|(row, now)| row.is_same(now, wanted))
}

fn explain(state: &TunableState, screen: &mut Screen) {
    let name = plain(&state.name);
    screen.heading(&name);
    let mut facts = vec![];
    let mut add = |name: &str, text: &str| facts.push(Fact::new(name, Tone::Plain, plain(text)));
    add("what", &state.what);
    match (&state.value, &state.absent) {
        (Some(value), _) => add("now", value),
        (None, Some(_)) => {}
        (None, None) => add("now", "several: name one"),
    }
    if let Some(why) = &state.absent {
        add("not tried here", why);
    }
    if let Some(effect) = &state.in_effect {
        add("in effect", effect);
    }
    match &state.recommended {
        Some(value) => add("worth a trial", &format!("{value}: {}", state.goal)),
        None => add("worth a trial", &state.goal),
    }
    add("costs", &state.risk);
    add("acts on", &state.acts_on);
    add("file", &state.file);
    add("needs", &state.needs);
    for (at, way) in state.keep.iter().enumerate() {
        add(if at == 0 { "to keep it" } else { "or" }, way);
    }
    add("facts from", &state.reference);
    screen.facts(facts);
    if state.absent.is_none() {
        let value = Some(worth(state)).filter(|value| !value.contains(' ') && value != "depends");
        screen.gap();
        screen.note(&format!(
            "measure it: anechoic try {name}={}",
            value.as_deref().unwrap_or("VALUE")
        ));
    }
}
