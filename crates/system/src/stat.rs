//! The kernel's line on a process or a thread: `/proc/PID/stat` (proc_pid_stat(5)).

use std::str::FromStr;

/// Number of the field with the parent's process.
pub(crate) const PARENT: usize = 4;
/// Number of the field with the start, in clock ticks since boot.
pub(crate) const START: usize = 22;
/// Number of the field with the CPU that executed the thread last.
pub(crate) const LAST_CPU: usize = 39;

/// Returns a field by its number in the manual, at least 3. The second field, the name in parentheses, may contain
/// anything, also blanks and parentheses.
pub(crate) fn field<T: FromStr>(stat: &str, number: usize) -> Option<T> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(number.checked_sub(3)?)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_after_any_name() {
        let stat = format!("10 (a) b (c)) S 7 {} 12 0", vec!["0"; 34].join(" "));
        assert_eq!(field(&stat, PARENT), Some(7));
        assert_eq!(field(&stat, LAST_CPU), Some(12));
        assert_eq!(field(&stat, 3), Some("S".to_owned()));
        assert_eq!(field::<u32>(&stat, 60), None);
        assert_eq!(field::<u32>("", PARENT), None);
    }
}
