//! Removes from a text what names its owner: hosts, paths, and words of the command line.

use crate::run::Run;
use crate::who::REMOVED;
use std::collections::{BTreeMap, BTreeSet};

/// These paths, and those below them, say nothing about the owner.
const OPEN_PATHS: [&str; 4] = ["/proc", "/sys", "/dev/cpu", "/dev/cpu_dma_latency"];
/// Paths below this one contain the names of units, containers and jobs.
const CGROUPS: &str = "/sys/fs/cgroup/";
/// Words of command lines that are our own.
const OPEN_WORDS: [&str; 13] = [
    "anechoic",
    "anechoic-mpi",
    "measure",
    "inject",
    "suite",
    "interrupt",
    "kernel",
    "thread",
    "fifo",
    "other",
    "isolated",
    "nohz_full",
    "node",
];
/// A word of the command line with fewer letters is a number, a unit, or too common.
const FEWEST_LETTERS: usize = 4;
/// Characters that stand around paths and host names.
const SEPARATORS: &str = "'\"`()[]{}<>=:,;|@&?!";

/// What is private in the texts of a run.
pub(crate) struct Scrubber<'a> {
    /// The names of hosts, and what stands for them.
    hosts: BTreeMap<&'a str, &'a str>,
    /// Words of the command line, and directories in them.
    words: BTreeSet<&'a str>,
    /// Names of settings, which may begin like a host: `vm.swappiness`.
    settings: BTreeSet<&'a str>,
}

impl<'a> Scrubber<'a> {
    /// Collects what is private: `host` stands for the run's own host, `hosts` has what stands for all.
    pub fn new(run: &'a Run, host: &'a str, hosts: &'a BTreeMap<String, String>) -> Self {
        let all = hosts.iter().map(|(name, alias)| (&**name, &**alias));
        let job = run.parallel.iter().map(|job| &*job.host);
        let own = job.chain([&*run.machine.host]).map(|name| (name, host));
        let is_open = |word: &&str| OPEN_WORDS.contains(word) || *word == run.method;
        Self {
            hosts: all.chain(own).filter(|(name, _)| !name.is_empty()).collect(),
            words: run
                .command
                .iter()
                .flat_map(|word| parts(word))
                .filter(|w| !is_open(w))
                .collect(),
            settings: run.machine.settings.iter().map(|setting| &*setting.name).collect(),
        }
    }

    /// Returns a text without what is private.
    ///
    /// A path may contain blanks. It ends at the quote or bracket in which it stands, or else at a colon.
    pub fn text(&self, text: &str) -> String {
        let (mut kept, mut path_end) = (vec![], None);
        for word in text.split_whitespace() {
            let begins = if path_end.is_none() { end_of_path(word) } else { None };
            if begins.is_some() {
                kept.push(REMOVED.to_owned());
                path_end = begins;
            }
            match path_end {
                Some(end) if ends(word, end) => {
                    path_end = None;
                    if word.ends_with(':') {
                        kept.last_mut().into_iter().for_each(|last| last.push(':'));
                    }
                }
                Some(_) => {}
                None if self.words.iter().any(|private| word.contains(private)) => {
                    kept.push(REMOVED.to_owned());
                }
                None => kept.push(self.without_hosts(word)),
            }
        }
        kept.join(" ")
    }

    fn without_hosts(&self, word: &str) -> String {
        let is_separator = |c: char| c == '/' || SEPARATORS.contains(c);
        let pieces = word.split_inclusive(is_separator).map(|piece| {
            let name = piece.trim_matches(|c: char| !c.is_alphanumeric());
            self.alias(name).map_or_else(|| piece.to_owned(), |alias| piece.replace(name, alias))
        });
        pieces.collect()
    }

    /// Returns what stands for the host of this name. It may have a domain or a suffix more or less than the known one.
    fn alias(&self, name: &str) -> Option<&'a str> {
        if name.is_empty() || self.settings.contains(name) {
            return None;
        }
        let has_domain =
            |host: &str| host.strip_prefix(name).is_some_and(|domain| domain.starts_with('.'));
        let is_same = |host: &str| contains_word(name, host) || has_domain(host);
        let similar = || self.hosts.iter().find(|(host, _)| is_same(host)).map(|(_, alias)| alias);
        self.hosts.get(name).or_else(similar).copied()
    }
}

