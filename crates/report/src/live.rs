//! Numbers, names and colours of the live view, the same as elsewhere.

use crate::names::title_of;
use crate::palette;
use crate::picture::braille::EIGHTHS;
use crate::results::wakeup::stage_name;
use crate::style::{clip, plain};
use crate::units::{self, count, length, noise, rate, share};
use anechoic_analyze::live::{LiveCpu, LiveDetour, LiveSource};
use anechoic_analyze::wakeup::stages::{STAGES, Stage};
use std::cmp::Reverse;

/// What the screen is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watched {
    /// The measured CPUs.
    Cpus,
    /// A program.
    Program,
    /// Threads that are woken on the measured CPUs.
    WakeUps,
}

impl Watched {
    /// Returns the columns of the table of CPUs before the graph of the last minute.
    #[must_use]
    pub fn cpu_columns(self) -> Vec<&'static str> {
        match self {
            Self::WakeUps => {
                vec!["CPU", "late", "p50", "p99", "max now", "max", "overruns", "wake-ups"]
            }
            _ => {
                vec!["CPU", self.now(), "since start", "per s", "longest now", "longest", "detours"]
            }
        }
    }

    /// Returns the columns of the table of sources.
    #[must_use]
    pub fn source_columns(self) -> Vec<&'static str> {
        match self {
            Self::WakeUps => vec!["source", "of late", "of all", "wake-ups", "longest"],
            _ => vec!["source", self.now(), "since start", "share", "per s", "longest"],
        }
    }

    /// Returns the word for what is counted.
    #[must_use]
    pub fn event(self) -> &'static str {
        if self == Self::WakeUps { "wake-up" } else { "detour" }
    }

    fn now(self) -> &'static str {
        match self {
            Self::Cpus | Self::WakeUps => "noise now",
            Self::Program => "lost now",
        }
    }

    /// Returns the word for what the shares are of.
    #[must_use]
    pub fn quantity(self) -> &'static str {
        match self {
            Self::Cpus | Self::WakeUps => "noise",
            Self::Program => "lost",
        }
    }
}

/// Returns the cells of one CPU.
#[must_use]
pub fn cpu(cpu: &LiveCpu, watched: Watched) -> Vec<String> {
    if watched == Watched::WakeUps {
        let time = |ns: Option<u64>| ns.map_or("–".into(), length);
        return vec![
            cpu.cpu.to_string(),
            count(cpu.woken.late),
            time(cpu.woken.p50_ns),
            time(cpu.woken.p99_ns),
            or_none(cpu.worst_now_ns),
            or_none(cpu.worst_ns),
            count(cpu.woken.overruns),
            count(cpu.detours),
        ];
    }
    vec![
        cpu.cpu.to_string(),
        noise(cpu.noise_now),
        noise(cpu.noise),
        rate(cpu.rate_now_per_s),
        or_none(cpu.worst_now_ns),
        or_none(cpu.worst_ns),
        count(cpu.detours),
    ]
}

/// Returns the cells of one source; `guest` is whether a hypervisor runs below.
#[must_use]
pub fn source(source: &LiveSource, guest: bool, watched: Watched) -> Vec<String> {
    let title = title(source, guest);
    if watched == Watched::WakeUps {
        return vec![
            title,
            share(source.share_late),
            share(source.share),
            count(source.detours),
            or_none(source.worst_ns),
        ];
    }
    vec![
        title,
        noise(source.noise_now),
        noise(source.noise),
        share(source.share),
        rate(source.rate_now_per_s),
        or_none(source.worst_ns),
    ]
}

/// Returns the name of a source.
#[must_use]
pub fn title(source: &LiveSource, guest: bool) -> String {
    title_of(&source.source, &source.name, guest)
}

fn or_none(ns: u64) -> String {
    if ns == 0 { "–".into() } else { length(ns) }
}

/// Describes a detour in a line: `1.2 ms on CPU 3 at 00:01:07: thread sshd 1.1 ms, timer tick 9.8 µs`. Of a wake-up, what took
/// most, and its stages, the longest first: `… thread sshd 1.1 ms · scheduling 1.2 ms, timer 9.8 µs`.
#[must_use]
pub fn story(detour: &LiveDetour, guest: bool) -> String {
    let parts: Vec<String> = detour
        .parts
        .iter()
        .map(|(source, name, ns)| format!("{} {}", title_of(source, name, guest), length(*ns)))
        .collect();
    let start = elapsed(detour.start_ns);
    let what = match (&parts[..], detour.stages) {
        ([], _) => "unknown cause".into(),
        ([most, ..], Some(stages)) => {
            let stages = STAGES.map(|stage| (stages.stage_ns(stage) as u64, stage));
            let mut taken: Vec<_> = stages.into_iter().filter(|(ns, _)| *ns > 0).collect();
            taken.sort_by_key(|(ns, _)| Reverse(*ns));
            let stage =
                |(ns, stage): &(u64, Stage)| format!("{} {}", stage_name(*stage), length(*ns));
            format!("{most} · {}", taken.iter().map(stage).collect::<Vec<_>>().join(", "))
        }
        (all, None) => all.join(", "),
    };
    plain(&format!("{} on CPU {} at {start}: {what}", length(detour.length_ns), detour.cpu))
}

