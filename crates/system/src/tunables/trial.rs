//! Changes of settings for trials: off, as they were, and on, as they are tried.

use super::value;
use crate::changes::{self, Applied, Refusal, Undone};
use crate::machine::Root;
use crate::{cpus, rights};
use anechoic_recording::tunable::{Assignment, Form, Tunable};
use anechoic_recording::{Problem, ProblemKind};
use rustix::process::geteuid;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};

/// One file of a setting, and what is written there.
#[derive(Debug, Clone)]
pub struct Step {
    /// The setting.
    pub name: String,
    /// Its file.
    pub file: String,
    /// The present value, as users write it.
    pub before: String,
    /// The value to try, as users write it.
    pub value: String,
    /// The same as the kernel reads it.
    written: String,
    tunable: &'static Tunable,
}

/// What changes a file.
#[derive(Debug)]
enum Change {
    Written(Applied),
    /// The value counts as long as the file is open.
    Held(Option<File>),
}

/// Settings that are switched on and off, and put back when this is dropped.
#[derive(Debug)]
pub struct Trial {
    root: Root,
    steps: Vec<Step>,
    changes: Vec<Change>,
    /// What the kernel made of values that it did not take as they are: the step, and the value in effect.
    rounded: Vec<(usize, String)>,
}

impl Trial {
    /// Returns what the assignments would change for these CPUs. It changes nothing.
    ///
    /// # Errors
    /// A setting is not there, cannot have this value, or has it already; or two assignments are of one file.
    pub fn plan(asked: &[Assignment], cpus: &[u32]) -> Result<Self, Problem> {
        Self::plan_in(Root::live(), asked, cpus)
    }

    pub(super) fn plan_in(root: Root, asked: &[Assignment], cpus: &[u32]) -> Result<Self, Problem> {
        let mut steps: Vec<Step> = vec![];
        for assignment in asked {
            for step in planned(&root, assignment, cpus)? {
                if steps.iter().any(|known| known.file == step.file) {
                    return Err(usage(format!("{} is named twice", step.name), "name it once"));
                }
                steps.push(step);
            }
        }
        Ok(Self { root, steps, changes: vec![], rounded: vec![] })
    }

    /// Returns what is written, in this order; it is put back in the reverse order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns the file and the value in effect where the kernel did not take a value as it is.
    pub fn rounded(&self) -> impl Iterator<Item = (&Step, &str)> {
        self.rounded.iter().map(|(at, value)| (&self.steps[*at], &**value))
    }

    /// Takes the lock on settings and notes how to put everything back. It changes nothing yet.
    ///
    /// # Errors
    /// Another process changes settings, or this one may not.
    pub fn begin(&mut self) -> Result<(), Problem> {
        for step in &self.steps {
            let opened = OpenOptions::new().write(true).open(self.root.path(&step.file));
            opened.map_err(|error| refused(step, &error))?;
        }
        changes::hold()?;
        for step in &self.steps {
            self.changes.push(match step.tunable.form {
                Form::Held => Change::Held(None),
                _ => {
                    let applied = Applied::prepare(&self.root, &step.file);
                    Change::Written(applied.map_err(|error| cannot_note(step, &error))?)
                }
            });
        }
        Ok(())
    }

    /// Switches all settings on, to the values to try, or off, to those from before.
    ///
    /// # Errors
    /// The kernel refuses a value or ignores it, or somebody else has changed a setting meanwhile.
    pub fn switch(&mut self, on: bool) -> Result<(), Problem> {
        let all = || 0..self.steps.len();
        let order: Vec<usize> = if on { all().collect() } else { all().rev().collect() };
        for at in order {
            self.switch_one(at, on)?;
        }
        Ok(())
    }

