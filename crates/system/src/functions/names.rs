//! The named functions of a file, and which of them a name means.

use super::readable::Readable;
use anechoic_recording::{Problem, ProblemKind};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of names in an error.
const MOST_NAMES: usize = 5;
/// What compilers add to the name of a part of a function that is rarely executed.
const RARE_PART: &str = ".cold";

/// The named functions of a file.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Where each lies in memory, by the name that the compiler gave it.
    functions: BTreeMap<String, BTreeSet<u64>>,
    /// Functions that the loader replaces by one of several.
    chosen_at_start: Vec<String>,
    /// Names that another file defines.
    elsewhere: Vec<String>,
    /// Their bytes.
    pub(super) bytes: usize,
    /// Whether there are names of all functions, not only of those that other files may use.
    pub(super) all: bool,
}

/// Returns how well a function's name agrees with the wanted one, 0 the best; `None` if it does not.
fn rank(name: &str, wanted: &Wanted<'_>) -> Option<u8> {
    if name == wanted.name {
        return Some(0);
    }
    if name.contains(RARE_PART) {
        return None;
    }
    let is_copy = u8::from(name.contains('.'));
    if let Some(suffix) = name.strip_prefix(wanted.name)
        && suffix.starts_with(['.', '@'])
    {
        return Some(1 + is_copy);
    }
    // Both forms of a name have its identifiers.
    let readable = Some(name).filter(|name| name.contains(wanted.identifier));
    let readable = readable.and_then(Readable::new)?;
    let names = [&readable.whole, &readable.path, &readable.plain()];
    let is_end = |name: &&&String| {
        name.strip_suffix(wanted.name).is_some_and(|before| before.ends_with("::"))
    };
    let rank = match names {
        names if names.iter().any(|name| **name == wanted.name) => 3,
        names if names.iter().any(|name| is_end(&name)) => 5,
        _ => return None,
    };
    Some(rank + is_copy)
}

/// The name of a function to find.
struct Wanted<'a> {
    name: &'a str,
    /// The last identifier in it, without parameters and type arguments; empty if it may be written in another way.
    identifier: &'a str,
}

impl<'a> Wanted<'a> {
    fn new(name: &'a str) -> Self {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let path = name.split(['(', '<']).next().unwrap_or_default().trim_end_matches(':');
        let from = path.rfind(|letter| !is_part(letter)).map_or(0, |at| at + 1);
        let identifier = if path.is_ascii() { &path[from..] } else { "" };
        Self { name, identifier }
    }
}

/// Returns that several functions have this name, and what distinguishes them: their paths, their parameters, or what the
/// compiler calls them.
fn several(wanted: &str, names: &[&str]) -> Problem {
    let readable: Vec<Option<Readable>> = names.iter().map(|name| Readable::new(name)).collect();
    let forms: [fn(&Readable) -> &String; 2] = [|it| &it.path, |it| &it.whole];
    let shown = forms.iter().find_map(|form| {
        let shown = distinct(readable.iter().flatten().map(|it| form(it).clone()));
        (shown.len() == names.len()).then_some(shown)
    });
    let shown = shown.unwrap_or_else(|| distinct(names.iter().map(|name| (*name).to_owned())));
    let remedy = match shown.len() {
        1 => "rename one of them, or mark with --mark-fd".to_owned(),
        _ => format!("name one of them: {}", listed(&shown)),
    };
    let why = format!("it has {} functions '{wanted}'", names.len());
    ProblemKind::Usage.problem(why, remedy)
}

fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    names.collect::<BTreeSet<String>>().into_iter().collect()
}

/// Returns a name, in quotes where a shell would take it apart.
fn quoted(name: &String) -> String {
    match name.contains(['(', '<', ' ', '&', '*', '$']) {
        true => format!("'{name}'"),
        false => name.clone(),
    }
}

/// Lists the first names.
fn listed(names: &[String]) -> String {
    let first: Vec<String> = names.iter().take(MOST_NAMES).map(quoted).collect();
    match names.len().saturating_sub(MOST_NAMES) {
        0 => first.join(", "),
        more => format!("{}, and {more} more", first.join(", ")),
    }
}

