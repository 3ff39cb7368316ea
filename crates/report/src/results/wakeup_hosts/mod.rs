//! The screen of the wake-ups of many hosts: the latencies of each, the hosts that stand out, and what took the time.

mod row;

pub(crate) use row::HOST_WAKEUPS;
pub use row::WAKEUP_HOSTS;

use crate::names::title_of;
use crate::results::cluster::tables::{brief, folded};
use crate::results::cluster::words::{HOST, chance, hosts_and_cpus, job};
use crate::results::cluster::{FEW_HOSTS, machine};
use crate::results::wakeup::{kinds, words};
use crate::screen::Screen;
use crate::style::{View, clip, plain};
use crate::table::Table;
use crate::units::{asked, count, counted, micro, micros, number, timestamp};
use anechoic_analyze::wakeup::Kind;
use anechoic_analyze::wakeup::hosts::{JoinedKind, JoinedLatencies, LateHost, WakeupHosts};

/// What is not known from so few wake-ups.
const NOTHING: &str = "–";
/// A short screen shows the hosts of this many kinds of wake-ups, of more only all hosts together.
const FEW_KINDS: usize = 2;
/// Number of kinds that it shows.
const MOST_KINDS: usize = 12;
/// Number of hosts that stand out which a short screen names.
const NAMED: usize = 5;

/// Shows the wake-ups of many hosts together.
#[must_use]
pub(crate) fn wakeup_hosts(found: &WakeupHosts, view: &View<'_>) -> Screen {
    let mut screen = Screen::default();
    screen.in_terminal(|terminal| {
        heading(found, terminal);
        terminal.gap();
        terminal.headline(&sentences(found).join(" "));
    });
    let all: Vec<Kind> = found.kinds.iter().map(|kind| kind.kind).collect();
    let by_kind = !view.all && found.kinds.len() > FEW_KINDS;
    if by_kind {
        screen.section("Wake-up latency of all hosts, µs: most late ones first");
        screen.table(kinds_of_wakeups(found, &all));
    }
    for joined in found.kinds.iter().filter(|_| !by_kind) {
        let name = kinds::name(joined.kind, &all).map_or(String::new(), |name| format!(" {name}"));
        screen.section(&format!("Wake-up latency{name}, µs: most late ones first"));
        screen.table(brief(hosts(joined, found, view.all), view.all));
    }
    let named = if view.all { usize::MAX } else { NAMED };
    let late = &found.late_hosts;
    late.found.iter().take(named).for_each(|host| screen.warning(&stands_out(host, found, &all)));
    if view.all || most_hosts(found) >= FEW_HOSTS {
        not_judged(found).iter().for_each(|text| screen.note(text));
    }
    if view.all && late.judged > 0 {
        screen.note(&format!("assumed: {}", late.assumes));
    }
    if !found.sources.is_empty() {
        screen.section("What took the time of wake-ups, % of their latency");
        screen.table(brief(sources(found, view.all), view.all));
    }
    if let Some(share) = found.unknown_share_late.filter(|share| *share > 0.0) {
        screen.note(&format!(
            "where {} % of the time of the late wake-ups went is not known: events of them were lost or hidden",
            number(share * 100.0)
        ));
    }
    found.notes.iter().for_each(|note| screen.note(note));
    screen.path("data set", view);
    if by_kind {
        screen.note("--all shows the hosts of each kind");
    }
    screen
}

fn heading(found: &WakeupHosts, screen: &mut Screen) {
    let cpus = found.kinds.iter().map(|kind| kind.total.cpus).max().unwrap_or(0);
    let mut title = hosts_and_cpus(most_hosts(found), cpus);
    if let Some(of_hosts) = &found.job {
        title += &format!(" · {}", job(of_hosts));
    }
    screen.heading(&title);
    screen.contexts(&found.machines, machine, ["kind", "kinds"]);
    let start = timestamp(&found.start_utc);
    screen.context(&format!("wakeup · {} · {start}", found.policies.join(", ")));
    found.findings.iter().for_each(|finding| screen.warning(&finding.text));
}

