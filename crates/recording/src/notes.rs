//! How those notes of a run begin that later results recognise.

/// Another anechoic measured some of the same CPUs at the same time.
pub const BESIDE_ANOTHER: &str = "another anechoic (process";
/// `anechoic inject` ran the measurement and injected noise around it.
pub const INJECTED_AROUND: &str = "noise was injected around this run";
