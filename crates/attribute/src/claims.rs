//! Decides which source the time of a frame belongs to, with one function and one row per source of the
//! catalogue.

use crate::frame::{Away, Frame, Vector, What};
use crate::names::Names;
use anechoic_recording::EventKind;
use anechoic_recording::run::Run;
use anechoic_recording::sources::{self, SOFTIRQS, Source};
use anechoic_recording::wakeup::{AFTER_IDLE, IdleState};
use std::collections::HashMap;
use std::sync::Arc;

/// The names of a run, and the tool's own threads.
#[derive(Debug)]
pub struct RunContext {
    names: Arc<Names>,
    own: HashMap<i32, Arc<str>>,
    idle_states: Vec<IdleState>,
    /// Whether expirations of timers were recorded.
    expirations: bool,
    /// Whether the kernel may have a fair server.
    fair_server: bool,
    /// Whether a program was recorded whose cgroup had no CPU quota.
    without_quota: bool,
}

impl RunContext {
    /// Collects what is known about a run.
    #[must_use]
    pub fn new(run: &Run, names: Arc<Names>) -> Self {
        let loops = run.cpus.iter().filter(|_| run.program.is_none());
        let loops = loops.map(|cpu| (cpu.tid, format!("loop of CPU {}", cpu.cpu)));
        let others = run.own_threads.iter().map(|thread| (thread.tid, thread.role.clone()));
        let own = others.chain(loops).map(|(tid, role)| (tid, role.into())).collect();
        let recorded = run.trace.iter().flat_map(|trace| &trace.events).map(|event| event.number);
        let mut recorded = recorded.peekable();
        let expirations = recorded.peek().is_none()
            || recorded.any(|number| number == EventKind::HrtimerEntry as u16);
        let fair_server = run.machine.has_fair_server() != Some(false);
        let has_quota = run.limits.as_ref().is_some_and(|limits| limits.quota_us.is_some());
        let without_quota = run.program.is_some() && !has_quota;
        let idle_states = run.idle_states.clone();
        Self { names, own, idle_states, expirations, fair_server, without_quota }
    }

    /// Returns the names of the run's numbers.
    #[must_use]
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Returns whether the recording has the expirations of timers, as far as it lists its events.
    #[must_use]
    pub(crate) fn has_expirations(&self) -> bool {
        self.expirations
    }

    /// Returns the name of an idle state of a CPU.
    #[must_use]
    pub(crate) fn idle_state(&self, cpu: u32, state: u8) -> Option<Arc<str>> {
        let known =
            |known: &&IdleState| known.state == u32::from(state) && known.cpus.contains(&cpu);
        self.idle_states.iter().find(known).map(|known| known.name.as_str().into())
    }

    /// Returns the role of thread `tid`, if it belongs to the tool.
    #[must_use]
    pub fn own(&self, tid: i32) -> Option<Arc<str>> {
        self.own.get(&tid).map(Arc::clone)
    }
}

/// What a source reports about a frame that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The instance of the source: device, vector, thread; empty if there is only one.
    pub name: Arc<str>,
    /// The kernel function that ran, if known.
    pub function: Option<Arc<str>>,
}

/// Returns the names of a frame if it belongs to the source.
pub type ClaimOf = fn(&Frame, &RunContext) -> Option<Claim>;

/// All sources with their claims. The first claim in this order counts, so a source that is a special case of
/// another stands before it.
pub const CLAIMS: &[(&Source, ClaimOf)] = &[
    (&sources::TIMER_TICK, timer_tick),
    (&sources::TIMER, timer),
    (&sources::DEVICE_IRQ, device_irq),
    (&sources::SOFTIRQ, softirq),
    (&sources::IPI, ipi),
    (&sources::PLATFORM_IRQ, platform_irq),
    (&sources::NMI, nmi),
    (&sources::PAGE_FAULT, page_fault),
    (&sources::STOPPED, stopped),
    (&sources::BLOCKED, blocked),
    (&sources::ANECHOIC, anechoic),
    (&sources::RT_THROTTLING, rt_throttling),
    (&sources::WAKE_UP, wake_up),
    (&sources::LATE_TIMER, late_timer),
    (&sources::WAKING_CALL, waking_call),
    (&sources::SCHEDULING_DELAY, scheduling_delay),
    (&sources::CPU_QUOTA, cpu_quota),
    (&sources::FAIR_SERVER, fair_server),
    (&sources::THREAD, thread),
    (&sources::VICTIM_KERNEL, victim_kernel),
    (&sources::SLOWER, slower),
    (&sources::VM_OR_HARDWARE, vm_or_hardware),
    (&sources::NOT_ATTRIBUTABLE, not_attributable),
];

/// Claims a frame with a name only.
fn named(name: impl Into<Arc<str>>) -> Option<Claim> {
    Some(Claim { name: name.into(), function: None })
}

/// Claims a frame for a source that has only one instance.
fn nameless(known: &RunContext, is_its_own: bool) -> Option<Claim> {
    is_its_own.then(|| Claim { name: known.names().none(), function: None })
}

