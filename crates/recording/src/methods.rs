//! Identifiers of the methods, as recordings, results and the command line hold them.

/// Gaps of a loop that does nothing but read the counter (`anechoic run`).
pub const DETOURS: &str = "detours";
/// Fixed work, again and again.
pub const FWQ: &str = "fwq";
/// The work done in equal times.
pub const FTQ: &str = "ftq";
/// Kernels that last a tick or a part of one.
pub const TICK: &str = "tick";
/// Do-nothing loops.
pub const LOOPS: &str = "loops";
/// What an interrupt of one CPU costs work on another.
pub const INTERFERENCE: &str = "interference";
/// The serial tick model.
pub const SERIAL: &str = "serial";
/// Ranks that compute and meet.
pub const BSP: &str = "bsp";
