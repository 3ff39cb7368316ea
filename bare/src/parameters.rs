//! The parameter file: what to measure, one line each, in the words of the command line.
//!
//! ```text
//! # A comment. The words of a line are those of `anechoic measure`, or of `anechoic run`.
//! host node17
//! run --duration 60s
//! fwq --work intadd-chain,intdiv --grain 100us --repetitions 10000
//! memory --experiments bandwidth-read-random-warm --sizes 4k-64m
//! ```

use crate::methods;
use anechoic_kernels::work::{self, Family};
use core::fmt;

/// What is measured if there is no parameter file.
pub const DEFAULT: &str = "\
run --duration 10s
fwq --work intadd-chain --grain 1ms --repetitions 1000
ftq --work counter-reg --window 1ms --duration 1s
tick --kernel intadd,intmul,intdiv --repetition 100us --repetitions 1000
loops --variants counter,sum,fibonacci,call --grain 1ms --samples 1000
";

/// The largest number of lines that measure something.
const MOST: usize = 64;

/// What one line asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'t> {
    /// The method, by its name in recordings.
    pub method: &'static str,
    /// Work kernels or memory experiments, separated by commas.
    pub kernels: &'t str,
    /// Duration of a sample, or length of a window, in nanoseconds.
    pub grain_ns: u64,
    /// Duration of a measurement, or of one working set, in nanoseconds.
    pub duration_ns: u64,
    /// Number of samples; absent where it follows from other values.
    pub samples: Option<u64>,
    /// Gaps longer than this are detours, in nanoseconds; calibrated if absent.
    pub threshold_ns: Option<u64>,
    /// Whether a sample is one call, without counter reads inside.
    pub pure: bool,
    /// Iterations in a sample and in a step of it, instead of calibrated ones.
    pub iterations: Option<(u64, u64)>,
    /// The smallest and the largest working set in bytes; the largest follows from the caches if absent.
    pub sizes: (u64, Option<u64>),
    /// Whether there is one working set per octave instead of eight.
    pub quick: bool,
}

/// All that the file asks for.
#[derive(Debug)]
pub struct Parameters<'t> {
    /// The machine's name in the result.
    pub host: &'t str,
    /// Whether the result also goes to the serial port.
    pub serial: bool,
    /// What happens at the end.
    pub at_end: AtEnd,
    requests: [Option<Request<'t>>; MOST],
}

/// What happens at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtEnd {
    /// The machine waits for a key and starts again.
    Wait,
    /// The machine starts again.
    Reboot,
    /// The machine is switched off.
    PowerOff,
}

/// Why a line is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault<'t> {
    /// The line, from 1.
    pub line: usize,
    /// The word of it that is wrong.
    pub word: &'t str,
    /// The reason.
    pub why: &'static str,
}

impl fmt::Display for Fault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "parameters, line {}: '{}': {}", self.line, self.word, self.why)
    }
}

/// A value that an option refuses, and why.
type Refused<'t> = (&'t str, &'static str);

impl<'t> Parameters<'t> {
    /// Returns what to measure, in the order of the lines.
    pub fn requests(&self) -> impl Iterator<Item = &Request<'t>> {
        self.requests.iter().flatten()
    }

    /// Reads a file, and reports each line that is wrong.
    ///
    /// # Errors
    /// Returns how many lines are wrong, or 0 if none measures anything.
    pub fn parse(text: &'t str, mut report: impl FnMut(Fault<'t>)) -> Result<Self, usize> {
        let mut all =
            Parameters { host: "bare", serial: true, at_end: AtEnd::Wait, requests: [None; MOST] };
        let (mut faults, mut used) = (0, 0);
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("").trim();
            let read = match line {
                "" => Ok(None),
                line => all.line(line),
            };
            let read = match read {
                Ok(Some(_)) if used == MOST => Err((line, "there are at most 64 measurements")),
                Ok(Some(request))
                    if request.method == methods::DETOURS && all.has(methods::DETOURS) =>
                {
                    Err((line, "there is one run at most: ask for a longer one"))
                }
                read => read,
            };
            match read {
                Ok(None) => {}
                Ok(request) => {
                    all.requests[used] = request;
                    used += 1;
                }
                Err((word, why)) => {
                    report(Fault { line: number + 1, word, why });
                    faults += 1;
                }
            }
        }
        if faults > 0 || used == 0 { Err(faults) } else { Ok(all) }
    }

    fn has(&self, method: &str) -> bool {
        self.requests().any(|request| request.method == method)
    }

    fn line(&mut self, line: &'t str) -> Result<Option<Request<'t>>, Refused<'t>> {
        let mut words = line.split_ascii_whitespace();
        let first = words.next().unwrap_or("");
        let Some(mut request) = Request::named(first) else {
            let value =
                words.next().ok_or((first, "no such method, or a setting without its value"))?;
            match (first, value) {
                ("host", name) if name.len() <= 64 => self.host = name,
                ("serial-port", "on") => self.serial = true,
                ("serial-port", "off") => self.serial = false,
                ("at-end", "wait") => self.at_end = AtEnd::Wait,
                ("at-end", "reboot") => self.at_end = AtEnd::Reboot,
                ("at-end", "poweroff") => self.at_end = AtEnd::PowerOff,
                ("host" | "serial-port" | "at-end", _) => {
                    return Err((value, "not a value of this setting"));
                }
                _ => return Err((first, "no such method or setting")),
            }
            return words.next().map_or(Ok(None), |word| Err((word, "one word too many")));
        };
        while let Some(word) = words.next() {
            request.option(word, &mut words)?;
        }
        request.check()?;
        Ok(Some(request))
    }
}

