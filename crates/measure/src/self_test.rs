//! Stores the last self-test on this machine for later recordings.

use anechoic_recording::injection::SelfTest;
use anechoic_recording::machine::Machine;
use anechoic_recording::{Problem, ProblemKind, read_file, verify_place};
use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const FILE: &str = "self-test.json";
/// The directory where root stores state and everybody looks for it.
const OF_THE_SYSTEM: &str = "/var/lib/anechoic";
/// Larger than any self-test.
const MOST_BYTES: u64 = 1 << 20;

/// Stores a self-test for later recordings, replacing the previous one. Returns the file.
///
/// # Errors
/// Fails if no environment variable gives a state directory, or if the file cannot be written.
pub fn store(test: &SelfTest) -> Result<PathBuf, Problem> {
    let cannot_write = |why: String, remedy| ProblemKind::CannotWrite.problem(why, remedy);
    let no_place =
        || cannot_write("neither XDG_STATE_HOME nor HOME is set".to_owned(), "set one of them");
    let file = directory().ok_or_else(no_place)?.join(FILE);
    let failed = |source: io::Error| {
        let why = format!("cannot write {}: {source}", file.display());
        cannot_write(why, "set XDG_STATE_HOME to a writable directory")
    };
    let mut content = serde_json::to_vec_pretty(test).map_err(|error| failed(error.into()))?;
    content.push(b'\n');
    replace(&file, &content).map_err(failed)?;
    Ok(file)
}

/// Returns the last self-test that this version ran on the same CPU model and kernel: this user's own, or
/// else the system's. Returns `None` if there is none or it cannot be read.
#[must_use]
pub fn last(machine: &Machine, tool_version: &str) -> Option<SelfTest> {
    let places = directory().into_iter().chain([PathBuf::from(OF_THE_SYSTEM)]);
    first(places, machine, tool_version)
}

fn first(
    mut places: impl Iterator<Item = PathBuf>,
    machine: &Machine,
    tool_version: &str,
) -> Option<SelfTest> {
    places
        .find_map(|place| read(&place.join(FILE)).filter(|test| is_of(test, machine, tool_version)))
}

fn is_of(test: &SelfTest, machine: &Machine, tool_version: &str) -> bool {
    test.model == machine.model
        && test.kernel == machine.kernel
        && test.tool_version == tool_version
}

fn directory() -> Option<PathBuf> {
    directory_of(rustix::process::geteuid().is_root(), |name| env::var_os(name))
}

/// Returns where a user stores state (XDG Base Directory Specification: only absolute paths count). Root
/// stores it where other users can read it, because only root can make all kinds of noise.
fn directory_of(root: bool, variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let ours = |state: PathBuf| state.join("anechoic");
    match absolute("XDG_STATE_HOME") {
        Some(state) => Some(ours(state)),
        None if root => Some(PathBuf::from(OF_THE_SYSTEM)),
        None => absolute("HOME").map(|home| ours(home.join(".local/state"))),
    }
}

fn read(file: &Path) -> Option<SelfTest> {
    serde_json::from_slice(&read_file(file, MOST_BYTES).ok()?).ok()
}

