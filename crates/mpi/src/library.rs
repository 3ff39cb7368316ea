//! The name of the MPI library.

use mpi::environment::library_version;

/// The longest name and version that are shown.
const LONGEST_NAME: usize = 60;

/// Returns the library's name and version in a few words. May be called before the job starts.
pub(crate) fn library() -> String {
    short(&library_version().unwrap_or_else(|_| "MPI".to_owned()))
}

/// Shortens texts like `Open MPI v4.1.4, package: ...` and `MPICH Version:\t4.0.2\n...`.
fn short(version: &str) -> String {
    let first = version.lines().next().unwrap_or_default();
    let named = first.split(',').next().unwrap_or_default().replace("Version:", " ");
    let words = named.split_whitespace().map(|word| match word.strip_prefix('v') {
        Some(number) if number.starts_with(|c: char| c.is_ascii_digit()) => number,
        _ => word,
    });
    words.collect::<Vec<_>>().join(" ").chars().take(LONGEST_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn a_library_is_named_in_a_few_words() {
        let cases = [
            ("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", "Open MPI 4.1.4"),
            ("MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr 7", "MPICH 4.0.2"),
            (
                "Intel(R) MPI Library 2021.5 for Linux* OS\n",
                "Intel(R) MPI Library 2021.5 for Linux* OS",
            ),
            ("", ""),
        ];
        for (version, expected) in cases {
            assert_eq!(short(version), expected, "of {version:?}");
        }
        assert_eq!(short(&"x".repeat(500)).len(), 60);
    }
}
