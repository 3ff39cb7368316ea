//! The kernel events that anechoic records, one row per event.
//!
//! This table alone decides which events are enabled, which fields are kept, and which of these are code
//! addresses or have names; `measure` and `attribute` both read it.

use crate::text::texts;

texts! {
    /// The kind of thing that a [`crate::Name`] names.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum NameKind {
        /// The comm of a thread, by pid, from `ticks` on.
        Task = "task",
        /// A kernel symbol, by address.
        Symbol = "symbol",
        /// The action name of a device interrupt, by interrupt number.
        Irq = "irq",
        /// The file of the program that a process executes, by its thread. It is used during a run and not stored.
        Program = "program",
        /// The number of the hierarchy of a control group, a colon and its path, by its number, which groups of several
        /// hierarchies may have. It is used during a run and not stored.
        Cgroup = "cgroup",
        /// A call stack, by its number: the functions from the outermost to the innermost, separated by `;`. Those of the kernel
        /// end in [`KERNEL_FUNCTION`].
        Stack = "stack",
    }
}

/// What the names of the kernel's functions end in, in call stacks.
pub const KERNEL_FUNCTION: &str = "_[k]";

/// A text field of an event that gives a number its name.
#[derive(Debug, Clone, Copy)]
pub struct NameField {
    /// The kind of the name.
    pub kind: NameKind,
    /// The field with the number.
    pub key: &'static str,
    /// The field with the name.
    pub text: &'static str,
    /// The field with a number that is put before the name, with a colon, if there is one.
    pub prefix: Option<&'static str>,
}

impl NameField {
    const fn new(kind: NameKind, key: &'static str, text: &'static str) -> Self {
        Self { kind, key, text, prefix: None }
    }
}

/// A kernel event, and which of its data is kept.
#[derive(Debug, Clone, Copy)]
pub struct EventSpec {
    /// The event.
    pub kind: EventKind,
    /// Its directory under `events/` in tracefs.
    pub system: &'static str,
    /// Its name there.
    pub name: &'static str,
    /// The fields that become [`crate::KernelEvent::args`], in order; at most three.
    pub args: &'static [&'static str],
    /// Those of these fields that are kernel code addresses and need a symbol.
    pub symbols: &'static [&'static str],
    /// The text fields that give a number its name.
    pub names: &'static [NameField],
    /// The role of the event on its CPU.
    pub role: Role,
    /// The row of /proc/interrupts that counts the interrupts starting with this event, if any.
    pub counted: Option<&'static str>,
}

/// Fields that are addresses of data: objects of the kernel, and what a page fault was about.
const DATA: [&str; 6] = ["address", "ip", "csd", "hrtimer", "timer", "work"];

impl EventSpec {
    /// Returns whether this field is an address, of code or data, which a recording must not show.
    #[must_use]
    pub(crate) fn is_address(&self, field: &str) -> bool {
        self.symbols.contains(&field) || DATA.contains(&field)
    }
}

/// The role of an event on its CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// A handler begins.
    Enter(Handler),
    /// A handler has ended.
    Exit(Handler),
    /// Something happens instantly, or has no event for its end.
    Instant,
    /// Something is sent, queued, armed or woken, and takes effect later, possibly on another CPU.
    Cause,
}

/// What the kernel does between an entry event and an exit event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Handler {
    /// An interrupt vector.
    Vector(Vector),
    /// A device interrupt's handlers.
    Irq,
    /// A softirq.
    Softirq,
    /// A tasklet.
    Tasklet,
    /// A function call requested by another CPU.
    Request,
    /// The function of an expired high-resolution timer.
    Hrtimer,
    /// The function of an expired timer-wheel timer.
    Timer,
    /// A work item.
    Work,
}

/// An interrupt vector that has entry and exit events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Vector {
    /// The local timer: the timer tick and high-resolution timers.
    LocalTimer,
    /// Makes a CPU check its run queue.
    Reschedule,
    /// Makes several CPUs call a function.
    CallFunction,
    /// Makes one CPU call a function.
    CallFunctionSingle,
    /// Work that a CPU sent itself, to run outside an NMI or with interrupts disabled.
    IrqWork,
    /// A platform-specific interrupt (x86).
    PlatformIpi,
    /// An inter-processor interrupt of AArch64; all kinds share one event.
    ArmIpi,
    /// Thermal throttling.
    Thermal,
    /// A machine check threshold.
    Threshold,
    /// A deferred machine check.
    DeferredError,
    /// The interrupt controller's error.
    Error,
    /// An interrupt without a source.
    Spurious,
}

