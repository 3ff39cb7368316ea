//! The whole run: describes the machine, checks itself, measures what the parameters ask for.

use crate::acpi;
use crate::arena::Arena;
use crate::clock::{Clock, ReadCost, TimeOfDay};
use crate::cpu;
use crate::interrupts;
use crate::machine;
use crate::measuring::Measuring;
use crate::parameters::{DEFAULT, Parameters};
use crate::text::VERSION;
use anechoic_kernels::counter;
use core::fmt::Arguments;

/// What started the image: where parameters come from and results go.
pub trait Loader {
    /// Its name in the result.
    const NAME: &'static str;

    /// Returns the address of ACPI's root pointer, if known.
    fn acpi_root(&self) -> Option<u64>;

    /// Returns the size of the machine's memory in bytes.
    fn memory_bytes(&self) -> u64;

    /// Shows a line on the screen.
    fn show(&mut self, line: Arguments<'_>);

    /// Saves what was added to the result. It is called between measurements.
    fn save(&mut self, news: &[u8]);

    /// Gets the whole result at the end.
    fn finish(&mut self, _all: &[u8]) {}
}

/// Nothing was measured, for a reason that was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused;

/// Number of back-to-back reads from which the cost of one is taken.
const READS: usize = 4_000;
/// Time that the check of interrupts takes, in nanoseconds.
const HELD_NS: u64 = 2_000_000;

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
/// Fails if this CPU cannot measure.
pub fn run(
    parameters: &Parameters<'_>,
    arena: Arena,
    loader: &mut impl Loader,
) -> Result<(), Refused> {
    let has_rdtscp = cpu::cpuid(0x8000_0001, 0).edx >> 27 & 1 == 1;
    let acpi = acpi::read_tables(loader.acpi_root());
    let Some(clock) = Clock::find(&acpi).filter(|_| has_rdtscp) else {
        let why = if has_rdtscp { "no source for its counter's rate" } else { "it lacks RDTSCP" };
        loader.show(format_args!("this CPU cannot measure: {why}"));
        return Err(Refused);
    };
    let mut all = Measuring::new(arena, clock);
    describe(&mut all, parameters, &acpi, loader);
    loader.save(all.text.news());
    let mut state = "complete";
    for request in parameters.requests() {
        loader.show(format_args!("measuring: {}", request.method));
        interrupts::install();
        let result = all.request(request);
        interrupts::uninstall();
        if let Err(why) = result {
            loader.show(format_args!("{}: {why}", request.method));
            all.text.line(format_args!("impossible {} {why}", request.method));
            state = "interrupted";
        }
        loader.save(all.text.news());
    }
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

/// Adds what is known before the first measurement.
fn describe<L: Loader>(
    all: &mut Measuring,
    parameters: &Parameters<'_>,
    acpi: &acpi::Acpi,
    loader: &mut L,
) {
    let text = &mut all.text;
    text.line(format_args!("anechoic-bare {VERSION} {}", env!("CARGO_PKG_VERSION")));
    text.line(format_args!("loader {}", L::NAME));
    text.line(format_args!("host {}", parameters.host));
    text.line(format_args!("began {}", TimeOfDay::now()));
    interrupts::install();
    machine::describe(text, acpi, loader.memory_bytes());
    let page = cpu::page_bytes(all.workspace.as_ptr().addr() as u64);
    text.line(format_args!("workspace {} {page}", size_of_val(all.workspace)));
    let mut reads = [0; READS];
    ReadCost::measure(&mut reads); // warms the core
    all.reads = ReadCost::measure(&mut reads);
    machine::describe_clock(text, &all.clock, &all.reads);
    let ticks = all.clock.ticks(HELD_NS);
    let held = interrupts::hold(|| {
        let end = counter::now() + ticks;
        while counter::now() < end {}
    });
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