/// Returns the function at `address`, if any.
fn function(known: &RunContext, address: u64) -> Option<Arc<str>> {
    (address != 0).then(|| known.names().function(address))
}

/// A timer interrupt belongs to the timer tick if the tick's timer expired in it. Only the expired timer's
/// row has the function.
fn timer_tick(frame: &Frame, known: &RunContext) -> Option<Claim> {
    let (expired, function) = match frame.what {
        What::Vector(Vector::LocalTimer) | What::Irq(_) => (frame.function, None),
        What::Hrtimer { function: expired, .. } => (expired, function(known, expired)),
        _ => return None,
    };
    known.names().is_tick(expired).then(|| Claim { name: known.names().none(), function })
}

/// The timer tick's frames are already claimed. The interrupt around an expired timer gets that timer's name,
/// but not its function: rows with a function are expirations.
fn timer(frame: &Frame, known: &RunContext) -> Option<Claim> {
    let name = |expired| known.names().function(expired);
    match frame.what {
        What::Vector(Vector::LocalTimer) if frame.function == 0 => {
            named(if known.has_expirations() { "nothing expired" } else { "not recorded" })
        }
        What::Irq(_) if frame.function == 0 => None,
        What::Vector(Vector::LocalTimer) | What::Irq(_) => named(name(frame.function)),
        What::Hrtimer { function: expired, .. } | What::Timer { function: expired, .. } => {
            Some(Claim { name: name(expired), function: function(known, expired) })
        }
        _ => None,
    }
}

fn device_irq(frame: &Frame, known: &RunContext) -> Option<Claim> {
    match frame.what {
        What::Irq(irq) => named(known.names().irq(irq)),
        _ => None,
    }
}

fn softirq(frame: &Frame, known: &RunContext) -> Option<Claim> {
    match frame.what {
        What::Softirq(vector) => match SOFTIRQS.get(vector as usize) {
            Some(name) => named(*name),
            None => named(format!("vector {vector}")),
        },
        What::Tasklet { function: address } => {
            Some(Claim { name: SOFTIRQS[6].into(), function: function(known, address) })
        }
        _ => None,
    }
}

fn ipi(frame: &Frame, known: &RunContext) -> Option<Claim> {
    let (vector, address) = match frame.what {
        What::Vector(vector) => (vector, frame.function),
        // Requests are also served at the end of another interrupt.
        What::Csd { function, vector, .. } => (vector.unwrap_or(Vector::CallFunction), function),
        _ => return None,
    };
    let name = match vector {
        Vector::Reschedule => "reschedule",
        Vector::CallFunctionSingle => "call function single",
        Vector::IrqWork => "irq work",
        Vector::PlatformIpi => "platform",
        Vector::ArmIpi => "arm",
        _ if matches!(frame.what, What::Csd { .. }) || vector == Vector::CallFunction => {
            "call function"
        }
        _ => return None,
    };
    Some(Claim { name: name.into(), function: function(known, address) })
}

fn platform_irq(frame: &Frame, _: &RunContext) -> Option<Claim> {
    let What::Vector(vector) = frame.what else { return None };
    match vector {
        Vector::Thermal => named("thermal"),
        Vector::Threshold => named("threshold"),
        Vector::DeferredError => named("deferred error"),
        Vector::Error => named("error"),
        Vector::Spurious => named("spurious"),
        _ => None,
    }
}

fn nmi(frame: &Frame, known: &RunContext) -> Option<Claim> {
    let What::Nmi { handler } = frame.what else { return None };
    Some(Claim { name: known.names().none(), function: function(known, handler) })
}

fn page_fault(frame: &Frame, _: &RunContext) -> Option<Claim> {
    match frame.what {
        What::PageFault { user } | What::Away(Away::Fault { user }) => {
            named(if user { "user" } else { "kernel" })
        }
        _ => None,
    }
}

fn stopped(frame: &Frame, _: &RunContext) -> Option<Claim> {
    match frame.what {
        What::Away(Away::Traced) => named("by a debugger"),
        What::Away(Away::Stopped { signal }) => named(match signal {
            19 => "SIGSTOP",
            20 => "SIGTSTP",
            21 => "SIGTTIN",
            22 => "SIGTTOU",
            _ => "by a signal",
        }),
        _ => None,
    }
}

fn blocked(frame: &Frame, known: &RunContext) -> Option<Claim> {
    nameless(known, matches!(frame.what, What::Away(Away::Blocked)))
}

fn anechoic(frame: &Frame, known: &RunContext) -> Option<Claim> {
    match frame.what {
        What::Thread { pid, .. } => named(known.own(pid)?),
        _ => None,
    }
}

/// Idle time, and before there was a fair server also that of ordinary threads: nothing else lets them run.
fn rt_throttling(frame: &Frame, known: &RunContext) -> Option<Claim> {
    let What::Thread { pid, priority } = frame.what else { return None };
    let throttled = pid == 0 || (!known.fair_server && priority >= FAIR_PRIORITY);
    nameless(known, frame.fifo && throttled)
}

fn wake_up(frame: &Frame, known: &RunContext) -> Option<Claim> {
    nameless(known, frame.what == What::WakeUp)
}

