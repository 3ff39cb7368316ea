//! The paths of functions in the names that compilers of C++ and Rust give them: `_ZN4main4step17h0123456789abcdefE` is
//! `main::step`. Templates, generic functions and methods of implementations have none here.

/// Returns the path of a function; `None` if its name has another form.
pub(super) fn path(name: &str) -> Option<String> {
    if let Some(rest) = name.strip_prefix("_R") {
        return Some(rust_path(&mut rest.as_bytes())?.join("::"));
    }
    let rest = name.strip_prefix("_Z")?;
    let parts = match rest.strip_prefix('N') {
        Some(nested) => nested_parts(nested.trim_start_matches(['r', 'V', 'K', 'R', 'O']))?,
        None => vec![identifier(&mut rest.trim_start_matches('L').as_bytes())?],
    };
    Some(parts.join("::"))
}

/// Returns the parts of a nested name, without the hash that Rust puts at its end.
fn nested_parts(nested: &str) -> Option<Vec<String>> {
    let (mut rest, mut parts) = (nested.as_bytes(), vec![]);
    while rest.first()? != &b'E' {
        rest = rest.strip_prefix(b"L").unwrap_or(rest); // of one file only
        parts.push(match rest.strip_prefix(b"St") {
            Some(after) => {
                rest = after;
                "std".to_owned()
            }
            None => identifier(&mut rest)?,
        });
    }
    if parts.len() > 1 && parts.last().is_some_and(|last| is_hash(last)) {
        parts.pop();
    }
    Some(parts)
}

fn is_hash(part: &str) -> bool {
    let digits = part.strip_prefix('h');
    digits.is_some_and(|it| it.len() == 16 && it.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Reads a length and as many bytes.
fn identifier(rest: &mut &[u8]) -> Option<String> {
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let length: usize = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
    let after = &rest[digits..];
    let text = std::str::from_utf8(after.get(..length)?).ok()?;
    *rest = &after[length..];
    Some(text.to_owned())
}

/// Reads a path in Rust's newer form (RFC 2603) that consists of crates, modules and functions only.
fn rust_path(rest: &mut &[u8]) -> Option<Vec<String>> {
    let (kind, after) = rest.split_first()?;
    *rest = after;
    let mut parts = match kind {
        b'C' => vec![],
        b'N' => {
            *rest = rest.get(1..)?; // the namespace
            rust_path(rest)?
        }
        _ => return None,
    };
    if rest.first() == Some(&b's') {
        let end = rest.iter().position(|&byte| byte == b'_')?; // of a number that distinguishes equal names
        *rest = &rest[end + 1..];
    }
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let length: usize = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
    let text = &rest[digits..];
    let text = text.strip_prefix(b"_").unwrap_or(text);
    parts.push(std::str::from_utf8(text.get(..length)?).ok()?.to_owned());
    *rest = &text[length..];
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_compilers_have_paths() {
        for (name, expected) in [
            ("_ZN4main4step17h0123456789abcdefE", Some("main::step")),
            ("_ZN4main4stepEv", Some("main::step")),
            ("_ZNK5Model4stepEid", Some("Model::step")),
            ("_Z4stepi", Some("step")),
            ("_ZL4stepv", Some("step")),
            ("_ZN12_GLOBAL__N_14stepEv", Some("_GLOBAL__N_1::step")),
            ("_ZNSt6thread4joinEv", Some("std::thread::join")),
            ("_RNvCs1234_4main4step", Some("main::step")),
            ("_RNvNtCsAbC9_4main5inner4step", Some("main::inner::step")),
            ("_ZN1hE", Some("h")),
            ("step", None),
            ("_ZN4mai", None),
            ("_ZN99999999999999999999stepE", None),
            ("_ZSt4moveIRiEv", None),
            ("_RINvC4main4stepE", None),
            ("_R", None),
            ("_Z", None),
        ] {
            let found = path(name);
            assert_eq!(found.as_deref(), expected, "{name}");
        }
        let whole = "_RNvNtCsAbC9_4main5inner4step";
        (0..whole.len()).for_each(|length| drop(path(&whole[..length])));
    }
}
