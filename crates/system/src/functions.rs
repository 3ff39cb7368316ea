//! Functions of a program or shared library, by name, and where they lie in its file.

mod containing;
mod mangled;

pub use containing::names_at;

use anechoic_recording::{Problem, ProblemKind, in_words};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Types of sections with names, of all functions and of those that other files may use.
const SYMBOLS: [u32; 2] = [2, 11];
/// Types of symbols.
const FUNCTION: u8 = 2;
const CHOSEN_AT_START: u8 = 10;
/// The type of a segment that is loaded, and the flag of one that is executed.
const LOADED: u32 = 1;
const EXECUTED: u32 = 1;
/// Types of ELF files.
const PROGRAMS: [u16; 2] = [2, 3];
/// Largest table that is read.
const MOST_BYTES: u64 = 1 << 30;
/// Largest number of names in an error.
const MOST_NAMES: usize = 5;

/// A function of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its name, for people.
    pub name: String,
    /// Where its code begins in the file, in bytes.
    pub offset: u64,
}

/// The named functions of a file.
#[derive(Debug, Default)]
struct Names {
    /// Where each lies in memory, by the name that the compiler gave it.
    functions: BTreeMap<String, Vec<u64>>,
    /// Functions that the loader replaces by one of several.
    chosen_at_start: Vec<String>,
    /// Names that another file defines.
    elsewhere: Vec<String>,
    /// Whether there are names of all functions, not only of those that other files may use.
    all: bool,
}

/// Finds a function by its name, or by its path in C++ and Rust, or by the end of that path: `step` also finds `main::step`.
///
/// # Errors
/// Fails if the file is no program, if there is no such function, or if there are several; the error names what is near.
pub fn find(file: &File, name: &str) -> Result<Function, Problem> {
    let elf = Elf::open(file)?;
    let names = elf.names().map_err(|error| damaged(&error))?;
    let mut found = names.matching(name);
    let Some((known, at)) = found.pop() else { return Err(names.lacks(name)) };
    if !found.is_empty() {
        let all: Vec<&str> = found.iter().map(|(known, _)| *known).chain([known]).collect();
        return Err(several(name, &all));
    }
    let offset = elf.offset(at).map_err(|error| damaged(&error))?;
    let offset = offset.ok_or_else(|| damaged(&"the function lies outside of its code"))?;
    Ok(Function { name: mangled::path(known).unwrap_or_else(|| known.to_owned()), offset })
}

/// Returns the interpreter with which a script is executed, if the file is a script that names one.
fn interpreter(file: &File) -> Option<String> {
    let mut line = [0; 256];
    let length = file.read_at(&mut line, 0).ok()?;
    let line = line[..length].strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split_whitespace();
    let interpreter = words.next()?;
    let is_env = interpreter.ends_with("/env");
    let program = words.find(|word| is_env && !word.starts_with('-') && !word.contains('='));
    Some(program.unwrap_or(interpreter).to_owned())
}

fn damaged(why: &dyn std::fmt::Display) -> Problem {
    ProblemKind::Data
        .problem(format!("its table of symbols cannot be read: {why}"), "build it again")
}

/// Returns how well a function's name agrees with the wanted one, 0 the best; `None` if it does not.
fn rank(name: &str, wanted: &str) -> Option<u8> {
    if name == wanted {
        return Some(0);
    }
    if let Some(suffix) = name.strip_prefix(wanted)
        && suffix.starts_with('.')
        && !suffix.contains(".cold")
    {
        return Some(1);
    }
    let path = mangled::path(name)?;
    if path == wanted {
        return Some(2);
    }
    path.strip_suffix(wanted)?.ends_with("::").then_some(3)
}