/// Returns the private parts of a word of the command line: the value of an option, and the directories in it. Absolute
/// paths are recognized anyway, except for their last part.
fn parts(word: &str) -> impl Iterator<Item = &str> {
    let value = match word.split_once('=') {
        Some((_, value)) => value,
        None if word.starts_with("--") => "",
        None if word.starts_with('-') => word.get(2..).unwrap_or(""),
        None => word,
    };
    let value = match value.rsplit_once('/') {
        Some((_, name)) if value.starts_with('/') && !name.is_empty() => name,
        _ => value,
    };
    let parts = value.split(|c: char| c == '/' || c.is_whitespace() || SEPARATORS.contains(c));
    parts.filter(|part| part.chars().filter(|c| c.is_alphabetic()).count() >= FEWEST_LETTERS)
}

/// Returns whether `name` stands in `text` with no letter or digit beside it.
fn contains_word(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        !text[..at].ends_with(char::is_alphanumeric)
            && !text[at + name.len()..].starts_with(char::is_alphanumeric)
    })
}

/// Returns what ends the private path that begins in this word, if one does.
fn end_of_path(word: &str) -> Option<char> {
    let mut before = None;
    for piece in word.split_inclusive(|c| SEPARATORS.contains(c)) {
        if is_private(piece.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '/')) {
            return Some(match before {
                Some('(') => ')',
                Some('[') => ']',
                Some(quote @ ('\'' | '"' | '`')) => quote,
                _ => ':',
            });
        }
        before = piece.chars().next_back();
    }
    None
}

/// Returns whether a word is the last of a path that ends with this character.
fn ends(word: &str, end: char) -> bool {
    let bare = if end == ':' { word } else { word.trim_end_matches([',', '.', ';', ':']) };
    bare.ends_with(end)
}

/// Returns whether this is an absolute path that may name the owner.
fn is_private(path: &str) -> bool {
    let path = path.trim_end_matches(|c: char| c.is_ascii_punctuation());
    let names = |c: char| c == '.' || c == '_' || !c.is_ascii_punctuation();
    let is_below = |open: &&str| {
        path.strip_prefix(*open).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let is_open =
        OPEN_PATHS.iter().any(is_below) && !path.starts_with(CGROUPS) && !path.contains("/..");
    path.starts_with('/') && path.trim_start_matches('/').starts_with(names) && !is_open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_lose_hosts_paths_and_words_of_the_command() {
        let hosts = [("vm", "host-1"), ("node7", "host-2"), ("node7-a", "host-3")];
        let scrubber = Scrubber {
            hosts: hosts.into(),
            words: ["-oacme-secret/rec", "--json", "-d", "1000ms", "--output=/home/eve/eves run"]
                .iter()
                .flat_map(|word| parts(word))
                .collect(),
            settings: ["vm.swappiness"].into(),
        };
        for (text, expected) in [
            ("vm: cannot read /home/eve/x", "host-1: cannot read (removed)"),
            ("see (/home/eve/x) and /proc/cmdline", "see (removed) and /proc/cmdline"),
            ("vm.swappiness of `vm` is 60", "vm.swappiness of `host-1` is 60"),
            ("1/s, 3 / 4 +/-5 % after 1000ms", "1/s, 3 / 4 +/-5 % after 1000ms"),
            ("cannot read '/home/eve/my secretdir/x'", "cannot read (removed)"),
            ("'/home/eve/my secretdir/x', or not", "(removed) or not"),
            ("write /home/eve/my dir/x: no space", "write (removed): no space"),
            ("cannot write acme-secret/rec/part-0: full", "cannot write (removed) full"),
            ("eves json run", "(removed) json run"),
            ("/development/x", "(removed)"),
            ("/dev/shm/x", "(removed)"),
            ("/dev/mapper/vg_acme", "(removed)"),
            ("/sys/fs/cgroup/acme.slice/cpu.max", "(removed)"),
            ("/proc/../home/eve", "(removed)"),
            ("file=/home/eve eve@vm:/home", "(removed)"),
            ("~/acme: ../acme: ./acme:", "(removed): (removed): (removed):"),
            ("/dev/cpu/0/msr, /sys.", "/dev/cpu/0/msr, /sys."),
            ("/sys/devices/system/cpu/cpu*/cpufreq", "/sys/devices/system/cpu/cpu*/cpufreq"),
            ("host=vm node7.acme.com:80 node7-ib0", "host=host-1 host-2:80 host-2"),
            ("node7-a, node77 (vm)", "host-3, node77 (host-1)"),
        ] {
            assert_eq!(scrubber.text(text), expected, "{text}");
        }
    }
}
