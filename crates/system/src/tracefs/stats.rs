//! Parses `per_cpu/cpuN/stats`: the kernel's counts of what was written, read and lost.

/// The counts of one CPU's buffer since it was created.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Events in the buffer that are not read yet.
    pub entries: u64,
    /// Events that newer ones overwrote before they were read.
    pub overrun: u64,
    /// Events refused because interrupted writers filled the whole buffer.
    pub commit_overrun: u64,
    /// Events refused because the buffer was full (only without overwriting).
    pub dropped: u64,
    /// Events that were read.
    pub read: u64,
}

impl Stats {
    /// Parses the file. An absent line counts as 0, because older kernels have fewer.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
        };
        Self {
            entries: value("entries"),
            overrun: value("overrun"),
            commit_overrun: value("commit overrun"),
            dropped: value("dropped events"),
            read: value("read events"),
        }
    }

    /// Returns the number of events lost in any way.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.overrun.saturating_add(self.commit_overrun).saturating_add(self.dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::Stats;

    #[test]
    fn the_kernels_text_is_parsed() {
        let whole = "entries: 7\noverrun: 3\ncommit overrun: 2\nbytes: 9\noldest event ts:     0.000000\nnow ts:  1849.718541\ndropped events: 1\nread events: 5\n";
        let cases = [
            (
                "whole",
                whole,
                Stats { entries: 7, overrun: 3, commit_overrun: 2, dropped: 1, read: 5 },
                6,
            ),
            (
                "old kernel",
                "entries: 1\noverrun: 2\n",
                Stats { entries: 1, overrun: 2, ..Stats::default() },
                2,
            ),
            ("empty", "", Stats::default(), 0),
            ("words", "overrun: many\n", Stats::default(), 0),
            (
                "out of range",
                "overrun: 99999999999999999999\ndropped events: 4\n",
                Stats { dropped: 4, ..Stats::default() },
                4,
            ),
        ];
        for (name, text, expected, lost) in cases {
            let stats = Stats::parse(text);
            assert_eq!((stats, stats.lost()), (expected, lost), "case: {name}");
        }
    }
}