/// Writes the file beside itself first, so that it is always complete.
fn replace(file: &Path, content: &[u8]) -> io::Result<()> {
    let dir = file.parent().unwrap_or(Path::new("/"));
    let there = dir.ancestors().find(|dir| dir.exists());
    verify_place(there.unwrap_or(Path::new("/")))?;
    fs::create_dir_all(dir)?;
    verify_place(dir)?;
    let beside = dir.join(format!(".{FILE}.{}", std::process::id()));
    let write = || {
        let _ = fs::remove_file(&beside); // left by a killed process
        let mut out = File::create_new(&beside)?; // follows no link
        out.write_all(content)?;
        out.sync_all()?;
        fs::rename(&beside, file)
    };
    write().inspect_err(|_| {
        let _ = fs::remove_file(&beside); // fails if it was never created
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_recording::injection::{InjectionKind, SelfTestKind};

    fn test(model: &str, kernel: &str) -> SelfTest {
        SelfTest {
            utc: "2026-11-21T10:00:00Z".into(),
            tool_version: "0.1.0".into(),
            model: model.into(),
            kernel: kernel.into(),
            cpu: 1,
            threshold_ns: 80.0,
            kinds: vec![SelfTestKind {
                kind: InjectionKind::Kernel,
                rate_hz: 200.0,
                duration_ns: 50_000,
                delivered: 300,
                found: 300,
                error_ns: Some(40.5),
                error_low_ns: None,
                error_high_ns: None,
            }],
        }
    }

    #[test]
    fn what_was_written_is_read_and_anything_else_is_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("not/there/yet").join(FILE);
        assert_eq!(read(&file), None, "nothing was kept");
        let json = |test: &SelfTest| serde_json::to_vec(test).expect("plain JSON");
        replace(&file, &json(&test("a", "1"))).expect("writable");
        replace(&file, &json(&test("a", "2"))).expect("writable");
        assert_eq!(read(&file), Some(test("a", "2")));
        let kept = fs::read_dir(file.parent().expect("it has one")).expect("it is there");
        assert_eq!(kept.count(), 1, "nothing is left beside it");
        let endless = vec![b' '; MOST_BYTES as usize + 1];
        for damaged in [&b""[..], b"{", b"[1, 2]", b"\xff\xfe", &endless] {
            fs::write(&file, damaged).expect("writable");
            assert_eq!(read(&file), None);
        }
        assert_eq!(read(dir.path()), None, "a directory");
        assert!(replace(dir.path(), b"").is_err());
    }

    #[test]
    fn root_makes_no_directory_below_that_of_another_user() {
        let dir = tempfile::tempdir().expect("a directory");
        let theirs = dir.path().join("theirs");
        fs::create_dir(&theirs).expect("a directory");
        if std::os::unix::fs::chown(&theirs, Some(65_533), Some(65_533)).is_err() {
            return; // only root may give it away
        }
        assert!(replace(&theirs.join("state/anechoic").join(FILE), b"{}").is_err());
        assert_eq!(fs::read_dir(&theirs).expect("own").count(), 0);
    }

    #[test]
    fn one_of_another_machine_does_not_count() {
        let machine = anechoic_system::machine::describe();
        let (model, kernel) = (machine.model.as_str(), machine.kernel.as_str());
        for (model, kernel, version, expected) in [
            (model, kernel, "0.1.0", true),
            ("another CPU", kernel, "0.1.0", false),
            (model, "another kernel", "0.1.0", false),
            (model, kernel, "0.1.1", false),
        ] {
            let found = is_of(&test(model, kernel), &machine, version);
            assert_eq!(found, expected, "{model} {kernel} {version}");
        }
    }

    #[test]
    fn where_it_is_kept() {
        type Case<'a> = (&'a str, bool, Option<&'a str>, Option<&'a str>, Option<&'a str>);
        let cases: [Case<'_>; 8] = [
            ("root with a home", true, None, Some("/root"), Some("/var/lib/anechoic")),
            ("root without", true, None, None, Some("/var/lib/anechoic")),
            ("root with XDG_STATE_HOME", true, Some("/s"), Some("/root"), Some("/s/anechoic")),
            ("root, no place", true, Some("s"), None, Some("/var/lib/anechoic")),
            ("a user", false, None, Some("/home/a"), Some("/home/a/.local/state/anechoic")),
            ("a user with XDG_STATE_HOME", false, Some("/s"), Some("/home/a"), Some("/s/anechoic")),
            ("relative paths do not count", false, Some("s"), Some("a"), None),
            ("nothing is set", false, None, None, None),
        ];
        for (name, root, state, home, expected) in cases {
            let variable = |name: &str| match name {
                "XDG_STATE_HOME" => state.map(OsString::from),
                "HOME" => home.map(OsString::from),
                _ => None,
            };
            let found = directory_of(root, variable);
            assert_eq!(found.as_deref(), expected.map(Path::new), "case: {name}");
        }
    }

    /// A user's own self-test comes before the system's, unless it is of another version.
    #[test]
    fn the_first_that_counts_is_taken() {
        let dir = tempfile::tempdir().expect("a directory");
        let machine = anechoic_system::machine::describe();
        let (own, system) = (dir.path().join("own"), dir.path().join("system"));
        let find = |version: &str| {
            first([own.clone(), system.clone()].into_iter(), &machine, version).map(|test| test.cpu)
        };
        let keep = |place: &Path, cpu: u32, version: &str| {
            let made = SelfTest {
                cpu,
                tool_version: version.into(),
                ..test(&machine.model, &machine.kernel)
            };
            let content = serde_json::to_vec(&made).expect("plain JSON");
            replace(&place.join(FILE), &content).expect("writable");
        };
        assert_eq!(find("2"), None);
        keep(&system, 7, "2");
        assert_eq!(find("2"), Some(7));
        keep(&own, 3, "2");
        assert_eq!(find("2"), Some(3));
        keep(&own, 3, "1");
        assert_eq!(find("2"), Some(7));
    }
}
