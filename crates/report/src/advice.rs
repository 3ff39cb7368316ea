//! Advice: one line for each of the costliest sources that a user can reduce, or everything that is known about
//! every source.

use crate::injected::is_injected;
use crate::names::source_name;
use crate::screen::Screen;
use crate::style::{Tone, View, plain, wrap};
use crate::units::{counted, cpu_list, length, noise};
use anechoic_analyze::Breakdown;
use anechoic_analyze::facts::Facts;
use anechoic_analyze::sources::SourceRow;
use anechoic_recording::sources::{self, Source};
use anechoic_recording::topology;
use anechoic_recording::tunable::{Form, Recommended, TUNABLES, Tunable};
use std::collections::BTreeSet;

/// Number of sources that get a line.
const LINES: usize = 2;
/// A source with a smaller share of the lost time gets no line.
const LEAST_SHARE: f64 = 0.01;
/// Other sources of the same kind are mentioned if all together cost this many times as much as the costliest.
const MENTIONED: f64 = 1.1;

/// What helps against a program's own timers.
const OWN_TIMER: &str = "it is the program's own: fewer or longer sleeps, or a larger timer slack (prctl), so that several expire at once";
/// No machine has more CPUs.
const MOST_CPUS: usize = 1 << 16;
/// Suffixes of units that systemd can move.
const UNITS: [&str; 3] = [".service", ".scope", ".slice"];

/// Adds the advice.
pub(crate) fn add(sources: &Breakdown, run: &Facts, screen: &mut Screen) {
    let advised = advised(sources, run);
    if !advised.is_empty() {
        screen.section("what would help");
        advised.iter().for_each(|text| screen.item(Tone::Plain, text));
    }
}

/// Adds the advice, each piece in two lines at most.
pub(crate) fn add_briefly(sources: &Breakdown, run: &Facts, view: &View<'_>, screen: &mut Screen) {
    let (quota, found) = (raise_quota(sources, run), costliest(sources, run));
    if quota.is_some() || !found.is_empty() {
        screen.section("what would help");
        quota.iter().for_each(|text| screen.item(Tone::Plain, text));
        let room = view.columns() - 2;
        found.iter().for_each(|piece| screen.item(Tone::Plain, &brief(piece, run, room)));
    }
}

/// Returns the longest piece of advice that fits into two lines: without prices, which follow a semicolon, and with as many
/// remedies as fit.
fn brief(piece: &Piece<'_>, run: &Facts, room: usize) -> String {
    let (begin, here) = (piece.begin(run), piece.here(run) + &piece.to_try(run));
    let first = piece.reduce.split("; ").next().unwrap_or(piece.reduce);
    let remedies = || std::iter::once(first.len()).chain(ends(first));
    let texts = || remedies().map(|end| format!("{begin}: {}{here}", &first[..end]));
    let fitting = texts().find(|text| wrap(text, room).len() <= 2);
    fitting.or_else(|| texts().next_back()).unwrap_or_default()
}

/// Returns where a text can be cut, outside of parentheses, the last place first.
fn ends(text: &str) -> Vec<usize> {
    let mut depth = 0_u32;
    let mut ends: Vec<usize> = vec![];
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' | ':' if depth == 0 && text[at + 1..].starts_with(' ') => ends.push(at),
            _ => {}
        }
    }
    ends.reverse();
    ends
}

/// Returns one sentence for the costliest source of each kind, which also mentions the other sources of that kind.
pub(crate) fn advised(breakdown: &Breakdown, run: &Facts) -> Vec<String> {
    let found = costliest(breakdown, run);
    let on_sources = found.iter().map(|piece| {
        let (here, to_try) = (piece.here(run), piece.to_try(run));
        format!("{}: {}{here}{to_try}", piece.begin(run), piece.reduce)
    });
    let is_first = found.first().is_some_and(|piece| sources::CPU_QUOTA.is(&piece.row.source));
    let quota = raise_quota(breakdown, run).filter(|_| !is_first);
    quota.into_iter().chain(on_sources).collect()
}

