//! What can happen in a detour: frames that nest.

pub use anechoic_recording::VictimState;
pub use anechoic_recording::event::Vector;

/// Why the victim was not runnable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Away {
    /// Stopped by a signal, or by a debugger if there is no signal.
    Stopped {
        /// The signal (19 is SIGSTOP); 0 if it was not seen.
        signal: u8,
    },
    /// Stopped by a debugger.
    Traced,
    /// Waiting for a page that it touched.
    Fault {
        /// Whether it touched the page in user mode.
        user: bool,
    },
    /// Sleeping for another reason. The loop itself never sleeps.
    Blocked,
}

/// Something that takes time in a detour. Numbers are those of the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum What {
    /// An interrupt vector.
    Vector(Vector),
    /// The handlers of a device interrupt.
    Irq(u32),
    /// A softirq, by its vector.
    Softirq(u32),
    /// A tasklet.
    Tasklet {
        /// Address of its function.
        function: u64,
    },
    /// The function of an expired high-resolution timer.
    Hrtimer {
        /// Address of the timer.
        timer: u64,
        /// Address of its function.
        function: u64,
    },
    /// The function of an expired timer-wheel timer.
    Timer {
        /// Address of the timer.
        timer: u64,
        /// Address of its function.
        function: u64,
    },
    /// A function call requested by another CPU.
    Csd {
        /// Address of the request.
        csd: u64,
        /// Address of the function.
        function: u64,
        /// The interrupt that it came with, if one is open.
        vector: Option<Vector>,
    },
    /// A work item.
    Work {
        /// The thread that runs it.
        pid: i32,
        /// Address of the item.
        work: u64,
        /// Address of its function.
        function: u64,
    },
    /// The handler of a non-maskable interrupt.
    Nmi {
        /// Address of the handler.
        handler: u64,
    },
    /// A page fault of the victim.
    PageFault {
        /// Whether it came from user mode.
        user: bool,
    },
    /// Another thread runs while the victim is runnable.
    Thread {
        /// The thread; 0 is the idle thread.
        pid: i32,
        /// Its kernel priority: below 0 deadline, below 100 real-time, from 100 fair.
        priority: i32,
    },
    /// A thread of the program, or the measured one, was woken, and the CPU switches to it without delay.
    WakeUp,
    /// The timer that is to wake the victim has expired, and its interrupt has not come yet.
    LateTimer {
        /// The thread that has the CPU, if it is late; 0 is the idle thread, [`What::UNKNOWN`] one that is not known, and
        /// [`What::NOBODY`] any, where it is no later than usual.
        pid: i32,
        /// The idle state in which the CPU was, if events show it.
        idle: Option<u8>,
    },
    /// A thread has begun the system call that is to wake the victim, which has not been woken yet.
    WakingCall {
        /// Whether it does so on another CPU, so that what happens on the victim's is no part of it.
        elsewhere: bool,
    },
    /// The CPU idles, and has not begun yet to run a thread of the program that was woken.
    Delay,
    /// Whoever has the CPU, the victim's control group has used up its CPU quota.
    Throttled,
    /// Threads were switched without an event while the victim was runnable, and one of them ran.
    Unseen,
    /// The victim is not runnable.
    Away(Away),
    /// The victim is current and in the kernel on its own behalf.
    Kernel,
    /// Nothing is open.
    Gap,
    /// A whole detour without an event.
    NoEvent,
    /// The same, that took less time than the step of work in which it lies.
    Slower,
    /// A whole detour about which nothing is known, because events were lost or not recorded.
    Dark,
}

/// Who caused an activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sender {
    /// The CPU that it came from.
    pub cpu: u32,
    /// The thread that was current there.
    pub pid: i32,
    /// Time of the cause.
    pub ticks: u64,
    /// The interrupt context that caused it, if it was not the thread itself.
    pub within: Option<What>,
}

/// An interval of a detour in which one thing went on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// What went on.
    pub what: What,
    /// The victim's state when it began.
    pub state: VictimState,
    /// Whether the victim runs under SCHED_FIFO.
    pub fifo: bool,
    /// Start in ticks, inside the detour.
    pub start: u64,
    /// End in ticks, inside the detour.
    pub end: u64,
    /// Ticks that belong to this frame alone.
    pub self_ticks: u64,
    /// Index of the enclosing frame in the detour.
    pub parent: Option<u32>,
    /// Address of a function that ran inside and explains the frame, or 0: the timer that expired in a timer
    /// interrupt, the longest request of an IPI, the longest work item of a kworker.
    pub function: u64,
    /// Who caused it, if known.
    pub sender: Option<Sender>,
}

impl What {
    /// The thread that has the CPU is not known.
    pub const UNKNOWN: i32 = -1;
    /// Whichever thread has the CPU, it does not matter.
    pub const NOBODY: i32 = -2;

    /// Returns whether it is an interrupt context, in which the current thread is only a bystander.
    #[must_use]
    pub(crate) fn is_interrupt(self) -> bool {
        use What::{Csd, Hrtimer, Irq, Nmi, Softirq, Tasklet, Timer, Vector};
        matches!(
            self,
            Vector(_)
                | Irq(_)
                | Softirq(_)
                | Tasklet { .. }
                | Hrtimer { .. }
                | Timer { .. }
                | Csd { .. }
                | Nmi { .. }
        )
    }

    /// Returns whether the CPU cannot switch threads inside it.
    #[must_use]
    pub(crate) fn is_hard_interrupt(self) -> bool {
        matches!(self, Self::Vector(_) | Self::Irq(_) | Self::Nmi { .. })
    }
}