impl<'t> Request<'t> {
    /// Returns the method of that name with the values that the command has by default.
    fn named(name: &str) -> Option<Self> {
        let plain = Request {
            method: methods::DETOURS,
            kernels: "",
            grain_ns: 1_000_000,
            duration_ns: 10_000_000_000,
            samples: None,
            threshold_ns: None,
            pure: false,
            iterations: None,
            sizes: (4 << 10, None),
            quick: false,
        };
        Some(match name {
            "run" => plain,
            methods::FWQ => Request {
                method: methods::FWQ,
                kernels: "intadd-chain",
                samples: Some(10_000),
                ..plain
            },
            methods::FTQ => Request { method: methods::FTQ, kernels: "counter-reg", ..plain },
            methods::TICK => Request {
                method: methods::TICK,
                kernels: "intadd,intmul,intdiv",
                grain_ns: 100_000,
                ..plain
            },
            methods::LOOPS => Request {
                method: methods::LOOPS,
                kernels: "counter,sum,fibonacci,call",
                samples: Some(10_000),
                ..plain
            },
            methods::MEMORY => {
                Request { method: methods::MEMORY, kernels: "", duration_ns: 400_000_000, ..plain }
            }
            _ => return None,
        })
    }

    /// Sets an option, whose name and methods are those of the command line, to the next of these words.
    fn option(
        &mut self,
        word: &'t str,
        words: &mut impl Iterator<Item = &'t str>,
    ) -> Result<(), Refused<'t>> {
        let option = word.strip_prefix("--").ok_or((word, "an option begins with --"))?;
        let mut text = || words.next().ok_or((word, "its value is missing"));
        match (self.method, option) {
            (methods::FWQ | methods::TICK | methods::LOOPS, "pure") => self.pure = true,
            (methods::MEMORY, "quick") => self.quick = true,
            (methods::FWQ | methods::FTQ, "work")
            | (methods::TICK, "kernel")
            | (methods::LOOPS, "variants")
            | (methods::MEMORY, "experiments") => self.kernels = text()?,
            (methods::DETOURS | methods::FTQ, "duration") | (methods::MEMORY, "point-time") => {
                self.duration_ns = read(text()?, time)?;
            }
            (methods::FWQ | methods::LOOPS, "grain")
            | (methods::TICK, "repetition")
            | (methods::FTQ, "window") => {
                self.grain_ns = read(text()?, time)?;
            }
            (methods::FWQ | methods::TICK, "repetitions") | (methods::LOOPS, "samples") => {
                self.samples = Some(read(text()?, number)?);
            }
            (methods::DETOURS, "threshold") => self.threshold_ns = Some(read(text()?, time)?),
            (methods::FWQ | methods::TICK | methods::LOOPS, "iterations") => {
                self.iterations = Some(read(text()?, iterations)?);
            }
            (methods::MEMORY, "sizes") => self.sizes = read(text()?, sizes)?,
            _ => return Err((word, "this method has no such option")),
        }
        Ok(())
    }

    /// Returns the work kernels, in order.
    pub fn kernels(&self) -> impl Iterator<Item = &'static work::Kernel> + use<'t> {
        self.kernels.split(',').filter_map(work::find)
    }

    /// Returns whether the request is for this memory experiment.
    #[must_use]
    pub fn has_experiment(&self, id: &str) -> bool {
        self.kernels.is_empty() || self.kernels.split(',').any(|asked| asked == id)
    }

    fn check(&mut self) -> Result<(), Refused<'t>> {
        match self.method {
            methods::DETOURS => {}
            methods::MEMORY => {
                let unknown = |id: &&str| !EXPERIMENTS.iter().any(|row| row.0 == *id);
                let asked = self.kernels.split(',').filter(|id| !id.is_empty());
                if let Some(id) = { asked }.find(unknown) {
                    return Err((id, "not an experiment without an operating system"));
                }
            }
            _ => {
                if (self.method, self.kernels) == (methods::LOOPS, "all") {
                    self.kernels = ALL_VARIANTS;
                }
                for name in self.kernels.split(',') {
                    let kernel = work::find(name).ok_or((name, "no such work kernel"))?;
                    match kernel.family {
                        Family::Trap => {
                            return Err((name, "a system call needs an operating system"));
                        }
                        family if self.method == methods::LOOPS && family != Family::DoNothing => {
                            return Err((name, "not the body of a do-nothing loop"));
                        }
                        _ => {}
                    }
                }
            }
        }
        if self.method == methods::TICK && self.samples.is_none() {
            self.samples = Some(if self.grain_ns >= 100_000_000 { 100 } else { 50_000 });
        }
        if self.method == methods::FTQ {
            let windows = self.duration_ns / self.grain_ns;
            self.samples = Some(windows);
            if windows == 0 {
                return Err(("--duration", "shorter than one window"));
            }
        }
        Ok(())
    }
}

