//! The settings of [`TUNABLES`] on this system: their present values, and changes of them for trials.

mod present;
mod trial;

pub use present::{described, states};
pub use trial::{Step, Trial};

use crate::machine::Root;
use anechoic_recording::tunable::{Form, Tunable};
use std::fs::File;
use std::io::{self, Read};

/// Returns the value of a file of a setting, as users write it: a mask as a list of CPUs.
fn value(root: &Root, tunable: &Tunable, file: &str) -> io::Result<String> {
    match tunable.form {
        Form::Held => held(root, file),
        Form::Mask => {
            let text = crate::changes::value(&root.path(file))?;
            let unreadable = || io::Error::other(format!("'{text}' is no mask of CPUs"));
            Ok(crate::machine::list_from_mask(&text).ok_or_else(unreadable)?)
        }
        _ => crate::changes::value(&root.path(file)),
    }
}

/// The number that the kernel shows while nobody has the file open, in µs.
const NO_LIMIT: i32 = 2_000_000_000;

/// Returns the number that a file of four bytes has, which is the least of all who have it open, or `none`.
fn held(root: &Root, file: &str) -> io::Result<String> {
    let mut bytes = [0; 4];
    File::open(root.path(file))?.read_exact(&mut bytes)?;
    let number = i32::from_ne_bytes(bytes);
    Ok(if number == NO_LIMIT { "none".to_owned() } else { number.to_string() })
}

#[cfg(test)]
mod tests;