/// Returns that several functions have this name, and what distinguishes them: their paths, or what the compiler calls them.
fn several(wanted: &str, names: &[&str]) -> Problem {
    let own = distinct(names.iter().map(|name| (*name).to_owned()));
    let paths = distinct(names.iter().filter_map(|name| mangled::path(name)));
    let shown = if paths.len() == names.len() { paths } else { own };
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

fn listed(names: &[String]) -> String {
    names[..names.len().min(MOST_NAMES)].join(", ")
}

impl Names {
    /// Returns the functions that a name may mean, by name and address: those of exactly this name if there are any, then
    /// those that compilers made of it, then those with this path, then those whose path ends so.
    fn matching(&self, wanted: &str) -> Vec<(&str, u64)> {
        let ranked =
            self.functions.iter().filter_map(|(name, at)| Some((rank(name, wanted)?, name, at)));
        let ranked: Vec<(u8, &String, &Vec<u64>)> = ranked.collect();
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

    /// Returns the names that are most like this one.
    fn near(&self, wanted: &str) -> Vec<String> {
        let shown = |name: &String| mangled::path(name).unwrap_or_else(|| name.clone());
        let mut all: Vec<String> = self.functions.keys().map(shown).collect();
        all.retain(|name| !name.starts_with('_') || wanted.starts_with('_'));
        all.sort_by_cached_key(|name| {
            let end = name.rsplit("::").next().unwrap_or_default();
            (!end.contains(wanted), strsim::osa_distance(wanted, end), name.len())
        });
        all.dedup();
        all.truncate(MOST_NAMES);
        all
    }
}

/// An ELF file of 64 bits.
struct Elf<'a> {
    file: &'a File,
    head: [u8; 64],
}

impl<'a> Elf<'a> {
    fn open(file: &'a File) -> Result<Self, Problem> {
        let wrong = |why: String, remedy: &str| Err(ProblemKind::Usage.problem(why, remedy));
        let mut head = [0; 64];
        let read = file.read_at(&mut head, 0).map_err(|error| {
            ProblemKind::NoInput.problem(in_words(&error), "name a program that may be read")
        })?;
        if let Some(interpreter) = interpreter(file) {
            let why = format!(
                "it is a script that {interpreter} executes, and has no functions of its own"
            );
            return wrong(why, "mark with --mark-fd: the script writes a line for each iteration");
        }
        if read < head.len() || !head.starts_with(b"\x7fELF") {
            return wrong(
                "it is no program (not an ELF file)".into(),
                "name the program: --mark FILE:FUNCTION",
            );
        }
        let kind = u16::from_le_bytes([head[16], head[17]]);
        if (head[4], head[5]) != (2, 1) || !PROGRAMS.contains(&kind) {
            let why = "it is no program of 64 bits for this machine".to_owned();
            return wrong(why, "mark with --mark-fd");
        }
        Ok(Self { file, head })
    }

    /// Reads this number of bytes from here.
    fn read(&self, at: u64, length: u64) -> io::Result<Vec<u8>> {
        let whole = self.file.metadata()?.len();
        if length > MOST_BYTES || at.checked_add(length).is_none_or(|end| end > whole) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = vec![0; length as usize];
        self.file.read_exact_at(&mut bytes, at)?;
        Ok(bytes)
    }

    /// Reads a table of headers: of segments, or of sections.
    fn headers(&self, at: usize, size: usize, count: usize) -> io::Result<Vec<Vec<u8>>> {
        let size = u64::from(half(&self.head, size));
        let table = self.read(long(&self.head, at), size * u64::from(half(&self.head, count)))?;
        Ok(table.chunks_exact((size as usize).max(1)).map(<[u8]>::to_vec).collect())
    }

    /// Returns where code at this address in memory lies in the file.
    fn offset(&self, address: u64) -> io::Result<Option<u64>> {
        let segments = self.headers(0x20, 0x36, 0x38)?;
        let code =
            segments.iter().filter(|it| word(it, 0) == LOADED && word(it, 4) & EXECUTED != 0);
        let within = |it: &&Vec<u8>| {
            address.checked_sub(long(it, 0x10)).is_some_and(|by| by < long(it, 0x20))
        };
        let segment = code.into_iter().find(within);
        Ok(segment.and_then(|it| long(it, 8).checked_add(address - long(it, 0x10))))
    }

    fn names(&self) -> io::Result<Names> {
        let sections = self.headers(0x28, 0x3a, 0x3c)?;
        let mut names = Names::default();
        for section in sections.iter().filter(|section| SYMBOLS.contains(&word(section, 4))) {
            let Some(texts) = sections.get(word(section, 0x28) as usize) else { continue };
            let texts = self.read(long(texts, 0x18), long(texts, 0x20))?;
            let symbols = self.read(long(section, 0x18), long(section, 0x20))?;
            names.all |= word(section, 4) == SYMBOLS[0];
            symbols.chunks_exact(24).for_each(|symbol| names.add(symbol, &texts));
        }
        Ok(names)
    }
}

impl Names {
    fn add(&mut self, symbol: &[u8], texts: &[u8]) {
        let text = texts.get(word(symbol, 0) as usize..).unwrap_or_default();
        let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
        let Ok(name) = std::str::from_utf8(text) else { return };
        let (kind, at) = (symbol[4] & 0xf, long(symbol, 8));
        match (kind, half(symbol, 6)) {
            (FUNCTION, 0) => self.elsewhere.push(name.to_owned()),
            (FUNCTION, _) => {
                let places = self.functions.entry(name.to_owned()).or_default();
                if !places.contains(&at) {
                    places.push(at);
                }
            }
            (CHOSEN_AT_START, _) => self.chosen_at_start.push(name.to_owned()),
            _ => {}
        }
    }
}

/// Reads numbers of 2, 4 and 8 bytes; 0 beyond the end.
fn half(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |it| u16::from_le_bytes(*it))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |it| u32::from_le_bytes(*it))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |it| u64::from_le_bytes(*it))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    /// Builds a program that has its symbols, in a directory that lasts as long as the test.
    fn built() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().expect("a directory");
        let [source, program] = ["a.c", "a"].map(|name| dir.path().join(name));
        let text = "#include <stdlib.h>\nint a_function_of_this_test(int value) { return value + 1; }\n\
                    int main(void) { return a_function_of_this_test(0) - (malloc(1) != 0); }\n";
        std::fs::write(&source, text).expect("it is written");
        let built = Command::new("cc").arg("-o").args([&program, &source]).status();
        assert!(built.expect("a C compiler").success());
        (dir, program)
    }

    fn printed(command: &str, args: &[&str], file: &Path) -> String {
        let done = Command::new(command).args(args).arg(file).output().expect("it is installed");
        String::from_utf8(done.stdout).expect("text")
    }

    /// Where it is in memory by `nm`, and where that part of the file is by `readelf`.
    #[test]
    fn a_function_is_found_where_its_code_is() {
        let (_dir, program) = built();
        let file = File::open(&program).expect("it was built");
        let found = find(&file, "a_function_of_this_test").expect("it has symbols");
        assert_eq!(found.name, "a_function_of_this_test");
        let number =
            |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("a number");
        let symbols = printed("nm", &[], &program);
        let line = symbols.lines().find(|line| line.ends_with(" T a_function_of_this_test"));
        let address = number(line.expect("a symbol").split(' ').next().expect("an address"));
        let headers = printed("readelf", &["-lW"], &program);
        let code = headers.lines().find(|line| line.contains("LOAD") && line.contains("R E"));
        let words: Vec<&str> = code.expect("code").split_whitespace().collect();
        assert_eq!(found.offset, address - number(words[2]) + number(words[1]), "{headers}");
    }

    #[test]
    fn what_cannot_be_marked_has_a_remedy() {
        let (_dir, program) = built();
        let own = || File::open(&program).expect("it was built");
        let script = |text: &str| {
            let mut file = tempfile::tempfile().expect("a file");
            file.write_all(text.as_bytes()).expect("it is written");
            file
        };
        let cases = [
            ("absent", own(), "a_function_of_this_tset", "a_function_of_this_test"),
            ("of a library", own(), "malloc", "--mark libc.so.6:malloc"),
            ("script", script("#!/usr/bin/env -S A=1 python3 -u\n"), "f", "that python3 executes"),
            ("shell", script("#! /bin/sh -e\n"), "f", "that /bin/sh executes"),
            ("text", script("hello"), "f", "not an ELF file"),
            ("cut short", script("\x7fELF\x02\x01"), "f", "not an ELF file"),
        ];
        for (name, file, function, expected) in cases {
            let problem = find(&file, function).expect_err(name).to_string();
            assert!(problem.contains(expected), "case {name}: {problem}");
        }
    }

    #[test]
    fn damaged_files_are_refused() {
        let mut bytes = std::fs::read("/proc/self/exe").expect("this program");
        bytes.truncate(4_096);
        for damage in [0x20, 0x28, 0x36, 0x38, 0x3a, 0x3c] {
            let mut bytes = bytes.clone();
            bytes[damage..damage + 2].fill(0xff);
            let mut file = tempfile::tempfile().expect("a file");
            file.write_all(&bytes).expect("it is written");
            find(&file, "main").expect_err("its tables are cut off");
        }
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
        ];
        let functions = functions.map(|(name, at)| (name.to_owned(), at)).into_iter().collect();
        let names = Names { functions, all: true, ..Names::default() };
        let cases: [(&str, &[u64]); 8] = [
            ("step", &[1]),
            ("walk", &[3]),
            ("a::step", &[4]),
            ("run", &[6, 7]),
            ("c::run", &[6]),
            ("_ZN1b4stepEv", &[5]),
            ("twice", &[8, 9]),
            ("ste", &[]),
        ];
        for (wanted, expected) in cases {
            let found: Vec<u64> = names.matching(wanted).iter().map(|(_, at)| *at).collect();
            assert_eq!(found, expected, "{wanted}");
        }
        let both = several("run", &["_ZN1c3runEv", "_ZN1d3runEv"]).to_string();
        assert!(both.contains("name one of them: c::run, d::run"), "{both}");
        let alike = several("run", &["_Z3runi", "_Z3rund"]).to_string();
        assert!(alike.contains("name one of them: _Z3rund, _Z3runi"), "{alike}");
        assert!(several("twice", &["twice", "twice"]).to_string().contains("rename one"));
        assert_eq!(names.near("setp")[0], "step");
        let stripped = Names { all: false, ..names };
        assert!(stripped.lacks("other").to_string().contains("it is stripped"));
    }
}
