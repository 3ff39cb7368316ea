//! Parsers for values that users type: durations, rates, percentages, counts and lists of CPUs.

use crate::pattern::matches;
use jiff::SignedDuration;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The longest duration that anybody means.
const LONGEST: Duration = Duration::from_hours(10 * 365 * 24);

/// Parses a positive duration like `10s`, `500ms`, `2m`, `100ns`, up to ten years.
///
/// # Errors
/// Returns what is wrong with it, and how to write one.
pub fn duration(text: &str) -> Result<Duration, String> {
    let example = "write a number and a unit, for example 10s, 500ms, 2m or 100ns";
    let signed: SignedDuration =
        text.trim().parse().map_err(|_| format!("'{text}' is not a duration; {example}"))?;
    let duration =
        Duration::try_from(signed).map_err(|_| format!("'{text}' is negative; {example}"))?;
    if duration.is_zero() {
        return Err(format!("'{text}' is zero; {example}"));
    }
    if duration > LONGEST {
        return Err(format!("'{text}' is longer than ten years; {example}"));
    }
    Ok(duration)
}

/// Parses a rate like `1000hz` or `10khz` and returns its period.
///
/// # Errors
/// Returns what is wrong with it, and how to write one.
pub fn rate(text: &str) -> Result<Duration, String> {
    let example = "write a number and a unit, for example 250hz, 1000hz or 10khz";
    let lower = text.trim().to_lowercase();
    let number =
        |suffix| lower.strip_suffix(suffix).map(|number: &str| number.trim().parse::<f64>());
    let hz = match (number("khz"), number("hz")) {
        (Some(Ok(thousands)), _) => thousands * 1e3,
        (None, Some(Ok(hz))) => hz,
        _ => return Err(format!("'{text}' is not a rate; {example}")),
    };
    if !(hz > 0.0 && hz.is_finite()) {
        return Err(format!("'{text}' is not a rate over 0; {example}"));
    }
    match Duration::try_from_secs_f64(1.0 / hz) {
        Ok(period) if !period.is_zero() => Ok(period),
        _ => Err(format!("'{text}' is out of range; {example}")),
    }
}

/// Parses a percentage like `1%` or `0.5 %`, over 0 and up to 100, and returns millionths.
///
/// # Errors
/// Returns what is wrong with it, and how to write one.
pub(crate) fn percent_ppm(text: &str) -> Result<u32, String> {
    let number: Option<f64> = text.trim().strip_suffix('%').and_then(|n| n.trim().parse().ok());
    match number.map(|percent| percent * 1e4) {
        Some(ppm) if (1.0..=1e6).contains(&ppm) => Ok(ppm.round() as u32),
        _ => Err(format!(
            "'{text}' is not a percentage between 0.0001% and 100%; write one, for example 1%"
        )),
    }
}

/// Parses a list of CPUs in the kernel's notation, like `0-3,8`, and returns them in ascending order.
///
/// # Errors
/// Fails if it is empty, a range is reversed, a number is over 65535, or it is not a list.
pub fn cpu_list(text: &str) -> Result<Vec<u32>, String> {
    if text.trim().is_empty() {
        return Err("no CPU is named; write a list, for example 0-3,8".to_owned());
    }
    let mut cpus = BTreeSet::new();
    for part in text.trim().split(',') {
        let range = cpu_range(part);
        let bad = || format!("'{text}' is not a CPU list; write one, for example 0-3,8 or 0-15:2");
        cpus.extend(range.ok_or_else(bad)?);
    }
    Ok(cpus.into_iter().collect())
}

/// Parses one part of a list of CPUs: `3`, `0-3`, or every second of a range, `0-15:2`.
fn cpu_range(part: &str) -> Option<impl Iterator<Item = u32>> {
    let number = |text: &str| text.trim().parse::<u16>().map(u32::from).ok();
    let (range, step) = match part.split_once(':') {
        Some((range, step)) if range.contains('-') => (range, number(step).filter(|&n| n > 0)?),
        Some(_) => return None,
        None => (part, 1),
    };
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let (first, last) = (number(first)?, number(last)?);
    (first <= last).then(|| (first..=last).step_by(step as usize))
}

/// Parses a whole number within `range`.
pub(super) fn count(text: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
    let number = text.trim().parse().map_err(|_| format!("'{text}' is not a whole number"))?;
    if range.contains(&number) {
        return Ok(number);
    }
    let (least, most) = range.into_inner();
    Err(format!("{number} is not between {least} and {most}"))
}

/// Finds the word among the choices.
pub(super) fn choice(
    text: &str,
    choices: &[(&'static str, &'static str)],
) -> Result<&'static str, String> {
    let found = choices.iter().find(|(word, _)| *word == text.trim());
    let words = || choices.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
    found.map(|(word, _)| *word).ok_or_else(|| format!("'{text}' is none of {}", words()))
}

