//! Other threads.

use super::{Claim, Source, function};
use crate::frame::{Frame, What};
use crate::label::Labels;
use anechoic_recording::EventKind;

pub(super) const SOURCE: Source = Source {
    id: "thread",
    title: "thread",
    what: "Another thread had the CPU while the measured one could run; kernel workers are shown with the function that they worked on.",
    reduce: &[
        "keep it off these CPUs: taskset, AllowedCPUs= for a service, or cpuset.cpus.partition=isolated for the CPUs, where every thread must then be pinned",
        "unbound kernel workers: /sys/devices/virtual/workqueue/cpumask without these CPUs",
        "vmstat_update: vm.stat_interval=10, at the price of stale counters",
        "kernel threads: pin them to housekeeping CPUs (taskset); per-CPU ones cannot be moved, so look for who queues their work",
    ],
    events: &[
        EventKind::Switch,
        EventKind::Waking,
        EventKind::WorkQueue,
        EventKind::WorkStart,
        EventKind::WorkEnd,
    ],
    claim,
};

/// A work item belongs to the worker that runs it.
fn claim(frame: &Frame, labels: &Labels) -> Option<Claim> {
    match frame.what {
        What::Thread { pid, .. } => Some(Claim {
            name: labels.names().task(pid, frame.start),
            function: function(labels, frame.function),
        }),
        What::Work { pid, function: address, .. } => Some(Claim {
            name: labels.names().task(pid, frame.start),
            function: function(labels, address),
        }),
        _ => None,
    }
}
