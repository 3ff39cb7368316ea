//! Intervals of one CPU's time.

/// Disjoint intervals in ticks, in time order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Intervals(Vec<(u64, u64)>);

impl Intervals {
    /// Merges `(start, end)` pairs in any order; intervals that touch become one.
    #[must_use]
    pub fn merge(intervals: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut all: Vec<(u64, u64)> = intervals.into_iter().collect();
        all.sort_unstable();
        all.dedup_by(|next, before| {
            let touches = next.0 <= before.1;
            if touches {
                before.1 = before.1.max(next.1);
            }
            touches
        });
        Self(all)
    }

    /// Returns whether one of them shares an instant with `[start, end]`, both ends included.
    #[must_use]
    pub fn touch(&self, start: u64, end: u64) -> bool {
        let ended_before = self.0.partition_point(|interval| interval.1 < start);
        self.0.get(ended_before).is_some_and(|interval| interval.0 <= end)
    }

    /// Returns the intervals as `(start, end)`, in time order.
    #[must_use]
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touching_is_found_at_both_ends() {
        let intervals = Intervals::merge([(50, 60), (10, 20), (15, 30), (30, 31), (90, 90)]);
        assert_eq!(intervals.as_slice(), [(10, 31), (50, 60), (90, 90)]);
        let cases = [
            ("before all", 0, 9, false),
            ("at the start", 0, 10, true),
            ("inside a joined one", 25, 26, true),
            ("an instant in one", 20, 20, true),
            ("at the end", 31, 40, true),
            ("between", 32, 49, false),
            ("around", 0, 100, true),
            ("around a point", 85, 95, true),
            ("after all", 91, u64::MAX, false),
        ];
        for (name, start, end, expected) in cases {
            assert_eq!(intervals.touch(start, end), expected, "case: {name}");
        }
        assert!(!Intervals::default().touch(0, u64::MAX));
    }
}
