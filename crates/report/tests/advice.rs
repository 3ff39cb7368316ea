//! What would help names the command that tries a setting, where the machine has that setting with another value.

use anechoic_analyze::summarize;
use anechoic_lab::trains::{Train, random};
use anechoic_lab::two_cpus::{self, SECOND};
use anechoic_recording::Run;
use anechoic_recording::machine::Setting;
use anechoic_recording::run::CpuRun;
use anechoic_recording::tunable::{Form, Recommended, TUNABLES, Tunable};
use anechoic_report::View;

/// Returns the advice on noise of one source, on a machine of four CPUs with these settings, of which 0 and 1 are measured.
fn advice(source: &str, name: &str, settings: &[(&str, &str)]) -> String {
    let place = tempfile::tempdir().expect("a directory");
    let run = two_cpus::run(SECOND);
    let mut machine = run.machine.clone();
    machine.online = "0-3".into();
    machine.settings = settings
        .iter()
        .map(|(name, value)| Setting {
            name: name.replace('/', " "),
            requested: None,
            effective: Some((*value).to_owned()),
            file: String::new(),
        })
        .collect();
    let cpus: Vec<CpuRun> = run.cpus.clone();
    let run = Run { machine, cpus, ..run };
    let noise = Train::ticks(100.0).play(1.0, &mut random(1));
    let played = [(&*format!("{source}:{name}"), noise)];
    let recording = two_cpus::record(&place.path().join("recording"), &run, &played);
    let summary = summarize(&recording).expect("a sound recording");
    let view = View { all: true, ..View::default() };
    let text = anechoic_report::summary(&summary, &view).to_text(&view);
    let text = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    text.split_once("what would help").map_or(String::new(), |(_, advice)| advice.to_owned())
}

/// Returns a value that differs from the one that is worth a trial, and that one.
fn values(row: &Tunable) -> (&'static str, &'static str) {
    match row.recommended {
        Recommended::Value("0") => ("1", "0"),
        Recommended::Value(value) => ("0", value),
        Recommended::OtherCpus => ("0-3", "2-3"),
        Recommended::Depends => panic!("{}: no value to advise", row.name),
    }
}

/// Each rule has a recording that triggers it and two that do not: the value is the advised one, or the machine has no such
/// setting.
#[test]
fn every_rule_is_triggered_by_its_noise_and_another_value_only() {
    let mut rules = 0;
    for row in TUNABLES {
        let (other, advised) = match row.advised {
            [] => continue,
            _ => values(row),
        };
        for (source, pattern) in row.advised {
            // A rule after another one for the same noise counts where the other has no effect.
            let earlier = TUNABLES.iter().take_while(|known| known.name != row.name);
            let taken: Vec<(&str, &str)> = earlier
                .filter(|known| known.is_advised(source, pattern.trim_end_matches('*'), None))
                .map(|known| (known.name, values(known).1))
                .collect();
            let name = pattern.replace('*', "1");
            let with = |value| [&taken[..], &[(row.name, value)]].concat();
            let command = format!("`anechoic try {}={advised}`", row.name);
            let about = format!("{source} {name}: {command}");
            let found = advice(source, &name, &with(other));
            assert!(found.contains(&command), "{about}: {found}");
            if row.form != Form::Held {
                for settings in [with(advised), taken.clone()] {
                    let found = advice(source, &name, &settings);
                    assert!(
                        !found.is_empty() && !found.contains("anechoic try"),
                        "{about}: {found}"
                    );
                }
            }
            rules += 1;
        }
    }
    assert!(rules >= 15, "{rules} rules");
}

#[test]
fn other_noise_has_no_setting_to_try() {
    let all: Vec<(&str, &str)> = TUNABLES
        .iter()
        .filter(|row| !row.advised.is_empty())
        .map(|row| (row.name, values(row).0))
        .collect();
    for (source, name) in [
        ("thread", "bash"),
        ("timer-tick", ""),
        ("device-irq", "eth0"),
        ("timer", "hrtimer_wakeup"),
    ] {
        let found = advice(source, name, &all);
        assert!(!found.is_empty() && !found.contains("anechoic try"), "{source} {name}: {found}");
    }
}
