//! Patterns of names. It needs only `core`, because the image without an operating system contains it too.

/// Returns whether a word matches a pattern, in which `*` stands for any text.
#[must_use]
pub fn matches(pattern: &str, word: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == word,
        Some((before, after)) => word.strip_prefix(before).is_some_and(|rest| {
            rest.char_indices().any(|(at, _)| matches(after, &rest[at..])) || matches(after, "")
        }),
    }
}
