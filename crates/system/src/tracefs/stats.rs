//! Parses `per_cpu/cpuN/stats`: the kernel's counts of what was written, read and lost.

/// The counts of one CPU's buffer since it was created.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Events in the buffer that are not read yet.
    pub entries: u64,
    /// Events lost in any way: overwritten or refused.
    pub lost: u64,
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
            lost: ["overrun", "commit overrun", "dropped events"]
                .map(value)
                .into_iter()
                .fold(0, u64::saturating_add),
            read: value("read events"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Stats;

    #[test]
    fn the_kernels_text_is_parsed() {
        let whole = "entries: 7\noverrun: 3\ncommit overrun: 2\nbytes: 9\noldest event ts:     0.000000\nnow ts:  1849.718541\ndropped events: 1\nread events: 5\n";
        let stats = |entries, lost, read| Stats { entries, lost, read };
        let cases = [
            ("whole", whole, stats(7, 6, 5)),
            ("old kernel", "entries: 1\noverrun: 2\n", stats(1, 2, 0)),
            ("empty", "", stats(0, 0, 0)),
            ("words", "overrun: many\n", stats(0, 0, 0)),
            ("out of range", "overrun: 99999999999999999999\ndropped events: 4\n", stats(0, 4, 0)),
        ];
        for (name, text, expected) in cases {
            assert_eq!(Stats::parse(text), expected, "case: {name}");
        }
    }
}
