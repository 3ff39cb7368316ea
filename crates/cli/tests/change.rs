//! Inputs that were changed at random, as damage, other programs and attackers leave them.

/// Random numbers that follow from the seed alone.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, limit: usize) -> usize {
        // SplitMix64 (Steele, Lea & Flood, OOPSLA 2014)
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % limit.max(1) as u64) as usize
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// Texts that parsers dislike.
const DISLIKED: [&[u8]; 16] = [
    b"-1",
    b"1e999",
    b"\xff\xfe",
    b"\x1b[31m",
    b"\0",
    b"null",
    b"[[[[[[[[[[[[",
    b"\",\"",
    b"\n",
    b"\r\n\t ,;:",
    // The same within the texts of JSON and TOML, and what ends a part of a page or a cell.
    br"\u001b[31m",
    br"\u202e",
    br"\u0000\n\r",
    br"\ud800",
    b"</script>]]><!--&",
    br#"\"=1,"#,
];

/// Numbers at which arithmetic ends, or begins.
const DECIMALS: [&str; 16] = [
    "0",
    "1",
    "-1",
    "-0.0",
    "0.1",
    "1e-320",
    "1e308",
    "1e999",
    "255",
    "65536",
    "2147483648",
    "4294967295",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
];

/// The same in binary.
const INTEGERS: [u64; 12] = [
    0,
    1,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 32,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];

/// The largest input.
const MOST_BYTES: usize = 4 << 20;

/// Changes some bytes, lines or numbers, or takes some from another input.
pub fn change(numbers: &mut Numbers, content: &mut Vec<u8>, others: &[Vec<u8>]) {
    for _ in 0..=numbers.below(4) {
        let at = numbers.below(content.len());
        let end = (at + 1 + numbers.below(64)).min(content.len());
        match numbers.below(if content.is_empty() { 2 } else { 11 }) {
            0 => insert(content, at, numbers.one_of(&DISLIKED)),
            1 => {
                let Some(other) = others.get(numbers.below(others.len())) else { continue };
                let from = numbers.below(other.len());
                let length = numbers.below(64).min(other.len() - from);
                insert(content, at, &other[from..from + length]);
            }
            2 | 3 => content[at] ^= 1 << numbers.below(8),
            4 => content.truncate(at),
            5 => content.extend_from_within(at..),
            6 => drop(content.drain(at..end)),
            7 => {
                let value = numbers.one_of(&INTEGERS).to_le_bytes();
                let width = numbers.one_of(&[1, 2, 4, 8]).min(content.len() - at);
                content[at..at + width].copy_from_slice(&value[..width]);
            }
            8 | 9 => decimal(content, at, numbers.one_of(&DECIMALS)),
            _ => lines(numbers, content),
        }
        content.truncate(MOST_BYTES);
    }
}

fn insert(content: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    content.splice(at..at, bytes.iter().copied());
}

/// Puts another number in the place of the next one.
fn decimal(content: &mut Vec<u8>, at: usize, number: &str) {
    let is_of_number = |byte: &u8| byte.is_ascii_digit() || b".-+e".contains(byte);
    let Some(start) = content[at..].iter().position(u8::is_ascii_digit).map(|far| at + far) else {
        return;
    };
    let end = content[start..].iter().position(|byte| !is_of_number(byte));
    content.splice(start..end.map_or(content.len(), |far| start + far), number.bytes());
}

/// Writes a line also elsewhere, or instead of another one.
fn lines(numbers: &mut Numbers, content: &mut Vec<u8>) {
    let mut all: Vec<&[u8]> = content.split(|&byte| byte == b'\n').collect();
    let (from, to) = (numbers.below(all.len()), numbers.below(all.len()));
    match numbers.below(2) {
        0 => all.insert(to, all[from]),
        _ => all[to] = all[from],
    }
    *content = all.join(&b'\n');
}
