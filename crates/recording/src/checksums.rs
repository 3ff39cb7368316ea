//! `SHA256SUMS`: the checksums of all files of a recording, in the format of `sha256sum -c`.

use crate::bounded::{MOST_BYTES, read_file};
use crate::problem::Problem;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path};

/// The name of the file.
pub const SUMS: &str = "SHA256SUMS";

/// A SHA-256 checksum.
pub type Sum = [u8; 32];

/// Checksums by path inside the recording, with `/` as the separator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sums(BTreeMap<String, Sum>);

impl Sums {
    /// Reads the checksums of a recording; `None` if it has no such file.
    pub fn read(dir: &Path) -> Result<Option<Self>, Problem> {
        let file = dir.join(SUMS);
        let text = match read_file(&file, MOST_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(Problem::unreadable(&file, &source)),
        };
        let text = String::from_utf8(text).map_err(|_| "it is not text".to_owned());
        let sums = text.and_then(|text| Self::parse(&text));
        sums.map(Some).map_err(|why| Problem::damaged(&file, why))
    }

    /// Accepts only what [`Sums::text`] and `sha256sum` write, so that damage is detected.
    fn parse(text: &str) -> Result<Self, String> {
        if !text.is_empty() && !text.ends_with('\n') {
            return Err("its last line is incomplete".into());
        }
        let mut sums = BTreeMap::new();
        for (line, number) in text.lines().zip(1..) {
            let entry = line.split_once("  ").and_then(|(hex, name)| Some((name, parse_hex(hex)?)));
            let entry = entry.filter(|(name, _)| is_inside(name));
            let (name, sum) = entry.ok_or_else(|| format!("line {number} is not a checksum"))?;
            sums.insert(name.to_owned(), sum);
        }
        Ok(Self(sums))
    }

    /// Returns the content of the file. `run.json` comes last, so that it is missing if anything is cut off.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, sum) in &self.0 {
            for byte in sum {
                let _ = write!(text, "{byte:02x}");
            }
            let _ = writeln!(text, "  {name}");
        }
        text
    }

    /// Returns the checksum of a file, if it has one.
    pub fn get(&self, name: &str) -> Option<&Sum> {
        self.0.get(name)
    }

    /// Adds or replaces a checksum.
    pub fn insert(&mut self, name: String, sum: Sum) {
        self.0.insert(name, sum);
    }

    /// Removes the checksums of a file, or of all files in a directory.
    pub fn remove(&mut self, name: &str) {
        let below = format!("{name}/");
        self.0.retain(|listed, _| listed != name && !listed.starts_with(&below));
    }

    /// Returns all files that have a checksum.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// Returns whether a listed path stays inside the recording.
fn is_inside(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    !name.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
}

fn parse_hex(hex: &str) -> Option<Sum> {
    let mut sum = Sum::default();
    if hex.len() != 2 * sum.len() {
        return None;
    }
    for (byte, pair) in sum.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(sum)
}

/// Returns the value of a hexadecimal digit, in small letters as checksums are written.
fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

/// Computes the checksum of some bytes.
pub(crate) fn sum_of(bytes: &[u8]) -> Sum {
    Sha256::digest(bytes).into()
}

/// Returns the SHA-256 checksum of some bytes, in hexadecimal digits.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    sum_of(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Computes the checksum of a file.
pub(crate) fn sum_of_file(file: &Path) -> io::Result<Sum> {
    let mut input = File::open(file)?;
    let mut hasher = Sha256::new();
    let mut block = vec![0; 256 << 10];
    loop {
        match input.read(&mut block)? {
            0 => return Ok(hasher.finalize().into()),
            n => hasher.update(&block[..n]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_strictly() {
        let hex = "0123456789abcdef".repeat(4);
        let cases = [
            ("one", format!("{hex}  run.json\n"), true),
            ("two", format!("{hex}  a/b.parquet\n{hex}  run.json\n"), true),
            ("empty", String::new(), true),
            ("cut off", format!("{hex}  run.json"), false),
            ("capitals", format!("{}  run.json\n", hex.to_uppercase()), false),
            ("short", format!("{}  run.json\n", &hex[1..]), false),
            ("one space", format!("{hex} run.json\n"), false),
            ("no name", format!("{hex}  \n"), false),
            ("outside", format!("{hex}  ../run.json\n"), false),
            ("absolute", format!("{hex}  /etc/passwd\n"), false),
            ("not ASCII", format!("{}é  run.json\n", &hex[2..]), false),
        ];
        for (name, text, good) in cases {
            let sums = Sums::parse(&text);
            assert_eq!(sums.is_ok(), good, "case: {name}");
            if let Ok(sums) = sums {
                assert_eq!(sums.text(), text, "case: {name}");
            }
        }
    }

    #[test]
    fn removing_a_directory_keeps_its_namesake() {
        let mut sums = Sums::default();
        for name in ["names/part-00000.parquet", "names2", "run.json"] {
            sums.insert(name.into(), sum_of(name.as_bytes()));
        }
        sums.remove("names");
        assert_eq!(sums.names().collect::<Vec<_>>(), ["names2", "run.json"]);
    }
}