use Handler::{Hrtimer, Irq, Request, Softirq, Tasklet, Timer, Vector as OfVector, Work};
use Role::{Cause, Enter, Exit, Instant};
use Vector::{
    ArmIpi, CallFunction, CallFunctionSingle, DeferredError, Error, IrqWork, LocalTimer,
    PlatformIpi, Reschedule, Spurious, Thermal, Threshold,
};

macro_rules! events {
    ($($kind:ident = $id:literal, $system:literal, $name:literal, $args:expr, $symbols:expr, $names:expr,
        $role:expr, [$($counted:literal)?];)*) => {
        /// A kernel event that anechoic knows. Its number is the one in the `events` table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum EventKind { $(
            #[doc = concat!("`", $system, ":", $name, "`")]
            $kind = $id,
        )* }

        impl EventKind {
            /// Returns the event with this number in the `events` table, if known.
            #[must_use]
            pub const fn from_number(number: u16) -> Option<Self> {
                match number {
                    $($id => Some(Self::$kind),)*
                    _ => None,
                }
            }

            /// Returns the role of the event on its CPU.
            #[must_use]
            pub const fn role(self) -> Role {
                match self { $(Self::$kind => $role,)* }
            }
        }

        /// All events, one row each, in the order of their numbers.
        pub const EVENTS: &[EventSpec] = &[ $(EventSpec {
            kind: EventKind::$kind, system: $system, name: $name, args: $args,
            symbols: $symbols, names: $names, role: $role, counted: first(&[$($counted)?]),
        },)* ];
    };
}

const NEXT_TASK: NameField = NameField::new(NameKind::Task, "next_pid", "next_comm");
const PREV_TASK: NameField = NameField::new(NameKind::Task, "prev_pid", "prev_comm");
const TASK: NameField = NameField::new(NameKind::Task, "pid", "comm");
const PROGRAM: NameField = NameField::new(NameKind::Program, "pid", "filename");
const CGROUP: NameField = NameField {
    prefix: Some("dst_root"),
    ..NameField::new(NameKind::Cgroup, "dst_id", "dst_path")
};
const IRQ_NAME: NameField = NameField::new(NameKind::Irq, "irq", "name");

