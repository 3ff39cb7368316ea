//! The last self-test on this machine: kept for the recordings that follow.

use anechoic_recording::injection::SelfTest;
use anechoic_recording::machine::Machine;
use std::env;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

const FILE: &str = "self-test.json";
/// Where root keeps state without a home, and where everybody looks for it.
const OF_THE_SYSTEM: &str = "/var/lib/anechoic";
/// No self-test is that long.
const MOST_BYTES: u64 = 1 << 20;

/// Why a self-test could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Nobody said where state belongs.
    #[error("neither XDG_STATE_HOME nor HOME is set; set one of them")]
    NoPlace,
    /// The file cannot be written.
    #[error("cannot write {}: {source}; name a directory that can be written in XDG_STATE_HOME", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// Keeps a self-test for later recordings, in the place of the one before. Returns where.
///
/// # Errors
/// [`StoreError`].
pub fn store(test: &SelfTest) -> Result<PathBuf, StoreError> {
    let file = directory().ok_or(StoreError::NoPlace)?.join(FILE);
    let failed = |source| StoreError::Io { file: file.clone(), source };
    let mut content = serde_json::to_vec_pretty(test).map_err(|error| failed(error.into()))?;
    content.push(b'\n');
    replace(&file, &content).map_err(failed)?;
    Ok(file)
}

/// The last self-test that ran on the same CPU model and kernel; none where there was none, or nothing
/// that can be read is left of it.
#[must_use]
pub fn last(machine: &Machine) -> Option<SelfTest> {
    let places = directory().into_iter().chain([PathBuf::from(OF_THE_SYSTEM)]);
    places.filter_map(|place| read(&place.join(FILE))).find(|test| is_of(test, machine))
}

fn is_of(test: &SelfTest, machine: &Machine) -> bool {
    test.model == machine.model && test.kernel == machine.kernel
}

/// Where this user keeps state (XDG Base Directory Specification: only absolute paths count).
fn directory() -> Option<PathBuf> {
    let of = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let root = || rustix::process::geteuid().is_root().then(|| PathBuf::from(OF_THE_SYSTEM));
    let state = of("XDG_STATE_HOME").or_else(|| Some(of("HOME")?.join(".local/state")));
    state.map(|state| state.join("anechoic")).or_else(root)
}

fn read(file: &Path) -> Option<SelfTest> {
    let mut content = Vec::new();
    File::open(file).ok()?.take(MOST_BYTES).read_to_end(&mut content).ok()?;
    serde_json::from_slice(&content).ok()
}

/// Writes the file beside itself first: it is always whole.
fn replace(file: &Path, content: &[u8]) -> io::Result<()> {
    let dir = file.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(dir)?;
    let beside = dir.join(format!(".{FILE}.{}", std::process::id()));
    let write = || {
        let mut out = File::create(&beside)?;
        out.write_all(content)?;
        out.sync_all()?;
        fs::rename(&beside, file)
    };
    write().inspect_err(|_| {
        let _ = fs::remove_file(&beside); // it may not have come to be
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
    fn one_of_another_machine_does_not_count() {
        let machine = crate::machine::describe();
        for (model, kernel, expected) in [
            (machine.model.as_str(), machine.kernel.as_str(), true),
            ("another CPU", machine.kernel.as_str(), false),
            (machine.model.as_str(), "another kernel", false),
        ] {
            assert_eq!(is_of(&test(model, kernel), &machine), expected, "{model} {kernel}");
        }
    }
}