/// Returns what to do about the own CPU quota, if that took more than each source. It comes first: another thread may have run
/// meanwhile, and to keep that one away would not help.
fn raise_quota(found: &Breakdown, run: &Facts) -> Option<String> {
    let limits = run.limits.as_ref()?;
    let (cgroup, held_ns) = (limits.limited.as_deref()?, limits.throttled_ns?);
    let largest = found.rows.first()?;
    let leads = sources::CPU_QUOTA.is(&largest.source) || quota_took_more(held_ns, largest);
    (held_ns > 0 && leads).then(|| {
        let (cgroup, held) = (plain(cgroup), length(held_ns));
        format!(
            "the CPU quota of {cgroup} held threads back for {held}: raise it before anything else"
        )
    })
}

/// Whether a quota that held threads back for this long took more than this source, which is not the quota.
///
/// A thread that ran while the quota held the program back is charged with that time too: only the rest is its own.
pub(crate) fn quota_took_more(held_ns: u64, largest: &SourceRow) -> bool {
    let took_ns = largest.charged.mean_ns * largest.detours as f64;
    let meanwhile_ns = if sources::THREAD.is(&largest.source) { held_ns as f64 } else { 0.0 };
    !sources::CPU_QUOTA.is(&largest.source) && held_ns as f64 > took_ns - meanwhile_ns
}

/// Advice on the costliest source of a kind.
struct Piece<'a> {
    row: &'a SourceRow,
    reduce: &'static str,
    /// Noise of the other sources of this kind that need the same remedy.
    others: Vec<f64>,
}

impl Piece<'_> {
    /// Returns the noise of all sources of this kind.
    fn cost(&self) -> f64 {
        self.row.noise + self.others.iter().sum::<f64>()
    }

    /// Returns how much the source takes.
    fn begin(&self, run: &Facts) -> String {
        let name = source_name(&self.row.source, &self.row.name, run);
        let whole = match run.program {
            Some(_) => "the time in which the program wanted a CPU",
            None => "the CPUs' time",
        };
        let own = format!("{name} takes {} of {whole}", noise(self.row.noise));
        if self.cost() < MENTIONED * self.row.noise {
            return own;
        }
        let more = counted(self.others.len() as u64, "similar source", "similar sources");
        format!("{own}, {} together with {more}", noise(self.cost()))
    }

    /// Returns what to do on this machine, if that is known.
    fn here(&self, run: &Facts) -> String {
        here(self.row, run).map_or(String::new(), |here| format!("; here: {here}"))
    }

    /// Returns the command that measures whether a setting helps, if one acts on it and has another value.
    fn to_try(&self, run: &Facts) -> String {
        let function = self.row.functions.first().map(|first| first.function.as_str());
        let advised = TUNABLES
            .iter()
            .filter(|row| row.is_advised(&self.row.source, &self.row.name, function))
            .find_map(|row| Some(format!("{}={}", row.name, worth(row, run)?)));
        let how = match (&run.program, run.policy.is_fifo()) {
            (Some(_), _) => " --record -- COMMAND",
            (None, true) => " --fifo",
            (None, false) => "",
        };
        advised
            .map_or(String::new(), |setting| format!("; measure it: `anechoic try {setting}{how}`"))
    }
}

/// Returns the advice on the kinds of sources that cost most.
fn costliest<'a>(sources: &'a Breakdown, run: &Facts) -> Vec<Piece<'a>> {
    let mut kinds: Vec<Piece<'a>> = vec![];
    for (place, row) in sources.rows.iter().enumerate() {
        let injected = is_injected(&row.source, &row.name, &run.injections);
        if sources::NOT_ATTRIBUTABLE.is(&row.source) && run.alternate_ns.is_some() {
            continue;
        }
        // The largest is named in any case, also if only the host or the firmware can change it.
        let named = |known: &&Source| place == 0 || known.is_in_reach();
        let known = sources::find(&row.source).filter(named).filter(|_| !injected);
        let reduce =
            match run.program.as_ref().is_some_and(|program| is_own_timer(row, &program.name)) {
                true => Some(OWN_TIMER),
                false => known.and_then(|known| reduction(known.reduce, row)),
            };
        let Some(reduce) = reduce else { continue };
        match kinds.iter_mut().find(|first| first.row.source == row.source) {
            // Another function of the same kind may need another remedy.
            Some(first) => first.others.extend((first.reduce == reduce).then_some(row.noise)),
            None if row.share >= LEAST_SHARE => kinds.push(Piece { row, reduce, others: vec![] }),
            None => {}
        }
    }
    // Kinds are ranked by their total cost, not by their costliest member.
    kinds.sort_by(|a, b| b.cost().total_cmp(&a.cost()));
    kinds.truncate(LINES);
    kinds
}