    fn switch_one(&mut self, at: usize, on: bool) -> Result<(), Problem> {
        let Some(change) = self.changes.get_mut(at) else { return Ok(()) };
        let step = &self.steps[at];
        match change {
            Change::Held(held) => {
                *held = match on {
                    true => Some(hold(&self.root, step).map_err(|error| refused(step, &error))?),
                    false => None,
                };
                return Ok(());
            }
            Change::Written(applied) => {
                let Some(wanted) = (if on { Some(step.written.clone()) } else { applied.before() })
                else {
                    return Ok(());
                };
                applied.set(&wanted).map_err(|why| match why {
                    Refusal::Foreign(now) => foreign(step, &now),
                    Refusal::System(error) => refused(step, &error),
                })?;
            }
        }
        if on { self.verify(at) } else { Ok(()) }
    }

    /// Compares what the file now shows with the value to try.
    fn verify(&mut self, at: usize) -> Result<(), Problem> {
        let step = &self.steps[at];
        let now = value(&self.root, step.tunable, &step.file)?;
        let is_same = |other: &str| step.tunable.is_same(&now, other);
        if is_same(&step.value) {
            return Ok(());
        }
        if is_same(&step.before) {
            let why = format!("the kernel took {} for {} and keeps {now}", step.value, step.file);
            return Err(ProblemKind::Unavailable
                .problem(why, format!("`anechoic try {}` shows what it needs", step.name)));
        }
        if !self.rounded.iter().any(|(known, _)| *known == at) {
            self.rounded.push((at, now));
        }
        Ok(())
    }

    /// Refuses values that somebody else has set since the last switch.
    ///
    /// # Errors
    /// Names the first one.
    pub fn still_holds(&self) -> Result<(), Problem> {
        for (step, change) in self.steps.iter().zip(&self.changes) {
            let Change::Written(applied) = change else { continue };
            if let Some(now) = applied.foreign()? {
                return Err(foreign(step, &now));
            }
        }
        Ok(())
    }

    /// Puts everything back, the last change first, and returns what became of each.
    pub fn put_back(&mut self) -> Vec<Undone> {
        let written = self.changes.drain(..).rev().filter_map(|change| match change {
            Change::Written(applied) => applied.undo(),
            Change::Held(_) => None,
        });
        written.collect()
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        self.put_back(); // the last first
    }
}

/// Returns what an assignment changes: one step for each of its files.
fn planned(root: &Root, asked: &Assignment, cpus: &[u32]) -> Result<Vec<Step>, Problem> {
    let (row, name) = (asked.tunable, &asked.name);
    if row.has_parts() && asked.parts.is_empty() || name.contains('*') {
        return Err(usage(format!("{name} has a part to be named"), row.what));
    }
    if let Some(why) = row.untried {
        return Err(ProblemKind::Usage.problem(format!("{name} is not tried"), why));
    }
    let Some(wanted) = &asked.value else {
        return Err(usage(format!("{name} has no value"), &format!("write {name}=VALUE")));
    };
    let files = row.files(row.file, &asked.parts, cpus);
    let mut steps = vec![];
    for file in files {
        let before = value(root, row, &file);
        let before = before.map_err(|error| unreadable(row, name, &file, &error))?;
        if let Some(other) = row.asked.and_then(|file| value(root, row, file).ok())
            && !row.is_same(&other, &before)
        {
            let why = format!(
                "{name} was asked to be {other} and is {before} in effect, which could not be put back"
            );
            return Err(ProblemKind::Unavailable
                .problem(why, "the kernel leaves out isolated CPUs by itself"));
        }
        let written = as_written(root, row, &file, wanted)?;
        if !row.is_same(&before, wanted) {
            let (name, value) = (name.clone(), wanted.clone());
            steps.push(Step { name, file, before, value, written, tunable: row });
        }
    }
    if steps.is_empty() {
        let why = format!("{name} is {wanted} already: both sides would be the same");
        return Err(usage(why, "name another value"));
    }
    Ok(steps)
}