/// Cuts a text that is wider than these columns, and marks that.
#[must_use]
pub fn fitted(text: &str, columns: usize) -> String {
    clip(text, columns)
}

/// Writes a time since the start: `00:01:07`.
#[must_use]
pub fn elapsed(ns: u64) -> String {
    let s = ns / 1_000_000_000;
    format!("{:02}:{:02}:{:02}", s / 3_600, s / 60 % 60, s % 60)
}

/// Writes a share of noise: `2.07 %`.
#[must_use]
pub fn noise_share(share: f64) -> String {
    noise(share)
}

/// Writes a length of time that was asked for: `1 ms`.
#[must_use]
pub fn asked(ns: u64) -> String {
    units::asked(ns)
}

/// Writes a length of time: `38 µs`.
#[must_use]
pub fn duration(ns: u64) -> String {
    length(ns)
}

/// Draws the noise of the last seconds in `columns` characters, the newest last; full height is `most`. The scale is
/// logarithmic over three decades, so that rare noise stays visible beside frequent noise.
#[must_use]
pub fn picture(history: &[f64], columns: usize, most: f64) -> String {
    let shown = &history[history.len().saturating_sub(columns)..];
    let empty = std::iter::repeat_n(' ', columns - shown.len());
    empty.chain(shown.iter().map(|&noise| level(noise, most))).collect()
}

/// Returns the character for a noise; one below the three decades is still seen.
fn level(noise: f64, most: f64) -> char {
    if noise <= 0.0 || most <= 0.0 {
        return EIGHTHS[0];
    }
    let height = 1.0 + (noise / most).log10() / 3.0;
    EIGHTHS[((height * 8.0).round() as isize).clamp(1, 8) as usize]
}

/// Returns the colour of a kind of source on a dark screen as red, green and blue.
#[must_use]
pub fn color(source: &str) -> (u8, u8, u8) {
    let hex = palette::source_color(source).dark;
    let part = |start: usize| u8::from_str_radix(&hex[start..start + 2], 16).unwrap_or(0x80);
    (part(1), part(3), part(5))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_analyze::wakeup::Parts;

    #[test]
    fn the_story_names_what_took_the_time() {
        let mut detour = LiveDetour {
            cpu: 3,
            start_ns: 67_400_000_000,
            length_ns: 1_210_000,
            stages: None,
            parts: vec![
                ("thread".into(), "ss\u{1b}hd".into(), 1_100_000),
                ("vm-or-hardware".into(), "".into(), 110_000),
            ],
        };
        let head = "1.2 ms on CPU 3 at 00:01:07:";
        let expected = format!("{head} thread ss?hd 1.1 ms, VM exit or hardware 110 µs");
        assert_eq!(story(&detour, true), expected);
        assert!(story(&detour, false).ends_with("hardware 110 µs"));
        let stages = Parts { timer_ns: 9_800.0, scheduling_ns: 1_200_000.0, ..Parts::default() };
        detour.stages = Some(stages);
        let expected = format!("{head} thread ss?hd 1.1 ms · scheduling 1.2 ms, timer 9.8 µs");
        assert_eq!(story(&detour, true), expected);
        detour.parts.clear();
        assert_eq!(story(&detour, true), format!("{head} unknown cause"));
    }

    #[test]
    fn the_picture_shows_three_decades() {
        assert_eq!(picture(&[0.0, 0.0001, 0.001, 0.01, 0.1], 7, 0.1), "   ▁▃▅█");
        assert_eq!(picture(&[0.1, 0.0, 0.1], 2, 0.1), " █");
        assert_eq!(picture(&[], 3, 0.0), "   ");
    }

    #[test]
    fn every_kind_of_source_has_a_colour() {
        assert_eq!(color("timer-tick"), (0xff, 0x8b, 0x3d));
        assert_ne!(color("a newer one"), (0x80, 0x80, 0x80));
    }
}
