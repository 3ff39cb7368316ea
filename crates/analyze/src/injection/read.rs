//! Reads the tables of each CPU with injected noise, in one pass.

use super::delivered::{Follower, Functions};
use super::due::Due;
use super::watch::{Tally, Watch, WatchSetup};
use anechoic_recording::injection::{Injected, Spell};
use anechoic_recording::run::{CpuRun, NotAvailable};
use anechoic_recording::{Detour, KernelEvent, LossKind, Losses, Name, Problem, Recording, Run};

/// One CPU with its sums, if its events contain the injection.
pub(super) struct WatchedCpu<'a> {
    pub(super) run: &'a CpuRun,
    pub(super) place: WatchSetup,
    pub(super) known: Option<(Tally, Due)>,
}

/// Reads the events and detours of each CPU that has both noise and a loop.
pub(super) fn tallies<'a>(
    recording: &'a Recording,
    injected: &Injected,
    not_available: &mut Vec<NotAvailable>,
) -> Result<Vec<WatchedCpu<'a>>, Problem> {
    let run = recording.run();
    let losses = recording.losses()?;
    let mut functions = Functions::default();
    for rows in recording.rows::<Name>() {
        rows?.iter().for_each(|name| functions.note(name));
    }
    let mut all = Vec::new();
    for &cpu in &injected.cpus {
        let what = format!("CPU {cpu}");
        let Some(measured) = run.cpus.iter().find(|known| known.cpu == cpu) else {
            let remedy = "measure that CPU as well";
            not_available.push(NotAvailable::new(what, "its loop was not measured", remedy));
            continue;
        };
        let Some(spell) = injected.spells.iter().find(|spell| spell.cpu == cpu) else {
            let why = "the run was cut off before it noted when noise was on";
            not_available.push(NotAvailable::new(what, why, "let the run finish"));
            continue;
        };
        let asked_ticks = run.clock.ticks(injected.duration_ns);
        let place = place(run, measured, spell, asked_ticks, &losses);
        if place.events_lost.touch(place.window.0, place.window.1) {
            let what = format!("all events of CPU {cpu}");
            let why =
                "some were lost or switched off: more may have been delivered and seen than shown";
            not_available.push(NotAvailable::new(what, why, "inject less noise"));
        }
        let known = match Follower::new(run, injected, spell, &functions) {
            Ok(follower) => {
                let (on, window) = (spell.start_ticks, place.window);
                let due = Due::new(injected.period_ns, on, window, &run.clock);
                let detours = recording.rows_of_cpu::<Detour>(cpu).each();
                let events = recording.rows_of_cpu::<KernelEvent>(cpu).each();
                Some(Watch::new(&place, follower, due).run(detours, events)?)
            }
            Err(why) => {
                let what = format!("detections by the loop of CPU {cpu}");
                let remedy = "verify as root; `anechoic check` shows what is missing";
                not_available.push(NotAvailable::new(what, why, remedy));
                None
            }
        };
        all.push(WatchedCpu { run: measured, place, known });
    }
    Ok(all)
}

fn place(run: &Run, cpu: &CpuRun, spell: &Spell, asked_ticks: u64, losses: &Losses) -> WatchSetup {
    WatchSetup {
        window: (cpu.first_ticks.max(spell.start_ticks), cpu.last_ticks.min(spell.end_ticks)),
        spell: *spell,
        victim: cpu.tid,
        shortest_gap_ticks: cpu.iteration_ticks(run),
        asked_ticks,
        events_lost: losses.on_cpu(cpu.cpu, &[LossKind::Events, LossKind::Untraced]),
        detours_lost: losses.on_cpu(cpu.cpu, &[LossKind::Detours]),
    }
}
