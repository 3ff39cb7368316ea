//! The whole run: describes the machine, checks itself, measures what the parameters ask for.

use crate::acpi::{self, Acpi};
use crate::arena::{Arena, Region};
use crate::clock::{Clock, ReadCost, TimeOfDay};
use crate::cpu;
use crate::crew::Crew;
use crate::interrupts;
use crate::machine::{self, Described};
use crate::measuring::Measuring;
use crate::parameters::{DEFAULT, Parameters};
use crate::skew;
use crate::text::VERSION;
use crate::trampoline::Trampoline;
use anechoic_kernels::skew::Offset;
use core::fmt::{self, Arguments, Display, Formatter};

/// What started the image: where parameters come from and results go.
pub trait Loader {
    /// Its name in the result.
    const NAME: &'static str;

    /// Returns the address of ACPI's root pointer, if known.
    fn acpi_root(&self) -> Option<u64>;

    /// Whether the whole machine is the image's, so that no mode of the CPU need be kept for a firmware.
    const OWNS_MACHINE: bool;

    /// Returns the address of [`crate::trampoline::PAGES`] pages in one piece below 1 MiB.
    fn low_pages(&mut self) -> Option<u64>;

    /// Returns the size of the machine's memory in bytes.
    fn memory_bytes(&self) -> u64;

    /// Shows a line on the screen.
    fn show(&mut self, line: Arguments<'_>);

    /// Saves what was added to the result. It is called between measurements.
    fn save(&mut self, news: &[u8]);

    /// Returns whether anything gets the result.
    fn is_heard(&self) -> bool;

    /// Gets the whole result at the end.
    fn finish(&mut self, _all: &[u8]) {}
}

/// Nothing was measured, for a reason that was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused;

/// Number of back-to-back reads from which the cost of one is taken.
const READS: usize = 4_000;
/// How long an interrupt must be held back, and how long it may take to come at all (in an emulator), in nanoseconds.
const HELD_NS: u64 = 2_000_000;
const MOST_HELD_NS: u64 = 500_000_000;

/// Reads the parameters; if there are none, the default ones are shown and used.
///
/// # Errors
/// Fails if a line is wrong, after all such lines were shown.
pub fn parameters<'t>(
    text: Option<&'t str>,
    loader: &mut impl Loader,
) -> Result<Parameters<'t>, Refused> {
    let text = text.unwrap_or_else(|| {
        loader.show(format_args!("there are no parameters; these are used:"));
        DEFAULT.lines().for_each(|line| loader.show(format_args!("  {line}")));
        DEFAULT
    });
    let read = Parameters::parse(text, |fault| loader.show(format_args!("{fault}")));
    read.map_err(|faults| {
        let why = if faults > 0 { "correct them first" } else { "they ask for no measurement" };
        loader.show(format_args!("nothing is measured with these parameters: {why}"));
        Refused
    })
}

/// Measures all that the parameters ask for.
///
/// # Errors
/// Fails if this CPU cannot measure, or if nothing gets the result.
pub fn run<L: Loader>(
    parameters: &Parameters<'_>,
    mut region: Region,
    loader: &mut L,
) -> Result<(), Refused> {
    let has_rdtscp = cpu::cpuid(0x8000_0001, 0).edx >> 27 & 1 == 1;
    let acpi = acpi::read_tables(loader.acpi_root());
    let Some(clock) = Clock::find(&acpi).filter(|_| has_rdtscp) else {
        let why = if has_rdtscp { "no source for its counter's rate" } else { "it lacks RDTSCP" };
        loader.show(format_args!("this CPU cannot measure: {why}"));
        return Err(Refused);
    };
    let chosen = parameters.cpus(acpi.ids().len()).map_err(|fault| {
        loader.show(format_args!("{fault}"));
        Refused
    })?;
    let count = acpi.ids().len();
    let Some((members, numbers)) = region.members(count).zip(region.numbers(count)) else {
        return Err(too_little_memory(loader));
    };
    let used = numbers.iter_mut().zip(chosen).map(|(number, cpu)| *number = cpu).count();
    let together = parameters.together;
    let Some(arena) = Arena::divide(region, if together { used } else { 1 }) else {
        return Err(too_little_memory(loader));
    };
    let mut all = Measuring {
        clock,
        reads: ReadCost::default(),
        text: arena.text,
        crew: Crew::begin(&acpi, members, L::OWNS_MACHINE),
        cpus: &[],
        together,
        caches_off: parameters.caches_off,
        seats: arena.seats,
        series: 0,
        round: 0,
    };
    describe(&mut all, parameters, &acpi, loader);
    let missing = start(&mut all, &mut numbers[..used], loader);
    loader.save(all.text.news());
    if !loader.is_heard() {
        let why = "nothing would get the result: free the disk, or use a serial port";
        loader.show(format_args!("nothing is measured: {why}"));
        return Err(Refused);
    }
    let all_possible = measure(&mut all, parameters, loader)?;
    let mut state = if missing || !all_possible { "interrupted" } else { "complete" };
    if all.text.is_full() {
        loader.show(format_args!("the memory for the result is full"));
        state = "full";
    }
    all.text.line(format_args!("ended {}", TimeOfDay::now()));
    all.text.end(state);
    loader.save(all.text.news());
    loader.finish(all.text.all());
    Ok(())
}