/// Returns a value as the kernel reads it.
fn as_written(root: &Root, row: &Tunable, file: &str, value: &str) -> Result<String, Problem> {
    let wrong =
        |why: String, remedy: &str| Err(usage(format!("{}={value}: {why}", row.name), remedy));
    match row.form {
        Form::Number if value.parse::<i64>().is_err() => {
            wrong(format!("'{value}' is not a whole number"), row.what)
        }
        Form::Held if value.parse::<u32>().is_err() || value.parse::<i32>().is_err() => {
            wrong(format!("'{value}' is not a whole number of µs"), row.what)
        }
        Form::Choice => {
            let text = root.read(file).unwrap_or_default();
            let words: Vec<&str> =
                text.split_whitespace().map(|word| word.trim_matches(['[', ']'])).collect();
            match words.contains(&value) {
                true => Ok(value.to_owned()),
                false => {
                    wrong("no such choice".into(), &format!("write one of {}", words.join(", ")))
                }
            }
        }
        Form::List | Form::Mask => match cpus::parse(value) {
            Err(problem) => wrong(problem.why, "write a list like 0-1,3"),
            Ok(cpus) if cpus.is_empty() => {
                wrong("no CPU is left".into(), "write a list like 0-1,3")
            }
            Ok(_) if row.form == Form::List => Ok(value.to_owned()),
            Ok(cpus) => Ok(crate::machine::mask_from_cpus(&cpus)),
        },
        _ => Ok(value.to_owned()),
    }
}

/// Opens the file of a value that counts as long as it is open, and writes that.
fn hold(root: &Root, step: &Step) -> io::Result<File> {
    let number: i32 = step.value.parse().map_err(io::Error::other)?;
    let mut file = OpenOptions::new().write(true).open(root.path(&step.file))?;
    file.write_all(&number.to_ne_bytes())?;
    Ok(file)
}

fn usage(why: String, remedy: &str) -> Problem {
    ProblemKind::Usage.problem(why, remedy)
}

fn unreadable(row: &Tunable, name: &str, file: &str, error: &io::Error) -> Problem {
    let remedy = match error.kind() {
        ErrorKind::NotFound => format!("it needs {}", row.needs),
        ErrorKind::PermissionDenied if error.raw_os_error() == Some(libc::EPERM) => {
            "the kernel does not allow it, also to root (lockdown)".to_owned()
        }
        ErrorKind::PermissionDenied => "run as root".to_owned(),
        _ => String::new(),
    };
    ProblemKind::Unavailable.problem(format!("{name} cannot be read here: {file}: {error}"), remedy)
}

/// Returns the problem of a file that cannot be written, or of a value that the kernel refuses.
fn refused(step: &Step, error: &io::Error) -> Problem {
    let Step { name, file, value, .. } = step;
    let remedy = match error.raw_os_error() {
        Some(libc::EACCES) if !geteuid().is_root() => "run as root".to_owned(),
        Some(libc::EACCES) => rights::remedy("cap_dac_override"),
        Some(libc::EPERM) => {
            "the kernel does not allow it, also to root (lockdown, or a container)".to_owned()
        }
        Some(libc::EROFS) => {
            "this container may not change settings: run it on the host".to_owned()
        }
        Some(libc::EINVAL | libc::ERANGE) => {
            format!("the kernel takes no such value: `anechoic try {name}` explains it")
        }
        Some(libc::EBUSY) => "something else needs the present value".to_owned(),
        Some(libc::EIO) => "the kernel manages this itself (isolcpus=managed_irq)".to_owned(),
        _ => String::new(),
    };
    ProblemKind::Unavailable.problem(format!("{file} cannot be set to {value}: {error}"), remedy)
}

fn cannot_note(step: &Step, error: &io::Error) -> Problem {
    let error = error.to_string();
    let cause = error.split("; ").next().unwrap_or_default();
    let why = format!(
        "{} is not changed, because nobody could put it back after a kill: {cause}",
        step.name
    );
    ProblemKind::Unavailable.problem(why, "make /run writable for root")
}

fn foreign(step: &Step, now: &str) -> Problem {
    let why = format!("somebody else has set {} to {now} during the trials", step.file);
    ProblemKind::NoVerdict
        .problem(why, "stop what sets it (tuned, irqbalance, a script), and try again")
}
