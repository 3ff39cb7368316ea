//! The text of the result: lines in memory, with a checksum at the end.
//!
//! One record a line, a word first. Lines that begin with `#`, and what the firmware wrote before the first line, are
//! not part of it. Numbers are decimal; times are ticks of the counter.
//!
//! - `anechoic-bare 2 VERSION`: the first line: version of the format, version of the image
//! - `loader`, `host`, `began`, `ended`, `vendor`, `model`, `signature`, `hypervisor`: texts; times come from the
//!   machine's battery-backed clock, which may show local time
//! - `cpus N`, `memory BYTES`: CPUs that the firmware reports, memory of the machine
//! - `emulated`: instructions were emulated in software: durations mean nothing
//! - `controller xapic`, `x2apic`: mode of the interrupt controllers
//! - `cpu N id=ID core=BITS package=BITS class=CLASS`: a CPU that measures: number of its interrupt controller, the
//!   lowest bits without which the numbers of threads of one core, and of CPUs of one package, are equal (0: not
//!   described), and what equal CPUs have in common
//! - `cache LEVEL KIND BYTES LINE BITS`: a cache of the last CPU; CPUs that share it have equal numbers without
//!   these lowest bits
//! - `skew N OFFSET BOUND`: the CPU's counter minus that of CPU 0, and the largest error of that, in ticks
//! - `missing N REASON`: a CPU that could not be started
//! - `caches off`: caches were off in all measurements
//! - `register NAME VALUE`, or `- REASON`: a model-specific register
//! - `tlb ENTRIES ENTRIES_2M`: entries of the data TLB for the smallest pages, and for those of 2 MiB if the CPU
//!   describes that
//! - `absent PAGES REASON`: a kind of pages that was not measured
//! - `assumed-caches FIRST SECOND LAST`: sizes of caches in bytes by which the memory experiments went because the
//!   CPU does not describe all of its own
//! - `workspace BYTES PAGE`: memory that kernels may work on, size of its pages
//! - `counter HZ INVARIANT SOURCE`: the counter's rate, whether it never changes (0 or 1), where the rate is from
//! - `counter-by HZ SOURCE`: the rate as another clock shows it
//! - `read MIN MEAN`: shortest back-to-back read in ticks, mean in thousandths of a tick
//! - `delta TICKS COUNT`: a distinct distance of two reads
//! - `held PENDING INSIDE AFTER`, or `-`: the check of interrupts
//! - `series N NAME=VALUE …`: a series; the names are those of docs/format.md. Series of one `round` ran at the
//!   same time
//! - `ran N NAME=VALUE …`: how it went; `until`: when the last CPU of its round had ended, until which this one
//!   stayed busy
//! - `s`, `t`, `w`, `g` and numbers: of the last series: durations of samples, one after the other; pairs of the
//!   time between two samples and a duration; counts of windows; pairs of the distance from the end of the gap before
//!   (from 0) and the length of a gap
//! - `impossible METHOD REASON`: what was not measured
//! - `state complete`, `interrupted`, `full`: all was measured; something was impossible; the memory for the text
//!   was full
//! - `end LINES CRC`: the last line: the number of lines before it, and their CRC-32 in hexadecimal, each line with
//!   a line feed at its end
//!
//! Version 1 had one CPU: no lines `controller`, `cpu`, `skew`, `missing` and `caches`, no last number in `cache`, and no
//! `cpu` and `round` in `series`. It is still read.

use core::fmt::{self, Write};

/// The version of the text's format.
pub const VERSION: u32 = 2;

/// Text that grows in memory which was set aside.
#[derive(Debug)]
pub struct Text<'m> {
    memory: &'m mut [u8],
    used: usize,
    published: usize,
    lines: u64,
    crc: u32,
    full: bool,
}

impl<'m> Text<'m> {
    /// Starts with nothing.
    #[must_use]
    pub fn new(memory: &'m mut [u8]) -> Self {
        Text { memory, used: 0, published: 0, lines: 0, crc: !0, full: false }
    }

    /// Returns whether something did not fit.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Returns all of it.
    #[must_use]
    pub fn all(&self) -> &[u8] {
        &self.memory[..self.used]
    }

    /// Returns what was added since the last call.
    pub fn news(&mut self) -> &[u8] {
        let from = core::mem::replace(&mut self.published, self.used);
        &self.memory[from..self.used]
    }

    /// Adds a line, or nothing if it does not fit and leave room for the last lines.
    pub fn line(&mut self, line: fmt::Arguments<'_>) {
        self.add(line, LAST_LINES);
    }

    fn add(&mut self, line: fmt::Arguments<'_>, room: usize) {
        let before = self.used;
        let fits = writeln!(self, "{line}").is_ok() && self.used + room <= self.memory.len();
        if self.full || !fits {
            (self.used, self.full) = (before, true);
            return;
        }
        self.lines += 1;
        self.crc = crc(self.crc, &self.memory[before..self.used]);
    }

    /// Ends the text with how the run ended, the number of lines before the last, and their checksum.
    pub fn end(&mut self, state: &str) {
        self.full = false;
        self.add(format_args!("state {state}"), LAST_LINES / 2);
        let (lines, crc) = (self.lines, !self.crc);
        self.add(format_args!("end {lines} {crc:08x}"), 0);
    }
}

/// Room for the last two lines.
const LAST_LINES: usize = 256;

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let free = &mut self.memory[self.used..];
        free.get_mut(..text.len()).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.used += text.len();
        Ok(())
    }
}

/// Continues the checksum CRC-32 (IEEE 802.3) over these bytes.
#[must_use]
pub fn crc(before: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(before, |mut crc, &byte| {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ 0xedb8_8320 & (crc & 1).wrapping_neg();
        }
        crc
    })
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn the_checksum_is_the_usual_one() {
        assert_eq!(!crc(!0, b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_the_end_still_stands() {
        let mut memory = [0; LAST_LINES + 40];
        let mut text = Text::new(&mut memory);
        text.line(format_args!("one"));
        assert_eq!(text.news(), b"one\n");
        text.line(format_args!("{:100}", "too long"));
        text.line(format_args!("not after that"));
        assert!(text.is_full());
        text.end("interrupted: the memory for the result is full");
        let all = std::str::from_utf8(text.all()).unwrap();
        let lines: std::vec::Vec<&str> = all.lines().collect();
        assert_eq!(lines[..2], ["one", "state interrupted: the memory for the result is full"]);
        assert!(lines[2].starts_with("end 2 ") && lines.len() == 3, "{all}");
    }
}