fn most_hosts(found: &WakeupHosts) -> u64 {
    found.kinds.iter().map(|kind| kind.hosts.len() as u64).max().unwrap_or(0)
}

/// Returns whether a host is a guest of a hypervisor.
fn guest(found: &WakeupHosts) -> bool {
    found.machines.iter().any(|kind| kind.hypervisor.is_some())
}

/// Writes the limit over which a wake-up is late.
fn limit(found: &WakeupHosts) -> String {
    found.late_ns.map_or_else(|| NOTHING.into(), asked)
}

fn time(ns: Option<u64>) -> String {
    ns.map_or_else(|| NOTHING.into(), |ns| micros(ns as f64))
}

/// Returns the hosts, one row each.
fn hosts(joined: &JoinedKind, found: &WakeupHosts, all: bool) -> Table {
    let overruns = joined.hosts.iter().any(|row| row.overruns > 0);
    let late = format!("> {}", limit(found));
    let source = |row: &JoinedLatencies| most_of_it(row, guest(found));
    let table = Table::with_rows(&joined.hosts)
        .name("host", |row| clip(&row.host, HOST))
        .number("CPUs", |row| count(row.cpus))
        .number("wake-ups", |row| count(row.samples))
        .some_numbers("overruns", 1, |row| overruns.then(|| count(row.overruns)))
        .number("p50", |row| time(row.p50_ns))
        .number("p99", |row| time(row.p99_ns))
        .number("p99.9", |row| time(row.p999_ns))
        .number("max", |row| time(row.max_ns))
        .number(&late, |row| count(row.late))
        .number("share", |row| words::late_share(row.late_share))
        .some_names("most of it", 0, source);
    folded(table.captioned("Hosts, those with most late wake-ups first"), joined.hosts.len(), all)
}

/// Returns the kinds of wake-ups, one row each.
fn kinds_of_wakeups(found: &WakeupHosts, all: &[Kind]) -> Table {
    let share = |kind: &&JoinedKind| kind.total.late as f64 / kind.total.samples.max(1) as f64;
    let mut kinds: Vec<&JoinedKind> = found.kinds.iter().collect();
    kinds.sort_by(|a, b| share(b).total_cmp(&share(a)).then(b.total.max_ns.cmp(&a.total.max_ns)));
    let late = format!("> {}", limit(found));
    Table::with_rows(&kinds)
        .name("kind", |kind| kinds::name(kind.kind, all).unwrap_or_default())
        .number("hosts", |kind| count(kind.hosts.len() as u64))
        .number("p50", |kind| time(kind.total.p50_ns))
        .number("p99", |kind| time(kind.total.p99_ns))
        .number("max", |kind| time(kind.total.max_ns))
        .number(&late, |kind| count(kind.total.late))
        .number("share", |kind| words::late_share(kind.total.late_share))
        .some_names("most on", 0, |kind| worst(kind))
        .captioned("Kinds of wake-ups on all hosts, those with most late ones first")
        .first(MOST_KINDS, false, |more| format!("and {} more", count(more as u64)))
}

/// Names the host on which the largest share was late; nothing if none was late.
fn worst(kind: &JoinedKind) -> Option<String> {
    let first = kind.hosts.first().filter(|host| host.late > 0);
    first.map(|host| clip(&host.host, HOST))
}

/// Names what took most of the late wake-ups of a host, or says that it is not known.
fn most_of_it(row: &JoinedLatencies, guest: bool) -> Option<String> {
    let unknown = row.unknown_share.filter(|share| *share > 0.0);
    let named = |source| title_of(source, row.name.as_deref().unwrap_or_default(), guest);
    match (&row.source, unknown) {
        (Some(source), _) => Some(named(source)),
        (None, Some(share)) => Some(format!("not known ({} %)", number(share * 100.0))),
        (None, None) => None,
    }
}