/// Returns the value of a setting that is worth a trial, unless the machine did not have the setting, or had that value.
fn worth(row: &Tunable, run: &Facts) -> Option<String> {
    let value = match row.recommended {
        Recommended::Value(value) => value.to_owned(),
        Recommended::OtherCpus => {
            let (free, _) = left_for_others(run)?;
            cpu_list(&free.into_iter().collect::<Vec<u32>>())
        }
        Recommended::Depends => return None,
    };
    // Nothing records what is held open: it ends with who holds it.
    let differs = || run.tunables.get(row.name).is_some_and(|now| !row.is_same(now, &value));
    (row.form == Form::Held || differs()).then_some(value)
}

/// Returns the CPUs that are left for others, if any are known, and those that are to be without a tick.
fn left_for_others(run: &Facts) -> Option<(BTreeSet<u32>, BTreeSet<u32>)> {
    let set = |list: &Option<String>| cpus(list.as_deref().unwrap_or_default());
    let (nohz_full, isolated) = (set(&run.nohz_full), set(&run.isolated));
    let without_tick: BTreeSet<u32> = run.cpus.iter().chain(&nohz_full).copied().collect();
    let mut free = cpus(&run.online);
    free.retain(|cpu| !without_tick.contains(cpu) && !isolated.contains(cpu));
    (!free.is_empty()).then_some((free, without_tick))
}

/// The kernel keeps the tick of the CPU that it booted on: CPU 0 nearly everywhere.
const BOOT_CPU: u32 = 0;

/// Returns what to do on this machine: with the unit or process of the thread, and the numbers of CPUs.
fn here(row: &SourceRow, run: &Facts) -> Option<String> {
    if sources::CPU_QUOTA.is(&row.source) {
        let limited = run.limits.as_ref()?.limited.as_deref()?;
        return Some(format!("the limit is that of {}", plain(limited)));
    }
    let (mut free, without_tick) = left_for_others(run)?;
    let nohz_full = cpus(run.nohz_full.as_deref().unwrap_or_default());
    let list = |cpus: BTreeSet<u32>| cpu_list(&cpus.into_iter().collect::<Vec<u32>>());
    if sources::TIMER_TICK.is(&row.source) {
        let mut wanted = without_tick;
        if wanted.remove(&BOOT_CPU) {
            free.insert(BOOT_CPU);
        }
        let wanted = Some(wanted).filter(|wanted| !wanted.is_subset(&nohz_full))?;
        return Some(format!("nohz_full={}, which leaves CPU {}", list(wanted), list(free)));
    }
    let free = list(free);
    if !sources::THREAD.is(&row.source) {
        return None;
    }
    let thread = row.threads.first().filter(|thread| thread.command.as_deref() != Some(""))?;
    let own = run.limits.as_ref().map_or("/", |limits| &limits.cgroup);
    match thread.unit.as_deref() {
        // The loops are in this unit too.
        Some(_) if thread.cgroup.as_deref() == Some(own) => None,
        Some(unit) if own.split('/').any(|part| part == unit) => None,
        Some(unit) if UNITS.iter().any(|suffix| unit.ends_with(suffix)) => {
            let movable = run.unit_cpus && is_of_system(unit, thread.cgroup.as_deref()?);
            let set = "systemctl set-property --runtime";
            movable.then(|| format!("{set} '{unit}' AllowedCPUs={free}"))
        }
        Some(unit) if !unit.starts_with('/') => Some(format!("give {} CPU {free}", plain(unit))),
        _ => Some(format!("taskset -acp {free} {}", thread.pid?)),
    }
}

/// Returns the CPUs of a list.
fn cpus(list: &str) -> BTreeSet<u32> {
    topology::ranges(list).flatten().take(MOST_CPUS).collect()
}