/// Does all measurements that the parameters ask for, and returns whether all were possible.
///
/// # Errors
/// Fails if nothing gets the result any more.
fn measure<L: Loader>(
    all: &mut Measuring,
    parameters: &Parameters<'_>,
    loader: &mut L,
) -> Result<bool, Refused> {
    let on = On(all.cpus.len(), all.together);
    let measures = !all.cpus.is_empty();
    let mut all_possible = true;
    for request in parameters.requests().filter(|_| measures) {
        loader.show(format_args!("measuring: {}{on}", request.method));
        all.crew.install();
        let result = all.request(request);
        interrupts::uninstall();
        if let Err(why) = result {
            loader.show(format_args!("{}: {why}", request.method));
            all.text.line(format_args!("impossible {} {why}", request.method));
            all_possible = false;
        }
        loader.save(all.text.news());
        if !loader.is_heard() {
            loader.show(format_args!("nothing more is measured: nothing would get the result"));
            return Err(Refused);
        }
    }
    Ok(all_possible)
}

/// Adds what is known before the first measurement.
fn describe<L: Loader>(
    all: &mut Measuring,
    parameters: &Parameters<'_>,
    acpi: &Acpi,
    loader: &mut L,
) {
    let text = &mut all.text;
    text.line(format_args!("anechoic-bare {VERSION} {}", env!("CARGO_PKG_VERSION")));
    text.line(format_args!("loader {}", L::NAME));
    text.line(format_args!("host {}", parameters.host));
    text.line(format_args!("began {}", TimeOfDay::now()));
    all.crew.install();
    machine::describe(text, acpi, loader.memory_bytes());
    let room = all.seats[0].room();
    let page = cpu::page_bytes(all.seats[0].address());
    text.line(format_args!("workspace {room} {page}"));
    if let Some(controller) = all.crew.controller() {
        text.line(format_args!("controller {}", controller.mode()));
    }
    if all.caches_off {
        text.line(format_args!("caches off"));
    }
    let mut reads = [0; READS];
    ReadCost::measure(&mut reads); // warms the core
    all.reads = ReadCost::measure(&mut reads);
    machine::describe_clock(text, &all.clock, &all.reads);
    let held = interrupts::hold(all.clock.ticks(HELD_NS), all.clock.ticks(MOST_HELD_NS));
    interrupts::uninstall();
    match held {
        Some(held) => {
            let interrupts::Held { pending, inside, after } = held;
            text.line(format_args!("held {} {inside} {after}", u8::from(pending)));
        }
        None => text.line(format_args!("held -")),
    }
    if cpu::is_emulated() {
        loader.show(format_args!("instructions are emulated: durations mean nothing, counts do"));
    }
}

/// Starts the CPUs that measure, describes each, and adds the offset of its counter. Returns whether one is missing.
fn start<L: Loader>(all: &mut Measuring, cpus: &'static mut [usize], loader: &mut L) -> bool {
    let mut trampoline = None;
    let others = cpus.iter().any(|&cpu| cpu > 0);
    // The loader may call the firmware, which needs its own interrupt table.
    let page = others.then(|| loader.low_pages()).flatten();
    all.crew.install();
    if let Some(page) = page {
        // SAFETY: the loader vouches for the pages.
        trampoline = Some(unsafe { Trampoline::place(page) });
    }
    let mut started = 0;
    for at in 0..cpus.len() {
        let cpu = cpus[at];
        let answer = match &mut trampoline {
            _ if cpu == 0 => Ok(()),
            Some(trampoline) => all.crew.start(cpu, &all.clock, trampoline),
            None => Err("there is no memory below 1 MiB for its first instructions"),
        };
        match answer {
            Ok(()) => {
                cpus[started] = cpu;
                started += 1;
                add(all, cpu);
            }
            Err(why) => all.text.line(format_args!("missing {cpu} {why}")),
        }
    }
    interrupts::uninstall();
    let missing = cpus.len() - started;
    if missing > 0 {
        loader.show(format_args!("{missing} of {} CPUs cannot be started", cpus.len()));
    }
    all.cpus = &cpus[..started];
    missing > 0
}

/// Describes a CPU that was started, and the offset of its counter.
fn add(all: &mut Measuring, cpu: usize) {
    let mut found = [Described::default()];
    all.crew.each(&[cpu], &mut found, |found| *found = Described::here());
    found[0].describe(&mut all.text, cpu);
    let Offset { ticks, bound_ticks } = match cpu {
        0 => Offset { ticks: 0, bound_ticks: 0 },
        cpu => skew::measure(&all.crew, &all.clock, cpu),
    };
    all.text.line(format_args!("skew {cpu} {ticks} {bound_ticks}"));
}

fn too_little_memory(loader: &mut impl Loader) -> Refused {
    loader.show(format_args!("this machine has too little memory for its CPUs"));
    Refused
}

/// The CPUs that measure, for the screen.
struct On(usize, bool);

impl Display for On {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            On(1, _) => Ok(()),
            On(cpus, true) => write!(f, " on {cpus} CPUs at the same time"),
            On(cpus, false) => write!(f, " on {cpus} CPUs, one after the other"),
        }
    }
}
