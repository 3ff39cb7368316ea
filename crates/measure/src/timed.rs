//! The timed loops: what runs on a measured CPU, its memory, and how loops start and end together.

pub(crate) mod arenas;
pub(crate) mod between;
pub(crate) mod buffers;
pub(crate) mod co_runner;
mod counting;
pub(crate) mod expiry;
mod fixed_time;
mod fixed_work;
pub(crate) mod gate;
pub(crate) mod job;
pub(crate) mod pacing;
pub(crate) mod place;
pub(crate) mod preemptor;
pub(crate) mod probing;
mod ring;
mod ring_members;
pub(crate) mod round;
pub(crate) mod sampling;
pub(crate) mod sinks;
mod steady;
pub(crate) mod threads;
pub(crate) mod usage;
pub(crate) mod waker;
pub(crate) mod waking;
pub(crate) mod watching;
pub(crate) mod worker;
pub(crate) mod working_set;
