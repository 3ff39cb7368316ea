//! What all recordings of a result have in common: the machine and its counter.

use super::places::Places;
use super::text::{Line, Wrong};
use crate::clock::{Clock, Skew};
use crate::machine::{DataTlb, Machine, NO_KERNEL, Setting};
use crate::policy::Policy;
use crate::run::{NotAvailable, Run, RunState};

/// The description of a recording, without what its method measured.
pub(super) struct Common {
    pub(super) run: Run,
    emulated: bool,
    places: Places,
    /// States which sizes of caches were assumed, where the CPU does not describe them.
    pub(super) assumed_caches: Option<String>,
}

impl Common {
    pub(super) fn new() -> Self {
        Common {
            run: description(),
            emulated: false,
            places: Places::default(),
            assumed_caches: None,
        }
    }

    /// Takes in a line about the machine or the whole run.
    pub(super) fn take(&mut self, line: &Line<'_>) -> Result<(), Wrong> {
        let rest = line.rest.trim();
        let Run { clock, machine, notes, not_available, state, .. } = &mut self.run;
        match line.word {
            "loader" => machine.command_line = format!("loader={rest}"),
            "host" => machine.host = rest.to_owned(),
            "began" => self.run.start_utc = rest.to_owned(),
            "ended" => self.run.end_utc = Some(rest.to_owned()),
            "model" => machine.model = rest.to_owned(),
            "vendor" if machine.model.is_empty() => machine.model = rest.to_owned(),
            "hypervisor" => machine.hypervisor = Some(hypervisor(rest)),
            "emulated" => self.emulated = true,
            "cpus" => machine.online = format!("0-{}", line.number(rest)?.clamp(1, 4096) - 1),
            "memory" => machine.memory_bytes = line.number(rest)?,
            "cpu" | "cache" => self.places.take(line)?,
            "missing" => {
                let [cpu, why] = line.words()?;
                let what = format!("CPU {cpu}");
                let (why, remedy) = (why.to_owned(), "name others with `cpus`".to_owned());
                not_available.push(NotAvailable { what, why, remedy });
            }
            "absent" => {
                let [kind, why] = line.words()?;
                not_available.push(NotAvailable {
                    what: NotAvailable::pages(kind),
                    why: why.to_owned(),
                    remedy: String::new(),
                });
            }
            "tlb" => machine.data_tlb = Some(data_tlb(line)?),
            "assumed-caches" => self.assumed_caches = Some(assumed_caches(line)?),
            "caches" if rest == "off" => notes.push(CACHES_OFF.to_owned()),
            "skew" => clock.skew.push(skew(line)?),
            "register" => {
                let [name, value] = line.words()?;
                let effective = (!value.starts_with("- ")).then(|| value.to_owned());
                let file = "model-specific register".to_owned();
                machine.settings.push(Setting {
                    name: name.to_owned(),
                    requested: None,
                    effective,
                    file,
                });
            }
            "counter" | "counter-by" | "read" | "delta" => read_clock(line, clock)?,
            "held" => notes.push(held(rest)),
            "impossible" => {
                let [method, why] = line.words()?;
                let remedy = "change its line in anechoic.txt".to_owned();
                not_available.push(NotAvailable {
                    what: method.to_owned(),
                    why: why.to_owned(),
                    remedy,
                });
            }
            "state" if rest == "full" => {
                let why = "the image's memory for the result was full";
                *state = RunState::Interrupted(why.to_owned());
            }
            // Others are for readers of the text, or of a later image.
            _ => {}
        }
        Ok(())
    }

    /// Returns the class of a CPU.
    pub(super) fn class(&self, cpu: u32) -> String {
        self.places.class(cpu, &self.run.machine.model)
    }

    pub(super) fn complete(&mut self) {
        let Run { machine, notes, command, .. } = &mut self.run;
        machine.cpus = self.places.cpus(&machine.model);
        machine.smt = self.places.smt();
        *command = vec!["anechoic-bare".to_owned(), machine.command_line.clone()];
        let rest = match (&machine.hypervisor, self.emulated) {
            (_, true) => {
                "instructions were emulated in software: durations mean nothing, counts are exact"
            }
            (Some(_), _) => {
                "there was no operating system: what disturbed the loops is the hypervisor's and the hardware's"
            }
            (None, _) => {
                "there was no operating system: what disturbed the loops is the hardware's and the firmware's"
            }
        };
        notes.insert(0, rest.to_owned());
    }
}

