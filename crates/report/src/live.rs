//! Numbers, names and colours of the live view, the same as elsewhere.

use crate::names::title_of;
use crate::palette;
use crate::picture::braille::EIGHTHS;
use crate::style::{clip, plain};
use crate::units::{count, length, noise, rate, share};
use anechoic_analyze::live::{LiveCpu, LiveDetour, LiveSource};

/// What the screen is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watched {
    /// The measured CPUs.
    Cpus,
    /// A program.
    Program,
}

impl Watched {
    /// Returns the columns of the table of CPUs before the graph of the last minute.
    #[must_use]
    pub fn cpu_columns(self) -> [&'static str; 7] {
        ["CPU", self.now(), "since start", "per s", "longest now", "longest", "detours"]
    }

    /// Returns the columns of the table of sources.
    #[must_use]
    pub fn source_columns(self) -> [&'static str; 6] {
        ["source", self.now(), "since start", "share", "per s", "longest"]
    }

    fn now(self) -> &'static str {
        match self {
            Self::Cpus => "noise now",
            Self::Program => "lost now",
        }
    }

    /// Returns the word for what the shares are of.
    #[must_use]
    pub fn quantity(self) -> &'static str {
        match self {
            Self::Cpus => "noise",
            Self::Program => "lost",
        }
    }
}

/// Returns the cells of one CPU.
#[must_use]
pub fn cpu(cpu: &LiveCpu) -> [String; 7] {
    [
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
pub fn source(source: &LiveSource, guest: bool) -> [String; 6] {
    [
        title_of(&source.source, &source.name, guest),
        noise(source.noise_now),
        noise(source.noise),
        share(source.share),
        rate(source.rate_now_per_s),
        or_none(source.worst_ns),
    ]
}

fn or_none(ns: u64) -> String {
    if ns == 0 { "–".into() } else { length(ns) }
}

/// Describes a detour in a line: `1.2 ms on CPU 3 at 00:01:07: thread sshd 1.1 ms, timer tick 9.8 µs`.
#[must_use]
pub fn story(detour: &LiveDetour, guest: bool) -> String {
    let parts: Vec<String> = detour
        .parts
        .iter()
        .map(|(source, name, ns)| format!("{} {}", title_of(source, name, guest), length(*ns)))
        .collect();
    let start = elapsed(detour.start_ns);
    let what = if parts.is_empty() { "unknown cause".into() } else { parts.join(", ") };
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

    #[test]
    fn the_story_names_what_took_the_time() {
        let mut detour = LiveDetour {
            cpu: 3,
            start_ns: 67_400_000_000,
            length_ns: 1_210_000,
            parts: vec![
                ("thread".into(), "ss\u{1b}hd".into(), 1_100_000),
                ("vm-or-hardware".into(), "".into(), 110_000),
            ],
        };
        let head = "1.2 ms on CPU 3 at 00:01:07:";
        let expected = format!("{head} thread ss?hd 1.1 ms, VM exit or hardware 110 µs");
        assert_eq!(story(&detour, true), expected);
        assert!(story(&detour, false).ends_with("hardware 110 µs"));
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