fn late_timer(frame: &Frame, known: &RunContext) -> Option<Claim> {
    match frame.what {
        What::LateTimer { pid: 0, .. } => named(AFTER_IDLE),
        What::LateTimer { pid: What::NOBODY, .. } => named("on a busy CPU"),
        What::LateTimer { pid: ..0, .. } => named(known.names().none()),
        What::LateTimer { pid, .. } => {
            named(format!("after {}", known.names().task(pid, frame.start)))
        }
        _ => None,
    }
}

fn waking_call(frame: &Frame, known: &RunContext) -> Option<Claim> {
    nameless(known, matches!(frame.what, What::WakingCall { .. }))
}

/// An idle CPU that a thread of a program waits for is only late, unless a quota may hold the thread back.
fn scheduling_delay(frame: &Frame, known: &RunContext) -> Option<Claim> {
    let idles = matches!(frame.what, What::Thread { pid: 0, .. });
    nameless(known, frame.what == What::Delay || (idles && known.without_quota))
}

/// A real-time victim's idle time is already claimed by `rt_throttling`.
fn cpu_quota(frame: &Frame, known: &RunContext) -> Option<Claim> {
    nameless(known, matches!(frame.what, What::Throttled | What::Thread { pid: 0, .. }))
}

/// The lowest kernel priority value of threads that are not real-time.
pub(crate) const FAIR_PRIORITY: i32 = 100;

fn fair_server(frame: &Frame, known: &RunContext) -> Option<Claim> {
    match frame.what {
        What::Thread { pid, priority } if frame.fifo && priority >= FAIR_PRIORITY => {
            named(known.names().task(pid, frame.start))
        }
        _ => None,
    }
}

/// A work item belongs to the worker that runs it.
fn thread(frame: &Frame, known: &RunContext) -> Option<Claim> {
    let (pid, address) = match frame.what {
        What::Thread { pid, .. } => (pid, frame.function),
        What::Work { pid, function, .. } => (pid, function),
        _ => return None,
    };
    // A thread that executes another program meanwhile is seen with its new name when it is switched out.
    let name = known.names().task(pid, frame.end);
    Some(Claim { name, function: function(known, address) })
}

fn victim_kernel(frame: &Frame, known: &RunContext) -> Option<Claim> {
    nameless(known, frame.what == What::Kernel)
}

fn slower(frame: &Frame, known: &RunContext) -> Option<Claim> {
    nameless(known, frame.what == What::Slower)
}

fn vm_or_hardware(frame: &Frame, known: &RunContext) -> Option<Claim> {
    nameless(known, frame.what == What::NoEvent)
}

fn not_attributable(frame: &Frame, known: &RunContext) -> Option<Claim> {
    match frame.what {
        What::Dark => named(known.names().none()),
        What::Unseen => named("unseen switch"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::VictimState;
    use anechoic_lab::builders;
    use anechoic_recording::run::RecordedEvent;

    fn context(run: &Run) -> RunContext {
        RunContext::new(run, Arc::new(Names::new([])))
    }

    #[test]
    fn expirations_are_known_unless_the_events_are_listed_without_them() {
        let cases: [(&str, &[EventKind], bool); 4] = [
            ("not listed", &[], true),
            ("with them", &[EventKind::Switch, EventKind::HrtimerEntry], true),
            ("alone", &[EventKind::HrtimerEntry], true),
            ("without them", &[EventKind::Switch, EventKind::HrtimerStart], false),
        ];
        for (name, kinds, expected) in cases {
            let mut run = builders::run("detours", builders::clock(1_000_000_000), vec![]);
            let event = |kind: &EventKind| RecordedEvent {
                number: *kind as u16,
                name: String::new(),
                args: vec![],
            };
            let mut trace = builders::trace();
            trace.events = kinds.iter().map(event).collect();
            run.trace = Some(trace);
            assert_eq!(context(&run).has_expirations(), expected, "case: {name}");
        }
    }

    #[test]
    fn who_was_stopped_was_so_by_a_signal_or_a_debugger() {
        let run = builders::run("detours", builders::clock(1_000_000_000), vec![]);
        let known = context(&run);
        let name = |what: What| {
            let frame = Frame {
                what,
                state: VictimState::Stopped,
                fifo: false,
                start: 0,
                end: 1,
                self_ticks: 1,
                parent: None,
                function: 0,
                sender: None,
            };
            stopped(&frame, &known).map(|claim| claim.name.to_string())
        };
        let signal = |signal| name(What::Away(Away::Stopped { signal }));
        for (number, expected) in [
            (0, "by a signal"),
            (19, "SIGSTOP"),
            (20, "SIGTSTP"),
            (21, "SIGTTIN"),
            (22, "SIGTTOU"),
            (23, "by a signal"),
        ] {
            assert_eq!(signal(number).as_deref(), Some(expected), "{number}");
        }
        assert_eq!(name(What::Away(Away::Traced)).as_deref(), Some("by a debugger"));
        assert_eq!(name(What::Gap), None);
    }
}
