//! One line of a trace: the name of a call, when it began, its arguments, and when it ended.

use crate::schedule::LONGEST_NS;
use std::str::Split;

/// A call with its arguments still as text.
#[derive(Debug, Clone)]
pub(super) struct Line<'t> {
    /// The name of the call.
    pub(super) name: &'t str,
    /// When it began, in ns; absent for `MPI_Init`.
    pub(super) start_ns: Option<u64>,
    /// When it ended, in ns; absent for `MPI_Finalize`.
    pub(super) end_ns: Option<u64>,
    /// Its arguments, separated by colons.
    arguments: &'t str,
}

impl<'t> Line<'t> {
    /// Reads a line.
    pub(super) fn read(text: &'t str) -> Result<Self, String> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        if !name.starts_with("MPI_") {
            return Err("it does not begin with the name of an MPI call and a colon".into());
        }
        let (start, rest) = rest.split_once(':').ok_or("it has no end")?;
        let (arguments, end) = rest.rsplit_once(':').unwrap_or(("", rest));
        Ok(Self { name, start_ns: time(start)?, end_ns: time(end)?, arguments })
    }

    /// Returns its arguments one by one.
    pub(super) fn arguments(&self) -> Arguments<'t> {
        Arguments((!self.arguments.is_empty()).then(|| self.arguments.split(':')))
    }
}

/// Parses a time in µs, perhaps with a fraction, as ns; `-` stands for none.
fn time(text: &str) -> Result<Option<u64>, String> {
    if text == "-" {
        return Ok(None);
    }
    let wrong = || format!("'{text}' is no time in µs");
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) {
        return Err(wrong());
    }
    let thousandths: u64 = format!("{fraction:0<3}")[..3].parse().map_err(|_| wrong())?;
    let us: u64 = whole.parse().map_err(|_| wrong())?;
    us.checked_mul(1_000).and_then(|ns| ns.checked_add(thousandths)).map(Some).ok_or_else(wrong)
}

/// The arguments of a call.
#[derive(Debug, Clone)]
pub(super) struct Arguments<'t>(Option<Split<'t, char>>);

impl<'t> Arguments<'t> {
    /// Returns the next argument.
    pub(super) fn text(&mut self) -> Result<&'t str, String> {
        self.0.as_mut().and_then(Iterator::next).ok_or_else(|| "an argument is missing".into())
    }

    /// Returns whether all arguments have been taken.
    pub(super) fn is_empty(&self) -> bool {
        self.0.clone().is_none_or(|mut rest| rest.next().is_none())
    }

    /// Returns the next argument, which is a number.
    pub(super) fn number(&mut self) -> Result<i64, String> {
        number(self.text()?)
    }

    /// Returns the next argument, which is a number of elements or bytes.
    pub(super) fn count(&mut self) -> Result<u64, String> {
        let text = self.text()?;
        text.parse().map_err(|_| format!("'{text}' is no number of elements"))
    }

    /// Returns the next argument, which is an address.
    pub(super) fn address(&mut self) -> Result<u64, String> {
        let text = self.text()?;
        text.parse().map_err(|_| format!("'{text}' is no address"))
    }

    /// Returns the size in bytes of the next argument, which is a datatype: handle, size, extent.
    pub(super) fn datatype(&mut self) -> Result<u64, String> {
        let text = self.text()?;
        let wrong = || format!("'{text}' is no datatype with its size");
        let mut parts = text.split(',');
        let (_, size) = (parts.next(), parts.next().ok_or_else(wrong)?);
        parts.next().ok_or_else(wrong)?;
        size.parse().map_err(|_| wrong())
    }

    /// Returns the next argument, which is a communicator: handle, rank in it, number of its ranks.
    pub(super) fn communicator(&mut self) -> Result<(i64, u32, u32), String> {
        let text = self.text()?;
        let wrong = || format!("'{text}' is no communicator with a rank and their number");
        let mut parts = text.split(',');
        let mut next = || parts.next().ok_or_else(wrong).and_then(number);
        let (handle, rank, ranks) = (next()?, next()?, next()?);
        let rank = u32::try_from(rank).map_err(|_| wrong())?;
        let ranks = u32::try_from(ranks).ok().filter(|&ranks| rank < ranks).ok_or_else(wrong)?;
        Ok((handle, rank, ranks))
    }

    /// Returns the next argument, which is an array with its address: a number for each rank.
    pub(super) fn array(&mut self) -> Result<Vec<i64>, String> {
        self.address()?;
        self.text()?.split(',').map(number).collect()
    }
}

/// Parses a number. liballprof writes some that are negative as if they were not.
fn number(text: &str) -> Result<i64, String> {
    let wide = || text.parse::<u64>().ok().map(|wide| wide as i64);
    text.parse().ok().or_else(wide).ok_or_else(|| format!("'{text}' is no number"))
}

/// Returns how long a rank computed between two times, or what is wrong with them.
pub(super) fn between(from_ns: u64, to_ns: u64) -> Result<u64, String> {
    let ns = to_ns.checked_sub(from_ns).ok_or_else(|| {
        let by = from_ns - to_ns;
        format!("it begins {} µs before the call before it ended", by as f64 / 1e3)
    })?;
    match ns <= LONGEST_NS {
        true => Ok(ns),
        false => Err("it begins more than 13 days after the call before it ended".into()),
    }
}