fn sources(found: &WakeupHosts, all: bool) -> Table {
    let percent =
        |share: Option<f64>| share.map_or_else(|| NOTHING.into(), |share| number(share * 100.0));
    let table = Table::with_rows(&found.sources)
        .name("source", |row| title_of(&row.source, &row.name, guest(found)))
        .number("late", |row| percent(row.share_late))
        .number("all", |row| percent(Some(row.share)))
        .number("hosts", |row| count(row.hosts))
        .name("most on", |row| clip(&row.most_on, HOST));
    folded(table.captioned("What took the time of wake-ups on all hosts"), found.sources.len(), all)
}

/// Describes a host that stands out: `node07: 8 late wake-ups (0.08 %), 12× the median, p < 10⁻⁶`.
fn stands_out(host: &LateHost, found: &WakeupHosts, all: &[Kind]) -> String {
    let kind = kinds::name(host.kind, all).map_or(String::new(), |name| format!(" {name}"));
    let times = match host.ratio {
        Some(ratio) if ratio < 9.95 => format!("{ratio:.1}× the median"),
        Some(ratio) => format!("{ratio:.0}× the median"),
        None => "the median is 0".into(),
    };
    format!(
        "{}{kind}: {} later than {} ({} %), {times}, {}",
        plain(&clip(&host.host, HOST)),
        counted(host.late, "wake-up", "wake-ups"),
        limit(found),
        number(host.share * 100.0),
        chance(host.p)
    )
}

/// States that no host stands out, or that there are too few.
fn not_judged(found: &WakeupHosts) -> Option<String> {
    let late = &found.late_hosts;
    match (late.judged, late.found.len()) {
        (0, _) => Some(format!(
            "too few hosts of one CPU model to show which stand out; at least {} are needed",
            late.fewest
        )),
        (_, 0) => Some(format!("no host stands out by its late wake-ups (p < {})", late.alpha)),
        _ => None,
    }
}

/// Returns what was found in sentences, of which the first is the headline.
pub(crate) fn sentences(found: &WakeupHosts) -> Vec<String> {
    let longest = |kind: &&JoinedKind| kind.total.max_ns;
    let Some(worst) = found.kinds.iter().rev().max_by_key(longest) else {
        return vec!["No wake-up was measured.".into()];
    };
    let us = |ns: u64| micro(ns as f64 / 1e3);
    let total = &worst.total;
    let of_kind = match found.kinds.len() {
        1 => String::new(),
        _ => {
            let by = words::by(worst.kind.call);
            let is_other = |kind: &JoinedKind| kind.kind.shallow != worst.kind.shallow;
            let idle = match found.kinds.iter().any(is_other) {
                true => words::idle_kind(worst.kind.shallow),
                false => "",
            };
            format!(" by {by} every {}{idle}", asked(worst.kind.interval_ns))
        }
    };
    let mut text = format!("Of {}{of_kind}", counted(total.samples, "wake-up", "wake-ups"));
    text += &total.p50_ns.map_or(String::new(), |ns| format!(" half took up to {}", us(ns)));
    text += &total.p999_ns.map_or(String::new(), |ns| format!(", 99.9 % up to {}", us(ns)));
    let first = worst.hosts.iter().max_by_key(|row| row.max_ns);
    if let Some((max_ns, host)) = total.max_ns.zip(first) {
        text += &format!(" and the longest {}, on {}", us(max_ns), plain(&clip(&host.host, HOST)));
    }
    let late = limit(found);
    let mut sentences = vec![match total.late {
        0 => format!("{text}; none was later than {late}."),
        number => {
            let share = words::late_share(total.late_share);
            format!("{text}; {} ({share}) were later than {late}.", count(number))
        }
    }];
    let names: Vec<Kind> = found.kinds.iter().map(|kind| kind.kind).collect();
    match &found.late_hosts.found[..] {
        [] => {}
        [one] => {
            sentences.push(format!("One host stands out: {}.", stands_out(one, found, &names)))
        }
        [one, ..] => sentences.push(format!(
            "{} hosts stand out, the first {}.",
            found.late_hosts.found.len(),
            stands_out(one, found, &names)
        )),
    }
    sentences
}
