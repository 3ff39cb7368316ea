//! The claims: every frame has exactly the source it should, and every source of the catalogue is used.

use crate::stage::*;
use anechoic_attribute::frame::{Away, Frame, Vector, VictimState, What};
use anechoic_attribute::{CLAIMS, RunContext};
use anechoic_recording::run::Program;
use anechoic_recording::sources::SOURCES;
use anechoic_recording::who::CpuLimits;
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
    let known =
        RunContext::new(&run("other", vec![cpu_run(1, VICTIM), cpu_run(0, 200)]), names().into());
    let (other, fifo) = (false, true);
    let csd = |vector| Csd { csd: 1, function: FLUSH, vector };
    let cases = [
        (other, Vector(self::Vector::LocalTimer), TICK, "timer-tick", ""),
        (other, Hrtimer { timer: 1, function: TICK }, 0, "timer-tick", ""),
        (other, Irq(24), TICK, "timer-tick", ""), // the architectural timer of AArch64 is a device interrupt
        (other, Vector(self::Vector::LocalTimer), PERF, "timer", "perf_swevent_hrtimer"),
        (other, Irq(24), PERF, "timer", "perf_swevent_hrtimer"), // there too
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
        (other, WakeUp, 0, "wake-up", ""),
        (other, LateTimer { pid: 0, idle: None }, 0, "late-timer", "after idle"),
        (other, LateTimer { pid: 42, idle: None }, 0, "late-timer", "after bash"),
        (other, LateTimer { pid: What::UNKNOWN, idle: None }, 0, "late-timer", ""),
        (other, LateTimer { pid: What::NOBODY, idle: None }, 0, "late-timer", "on a busy CPU"),
        (other, WakingCall { elsewhere: false }, 0, "waking-call", ""),
        (other, WakingCall { elsewhere: true }, 0, "waking-call", ""),
        (other, Delay, 0, "scheduling-delay", ""),
        (other, Kernel, 0, "victim-kernel", ""),
        (other, Slower, 0, "slower", ""),
        (other, NoEvent, 0, "vm-or-hardware", ""),
        (other, Dark, 0, "not-attributable", ""),
        (other, Unseen, 0, "not-attributable", "unseen switch"),
    ];
    let mut old = run("other", vec![]);
    old.machine.kernel = "6.1.0-50-amd64 #1 SMP".to_owned();
    let old = RunContext::new(&old, names().into());
    for (pid, priority, id) in
        [(0, 120, "rt-throttling"), (42, 100, "rt-throttling"), (42, 99, "thread")]
    {
        let frame = frame(thread(pid, priority), 0, fifo);
        let found = CLAIMS.iter().find(|(_, claim)| claim(&frame, &old).is_some());
        assert_eq!(
            found.map(|(source, _)| source.id),
            Some(id),
            "before Linux 6.12: {pid}, {priority}"
        );
    }
    let mut program = run("other", vec![]);
    program.program = Some(Program::default());
    for (quota_us, id) in [(None, "scheduling-delay"), (Some((1, 2)), "cpu-quota")] {
        program.limits = Some(CpuLimits { quota_us, ..CpuLimits::default() });
        let known = RunContext::new(&program, names().into());
        let frame = frame(thread(0, 120), 0, other);
        let found = CLAIMS.iter().find(|(_, claim)| claim(&frame, &known).is_some());
        assert_eq!(found.map(|(source, _)| source.id), Some(id), "an idle CPU, {quota_us:?}");
    }
    let mut used = HashSet::new();
    for (fifo, what, function, id, name) in cases {
        let frame = frame(what, function, fifo);
        let found =
            CLAIMS.iter().find_map(|(source, claim)| Some((source.id, claim(&frame, &known)?)));
        let (source, claim) = found.unwrap_or_else(|| panic!("{what:?} has no source"));
        assert_eq!((source, &*claim.name), (id, name), "{what:?}, function {function:#x}");
        used.insert(source);
    }
    for source in SOURCES {
        assert!(used.contains(source.id), "no frame is {}", source.id);
    }
}
