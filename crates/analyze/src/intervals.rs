//! Intervals of time on one CPU.

/// In time order and without overlap.
pub(crate) fn merged(mut intervals: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    intervals.sort_unstable();
    intervals.dedup_by(|next, before| {
        let overlap = next.0 <= before.1;
        if overlap {
            before.1 = before.1.max(next.1);
        }
        overlap
    });
    intervals
}

/// Whether one of the [`merged`] intervals has an instant with `start..=end` in common.
pub(crate) fn touch(merged: &[(u64, u64)], start: u64, end: u64) -> bool {
    let first = merged.partition_point(|interval| interval.1 < start);
    merged.get(first).is_some_and(|interval| interval.0 <= end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_intervals_are_one() {
        let all = merged(vec![(50, 60), (10, 20), (15, 30), (30, 31), (12, 13)]);
        assert_eq!(all, [(10, 31), (50, 60)]);
        let cases = [
            ("before all", 0, 9, false),
            ("up to one", 0, 10, true),
            ("an instant in one", 20, 20, true),
            ("from the end of one", 31, 40, true),
            ("between two", 32, 49, false),
            ("around one", 40, 70, true),
            ("after all", 61, u64::MAX, false),
        ];
        for (name, start, end, expected) in cases {
            assert_eq!(touch(&all, start, end), expected, "case: {name}");
        }
        assert!(!touch(&[], 0, u64::MAX));
    }
}