// `ipi_send_cpumask` becomes one event per CPU of its mask, with that CPU as the first argument. `hrtimer_start` becomes a second
// event where the timer may expire later than asked for.
events! {
    LocalTimerEntry = 1, "irq_vectors", "local_timer_entry", &["vector"], &[], &[], Enter(OfVector(LocalTimer)), ["LOC"];
    LocalTimerExit = 2, "irq_vectors", "local_timer_exit", &["vector"], &[], &[], Exit(OfVector(LocalTimer)), [];
    RescheduleEntry = 3, "irq_vectors", "reschedule_entry", &["vector"], &[], &[], Enter(OfVector(Reschedule)), ["RES"];
    RescheduleExit = 4, "irq_vectors", "reschedule_exit", &["vector"], &[], &[], Exit(OfVector(Reschedule)), [];
    CallFunctionEntry = 5, "irq_vectors", "call_function_entry", &["vector"], &[], &[], Enter(OfVector(CallFunction)), ["CAL"];
    CallFunctionExit = 6, "irq_vectors", "call_function_exit", &["vector"], &[], &[], Exit(OfVector(CallFunction)), [];
    CallFunctionSingleEntry = 7, "irq_vectors", "call_function_single_entry", &["vector"], &[], &[], Enter(OfVector(CallFunctionSingle)), ["CAL"];
    CallFunctionSingleExit = 8, "irq_vectors", "call_function_single_exit", &["vector"], &[], &[], Exit(OfVector(CallFunctionSingle)), [];
    IrqWorkEntry = 9, "irq_vectors", "irq_work_entry", &["vector"], &[], &[], Enter(OfVector(IrqWork)), ["IWI"];
    IrqWorkExit = 10, "irq_vectors", "irq_work_exit", &["vector"], &[], &[], Exit(OfVector(IrqWork)), [];
    PlatformIpiEntry = 11, "irq_vectors", "x86_platform_ipi_entry", &["vector"], &[], &[], Enter(OfVector(PlatformIpi)), ["PLT"];
    PlatformIpiExit = 12, "irq_vectors", "x86_platform_ipi_exit", &["vector"], &[], &[], Exit(OfVector(PlatformIpi)), [];
    ThermalEntry = 13, "irq_vectors", "thermal_apic_entry", &["vector"], &[], &[], Enter(OfVector(Thermal)), ["TRM"];
    ThermalExit = 14, "irq_vectors", "thermal_apic_exit", &["vector"], &[], &[], Exit(OfVector(Thermal)), [];
    ThresholdEntry = 15, "irq_vectors", "threshold_apic_entry", &["vector"], &[], &[], Enter(OfVector(Threshold)), ["THR"];
    ThresholdExit = 16, "irq_vectors", "threshold_apic_exit", &["vector"], &[], &[], Exit(OfVector(Threshold)), [];
    DeferredErrorEntry = 17, "irq_vectors", "deferred_error_apic_entry", &["vector"], &[], &[], Enter(OfVector(DeferredError)), ["DFR"];
    DeferredErrorExit = 18, "irq_vectors", "deferred_error_apic_exit", &["vector"], &[], &[], Exit(OfVector(DeferredError)), [];
    ErrorEntry = 19, "irq_vectors", "error_apic_entry", &["vector"], &[], &[], Enter(OfVector(Error)), ["ERR"];
    ErrorExit = 20, "irq_vectors", "error_apic_exit", &["vector"], &[], &[], Exit(OfVector(Error)), [];
    SpuriousEntry = 21, "irq_vectors", "spurious_apic_entry", &["vector"], &[], &[], Enter(OfVector(Spurious)), ["SPU"];
    SpuriousExit = 22, "irq_vectors", "spurious_apic_exit", &["vector"], &[], &[], Exit(OfVector(Spurious)), [];
    ArmIpiEntry = 23, "ipi", "ipi_entry", &["reason"], &[], &[], Enter(OfVector(ArmIpi)), [];
    ArmIpiExit = 24, "ipi", "ipi_exit", &["reason"], &[], &[], Exit(OfVector(ArmIpi)), [];
    IrqEntry = 30, "irq", "irq_handler_entry", &["irq"], &[], &[IRQ_NAME], Enter(Irq), [];
    IrqExit = 31, "irq", "irq_handler_exit", &["irq", "ret"], &[], &[], Exit(Irq), [];
    SoftirqEntry = 32, "irq", "softirq_entry", &["vec"], &[], &[], Enter(Softirq), [];
    SoftirqExit = 33, "irq", "softirq_exit", &["vec"], &[], &[], Exit(Softirq), [];
    TaskletEntry = 34, "irq", "tasklet_entry", &["func"], &["func"], &[], Enter(Tasklet), [];
    TaskletExit = 35, "irq", "tasklet_exit", &["func"], &["func"], &[], Exit(Tasklet), [];
    Switch = 40, "sched", "sched_switch", &["next_pid", "prev_state", "next_prio"], &[], &[PREV_TASK, NEXT_TASK], Instant, [];
    Waking = 41, "sched", "sched_waking", &["pid", "target_cpu"], &[], &[TASK], Cause, [];
    Nmi = 45, "nmi", "nmi_handler", &["handler", "delta_ns", "handled"], &["handler"], &[], Instant, ["NMI"];
    PageFaultUser = 46, "exceptions", "page_fault_user", &["address", "ip", "error_code"], &[], &[], Instant, [];
    PageFaultKernel = 47, "exceptions", "page_fault_kernel", &["address", "ip", "error_code"], &[], &[], Instant, [];
    IpiSendCpu = 50, "ipi", "ipi_send_cpu", &["cpu", "callsite", "callback"], &["callsite", "callback"], &[], Cause, [];
    IpiSendMask = 51, "ipi", "ipi_send_cpumask", &["cpumask", "callsite", "callback"], &["callsite", "callback"], &[], Cause, [];
    CsdQueue = 52, "csd", "csd_queue_cpu", &["cpu", "func", "csd"], &["func"], &[], Cause, [];
    CsdEntry = 53, "csd", "csd_function_entry", &["func", "csd"], &["func"], &[], Enter(Request), [];
    CsdExit = 54, "csd", "csd_function_exit", &["func", "csd"], &["func"], &[], Exit(Request), [];
    HrtimerEntry = 60, "timer", "hrtimer_expire_entry", &["hrtimer", "function", "now"], &["function"], &[], Enter(Hrtimer), [];
    HrtimerExit = 61, "timer", "hrtimer_expire_exit", &["hrtimer"], &[], &[], Exit(Hrtimer), [];
    HrtimerStart = 62, "timer", "hrtimer_start", &["hrtimer", "function", "expires"], &["function"], &[], Cause, [];
    TimerEntry = 63, "timer", "timer_expire_entry", &["timer", "function", "now"], &["function"], &[], Enter(Timer), [];
    TimerExit = 64, "timer", "timer_expire_exit", &["timer"], &[], &[], Exit(Timer), [];
    TimerStart = 65, "timer", "timer_start", &["timer", "function", "expires"], &["function"], &[], Cause, [];
    HrtimerSoft = 66, "timer", "hrtimer_start", &["hrtimer", "softexpires"], &[], &[], Cause, [];
    WorkQueue = 70, "workqueue", "workqueue_queue_work", &["work", "function", "cpu"], &["function"], &[], Cause, [];
    WorkStart = 71, "workqueue", "workqueue_execute_start", &["work", "function"], &["function"], &[], Enter(Work), [];
    WorkEnd = 72, "workqueue", "workqueue_execute_end", &["work", "function"], &["function"], &[], Exit(Work), [];
    Signal = 80, "signal", "signal_generate", &["pid", "sig"], &[], &[], Cause, [];
    NewTask = 81, "task", "task_newtask", &["pid", "clone_flags"], &[], &[TASK], Cause, [];
    Exec = 82, "sched", "sched_process_exec", &["pid", "old_pid"], &[], &[PROGRAM], Cause, [];
    CgroupAttach = 83, "cgroup", "cgroup_attach_task", &["pid", "dst_id", "dst_root"], &[], &[CGROUP], Cause, [];
    CpuIdle = 84, "power", "cpu_idle", &["state"], &[], &[], Instant, [];
}