/// Reads the entries of the data TLB: for the smallest pages, and for those of 2 MiB if these are known.
fn data_tlb(line: &Line<'_>) -> Result<DataTlb, Wrong> {
    let numbers = line.numbers()?;
    let number = |at: usize| numbers.get(at).map(|&number| number as u32);
    let entries = number(0).ok_or_else(|| line.wrong("a value is missing"))?;
    Ok(DataTlb { entries, entries_2m: number(1) })
}

/// Returns the note of caches that the CPU does not describe.
fn assumed_caches(line: &Line<'_>) -> Result<String, Wrong> {
    let [first, second, last] = line.words()?.map(|bytes| line.number(bytes));
    let [first, second, last] = [first? >> 10, second? >> 10, last? >> 10];
    Ok(format!(
        "the CPU does not describe all its caches: {first}, {second} and {last} KiB are assumed"
    ))
}

/// Reads the offset of a CPU's counter.
fn skew(line: &Line<'_>) -> Result<Skew, Wrong> {
    let [cpu, offset, bound] = line.words()?;
    let offset_ticks = offset.parse().map_err(|_| line.wrong("the offset is not a number"))?;
    Ok(Skew { cpu: line.number(cpu)? as u32, offset_ticks, bound_ticks: line.number(bound)? })
}

/// The note of a run with caches off.
const CACHES_OFF: &str =
    "caches were off in all measurements (CR0.CD); a hypervisor or an emulator may ignore that";

/// Takes in a line about the counter.
fn read_clock(line: &Line<'_>, clock: &mut Clock) -> Result<(), Wrong> {
    match line.word {
        "counter" => {
            let [hz, invariant, source] = line.words()?;
            clock.frequency_millihertz = line.number(hz)?.saturating_mul(1000);
            clock.invariant = invariant == "1";
            clock.frequency_source = source.to_owned();
        }
        "counter-by" => {
            let [hz, _] = line.words()?;
            let known = clock.frequency_millihertz.max(1) as f64 / 1000.0;
            clock.residual_ppm = Some((line.number(hz)? as f64 / known - 1.0) * 1e6);
        }
        "read" => {
            let [min, mean] = line.words()?;
            clock.read_min_ticks = line.number(min)?;
            clock.read_mean_ticks = line.number(mean)? as f64 / 1000.0;
        }
        "delta" => {
            let [delta, count] = line.words()?;
            clock.read_deltas.push((line.number(delta)?, line.number(count)?));
        }
        _ => {}
    }
    Ok(())
}

/// Describes a run without an operating system of which nothing else is known yet.
fn description() -> Run {
    let no_kernel = NotAvailable {
        what: "kernel events".to_owned(),
        why: "there was no kernel".to_owned(),
        remedy: String::new(),
    };
    let clock =
        Clock { frequency_millihertz: 0, invariant: false, ..Clock::in_nanoseconds("tsc", "") };
    Run {
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        state: RunState::Complete,
        threshold_source: "calibrated".to_owned(),
        policy: no_scheduler(),
        not_available: vec![no_kernel],
        ..Run::unmeasured("", clock, machine())
    }
}

/// Describes a machine of which nothing is known yet.
fn machine() -> Machine {
    Machine {
        host: String::new(),
        model: String::new(),
        arch: "x86_64".to_owned(),
        kernel: NO_KERNEL.to_owned(),
        command_line: String::new(),
        tick_hz: None,
        hypervisor: None,
        confidential: None,
        data_tlb: None,
        online: "0".to_owned(),
        allowed: "0".to_owned(),
        smt: None,
        memory_bytes: 0,
        cpus: vec![],
        settings: vec![],
    }
}

/// The policy where nothing schedules.
pub(super) fn no_scheduler() -> Policy {
    Policy::from("none")
}

/// Returns the name of a hypervisor by its signature, as the other recordings have it.
fn hypervisor(signature: &str) -> String {
    const NAMES: [(&str, &str); 6] = [
        ("KVMKVMKVM", "KVM"),
        ("Microsoft Hv", "Hyper-V"),
        ("VMwareVMware", "VMware"),
        ("XenVMMXenVMM", "Xen"),
        ("TCGTCGTCGTCG", "QEMU"),
        ("bhyve bhyve", "bhyve"),
    ];
    let known = NAMES.iter().find(|known| signature.starts_with(known.0));
    known.map_or(signature, |known| known.1).to_owned()
}

/// Returns what the check of interrupts showed.
fn held(found: &str) -> String {
    match found {
        "1 0 1" => "interrupts were off: one that was raised while a loop ran came only after it",
        "0 0 0" => "whether interrupts were off could not be checked: none could be raised",
        "-" => "whether interrupts were off was not checked: the CPU's interrupt controller is off",
        _ => "the check of interrupts failed: they may have been delivered in the loops",
    }
    .to_owned()
}
