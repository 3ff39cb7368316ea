//! The kernel events that anechoic records, one row an event.
//!
//! This table alone decides what is enabled, which fields are kept and which of them are
//! code addresses or carry names; `measure` and `attribute` both read it.

use crate::rows::NameKind;

/// A text field of an event that names a number.
#[derive(Debug, Clone, Copy)]
pub struct NameField {
    /// What it names.
    pub kind: NameKind,
    /// Field with the number.
    pub key: &'static str,
    /// Field with the text.
    pub text: &'static str,
}

/// One row of the table: a kernel event and what of it is kept.
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
    /// Those of them that are kernel code addresses and want a symbol.
    pub symbols: &'static [&'static str],
    /// Text fields that name a number.
    pub names: &'static [NameField],
    /// Whether the event matters on CPUs that are not measured (it says who caused something elsewhere).
    pub cross_cpu: bool,
}

macro_rules! events {
    ($($kind:ident = $id:literal, $system:literal, $name:literal, $args:expr, $symbols:expr, $names:expr, $cross:literal;)*) => {
        /// A kernel event that anechoic knows. The number is the one in the `events` table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum EventKind { $(
            #[doc = concat!("`", $system, ":", $name, "`")]
            $kind = $id,
        )* }

        impl EventKind {
            /// The event with this number in the `events` table, if it is known.
            #[must_use]
            pub const fn from_number(number: u16) -> Option<Self> {
                match number {
                    $($id => Some(Self::$kind),)*
                    _ => None,
                }
            }
        }

        /// All events, one row each, in the order of their numbers.
        pub const EVENTS: &[EventSpec] = &[ $(EventSpec {
            kind: EventKind::$kind, system: $system, name: $name, args: $args,
            symbols: $symbols, names: $names, cross_cpu: $cross,
        },)* ];
    };
}

const NEXT_TASK: NameField = NameField { kind: NameKind::Task, key: "next_pid", text: "next_comm" };
const PREV_TASK: NameField = NameField { kind: NameKind::Task, key: "prev_pid", text: "prev_comm" };
const WOKEN_TASK: NameField = NameField { kind: NameKind::Task, key: "pid", text: "comm" };
const IRQ_NAME: NameField = NameField { kind: NameKind::Irq, key: "irq", text: "name" };