const fn first(counted: &[&'static str]) -> Option<&'static str> {
    if counted.is_empty() { None } else { Some(counted[0]) }
}

impl EventKind {
    /// Returns whether the thread of such an event certainly is the one switched in last.
    ///
    /// Between `sched_switch` and the end of the switch, with interrupts disabled, events still carry the old
    /// thread.
    #[must_use]
    pub const fn has_current_thread(self) -> bool {
        match self.role() {
            Enter(handler) => !matches!(handler, Tasklet | Request),
            _ => matches!(self, Self::PageFaultUser | Self::Switch),
        }
    }

    /// Returns the row of the event.
    #[must_use]
    pub fn spec(self) -> &'static EventSpec {
        EVENTS.iter().find(|spec| spec.kind == self).expect("every kind is made by its row")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_match_the_names() {
        for spec in EVENTS {
            let ends =
                |suffixes: &[&str]| suffixes.iter().any(|suffix| spec.name.ends_with(suffix));
            let is_entry = ends(&["_entry", "execute_start"]);
            let is_exit = ends(&["_exit", "execute_end"]);
            assert_eq!(matches!(spec.role, Role::Enter(_)), is_entry, "{}", spec.name);
            assert_eq!(matches!(spec.role, Role::Exit(_)), is_exit, "{}", spec.name);
            assert_eq!(spec.role, spec.kind.role());
            if let Role::Enter(handler) = spec.role {
                let exits = EVENTS.iter().filter(|exit| exit.role == Role::Exit(handler));
                let exit = exits.map(|exit| exit.name).collect::<Vec<_>>();
                let stem = |name: &str| name.rsplit_once('_').map(|(stem, _)| stem.to_owned());
                assert_eq!(exit.len(), 1, "{}", spec.name);
                assert_eq!(stem(exit[0]), stem(spec.name), "it ends what it begins");
            }
        }
    }
}
