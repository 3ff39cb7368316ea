//! Identifiers of the methods in recordings, in results and on the command line.

/// Gaps of a loop that does nothing but read the counter (`anechoic run`).
pub const DETOURS: &str = "detours";
/// What interrupts the user's own program, from kernel events alone (`anechoic record`).
pub const PROGRAM: &str = "program";
/// The methods whose detours belong to the run as a whole, and not to series.
pub const WHOLE: &[&str] = &[DETOURS, PROGRAM];
/// Detours that another tool counted by length; when they were is not known.
pub const LENGTHS: &str = "counted-lengths";
/// How late a timer woke a thread, counted by length by another tool.
pub const LATENCIES: &str = "counted-latencies";
/// The methods whose recordings have counts by length and no times.
pub const COUNTED: &[&str] = &[LENGTHS, LATENCIES];
/// Fixed work, repeated.
pub const FWQ: &str = "fwq";
/// Work done in equal times.
pub const FTQ: &str = "ftq";
/// Kernels that last as long as a timer tick's period or a part of it.
pub const TICK: &str = "tick";
/// Do-nothing loops.
pub const LOOPS: &str = "loops";
/// The methods whose result is that of their samples, which those of several hosts, or at several rates, are joined by.
pub const SAMPLED: &[&str] = &[FWQ, FTQ, TICK, LOOPS];
/// The cost of an interrupt on one CPU for work on another.
pub const INTERFERENCE: &str = "interference";
/// The serial tick model.
pub const SERIAL: &str = "serial";
/// Passes over working sets of many sizes, after what happens to the caches.
pub const MEMORY: &str = "memory";
/// A matrix on pages of different sizes.
pub const PAGING: &str = "paging";
/// A token that threads or processes on one CPU pass on.
pub const SWITCH: &str = "switch";
/// How late a timer wakes a thread.
pub const WAKEUP: &str = "wakeup";
/// Probes of what slows work that nothing interrupts.
pub const PACE: &str = "pace";
/// Ranks that compute and meet.
pub const BSP: &str = "bsp";
/// How fast the kernel's own counters grew, second by second (`anechoic monitor`).
pub const RATES: &str = "counter-rates";