// `ipi_send_cpumask` becomes one event per CPU of its mask, with that CPU as the first argument.
events! {
    LocalTimerEntry = 1, "irq_vectors", "local_timer_entry", &["vector"], &[], &[], false;
    LocalTimerExit = 2, "irq_vectors", "local_timer_exit", &["vector"], &[], &[], false;
    RescheduleEntry = 3, "irq_vectors", "reschedule_entry", &["vector"], &[], &[], false;
    RescheduleExit = 4, "irq_vectors", "reschedule_exit", &["vector"], &[], &[], false;
    CallFunctionEntry = 5, "irq_vectors", "call_function_entry", &["vector"], &[], &[], false;
    CallFunctionExit = 6, "irq_vectors", "call_function_exit", &["vector"], &[], &[], false;
    CallFunctionSingleEntry = 7, "irq_vectors", "call_function_single_entry", &["vector"], &[], &[], false;
    CallFunctionSingleExit = 8, "irq_vectors", "call_function_single_exit", &["vector"], &[], &[], false;
    IrqWorkEntry = 9, "irq_vectors", "irq_work_entry", &["vector"], &[], &[], false;
    IrqWorkExit = 10, "irq_vectors", "irq_work_exit", &["vector"], &[], &[], false;
    PlatformIpiEntry = 11, "irq_vectors", "x86_platform_ipi_entry", &["vector"], &[], &[], false;
    PlatformIpiExit = 12, "irq_vectors", "x86_platform_ipi_exit", &["vector"], &[], &[], false;
    ThermalEntry = 13, "irq_vectors", "thermal_apic_entry", &["vector"], &[], &[], false;
    ThermalExit = 14, "irq_vectors", "thermal_apic_exit", &["vector"], &[], &[], false;
    ThresholdEntry = 15, "irq_vectors", "threshold_apic_entry", &["vector"], &[], &[], false;
    ThresholdExit = 16, "irq_vectors", "threshold_apic_exit", &["vector"], &[], &[], false;
    DeferredErrorEntry = 17, "irq_vectors", "deferred_error_apic_entry", &["vector"], &[], &[], false;
    DeferredErrorExit = 18, "irq_vectors", "deferred_error_apic_exit", &["vector"], &[], &[], false;
    ErrorEntry = 19, "irq_vectors", "error_apic_entry", &["vector"], &[], &[], false;
    ErrorExit = 20, "irq_vectors", "error_apic_exit", &["vector"], &[], &[], false;
    SpuriousEntry = 21, "irq_vectors", "spurious_apic_entry", &["vector"], &[], &[], false;
    SpuriousExit = 22, "irq_vectors", "spurious_apic_exit", &["vector"], &[], &[], false;
    ArmIpiEntry = 23, "ipi", "ipi_entry", &["reason"], &[], &[], false;
    ArmIpiExit = 24, "ipi", "ipi_exit", &["reason"], &[], &[], false;
    IrqEntry = 30, "irq", "irq_handler_entry", &["irq"], &[], &[IRQ_NAME], false;
    IrqExit = 31, "irq", "irq_handler_exit", &["irq", "ret"], &[], &[], false;
    SoftirqEntry = 32, "irq", "softirq_entry", &["vec"], &[], &[], false;
    SoftirqExit = 33, "irq", "softirq_exit", &["vec"], &[], &[], false;
    TaskletEntry = 34, "irq", "tasklet_entry", &["func"], &["func"], &[], false;
    TaskletExit = 35, "irq", "tasklet_exit", &["func"], &["func"], &[], false;
    Switch = 40, "sched", "sched_switch", &["next_pid", "prev_state", "next_prio"], &[], &[PREV_TASK, NEXT_TASK], false;
    Waking = 41, "sched", "sched_waking", &["pid", "target_cpu"], &[], &[WOKEN_TASK], true;
    Nmi = 45, "nmi", "nmi_handler", &["handler", "delta_ns", "handled"], &["handler"], &[], false;
    PageFaultUser = 46, "exceptions", "page_fault_user", &["address", "ip", "error_code"], &[], &[], false;
    PageFaultKernel = 47, "exceptions", "page_fault_kernel", &["address", "ip", "error_code"], &[], &[], false;
    IpiSendCpu = 50, "ipi", "ipi_send_cpu", &["cpu", "callsite", "callback"], &["callsite", "callback"], &[], true;
    IpiSendMask = 51, "ipi", "ipi_send_cpumask", &["cpumask", "callsite", "callback"], &["callsite", "callback"], &[], true;
    CsdQueue = 52, "csd", "csd_queue_cpu", &["cpu", "func", "csd"], &["func"], &[], true;
    CsdEntry = 53, "csd", "csd_function_entry", &["func", "csd"], &["func"], &[], false;
    CsdExit = 54, "csd", "csd_function_exit", &["func", "csd"], &["func"], &[], false;
    HrtimerEntry = 60, "timer", "hrtimer_expire_entry", &["hrtimer", "function", "now"], &["function"], &[], false;
    HrtimerExit = 61, "timer", "hrtimer_expire_exit", &["hrtimer"], &[], &[], false;
    HrtimerStart = 62, "timer", "hrtimer_start", &["hrtimer", "function", "expires"], &["function"], &[], true;
    TimerEntry = 63, "timer", "timer_expire_entry", &["timer", "function", "now"], &["function"], &[], false;
    TimerExit = 64, "timer", "timer_expire_exit", &["timer"], &[], &[], false;
    TimerStart = 65, "timer", "timer_start", &["timer", "function", "expires"], &["function"], &[], true;
    WorkQueue = 70, "workqueue", "workqueue_queue_work", &["work", "function", "cpu"], &["function"], &[], true;
    WorkStart = 71, "workqueue", "workqueue_execute_start", &["work", "function"], &["function"], &[], false;
    WorkEnd = 72, "workqueue", "workqueue_execute_end", &["work", "function"], &["function"], &[], false;
    Signal = 80, "signal", "signal_generate", &["pid", "sig"], &[], &[], true;
}

impl EventKind {
    /// The event's row.
    #[must_use]
    pub fn spec(self) -> &'static EventSpec {
        EVENTS.iter().find(|spec| spec.kind == self).expect("every kind is made by its row")
    }
}