/// Returns whether a unit is one of the system's manager, not of a user's (`user@1000.service`), and has a name that
/// systemd allows.
fn is_of_system(unit: &str, cgroup: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || br":-_.\@".contains(&byte);
    let mut above = cgroup.split('/').take_while(|part| *part != unit);
    unit.bytes().all(is_allowed) && !above.any(|part| part.starts_with("user@"))
}

/// Adds a description of each kind of source in the table, and everything that reduces it.
pub(crate) fn glossary(sources: &Breakdown, run: &Facts, screen: &mut Screen) {
    let mut described: Vec<&str> = vec![];
    for row in &sources.rows {
        let known = sources::find(&row.source).filter(|known| !described.contains(&known.id));
        let Some(source) = known else { continue };
        described.push(source.id);
        screen.section(&source_name(&row.source, "", run));
        screen.indented(source.what);
        source.reduce.iter().for_each(|reduce| screen.item(Tone::Plain, reduce));
    }
}

/// Returns whether the timers of a row are those of the recorded program, by the name of the thread that armed most of them.
fn is_own_timer(row: &SourceRow, program: &str) -> bool {
    let armer = row.senders.first().and_then(|sender| sender.task.as_deref());
    // The kernel cuts names after 15 bytes.
    let is_named =
        |armer: &str| armer == program || armer.len() == 15 && program.starts_with(armer);
    sources::TIMER.is(&row.source) && armer.is_some_and(is_named)
}

