//! The table of sources: every frame has exactly the source it should, every row of the table is used.

#![allow(clippy::unwrap_used, reason = "a test stops at the first error")]

mod stage;

use anechoic_attribute::frame::{Away, Frame, Vector, VictimState, What};
use anechoic_attribute::{Labels, SOURCES, source, title};
use stage::*;
use std::collections::HashSet;

fn frame(what: What, function: u64, fifo: bool) -> Frame {
    let (state, sender) = (VictimState::Running, None);
    Frame { what, state, fifo, start: 0, end: 1, self_ticks: 1, parent: None, function, sender }
}

fn thread(pid: i32, priority: i32) -> What {
    What::Thread { pid, priority }
}

#[test]
fn every_frame_has_its_source() {
    use What::*;
    let labels =
        Labels::new(&run("other", vec![cpu_run(1, VICTIM), cpu_run(0, 200)]), names().into());
    let (other, fifo) = (false, true);
    let csd = |vector| Csd { csd: 1, function: FLUSH, vector };
    let cases = [
        (other, Vector(self::Vector::LocalTimer), TICK, "timer-tick", ""),
        (other, Hrtimer { timer: 1, function: TICK }, 0, "timer-tick", ""),
        (other, Irq(24), TICK, "timer-tick", ""), // the architectural timer of AArch64 is a device interrupt
        (other, Vector(self::Vector::LocalTimer), PERF, "timer", "perf_swevent_hrtimer"),
        (other, Vector(self::Vector::LocalTimer), 0, "timer", "nothing expired"),
        (other, Hrtimer { timer: 1, function: PERF }, 0, "timer", "perf_swevent_hrtimer"),
        (other, Timer { timer: 1, function: 0xff }, 0, "timer", "0xff"),
        (other, Irq(24), 0, "device-irq", "virtio0"),
        (other, Irq(5), 0, "device-irq", "irq 5"),
        (other, Softirq(0), 0, "softirq", "HI"),
        (other, Softirq(8), 0, "softirq", "HRTIMER"),
        (other, Softirq(77), 0, "softirq", "vector 77"),
        (other, Tasklet { function: 1 }, 0, "softirq", "TASKLET"),
        (other, Vector(self::Vector::Reschedule), 0, "ipi", "reschedule"),
        (other, Vector(self::Vector::CallFunction), 0, "ipi", "call function"),
        (other, Vector(self::Vector::CallFunctionSingle), 0, "ipi", "call function single"),
        (other, Vector(self::Vector::IrqWork), 0, "ipi", "irq work"),
        (other, Vector(self::Vector::PlatformIpi), 0, "ipi", "platform"),
        (other, Vector(self::Vector::ArmIpi), 0, "ipi", "arm"),
        (other, csd(Some(self::Vector::CallFunctionSingle)), 0, "ipi", "call function single"),
        (other, csd(Some(self::Vector::LocalTimer)), 0, "ipi", "call function"),
        (other, csd(None), 0, "ipi", "call function"),
        (other, Vector(self::Vector::Thermal), 0, "platform-irq", "thermal"),
        (other, Vector(self::Vector::Threshold), 0, "platform-irq", "threshold"),
        (other, Vector(self::Vector::DeferredError), 0, "platform-irq", "deferred error"),
        (other, Vector(self::Vector::Error), 0, "platform-irq", "error"),
        (other, Vector(self::Vector::Spurious), 0, "platform-irq", "spurious"),
        (other, Nmi { handler: 1 }, 0, "nmi", ""),
        (other, PageFault { user: true }, 0, "page-fault", "user"),
        (other, Away(self::Away::Fault { user: false }), 0, "page-fault", "kernel"),
        (other, Away(self::Away::Stopped { signal: 20 }), 0, "stopped", "SIGTSTP"),
        (other, Away(self::Away::Traced), 0, "stopped", "by a debugger"),
        (other, Away(self::Away::Blocked), 0, "blocked", ""),
        (other, thread(91, 120), 0, "anechoic", "writer"),
        (other, thread(200, 120), 0, "anechoic", "loop of CPU 0"),
        (fifo, thread(91, 120), 0, "anechoic", "writer"),
        (fifo, thread(0, 120), 0, "rt-throttling", ""),
        (other, thread(0, 120), 0, "cpu-quota", ""),
        (fifo, thread(42, 100), 0, "fair-server", "bash"),
        (fifo, thread(42, 99), 0, "thread", "bash"),
        (fifo, thread(42, -1), 0, "thread", "bash"),
        (other, thread(7, 120), VMSTAT, "thread", "kworker/1:1"),
        (other, Work { pid: 7, work: 1, function: VMSTAT }, 0, "thread", "kworker/1:1"),
        (other, Kernel, 0, "victim-kernel", ""),
        (other, NoEvent, 0, "vm-or-hardware", ""),
        (other, Dark, 0, "not-attributable", ""),
        (other, Unseen, 0, "not-attributable", "unseen switch"),
    ];
    let mut used = HashSet::new();
    for (fifo, what, function, id, name) in cases {
        let frame = frame(what, function, fifo);
        let found =
            SOURCES.iter().find_map(|source| Some((source.id, (source.claim)(&frame, &labels)?)));
        let (source, claim) = found.unwrap_or_else(|| panic!("{what:?} has no source"));
        assert_eq!((source, &*claim.name), (id, name), "{what:?}, function {function:#x}");
        used.insert(source);
    }
    for source in SOURCES {
        assert!(used.contains(source.id), "no frame is {}", source.id);
    }
}

#[test]
fn every_source_says_what_it_is() {
    let ids: HashSet<&str> = SOURCES.iter().map(|source| source.id).collect();
    assert_eq!(ids.len(), SOURCES.len(), "identifiers are unique");
    for source in SOURCES {
        let id = source.id;
        assert!(id.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{id}");
        assert!(
            !source.title.is_empty() && source.title.len() <= 24,
            "{id}: a title fits its column"
        );
        assert!(source.what.ends_with('.'), "{id}: a sentence");
        assert!(
            !source.reduce.is_empty() && source.reduce.iter().all(|line| !line.is_empty()),
            "{id}"
        );
        let eventless = ["vm-or-hardware", "not-attributable"].contains(&id);
        assert_eq!(source.events.is_empty(), eventless, "{id}: the events it is seen by");
    }
}

#[test]
fn only_a_guest_has_vm_exits() {
    let mut machine = run("other", vec![]).machine;
    let unexplained = source("vm-or-hardware").unwrap();
    assert_eq!(title(unexplained, &machine), "VM exit or hardware");
    machine.hypervisor = None;
    assert_eq!(title(unexplained, &machine), "hardware");
    assert_eq!(title(source("timer-tick").unwrap(), &machine), "timer tick");
    assert!(source("no-such-source").is_none());
}
