//! Softirqs and the tasklets in them.

use super::{Claim, Source, function, named};
use crate::frame::{Frame, What};
use crate::label::Labels;
use anechoic_recording::EventKind;

pub(super) const SOURCE: Source = Source {
    id: "softirq",
    title: "softirq",
    what: "Work that an interrupt put off until just after it, by kind: TIMER, NET_RX, SCHED, RCU and others.",
    reduce: &[
        "RCU: rcu_nocbs=CPUS moves callbacks to threads, which then want housekeeping CPUs",
        "NET_RX, NET_TX, BLOCK: move the device's interrupts; keep these CPUs out of /sys/class/net/*/queues/rx-*/rps_cpus",
        "TIMER: see the timers in it; SCHED: isolate the CPUs from load balancing (cpuset.cpus.partition=isolated), then every thread must be pinned",
    ],
    events: &[
        EventKind::SoftirqEntry,
        EventKind::SoftirqExit,
        EventKind::TaskletEntry,
        EventKind::TaskletExit,
    ],
    claim,
};

/// Names by vector, as in /proc/softirqs.
pub const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

fn claim(frame: &Frame, labels: &Labels) -> Option<Claim> {
    match frame.what {
        What::Softirq(vector) => named(match SOFTIRQS.get(vector as usize) {
            Some(name) => (*name).into(),
            None => format!("vector {vector}").into(),
        }),
        What::Tasklet { function: address } => {
            Some(Claim { name: SOFTIRQS[6].into(), function: function(labels, address) })
        }
        _ => None,
    }
}
