//! The subcommands of `anechoic predict`, and `anechoic simulate`.

use anechoic_recording::options::OptionRow;

/// The subcommand that computes a result; its name is the identifier of the result.
#[derive(Debug, Clone, Copy)]
pub struct Model {
    /// The first line of its help.
    pub about: &'static str,
    /// The paragraph below it: what it predicts from what.
    pub details: &'static str,
    /// Examples and exit codes at the end of its help.
    pub examples: &'static str,
    /// The help of its positional arguments.
    pub inputs: &'static str,
    /// Whether its options alone are enough.
    pub needs_no_recording: bool,
    /// Whether it also accepts files other than recordings.
    pub takes_files: bool,
    /// The options that replace recordings.
    pub instead: &'static [&'static str],
    /// Whether it is a command of its own, not a subcommand of `anechoic predict`.
    pub is_command: bool,
    /// Its options.
    pub options: &'static [OptionRow],
}

impl Model {
    /// A prediction from all recordings together, without options.
    pub(super) const NEW: Self = Self {
        about: "",
        details: "",
        examples: "",
        inputs: "Recordings, or directories of recordings",
        needs_no_recording: false,
        takes_files: false,
        instead: &[],
        is_command: false,
        options: &[],
    };
}
