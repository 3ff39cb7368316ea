//! What can be going on in a detour, as the engine sees it: frames that nest.

pub use anechoic_recording::VictimState;
pub use anechoic_recording::event::Vector;

/// Why the victim was not runnable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Away {
    /// Stopped by a signal, or by a debugger where there is none.
    Stopped {
        /// The signal (19 is SIGSTOP); 0 where it was not seen.
        signal: u8,
    },
    /// Stopped by a debugger.
    Traced,
    /// Waits for a page that it touched.
    Fault {
        /// Whether it touched the page in user mode.
        user: bool,
    },
    /// Sleeps for another reason. The loop itself never sleeps.
    Blocked,
}

/// One thing that takes time in a detour. Numbers are those of the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum What {
    /// An interrupt vector.
    Vector(Vector),
    /// A device interrupt's handlers.
    Irq(u32),
    /// A softirq, by its vector.
    Softirq(u32),
    /// A tasklet.
    Tasklet {
        /// Address of its function.
        function: u64,
    },
    /// A high-resolution timer that expired.
    Hrtimer {
        /// Address of the timer.
        timer: u64,
        /// Address of its function.
        function: u64,
    },
    /// A timer-wheel timer that expired.
    Timer {
        /// Address of the timer.
        timer: u64,
        /// Address of its function.
        function: u64,
    },
    /// A function that another CPU asked for.
    Csd {
        /// Address of the request.
        csd: u64,
        /// Address of the function.
        function: u64,
        /// The interrupt it came with, where one is open.
        vector: Option<Vector>,
    },
    /// A work item.
    Work {
        /// The thread that works on it.
        pid: i32,
        /// Address of the item.
        work: u64,
        /// Address of its function.
        function: u64,
    },
    /// A non-maskable interrupt's handler.
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
        /// The thread; 0 is idle.
        pid: i32,
        /// Its kernel priority: below 0 deadline, below 100 real-time, from 100 fair.
        priority: i32,
    },
    /// Threads were switched unseen while the victim was runnable: one of them ran.
    Unseen,
    /// The victim is not runnable.
    Away(Away),
    /// The victim is current and in the kernel for itself.
    Kernel,
    /// Nothing is open.
    Gap,
    /// A whole detour without an event.
    NoEvent,
    /// A whole detour of which nothing can be said: events were lost, or not recorded.
    Dark,
}

/// Who caused something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sender {
    /// The CPU that it came from.
    pub cpu: u32,
    /// The thread that was current there.
    pub pid: i32,
    /// When.
    pub ticks: u64,
    /// The interrupt context that really did it, where it was not the thread itself.
    pub within: Option<What>,
}

/// One interval of a detour in which one thing went on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// What.
    pub what: What,
    /// The victim's state when it began.
    pub state: VictimState,
    /// Whether the victim runs under SCHED_FIFO.
    pub fifo: bool,
    /// Start in ticks, inside the detour.
    pub start: u64,
    /// End in ticks, inside the detour.
    pub end: u64,
    /// Ticks that belong to it alone.
    pub self_ticks: u64,
    /// Index of the enclosing frame in the detour.
    pub parent: Option<u32>,
    /// Address of a function that ran inside and explains it; 0 where there is none: the timer that
    /// expired in a timer interrupt, the longest request of an IPI, the longest work of a kworker's stay.
    pub function: u64,
    /// Who caused it, where that was seen.
    pub sender: Option<Sender>,
}

impl What {
    /// Whether it is an interrupt's context, in which the current thread is only a bystander.
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

    /// Whether the CPU cannot switch threads inside it.
    #[must_use]
    pub(crate) fn is_hard_interrupt(self) -> bool {
        matches!(self, Self::Vector(_) | Self::Irq(_) | Self::Nmi { .. })
    }
}
