//! The sources of noise: one file and one row each.
//!
//! A source claims the frames that belong to it. The table is walked in order and the first
//! claim counts, so a source that is a special case of another stands before it.

mod anechoic;
mod blocked;
mod cpu_quota;
mod device_irq;
mod fair_server;
mod ipi;
mod nmi;
mod not_attributable;
mod page_fault;
mod platform_irq;
mod rt_throttling;
mod softirq;
mod stopped;
mod thread;
mod timer;
mod timer_tick;
mod victim_kernel;
mod vm_or_hardware;

pub(crate) use softirq::SOFTIRQS;
pub(crate) use vm_or_hardware::ID as HOST;

use crate::frame::Frame;
use crate::label::Labels;
use anechoic_recording::EventKind;
use anechoic_recording::machine::Machine;
use std::sync::Arc;

/// What a source says of a frame that is its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Which of that source's: device, vector, thread; empty where there is one only.
    pub name: Arc<str>,
    /// The kernel function that ran, where known.
    pub function: Option<Arc<str>>,
}

/// One source of noise.
#[derive(Debug)]
pub struct Source {
    /// Identifier, as in the `activities` table.
    pub id: &'static str,
    /// As people call it; see [`title`].
    pub title: &'static str,
    /// What it is, in one sentence.
    pub what: &'static str,
    /// What reduces it, with the price of doing so; a line each.
    pub reduce: &'static [&'static str],
    /// The kernel events that it is seen by.
    pub events: &'static [EventKind],
    /// Whether a frame is this source's, and its names if so.
    pub claim: fn(&Frame, &Labels) -> Option<Claim>,
}

/// All sources. The first claim counts.
pub const SOURCES: &[Source] = &[
    timer_tick::SOURCE,
    timer::SOURCE,
    device_irq::SOURCE,
    softirq::SOURCE,
    ipi::SOURCE,
    platform_irq::SOURCE,
    nmi::SOURCE,
    page_fault::SOURCE,
    stopped::SOURCE,
    blocked::SOURCE,
    anechoic::SOURCE,
    rt_throttling::SOURCE,
    cpu_quota::SOURCE,
    fair_server::SOURCE,
    thread::SOURCE,
    victim_kernel::SOURCE,
    vm_or_hardware::SOURCE,
    not_attributable::SOURCE,
];

/// The source with this identifier.
#[must_use]
pub fn source(id: &str) -> Option<&'static Source> {
    SOURCES.iter().find(|source| source.id == id)
}

/// What to call a source on this machine: time that no kernel event explains can be
/// the hypervisor's only where there is one.
#[must_use]
pub fn title(source: &Source, machine: &Machine) -> &'static str {
    if source.id == vm_or_hardware::SOURCE.id && machine.hypervisor.is_none() {
        vm_or_hardware::TITLE_ON_BARE_METAL
    } else {
        source.title
    }
}

/// A claim with a name alone.
fn named(name: Arc<str>) -> Option<Claim> {
    Some(Claim { name, function: None })
}

/// The function at `address`, if there is one.
fn function(labels: &Labels, address: u64) -> Option<Arc<str>> {
    (address != 0).then(|| labels.names().function(address))
}