/// Returns the word of a choice, or a function of a file. The text of the latter is kept for as long as the program runs:
/// a command line has few of them.
pub(super) fn work(
    text: &str,
    choices: &[(&'static str, &'static str)],
) -> Result<&'static str, String> {
    let text = text.trim();
    let (file, function) = text.rsplit_once(':').unwrap_or((text, ""));
    let looks_like_file = file.contains('/') || file != text || file.ends_with(".so");
    if choices.iter().any(|(word, _)| *word == text) || !looks_like_file {
        return match choices {
            [] => Err(format!("'{text}' is no function of your own; write ./FILE.so:FUNCTION")),
            _ => choice(text, choices),
        };
    }
    let place = if file.contains('/') { "" } else { "./" };
    match function {
        "" => Err(format!("'{text}' names no function; write {place}{file}:FUNCTION")),
        _ if !place.is_empty() => {
            Err(format!("'{file}' has no '/' and is no path; write {place}{text}"))
        }
        _ => Ok(Box::leak(text.to_owned().into_boxed_str())),
    }
}

/// Returns the words that match a pattern, in which `*` stands for any text.
pub(super) fn matching(
    pattern: &str,
    choices: &[(&'static str, &'static str)],
) -> Result<Vec<&'static str>, String> {
    let words = || choices.iter().map(|(word, _)| *word);
    let found: Vec<_> = words().filter(|word| matches(pattern.trim(), word)).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let mut starts: Vec<&str> = vec![];
    for start in words().map(|word| word.split('-').next().unwrap_or(word)) {
        if !starts.contains(&start) {
            starts.push(start);
        }
    }
    let (starts, example) = (starts.join(", "), words().next().unwrap_or_default());
    Err(format!("no name matches '{pattern}'; they begin with {starts}, for example {example}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let cases: &[(&str, &str, Option<u64>)] = &[
            ("seconds", "10s", Some(10_000_000_000)),
            ("milliseconds", "500ms", Some(500_000_000)),
            ("microseconds", "2us", Some(2_000)),
            ("nanoseconds", "100ns", Some(100)),
            ("minutes and seconds", "1m 30s", Some(90_000_000_000)),
            ("hours", "2h", Some(7_200_000_000_000)),
            ("ten years", "87600h", Some(315_360_000_000_000_000)),
            ("eleven years", "96360h", None),
            ("zero", "0s", None),
            ("negative", "-1s", None),
            ("no unit", "10", None),
            ("words", "ten seconds", None),
            ("empty", "", None),
            ("too long", "99999999999999999999s", None),
        ];
        for (name, text, expected) in cases {
            let got = duration(text).ok().map(|d| d.as_nanos() as u64);
            assert_eq!(got, *expected, "case: {name}");
        }
    }

    #[test]
    fn work_is_a_word_or_a_function_of_a_file() {
        let words = [("sum", ""), ("call", "")];
        let cases = [
            ("sum", Ok("sum")),
            ("./k.so:step", Ok("./k.so:step")),
            (" /a:b/k.so:step ", Ok("/a:b/k.so:step")),
            ("product", Err("'product' is none of sum, call")),
            ("k.so:step", Err("'k.so' has no '/' and is no path; write ./k.so:step")),
            ("k.so", Err("'k.so' names no function; write ./k.so:FUNCTION")),
            ("./k.so", Err("'./k.so' names no function; write ./k.so:FUNCTION")),
            ("./k.so:", Err("'./k.so:' names no function; write ./k.so:FUNCTION")),
            ("", Err("'' is none of sum, call")),
        ];
        for (text, expected) in cases {
            assert_eq!(work(text, &words), expected.map_err(str::to_owned), "case: {text}");
        }
    }

    #[test]
    fn rates() {
        let cases = [
            ("1000hz", 1_000_000),
            ("10kHz", 100_000),
            ("137 Hz", 7_299_270),
            ("0.5hz", 2_000_000_000),
        ];
        for (text, expected_ns) in cases {
            assert_eq!(rate(text).map(|period| period.as_nanos()), Ok(expected_ns), "{text}");
        }
        for bad in
            ["", "1000", "0hz", "-1hz", "hz", "nanhz", "infhz", "1e-300hz", "1e12hz", "1 khz hz"]
        {
            assert!(rate(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn percentages() {
        for (text, expected) in [("1%", 10_000), ("0.5 %", 5_000), ("100%", 1_000_000)] {
            assert_eq!(percent_ppm(text), Ok(expected), "{text}");
        }
        for bad in ["1", "0%", "-1%", "101%", "one%", "%", "nan%", "inf%"] {
            assert!(percent_ppm(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn cpu_lists() {
        assert_eq!(cpu_list("0-2"), Ok(vec![0, 1, 2]));
        assert_eq!(cpu_list("9,0-6:3"), Ok(vec![0, 3, 6, 9]));
        for bad in ["", "2-1", "one", "1,,2", "-1", "0-6:0", "3:2", "0-6:", "0-6:2:2"] {
            assert!(cpu_list(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn each_beginning_of_a_name_is_listed_once() {
        let choices = [("read-a", ""), ("write-a", ""), ("read-b", "")];
        assert_eq!(matching("read-*", &choices), Ok(vec!["read-a", "read-b"]));
        let why = "no name matches 'x'; they begin with read, write, for example read-a";
        assert_eq!(matching("x", &choices), Err(why.to_owned()));
    }
}