impl Names {
    /// Adds a symbol: whether the function is chosen at start, and whether another file defines it; and where it is. Of a name
    /// with versions that which new programs get has two `@`, and is also the one without a version.
    pub(super) fn add(&mut self, name: String, (chosen, elsewhere): (bool, bool), at: u64) {
        self.bytes += name.len();
        let (plain, named) = match name.split_once("@@") {
            Some((plain, version)) => (plain.to_owned(), Some(format!("{plain}@{version}"))),
            None => (name, None),
        };
        if elsewhere {
            self.elsewhere.push(plain);
        } else if chosen {
            self.chosen_at_start.push(plain);
        } else {
            for name in named.into_iter().chain([plain]) {
                self.functions.entry(name).or_default().insert(at);
            }
        }
    }

    /// Returns the function that a name means: its name for people, and its address.
    pub(super) fn find(&self, wanted: &str) -> Result<(String, u64), Problem> {
        // Older versions of a function that is chosen at start do not stand for it.
        let chosen = self.chosen_at_start.iter().any(|name| name == wanted);
        let found = match chosen && !self.functions.contains_key(wanted) {
            true => vec![],
            false => self.matching(wanted),
        };
        match &found[..] {
            [] => Err(self.lacks(wanted)),
            [(name, at)] => Ok((shown(name), *at)),
            _ => Err(several(wanted, &found.iter().map(|(name, _)| *name).collect::<Vec<_>>())),
        }
    }

    /// Returns the functions that a name may mean, by name and address: those of exactly this name if there are any, then older
    /// versions of it and those that compilers made of it, then those with this path, then those whose path ends so.
    fn matching(&self, wanted: &str) -> Vec<(&str, u64)> {
        let wanted = Wanted::new(wanted);
        let ranked =
            self.functions.iter().filter_map(|(name, at)| Some((rank(name, &wanted)?, name, at)));
        let ranked: Vec<(u8, &String, &BTreeSet<u64>)> = ranked.collect();
        let best = ranked.iter().map(|(rank, ..)| *rank).min();
        let mut found: Vec<(&str, u64)> = vec![];
        for (_, name, at) in ranked.iter().filter(|(rank, ..)| Some(*rank) == best) {
            found.extend(at.iter().map(|&at| (name.as_str(), at)));
        }
        // Several names of one function are one function.
        found.sort_by_key(|&(_, at)| at);
        found.dedup_by_key(|&mut (_, at)| at);
        found
    }

    /// Returns that there is no such function, and what to do about it.
    fn lacks(&self, wanted: &str) -> Problem {
        let missing = format!("it has no function '{wanted}'");
        if self.chosen_at_start.iter().any(|name| name == wanted) {
            let why =
                format!("'{wanted}' is one of several functions, chosen when the program starts");
            return ProblemKind::Usage
                .problem(why, "mark another function, for example one that calls it");
        }
        if self.elsewhere.iter().any(|name| name == wanted) {
            let why = format!("'{wanted}' is a function of a shared library");
            let remedy = format!("name the library: --mark libc.so.6:{wanted}");
            return ProblemKind::Usage.problem(why, remedy);
        }
        let versions = self.versions(wanted);
        if !versions.is_empty() {
            return ProblemKind::Usage.problem(missing, format!("it has {}", listed(&versions)));
        }
        let near = self.near(wanted);
        if !self.all {
            let why = format!("{missing}; it is stripped: its functions have no names");
            let remedy = match near.is_empty() {
                true => "link it without -s and do not strip it, or mark with --mark-fd".to_owned(),
                false => format!(
                    "link it without -s, or mark with --mark-fd; only these have names: {}",
                    near.join(", ")
                ),
            };
            return ProblemKind::Usage.problem(why, remedy);
        }
        let inlined = "a function may be inlined: declare it __attribute__((noinline)), in Rust #[inline(never)]";
        let remedy = match near.is_empty() {
            true => format!("{inlined}, or mark with --mark-fd"),
            false => format!("it has {}; {inlined}", near.join(", ")),
        };
        ProblemKind::Usage.problem(missing, remedy)
    }

    /// Returns the versions of a function of which another one is wanted.
    fn versions(&self, wanted: &str) -> Vec<String> {
        let Some((name, _)) = wanted.split_once('@') else { return vec![] };
        let is_version = |known: &&String| known.split_once('@').is_some_and(|it| it.0 == name);
        self.functions.keys().filter(is_version).cloned().collect()
    }

