//! The first lines: which machine, what ran, and whether it ran to its end.

use crate::injected::what;
use crate::screen::Screen;
use crate::style::{View, clip, width};
use crate::units::{asked, counted, cpu_list, span};
use anechoic_analyze::facts::Facts;
use anechoic_recording::run::RunState;

/// Which machine, what ran, and whether it ran to its end.
pub(crate) fn all(run: &Facts, view: &View<'_>, screen: &mut Screen) {
    screen.heading(&machine(run));
    let cpus = counted(run.cpus.len() as u64, "CPU", "CPUs");
    let list = clip(&cpu_list(&run.cpus), 24);
    let mut ran = format!("{cpus} ({list}) for {}{}{}", span(run.wall_ns), over(run), how(run));
    let dated = format!("{ran} · {}", run.start_utc);
    if width(&dated) <= view.columns() {
        ran = dated;
    }
    screen.context(&ran);
    warnings(run).iter().for_each(|warning| screen.warning(warning));
}

/// Over which threshold detours were recorded.
pub(crate) fn over(run: &Facts) -> String {
    format!(" · detours over {} ({})", asked(run.threshold_ns), run.threshold_source)
}

/// A policy that is not the usual one, and which of several runs it was.
pub(crate) fn how(run: &Facts) -> String {
    let mut how = String::new();
    if !run.policy.is_other() {
        how += &format!(" · {}", run.policy);
    }
    if let Some((number, of)) = run.repetition {
        how += &format!(" · run {number} of {of}");
    }
    how
}

/// Which machine.
pub(crate) fn machine(run: &Facts) -> String {
    let release = run.kernel.split_whitespace().next().unwrap_or("unknown kernel");
    let guest = run.hypervisor.as_ref().map_or(String::new(), |name| format!(" · guest of {name}"));
    format!("{} · {} · Linux {release}{guest}", run.host, run.model)
}

/// What was injected meanwhile, and that the run ended early.
pub(crate) fn warnings(run: &Facts) -> Vec<String> {
    let injected = run.injections.iter().map(|injected| {
        format!("injected on CPU {}: {}", cpu_list(&injected.cpus), what(injected))
    });
    injected.chain(ended(run)).collect()
}

/// That the run ended early.
pub(crate) fn ended(run: &Facts) -> Option<String> {
    match &run.state {
        RunState::Complete => None,
        RunState::Interrupted(why) => {
            Some(format!("ended early ({why}): this is what was measured until then"))
        }
        RunState::Running => {
            Some("cut off before its end: this is what had been saved until then".into())
        }
    }
}
