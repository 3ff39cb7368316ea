//! Names of sources without the number of a CPU, for comparisons of CPUs and hosts.

use anechoic_recording::sources;

/// How the names of our own measuring threads begin, before the number of their CPU.
const LOOP: &str = "loop ";

/// Returns the name of a source with a star in the place of numbers that differ between CPUs and hosts: the number after
/// a slash, and one after a colon behind it. `ksoftirqd/1` is `ksoftirqd/*`, `kworker/1:2H` is `kworker/*:*H`,
/// `kworker/u8:3` is `kworker/u*:*`, `irq/24-nvme0q1` is `irq/*-nvme0q1`, and our own thread `loop 1` is `loop *`.
#[must_use]
pub fn folded(source: &str, name: &str) -> String {
    if let Some(cpu) = name.strip_prefix(LOOP).filter(|_| sources::THREAD.is(source))
        && !cpu.is_empty()
        && cpu.bytes().all(|byte| byte.is_ascii_digit())
    {
        return format!("{LOOP}*");
    }
    let Some((before, after)) = name.split_once('/') else { return name.to_owned() };
    let (unbound, rest) = match after.strip_prefix('u') {
        Some(rest) if rest.starts_with(|letter: char| letter.is_ascii_digit()) => ("u", rest),
        _ => ("", after),
    };
    let Some(rest) = without_number(rest) else { return name.to_owned() };
    let rest = match rest.strip_prefix(':').and_then(without_number) {
        Some(rest) => format!(":*{rest}"),
        None => rest.to_owned(),
    };
    format!("{before}/{unbound}*{rest}")
}

/// Returns what follows the number with which a text begins; absent if it begins with none.
fn without_number(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    (rest.len() < text.len()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_source_on_several_cpus_are_one() {
        let cases = [
            ("thread", "loop 1", "loop *"),
            ("thread", "loop 64", "loop *"),
            ("thread", "loop 1a", "loop 1a"),
            ("thread", "loop0", "loop0"),
            ("device-irq", "loop 1", "loop 1"),
            ("thread", "ksoftirqd/1", "ksoftirqd/*"),
            ("thread", "kworker/1:1", "kworker/*:*"),
            ("thread", "kworker/12:0H", "kworker/*:*H"),
            ("thread", "kworker/u8:3", "kworker/u*:*"),
            ("thread", "kworker/0:1-events", "kworker/*:*-events"),
            ("thread", "irq/24-nvme0q1", "irq/*-nvme0q1"),
            ("thread", "rcu_sched", "rcu_sched"),
            ("thread", "a/b", "a/b"),
            ("thread", "usr/", "usr/"),
            ("thread", "a/u", "a/u"),
            ("softirq", "NET_RX", "NET_RX"),
            ("timer-tick", "", ""),
        ];
        for (source, name, expected) in cases {
            assert_eq!(folded(source, name), expected, "{source} {name}");
        }
    }
}