/// Returns the line that names this row (`vmstat_update: …`, `NET_RX, …: …`), else the first line.
fn reduction(lines: &'static [&'static str], row: &SourceRow) -> Option<&'static str> {
    let function = row.functions.first().map(|first| first.function.as_str());
    let named = lines.iter().find(|line| {
        let Some((names, _)) = line.split_once(": ") else { return false };
        names.split(", ").any(|name| name == row.name || Some(name) == function)
    });
    named.or(lines.first()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_analyze::lengths::Lengths;
    use anechoic_analyze::sources::{SenderShare, ThreadShare};
    use anechoic_lab::builders;
    use anechoic_recording::who::CpuLimits;

    /// Returns a run on CPUs 2 and 3 of eight, in a session of a user.
    fn run() -> Facts {
        let run = builders::run("detours", builders::clock(1_000_000_000), vec![]);
        let own = "/user.slice/user-1000.slice/session-3.scope";
        let limits = CpuLimits { cgroup: own.into(), ..CpuLimits::default() };
        Facts {
            cpus: vec![2, 3],
            online: "0-7".into(),
            unit_cpus: true,
            limits: Some(limits),
            ..Facts::new(&run, 0)
        }
    }

    fn row(source: &Source, threads: Vec<ThreadShare>) -> SourceRow {
        let charged = Lengths {
            min_ns: 1,
            mean_ns: 1.0,
            p50_ns: 1,
            p99_ns: 1,
            max_ns: 1,
            p50_by_time_ns: 1,
            p99_by_time_ns: 1,
        };
        SourceRow {
            source: source.id.into(),
            name: String::new(),
            detours: 1,
            activities: 1,
            rate_per_s: 1.0,
            noise: 0.1,
            share: 1.0,
            share_without_gaps: 1.0,
            detour_share: 1.0,
            charged,
            gap_p50_ns: 0,
            cpus: vec![2],
            functions: vec![],
            senders: vec![],
            threads,
            steal: None,
        }
    }

    #[test]
    fn timers_are_those_of_the_program_by_the_name_of_who_armed_them() {
        let armed_by = |source: &Source, task: Option<&str>| SourceRow {
            senders: vec![SenderShare {
                cpu: Some(0),
                task: task.map(str::to_owned),
                activities: 1,
                share: 1.0,
            }],
            ..row(source, vec![])
        };
        for (source, task, program, own) in [
            (&sources::TIMER, Some("poller"), "poller", true),
            (&sources::TIMER, Some("poll"), "poller", false),
            (&sources::TIMER, Some("a-long-program-"), "a-long-program-name", true),
            (&sources::TIMER, None, "poller", false),
            (&sources::TIMER_TICK, Some("poller"), "poller", false),
        ] {
            assert_eq!(is_own_timer(&armed_by(source, task), program), own, "{task:?}, {program}");
        }
        assert!(!is_own_timer(&row(&sources::TIMER, vec![]), "poller"), "nobody is known");
    }

    /// Returns what helps against thread 7 of this cgroup, whose last part is its unit.
    fn against(cgroup: &str, run: &Facts) -> Option<String> {
        let unit = cgroup.rsplit('/').next().filter(|unit| !unit.is_empty()).map(str::to_owned);
        let (pid, command, cgroup) = (Some(7), Some("x".to_owned()), Some(cgroup.to_owned()));
        let thread = ThreadShare { tid: 7, pid, command, cgroup, unit, share: 1.0 };
        here(&row(&sources::THREAD, vec![thread]), run)
    }

    #[test]
    fn no_command_moves_the_run_itself_or_a_unit_that_systemd_would_not_find() {
        let manager = "/user.slice/user-1000.slice/user@1000.service";
        let set = "systemctl set-property --runtime";
        let cpus = "AllowedCPUs=0-1,4-7";
        for (cgroup, expected) in [
            ("/", Some("taskset -acp 0-1,4-7 7".to_owned())),
            ("/system.slice/cron.service", Some(format!("{set} 'cron.service' {cpus}"))),
            ("/system.slice/a\\x2db.service", Some(format!("{set} 'a\\x2db.service' {cpus}"))),
            (manager, Some(format!("{set} 'user@1000.service' {cpus}"))),
            ("/user.slice/user-1000.slice/session-3.scope", None),
            ("/user.slice", None),
            (&format!("{manager}/app.slice/app-x.scope"), None),
            ("/system.slice/a';reboot;'.service", None),
        ] {
            assert_eq!(against(cgroup, &run()), expected, "{cgroup}");
        }
        let legacy = Facts { unit_cpus: false, ..run() };
        assert_eq!(against("/system.slice/cron.service", &legacy), None);
    }

    #[test]
    fn only_cpus_that_are_left_for_others_are_given_to_them() {
        let (tick, list) = (row(&sources::TIMER_TICK, vec![]), |list: &str| Some(list.to_owned()));
        for (isolated, nohz_full, thread, without_tick) in [
            (None, None, "0-1,4-7", list("nohz_full=2-3, which leaves CPU 0-1,4-7")),
            (list("2-5"), None, "0-1,6-7", list("nohz_full=2-3, which leaves CPU 0-1,6-7")),
            (None, list("4-7"), "0-1", list("nohz_full=2-7, which leaves CPU 0-1")),
            (None, list("2-7"), "0-1", None),
        ] {
            let run = Facts { isolated, nohz_full, ..run() };
            assert_eq!(against("/", &run), Some(format!("taskset -acp {thread} 7")));
            assert_eq!(here(&tick, &run), without_tick);
        }
        for (cpus, without_tick) in
            [(vec![0], None), (vec![0, 3], list("nohz_full=3, which leaves CPU 0-2,4-7"))]
        {
            assert_eq!(here(&tick, &Facts { cpus, ..run() }), without_tick);
        }
        let as_it_is = Facts { cpus: (0..4).collect(), nohz_full: list("0-3"), ..run() };
        assert_eq!(here(&tick, &as_it_is), None, "it takes no CPU away");
        let run = Facts { isolated: list("0-1"), nohz_full: list("4-7"), ..run() };
        assert_eq!((against("/", &run), here(&tick, &run)), (None, None));
    }

    /// Of the time of a thread, what the quota held back is the quota's: 60 ms of 100 leave it 40.
    #[test]
    fn a_quota_is_compared_with_what_a_source_took_by_itself() {
        for (source, detours, held_ns, expected) in [
            (&sources::THREAD, 100, 60, true),
            (&sources::THREAD, 100, 40, false),
            (&sources::DEVICE_IRQ, 100, 60, false),
            (&sources::DEVICE_IRQ, 100, 101, true),
            (&sources::CPU_QUOTA, 100, 1_000, false),
            (&sources::THREAD, 0, 1, true),
        ] {
            let row = SourceRow { detours, ..row(source, vec![]) };
            assert_eq!(quota_took_more(held_ns, &row), expected, "{} {held_ns}", source.id);
        }
    }
}