/// The bodies of do-nothing loops.
const ALL_VARIANTS: &str = "counter,counter-reg,sum,sum-reg,fibonacci,fibonacci-reg,call,call-reg";

/// The memory experiments that need neither a preemption nor a migration: name, kernel, whether other lines are modified
/// before each pass.
pub static EXPERIMENTS: &[(&str, &str, bool)] = &[
    ("bandwidth-read-sequential-warm", "read-sequential", false),
    ("bandwidth-read-sequential-dirty", "read-sequential", true),
    ("bandwidth-write-sequential-warm", "write-sequential", false),
    ("bandwidth-write-sequential-dirty", "write-sequential", true),
    ("bandwidth-read-random-warm", "read-random", false),
    ("bandwidth-read-random-dirty", "read-random", true),
    ("bandwidth-write-random-warm", "write-random", false),
    ("bandwidth-write-random-dirty", "write-random", true),
    ("bandwidth-read-random-local-warm", "read-random-local", false),
    ("bandwidth-write-random-local-warm", "write-random-local", false),
];

/// Reads a value, and names it if it is refused.
fn read<T>(text: &str, of: fn(&str) -> Result<T, &'static str>) -> Result<T, Refused<'_>> {
    of(text).map_err(|why| (text, why))
}

/// Reads the iterations of a sample and, after a slash, those of a step of it.
fn iterations(text: &str) -> Result<(u64, u64), &'static str> {
    let (sample, step) = text.split_once('/').unwrap_or((text, text));
    let (sample, step) = (number(sample)?, number(step)?);
    if sample % step == 0 {
        Ok((sample, step))
    } else {
        Err("a sample is not a number of whole steps")
    }
}

/// Reads the smallest and the largest working set.
fn sizes(text: &str) -> Result<(u64, Option<u64>), &'static str> {
    let (from, to) = text.split_once('-').ok_or("not a range such as 4k-64m")?;
    let (from, to) = (bytes(from)?, bytes(to)?);
    if from > to { Err("the range ends before it begins") } else { Ok((from, Some(to))) }
}

/// Reads a whole number of at least 1.
fn number(text: &str) -> Result<u64, &'static str> {
    match text.parse() {
        Ok(0) => Err("must be at least 1"),
        Ok(number) => Ok(number),
        Err(_) => Err("not a whole number"),
    }
}

