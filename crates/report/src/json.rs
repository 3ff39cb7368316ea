//! Results as JSON.

use serde::Serialize;
use std::io::{self, Write};

/// Writes a result as JSON with line breaks, fields in the order of their types: the same
/// result gives the same bytes. All control characters are escaped, also those that JSON allows: a name in it must not
/// control the terminal.
///
/// # Errors
/// Those of `out`.
pub fn json(result: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let text = serde_json::to_string_pretty(result)?;
    let mut rest = &text[..];
    while let Some(place) = rest.find(|letter| ('\u{7f}'..='\u{9f}').contains(&letter)) {
        let letter = rest[place..].chars().next().unwrap_or_default();
        write!(out, "{}\\u{:04x}", &rest[..place], u32::from(letter))?;
        rest = &rest[place + letter.len_utf8()..];
    }
    writeln!(out, "{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        let (name, mut out) = ("a\u{9b}31m\u{7f}b é \u{1b}", vec![]);
        json(&name, &mut out).expect("memory");
        let text = String::from_utf8(out).expect("text");
        assert_eq!(text, "\"a\\u009b31m\\u007fb é \\u001b\"\n");
        assert_eq!(serde_json::from_str::<String>(&text).expect("JSON"), name);
    }
}
