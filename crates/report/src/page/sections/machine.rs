//! The section on the machine and its settings.

use super::{Part, Section};
use crate::page::state::Page;
use crate::page::tables;
use crate::style::plain;
use crate::units::{count, counted};
use anechoic_recording::machine::{Cpu, Machine, Setting};
use maud::{Markup, html};

pub(super) const SECTION: Section = Section {
    id: "machine",
    title: "The machine",
    short: "Machine",
    has: |part| part.run.is_some(),
    render,
};

fn render(part: &Part, _: &mut Page) -> Markup {
    let Some(run) = &part.run else { return html! {} };
    let machine = &run.machine;
    let known = |text: &str| (!text.is_empty()).then(|| plain(text));
    let yes = |on: bool| if on { "on".to_owned() } else { "off".to_owned() };
    html! {
        (tables::facts(vec![
            ("Host", known(&machine.host)),
            ("Processor", known(&machine.model)),
            ("Instruction set", known(&machine.arch)),
            ("Hypervisor", Some(machine.hypervisor.as_deref().map_or("none".into(), plain))),
            ("Kernel", known(&machine.kernel)),
            ("Timer ticks", machine.tick_hz.map(|hz| format!("{hz} Hz"))),
            ("CPUs online", known(&machine.online)),
            ("CPUs allowed", known(&machine.allowed)),
            ("SMT", machine.smt.map(yes)),
            ("Memory", memory(machine)),
            ("Kernel command line", known(&machine.command_line)),
        ]))
        @if let Some(cpu) = machine.cpus.first().filter(|cpu| !cpu.caches.is_empty()) { (caches(cpu)) }
        @if !machine.settings.is_empty() { (settings(&machine.settings)) }
    }
}

fn memory(machine: &Machine) -> Option<String> {
    let gib = machine.memory_bytes as f64 / f64::from(1 << 30);
    (machine.memory_bytes > 0).then(|| format!("{gib:.1} GiB"))
}

fn caches(cpu: &Cpu) -> Markup {
    html! {
        h3 { "Caches of CPU " (cpu.cpu) }
        ul.plain { @for cache in &cpu.caches {
            li { "L" (cache.level) " " (plain(&cache.kind).to_lowercase()) ": " (count(cache.size_bytes / 1024)) " KiB, shared by CPU " (plain(&cache.shared_cpus)) }
        } }
    }
}

fn settings(settings: &[Setting]) -> Markup {
    html! {
        details {
            summary { (counted(settings.len() as u64, "setting", "settings")) " that affect noise" }
            div.wide tabindex="0" role="region" aria-label="Settings" { table {
                thead { tr { th scope="col" { "setting" } th scope="col" { "requested" } th scope="col" { "in effect" } } }
                tbody { @for setting in settings { tr {
                    th scope="row" title=(plain(&setting.file)) { (plain(&setting.name)) }
                    td { (setting.requested.as_deref().map_or("–".into(), plain)) }
                    td { (setting.effective.as_deref().map_or("not readable".into(), plain)) }
                } } }
            } }
        }
    }
}
