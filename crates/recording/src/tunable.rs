//! Settings of a running kernel that `anechoic try` can change: what each does, what it costs, how to make it last.
//!
//! The facts are here, without contact to a system, because the advice of a recording needs them too. The system reads and
//! writes the files.

mod table;

pub use table::TUNABLES;

use crate::topology;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The place in a file's path, and after a name, for each CPU that is measured.
const EACH_CPU: &str = "{cpu}";

/// How the text of a setting's file is read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A number.
    Number,
    /// A word.
    Word,
    /// All words that it takes, with the chosen one in brackets: `always [madvise] never`.
    Choice,
    /// A list of CPUs.
    List,
    /// A mask of CPUs in hexadecimal digits; users write a list.
    Mask,
    /// A number of four bytes, which counts as long as its writer has the file open.
    Held,
}

/// The value that is worth a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recommended {
    /// This one.
    Value(&'static str),
    /// The CPUs that are not measured.
    OtherCpus,
    /// None for all machines.
    Depends,
}

/// How a setting is made to last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// By sysctl.d.
    Sysctl,
    /// By tmpfiles.d, which writes to files at the start.
    File,
    /// By something else, in a sentence.
    Otherwise(&'static str),
}

/// A setting that `anechoic try` can change while the kernel runs.
#[derive(Debug, Clone, Copy)]
pub struct Tunable {
    /// Its name, which is that of `machine.settings` with `/` for a space; `*` stands for a part that the user names.
    pub name: &'static str,
    /// Its file; `*` stands for the parts that the user named, `{cpu}` for each measured CPU.
    pub file: &'static str,
    /// The file with the value that was asked for, if that is another one.
    pub asked: Option<&'static str>,
    /// The file with the value in effect, if that is another one.
    pub effect: Option<&'static str>,
    /// How its text is read and written.
    pub form: Form,
    /// What it is.
    pub what: &'static str,
    /// The value that is worth a trial.
    pub recommended: Recommended,
    /// What that value is for.
    pub goal: &'static str,
    /// What that value costs, or the condition for it.
    pub risk: &'static str,
    /// Kernel versions and options that have it.
    pub needs: &'static str,
    /// How it is made to last.
    pub keep: Keep,
    /// A parameter of the kernel command line that does the same, or another way.
    pub also: &'static str,
    /// The noise that it acts on, in words.
    pub acts_on: &'static str,
    /// Sources and names of the noise for which it is advised: the name or a function of the source. `*` at the end stands
    /// for any rest.
    pub advised: &'static [(&'static str, &'static str)],
    /// Why it is not tried; absent for all that are.
    pub untried: Option<&'static str>,
    /// Where the facts are from.
    pub reference: &'static str,
}

impl Tunable {
    /// Returns the files of a setting with these parts of its name, one for each of these CPUs if it is a setting of a CPU.
    #[must_use]
    pub fn files(&self, pattern: &str, parts: &[String], cpus: &[u32]) -> Vec<String> {
        let mut parts = parts.iter();
        let mut named = String::new();
        for piece in pattern.split_inclusive('*') {
            match piece.strip_suffix('*') {
                Some(before) => {
                    named += before;
                    named += parts.next().map_or("*", |part| part);
                }
                None => named += piece,
            }
        }
        match self.is_per_cpu() {
            true => cpus.iter().map(|cpu| named.replace(EACH_CPU, &cpu.to_string())).collect(),
            false => vec![named],
        }
    }

    /// Returns whether each CPU has its own value.
    #[must_use]
    pub fn is_per_cpu(&self) -> bool {
        self.file.contains(EACH_CPU)
    }

    /// Returns whether the user must name a part of it, for example the number of an interrupt.
    #[must_use]
    pub fn has_parts(&self) -> bool {
        self.file.contains('*')
    }

    /// Returns the parts that a user named, if this is the name of this setting: as it is, with a space for `/`, or as the
    /// path of its file.
    fn parts(&self, typed: &str) -> Option<Vec<String>> {
        let typed = typed.replace(' ', "/");
        parts(self.name, &typed).or_else(|| parts(self.file, &typed))
    }

    /// Returns whether a path is one of its files.
    #[must_use]
    pub fn has_file(&self, path: &str) -> bool {
        let pattern = self.file.replace(EACH_CPU, "*");
        parts(&pattern, path).is_some()
    }

    /// Returns whether it is advised against noise of this source and name, whose costliest function this is.
    #[must_use]
    pub fn is_advised(&self, source: &str, name: &str, function: Option<&str>) -> bool {
        self.advised.iter().any(|(known, pattern)| {
            *known == source
                && (matches(pattern, name) || function.is_some_and(|one| matches(pattern, one)))
        })
    }

    /// Returns how to make a value of it last over a restart, the usual way first. `name` has the parts that a user named.
    #[must_use]
    pub fn to_keep(&self, name: &str, file: &str, value: &str) -> Vec<String> {
        let usual = match self.keep {
            Keep::Sysctl => format!("the line `{name} = {value}` in a file of /etc/sysctl.d"),
            Keep::File => {
                format!("the line `w {file} - - - - {value}` in a file of /etc/tmpfiles.d")
            }
            Keep::Otherwise(way) => way.to_owned(),
        };
        let also = (!self.also.is_empty()).then(|| self.also.to_owned());
        std::iter::once(usual).chain(also).collect()
    }

    /// Returns whether two values of it are the same.
    #[must_use]
    pub fn is_same(&self, a: &str, b: &str) -> bool {
        match self.form {
            Form::Number | Form::Held => match (a.parse::<i64>(), b.parse::<i64>()) {
                (Ok(a), Ok(b)) => a == b,
                _ => a == b,
            },
            Form::List | Form::Mask => cpus(a) == cpus(b),
            Form::Word | Form::Choice => a == b,
        }
    }
}

