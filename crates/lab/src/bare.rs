//! Results of the image without an operating system.

/// Returns the text of a result with its last line computed anew, as the image would, without comments.
#[must_use]
pub fn with_checksum(text: &str) -> String {
    let of_result = |line: &&str| !line.starts_with('#') && !line.starts_with("end ");
    let lines: Vec<String> =
        text.lines().filter(of_result).map(|line| format!("{line}\n")).collect();
    let sum = !lines.concat().bytes().fold(!0_u32, |sum, byte| {
        let start = sum ^ u32::from(byte);
        (0..8).fold(start, |sum, _| sum >> 1 ^ 0xedb8_8320 & (sum & 1).wrapping_neg())
    });
    format!("{}end {} {sum:08x}\n", lines.concat(), lines.len())
}
