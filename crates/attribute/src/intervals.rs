//! Intervals in which something was lost.

/// Closed intervals in ticks, in time order and apart from each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Intervals(Vec<(u64, u64)>);

impl Intervals {
    /// Takes `(start, end)` in any order; intervals that touch become one.
    #[must_use]
    pub fn new(intervals: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut all: Vec<(u64, u64)> = intervals.into_iter().collect();
        all.sort_unstable();
        let mut apart: Vec<(u64, u64)> = Vec::with_capacity(all.len());
        for (start, end) in all {
            match apart.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => apart.push((start, end)),
            }
        }
        Self(apart)
    }

    /// Whether one of them has a point in common with `[start, end]`.
    #[must_use]
    pub fn touch(&self, start: u64, end: u64) -> bool {
        let ended_before = self.0.partition_point(|interval| interval.1 < start);
        self.0.get(ended_before).is_some_and(|interval| interval.0 <= end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touching_is_found_at_both_ends() {
        let intervals = Intervals::new([(50, 60), (10, 20), (15, 30), (90, 90)]);
        let cases = [
            ("before all", 0, 9, false),
            ("at the start", 0, 10, true),
            ("inside a joined one", 25, 26, true),
            ("at the end", 30, 40, true),
            ("between", 31, 49, false),
            ("around", 0, 100, true),
            ("around a point", 85, 95, true),
            ("after all", 91, 100, false),
        ];
        for (name, start, end, expected) in cases {
            assert_eq!(intervals.touch(start, end), expected, "case: {name}");
        }
        assert!(!Intervals::default().touch(0, u64::MAX));
    }
}