/// No machine has more CPUs.
const MOST_CPUS: usize = 1 << 16;

fn cpus(list: &str) -> BTreeSet<u32> {
    topology::ranges(list).flatten().take(MOST_CPUS).collect()
}

/// Returns whether a text is this, or begins like a pattern that ends in `*`.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => text.starts_with(beginning),
        None => text == pattern,
    }
}

/// Returns what stands for the `*` in a pattern, each a part between two `/`.
fn parts(pattern: &str, text: &str) -> Option<Vec<String>> {
    let (pattern, text): (Vec<&str>, Vec<&str>) =
        (pattern.split('/').collect(), text.split('/').collect());
    let mut found = vec![];
    for (wanted, part) in pattern.iter().zip(&text) {
        let Some((before, after)) = wanted.split_once('*') else {
            if wanted == part { continue } else { return None }
        };
        let middle = part.strip_prefix(before)?.strip_suffix(after)?;
        let usual = |letter: char| letter.is_ascii_alphanumeric() || "-_.@:".contains(letter);
        if middle.is_empty() || middle.starts_with('.') || !middle.chars().all(usual) {
            return None;
        }
        found.push(middle.to_owned());
    }
    (pattern.len() == text.len()).then_some(found)
}

/// A value for a setting, as a user asks for it.
#[derive(Debug, Clone)]
pub struct Assignment {
    /// The setting.
    pub tunable: &'static Tunable,
    /// Its name with the parts that the user named.
    pub name: String,
    /// These parts.
    pub parts: Vec<String>,
    /// The value; absent if only the setting was named.
    pub value: Option<String>,
}

impl Assignment {
    /// Reads `NAME` or `NAME=VALUE`.
    ///
    /// # Errors
    /// Returns what is wrong with it, and the names that are nearest.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (typed, value) = match text.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (text.trim(), None),
        };
        let known = TUNABLES.iter().find_map(|row| Some((row, row.parts(typed)?)));
        let Some((tunable, parts)) = known else { return Err(unknown(typed)) };
        if let Some(value) = value {
            let plain = |letter: char| letter.is_ascii_graphic();
            if value.is_empty() || !value.chars().all(plain) {
                return Err(format!(
                    "'{text}' has no value; write for example {}",
                    example(tunable)
                ));
            }
        }
        let name = match tunable.has_parts() {
            true => tunable.files(tunable.name, &parts, &[0]).swap_remove(0),
            false => tunable.name.to_owned(),
        };
        Ok(Self { tunable, name, parts, value: value.map(str::to_owned) })
    }
}

/// Returns a value that a setting may have.
fn example(tunable: &Tunable) -> String {
    let value = match tunable.recommended {
        Recommended::Value(value) => value,
        Recommended::OtherCpus => "0",
        Recommended::Depends => "1",
    };
    format!("{}={value}", tunable.name)
}

/// Returns that a name is not one of a setting, and which are like it.
fn unknown(typed: &str) -> String {
    let names = TUNABLES.iter().map(|row| row.name);
    let like: Vec<&str> = names.filter(|name| is_like(name, typed)).take(3).collect();
    let hint = match like.is_empty() {
        true => "`anechoic try` lists those that can be tried".to_owned(),
        false => format!("did you mean {}?", like.join(" or ")),
    };
    format!("there is no setting '{typed}'; {hint}")
}

/// Returns whether the last part of one name is in that of the other, or both begin alike.
fn is_like(name: &str, typed: &str) -> bool {
    let last = |name: &str| name.rsplit(['.', '/']).next().unwrap_or_default().to_lowercase();
    let (known, wanted) = (last(name), last(typed));
    let is_in = |short: &str, long: &str| short.len() >= 3 && long.contains(short);
    is_in(&wanted, &known) || is_in(&known, &wanted) || common(&known, &wanted) >= 5
}

/// Returns with how many letters two words begin alike.
fn common(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

/// Returns the setting with this name, whose parts are named.
#[must_use]
pub fn find(name: &str) -> Option<&'static Tunable> {
    Assignment::parse(name).ok().map(|found| found.tunable)
}

/// A setting as it is on a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TunableState {
    /// Its name; `*` stands for a part that must be named.
    pub name: String,
    /// Its file; `*` stands for every CPU, or for a part that must be named.
    pub file: String,
    /// The present value; absent if it cannot be read, or if it is one of several.
    pub value: Option<String>,
    /// The value in effect, where it is another one.
    pub in_effect: Option<String>,
    /// Why it cannot be tried here; absent if it can.
    pub absent: Option<String>,
    /// What it is.
    pub what: String,
    /// The value that is worth a trial; absent if it depends on the machine.
    pub recommended: Option<String>,
    /// What that value is for.
    pub goal: String,
    /// What it costs, or the condition for it.
    pub risk: String,
    /// Kernel versions and options that have it.
    pub needs: String,
    /// How it is made to last.
    pub keep: Vec<String>,
    /// The noise that it acts on.
    pub acts_on: String,
    /// Where the facts are from.
    pub reference: String,
}

/// The settings of a machine that can be tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TunableStates {
    /// Host name.
    pub host: String,
    /// Kernel release.
    pub kernel: String,
    /// Whether these settings were asked for, which are then explained.
    #[serde(skip)]
    pub explained: bool,
    /// The settings, in the order of the project's table.
    pub settings: Vec<TunableState>,
}

#[cfg(test)]
mod tests;
