//! The first lines of a screen: the machine, what ran, and whether it ran to its end.

use crate::injected::where_and_what;
use crate::screen::Screen;
use crate::style::{View, clip, plain, width};
use crate::units::{asked, counted, cpu_list, long, timestamp};
use anechoic_analyze::facts::Facts;
use anechoic_recording::import::IMPORTED;
use anechoic_recording::machine::NO_KERNEL;
use anechoic_recording::methods;
use anechoic_recording::run::RunState;

/// Adds the machine, what ran, and whether it ran to its end.
pub(crate) fn all(run: &Facts, view: &View<'_>, screen: &mut Screen) {
    screen.heading(&machine(run));
    let cpus = counted(run.cpus.len() as u64, "CPU", "CPUs");
    let list = clip(&cpu_list(&run.cpus), 24);
    let mut ran = format!("{cpus} ({list}) for {}{}{}", long(run.wall_ns), over(run), how(run));
    let dated = format!("{ran} · {}", timestamp(&run.start_utc));
    if width(&dated) <= view.columns() {
        ran = dated;
    }
    screen.context(&ran);
    warnings(run).iter().for_each(|warning| screen.warning(warning));
}

/// Returns a screen that begins with the machine, what was measured there and warnings; a page begins with these.
pub(crate) fn begun(run: &Facts, what: &str) -> Screen {
    let mut screen = Screen::default();
    screen.in_terminal(|terminal| {
        terminal.heading(&machine(run));
        terminal.in_parts(what);
        warnings(run).iter().for_each(|warning| terminal.warning(warning));
        terminal.gap();
    });
    screen
}

/// Returns what another tool counted by length.
pub(crate) fn by_length(run: &Facts) -> String {
    match run.method == methods::LATENCIES {
        true => "latencies of wake-ups by length".into(),
        false => format!("detours over {} by length", asked(run.threshold_ns)),
    }
}

/// Returns the threshold over which detours were recorded, or the program of which they are.
pub(crate) fn over(run: &Facts) -> String {
    if methods::COUNTED.contains(&&*run.method) {
        return String::new();
    }
    if let Some(program) = &run.program {
        return format!(" · program {}", plain(&program.name));
    }
    format!(" · detours over {} ({})", asked(run.threshold_ns), run.threshold_source)
}

/// Returns the scheduling policy if it is not the default, and the number of the run if it was repeated.
pub(crate) fn how(run: &Facts) -> String {
    let mut how = String::new();
    if !run.policy.is_other() {
        how += &format!(" · {}", run.policy);
    }
    if let Some((number, runs)) = run.repetition {
        how += &format!(" · run {number} of {runs}");
    }
    how
}

/// Returns host, processor, kernel and hypervisor.
pub(crate) fn machine(run: &Facts) -> String {
    if run.threshold_source == IMPORTED {
        return format!("{} · a measurement of another tool", run.host);
    }
    let system = match run.kernel.split_whitespace().next().unwrap_or("unknown kernel") {
        NO_KERNEL => "no operating system".to_owned(),
        release => format!("Linux {release}"),
    };
    let guest = run.hypervisor.as_ref().map_or(String::new(), |name| format!(" · guest of {name}"));
    format!("{} · {} · {system}{guest}", run.host, run.model)
}

/// Returns a warning for each injection during the run, and one if the run ended early.
pub(crate) fn warnings(run: &Facts) -> Vec<String> {
    let injected = run
        .injections
        .iter()
        .map(|injected| format!("noise was injected on CPU {}", where_and_what(injected)));
    injected.chain(ended(run)).collect()
}

/// Returns a warning if the run ended early.
pub(crate) fn ended(run: &Facts) -> Option<String> {
    match &run.state {
        RunState::Complete => None,
        RunState::Interrupted(why) => {
            Some(format!("ended early ({why}): the results cover the time until then"))
        }
        RunState::Running => {
            Some("cut off before its end: the results cover what had been saved".into())
        }
    }
}
