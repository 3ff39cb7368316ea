//! Results that have a subcommand of `anechoic predict`.

use anechoic_recording::options::OptionRow;

/// The subcommand that computes a result; its name is the identifier of the row.
#[derive(Debug, Clone, Copy)]
pub struct Model {
    /// What it predicts, in one line.
    pub about: &'static str,
    /// What it predicts from what, in a paragraph.
    pub details: &'static str,
    /// Examples, and what its exit codes mean.
    pub examples: &'static str,
    /// What it can be given, for the help.
    pub inputs: &'static str,
    /// Whether all that is named makes one prediction; else each recording makes one.
    pub together: bool,
    /// Whether it takes files that are no recordings, too.
    pub takes_files: bool,
    /// The option that stands in for recordings, if there is one.
    pub instead: Option<&'static str>,
    /// What it can be asked for.
    pub options: &'static [OptionRow],
}

impl Model {
    /// A prediction from recordings alone, all of them together.
    pub(super) const NEW: Self = Self {
        about: "",
        details: "",
        examples: "",
        inputs: "Recordings, or directories of recordings",
        together: true,
        takes_files: false,
        instead: None,
        options: &[],
    };
}
