//! Attempts: a measurement on a busy host is repeated, and judged only where the host was calm.

use crate::note;

/// What was wrong with an attempt, and whether the host left the CPU alone meanwhile.
pub struct Wrong {
    calm: bool,
    what: String,
}

/// Tries until one attempt is right: a busy host spoils some, a fault of the tool spoils all. Where the host is
/// busy all the time nothing is judged, and a note states that.
///
/// # Panics
/// No attempt was right, and the host was calm in two of them at least.
pub fn one_of(tries: u32, mut attempt: impl FnMut() -> Result<(), Wrong>) {
    let mut calm = 0;
    for _ in 0..tries {
        let Err(wrong) = attempt() else { return };
        println!("an attempt, host calm: {}: {}", wrong.calm, wrong.what);
        calm += u32::from(wrong.calm);
    }
    assert!(calm < 2, "none of {tries} attempts was right");
    note::not_judged("the host was too busy");
}

/// Asks that something holds; `calm` is whether the host left the CPU alone, so that it had to.
///
/// # Errors
/// It does not hold.
pub fn ensure(holds: bool, calm: bool, otherwise: impl FnOnce() -> String) -> Result<(), Wrong> {
    if holds { Ok(()) } else { Err(Wrong { calm, what: otherwise() }) }
}
