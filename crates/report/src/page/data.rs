//! Data in the page: JSON that cannot end its element, and numbers as bytes.

use maud::{Markup, PreEscaped, html};
use serde::Serialize;

/// Returns data as an element that the script reads by its identifier. No text in it can end the element: `<`, `>`, `&`
/// and the two line separators that scripts must not contain are escaped.
pub(super) fn element(id: &str, data: &impl Serialize) -> Markup {
    let json = serde_json::to_string(data).unwrap_or_else(|_| "null".into());
    html! { script type="application/json" id=(id) { (PreEscaped(escaped(&json))) } }
}

/// Returns JSON with these characters escaped; they occur only in strings.
fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                text += &format!("\\u{:04x}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    text
}

/// Encodes whole numbers as base64 of little-endian bytes, four for each number.
pub(super) fn u32s(values: impl Iterator<Item = u32>) -> String {
    base64(&values.flat_map(u32::to_le_bytes).collect::<Vec<u8>>())
}

/// Encodes numbers as base64 of little-endian bytes, four for each number.
pub(super) fn f32s(values: impl Iterator<Item = f32>) -> String {
    base64(&values.flat_map(f32::to_le_bytes).collect::<Vec<u8>>())
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let known = digit <= chunk.len();
            let place = (bits >> (18 - 6 * digit) & 63) as usize;
            text.push(if known { char::from(DIGITS[place]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_the_element() {
        let hostile = ["</script><script>alert(1)</script>", "<!--", "]]>", "a\u{2028}b\u{2029}&"];
        let markup = element("x", &hostile).into_string();
        let inner = markup
            .strip_prefix("<script type=\"application/json\" id=\"x\">")
            .and_then(|rest| rest.strip_suffix("</script>"))
            .expect("one element");
        assert!(!inner.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{inner}");
        let back: Vec<String> = serde_json::from_str(inner).expect("JSON");
        assert_eq!(back, hostile);
    }

    #[test]
    fn bytes_as_base64() {
        for (bytes, expected) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(bytes.as_bytes()), expected, "{bytes}");
        }
        assert_eq!(u32s([1, 0x0201_0000].into_iter()), "AQAAAAAAAQI=");
        assert_eq!(f32s([1.0].into_iter()), "AACAPw==");
    }
}
