//! The parameter file: what to measure, one line each, in the words of the command line.
//!
//! ```text
//! # A comment. The words of a line are those of `anechoic measure`, or of `anechoic run`.
//! host node17
//! run --duration 60s
//! fwq --work intadd-chain,intdiv --grain 100us --repetitions 10000
//! memory --experiments bandwidth-read-random-warm --sizes 4k-64m
//! ```

mod values;

use crate::catalogue::{self, Before, Entry};
use crate::methods;
use crate::pages::{KINDS, Kind};
use crate::pattern::matches;
use anechoic_kernels::work::{self, Family};
use core::fmt;
use values::{is_list, iterations, members, number, read, sizes, time};

/// What is measured if there is no parameter file.
pub const DEFAULT: &str = "\
run --duration 10s
fwq --work intadd-chain --grain 1ms --repetitions 1000
ftq --work counter-reg --window 1ms --duration 1s
tick --kernel intadd,intmul,intdiv --repetition 100us --repetitions 1000
loops --variants counter,sum,fibonacci,call --grain 1ms --samples 1000
";

/// The list of all CPUs.
const ALL: &str = "all";

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
    /// Number of times that everything is measured; it follows from `quick` if absent.
    pub blocks: Option<u64>,
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
    /// Whether the CPUs measure at the same time.
    pub together: bool,
    /// Whether caches are off in all measurements.
    pub caches_off: bool,
    /// The CPUs that measure, and the line that names them.
    cpus: (&'t str, usize),
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
        let mut all = Parameters {
            host: "bare",
            serial: true,
            at_end: AtEnd::Wait,
            together: false,
            caches_off: false,
            cpus: (ALL, 0),
            requests: [None; MOST],
        };
        let (mut faults, mut used) = (0, 0);
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("").trim();
            let read = match line {
                "" => Ok(None),
                line => all.line(line, number + 1),
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

    /// Returns the numbers of the CPUs that measure, on a machine with CPUs 0 to `count` − 1.
    ///
    /// # Errors
    /// Fails if the machine lacks one of them.
    pub fn cpus(&self, count: usize) -> Result<impl Iterator<Item = usize> + use<'t>, Fault<'t>> {
        let (text, line) = self.cpus;
        let lacks = |cpu: &usize| *cpu >= count;
        if text != ALL && members(text).any(|cpu| lacks(&cpu)) {
            return Err(Fault { line, word: text, why: "this machine has fewer CPUs" });
        }
        Ok((0..count).filter(move |&cpu| text == ALL || members(text).any(|member| member == cpu)))
    }

    fn line(&mut self, line: &'t str, number: usize) -> Result<Option<Request<'t>>, Refused<'t>> {
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
                ("cpus", list) if list == ALL || is_list(list) => self.cpus = (list, number),
                ("cpus", _) => return Err((value, "not 'all' or a list such as 0 or 0,2-3")),
                ("together", "yes") => self.together = true,
                ("together", "no") => self.together = false,
                ("caches", "on") => self.caches_off = false,
                ("caches", "off") => self.caches_off = true,
                ("host" | "serial-port" | "at-end" | "together" | "caches", _) => {
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
            blocks: None,
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
                Request { method: methods::MEMORY, kernels: "", duration_ns: 300_000_000, ..plain }
            }
            methods::PAGING => {
                Request { method: methods::PAGING, duration_ns: 50_000_000, ..plain }
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
            (methods::MEMORY | methods::PAGING, "quick") => self.quick = true,
            (methods::FWQ | methods::FTQ, "work")
            | (methods::TICK, "kernel")
            | (methods::LOOPS, "variants")
            | (methods::MEMORY, "experiments")
            | (methods::PAGING, "pages") => self.kernels = text()?,
            (methods::DETOURS | methods::FTQ, "duration")
            | (methods::MEMORY | methods::PAGING, "point-time") => {
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
            (methods::PAGING, "blocks") => {
                self.blocks = Some(read(text()?, number)?);
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

    /// Returns whether the request is for this memory experiment, by name or by a pattern such as `*-write-long`.
    #[must_use]
    pub fn has_experiment(&self, id: &str) -> bool {
        self.kernels.is_empty() || self.kernels.split(',').any(|asked| matches(asked, id))
    }

    /// Returns whether the request is for this kind of pages.
    #[must_use]
    pub fn has_pages(&self, kind: &Kind) -> bool {
        self.kernels.is_empty() || self.kernels.split(',').any(|asked| asked == kind.id)
    }

    fn check(&mut self) -> Result<(), Refused<'t>> {
        match self.method {
            methods::DETOURS => {}
            methods::MEMORY => {
                let unknown = |id: &&str| !experiments().any(|entry| matches(id, entry.id));
                let asked = self.kernels.split(',').filter(|id| !id.is_empty());
                if let Some(id) = { asked }.find(unknown) {
                    return Err((id, "not an experiment without an operating system"));
                }
            }
            methods::PAGING => {
                let unknown = |id: &&str| !KINDS.iter().any(|kind| kind.id == *id);
                let asked = self.kernels.split(',').filter(|id| !id.is_empty());
                if let Some(id) = { asked }.find(unknown) {
                    return Err((id, "not base, huge-2m or huge-1g"));
                }
                if self.blocks == Some(1) {
                    return Err(("--blocks", "at least 2 blocks show their variation"));
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

/// Returns the memory experiments that can be measured without an operating system: all but the migrations, for
/// which there is no scheduler.
pub fn experiments() -> impl Iterator<Item = &'static Entry> {
    catalogue::entries().filter(|entry| !matches!(entry.before, Before::Migrated(_)))
}

#[cfg(test)]
mod tests;