/// Reads a whole number with one of these units.
fn with_unit(text: &str, units: &[(&str, u64)], why: &'static str) -> Result<u64, &'static str> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = units.iter().find(|unit| unit.0 == &text[digits.len()..]).ok_or(why)?;
    number(digits)?.checked_mul(unit.1).ok_or("too large")
}

fn time(text: &str) -> Result<u64, &'static str> {
    let units = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
    with_unit(text, &units, "not a time such as 250us, 1ms or 10s")
}

fn bytes(text: &str) -> Result<u64, &'static str> {
    let units = [("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30)];
    with_unit(text, &units, "not a size such as 4k or 64m")
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::{String, ToString};
    use std::vec::Vec;

    fn read(text: &str) -> Result<Vec<Request<'_>>, String> {
        let mut faults = Vec::new();
        let read = Parameters::parse(text, |fault| faults.push(fault.to_string()));
        match read {
            Ok(read) => Ok(read.requests().copied().collect()),
            Err(count) => {
                assert_eq!(count, faults.len());
                Err(faults.join("\n"))
            }
        }
    }

    #[test]
    fn lines_are_read_as_on_the_command_line() {
        let text = "# nothing\n\nhost lab-1 # named\nat-end reboot\nserial-port off\r\n\
                    fwq --work intdiv,intadd --grain 250us --repetitions 40 --pure\n\
                    memory --experiments bandwidth-read-random-dirty --sizes 4k-1m --quick\n\
                    tick --repetition 1s --iterations 6000/500";
        let all = Parameters::parse(text, |fault| panic!("{fault}")).unwrap();
        assert_eq!((all.host, all.serial, all.at_end), ("lab-1", false, AtEnd::Reboot));
        let [fwq, memory, tick] = [0, 1, 2].map(|at| *all.requests().nth(at).unwrap());
        assert_eq!(fwq.kernels().map(|kernel| kernel.id).collect::<Vec<_>>(), ["intdiv", "intadd"]);
        assert_eq!((fwq.grain_ns, fwq.samples, fwq.pure), (250_000, Some(40), true));
        assert_eq!((memory.sizes, memory.quick), ((4096, Some(1 << 20)), true));
        assert!(memory.has_experiment("bandwidth-read-random-dirty"));
        assert!(!memory.has_experiment("bandwidth-read-random-warm"));
        assert_eq!((tick.samples, tick.iterations), (Some(100), Some((6000, 500))));
        assert_eq!(read(DEFAULT).unwrap().len(), 5);
        let bodies = work::KERNELS.iter().filter(|kernel| kernel.family == Family::DoNothing);
        let variants = read("loops --variants all").unwrap();
        assert_eq!(variants[0].kernels().count(), bodies.count());
    }

    #[test]
    fn a_wrong_line_is_refused_with_its_number_word_and_reason() {
        let cases = [
            ("", ""),
            ("fqw", "line 1: 'fqw': no such method"),
            ("\nfwq --grian 1ms", "line 2: '--grian': this method has no such option"),
            ("fwq --grain", "line 1: '--grain': its value is missing"),
            ("fwq --grain 1", "'1': not a time"),
            ("fwq --grain 0ms", "'0ms': must be at least 1"),
            ("fwq --grain 99999999999999999s", "too large"),
            ("fwq --work intsub", "'intsub': no such work kernel"),
            ("fwq --work trap", "'trap': a system call needs an operating system"),
            ("loops --variants intadd", "'intadd': not the body of a do-nothing loop"),
            ("fwq grain 1ms", "'grain': an option begins with --"),
            ("fwq --repetitions -3", "'-3': not a whole number"),
            ("ftq --window 1s --duration 1ms", "shorter than one window"),
            ("memory --sizes 1m-4k", "ends before it begins"),
            ("memory --experiments migration-read-random-l3", "not an experiment"),
            ("fwq --iterations 10/3", "'10/3': a sample is not a number of whole steps"),
            ("run\nrun", "line 2: 'run': there is one run at most"),
            ("at-end explode\nrun", "'explode': not a value of this setting"),
            ("host a b", "'b': one word too many"),
        ];
        for (text, expected) in cases {
            let why = read(text).unwrap_err();
            assert!(why.contains(expected), "{text}: {why}");
        }
        assert_eq!(read("fwq --grain 1\nfoo\nfwq").unwrap_err().lines().count(), 2);
        assert!(read(&"fwq\n".repeat(65)).unwrap_err().contains("line 65"));
    }
}