    /// Returns the names that are most like this one.
    fn near(&self, wanted: &str) -> Vec<String> {
        let mut all: Vec<String> = self.functions.keys().map(|name| shown(name)).collect();
        all.retain(|name| {
            (!name.starts_with('_') || wanted.starts_with('_')) && !name.contains('@')
        });
        all.sort_by_cached_key(|name| {
            let end = name.rsplit("::").next().unwrap_or_default();
            (!end.contains(wanted), strsim::osa_distance(wanted, end), name.len())
        });
        all.dedup();
        all.truncate(MOST_NAMES);
        all
    }
}

/// Returns a function's name for people, without parameters.
pub(super) fn shown(name: &str) -> String {
    Readable::new(name).map_or_else(|| name.to_owned(), |readable| readable.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Versions as `nm -D --with-symbol-versions` prints them.
    #[test]
    fn new_programs_get_one_of_several_versions() {
        let mut names = Names::default();
        for (name, at) in
            [("a@V1", 1), ("a@V2", 2), ("a@@V3", 3), ("b@V1", 4), ("b@V2", 5), ("c@V1", 6)]
        {
            names.add(name.to_owned(), (false, false), at);
        }
        for (wanted, expected) in [("a", 3), ("a@V3", 3), ("a@V1", 1), ("c", 6), ("b@V2", 5)] {
            assert_eq!(names.find(wanted).map(|(_, at)| at), Ok(expected), "{wanted}");
        }
        let several = names.find("b").expect_err("two, none of them for new programs").to_string();
        assert!(several.contains("name one of them: b@V1, b@V2"), "{several}");
        let absent = names.find("a@V4").expect_err("no such version").to_string();
        assert!(absent.contains("it has a@V1, a@V2, a@V3"), "{absent}");
        names.add("e@V1".to_owned(), (false, false), 7);
        names.add("e@@V2".to_owned(), (true, false), 8);
        let chosen = names.find("e").expect_err("the new one is chosen at start").to_string();
        assert!(chosen.contains("one of several functions, chosen"), "{chosen}");
        assert_eq!(names.find("e@V1").map(|(_, at)| at), Ok(7));
        assert_eq!(names.near("d"), ["a"], "without versions");
    }

    #[test]
    fn one_name_may_mean_several_functions() {
        let functions = [
            ("step", vec![1]),
            ("step.cold", vec![2]),
            ("walk.constprop.0", vec![3]),
            ("_ZN1a4stepEv", vec![4]),
            ("_ZN1b4stepEv", vec![5]),
            ("_ZN1c3runEv", vec![6]),
            ("_ZN1d3runEv", vec![7]),
            ("twice", vec![8, 9]),
            ("alias", vec![1]),
            ("_Z4pushi", vec![10]),
            ("_Z4pushd", vec![11]),
            ("_Z4pushi.constprop.0", vec![12]),
            ("_ZN1a4pullIiEEvT_", vec![13]),
            ("_RINvCs1_1b4pullmE", vec![14]),
        ];
        let functions = functions
            .map(|(name, at)| (name.to_owned(), at.into_iter().collect()))
            .into_iter()
            .collect();
        let names = Names { functions, all: true, ..Names::default() };
        let cases: [(&str, &[u64]); 16] = [
            ("step", &[1]),
            ("walk", &[3]),
            ("a::step", &[4]),
            ("run", &[6, 7]),
            ("c::run", &[6]),
            ("_ZN1b4stepEv", &[5]),
            ("twice", &[8, 9]),
            ("ste", &[]),
            ("push", &[10, 11]),
            ("push(int)", &[10]),
            ("pull", &[13, 14]),
            ("a::pull", &[13]),
            ("a::pull<int>", &[13]),
            ("pull<int>(int)", &[13]),
            ("b::pull::<u32>", &[14]),
            ("ll::pull", &[]),
        ];
        for (wanted, expected) in cases {
            let found: Vec<u64> = names.matching(wanted).iter().map(|(_, at)| *at).collect();
            assert_eq!(found, expected, "{wanted}");
        }
        let both = several("run", &["_ZN1c3runEv", "_ZN1d3runEv"]).to_string();
        assert!(both.contains("name one of them: c::run, d::run"), "{both}");
        let alike = several("run", &["_Z3runi", "_Z3rund"]).to_string();
        assert!(alike.contains("name one of them: 'run(double)', 'run(int)'"), "{alike}");
        assert!(several("twice", &["twice", "twice"]).to_string().contains("rename one"));
        assert_eq!(names.near("setp")[0], "step");
        let stripped = Names { all: false, ..names };
        assert!(stripped.lacks("other").to_string().contains("it is stripped"));
    }
}
