//! The sizes of Parquet pages, checked before a page is decompressed: some kilobytes may claim to be gigabytes.
//!
//! A page begins with a Thrift struct in the compact protocol, whose first three fields are its kind and the sizes.

/// More bytes than a column of a row group has: 128 Ki rows of the widest one, many times over.
const MOST_BYTES: i64 = 64 << 20;
/// The kind of a page that has no values.
const INDEX: i64 = 1;
/// Deeper structs than any page header has.
const DEPTH: u32 = 8;

type Result<T> = std::result::Result<T, String>;

/// Checks the sizes of all pages of a column of a row group, given its bytes in the file: its texts stay in memory
/// together. Returns the sizes when decompressed, without those of pages that the decoder skips.
pub(crate) fn sizes(mut chunk: &[u8]) -> Result<Vec<usize>> {
    let (mut left, mut sizes) = (MOST_BYTES, vec![]);
    while !chunk.is_empty() {
        let mut header = Compact(chunk);
        let [kind, uncompressed, compressed] = header.head()?;
        if !(0..=left).contains(&uncompressed) {
            return Err(format!(
                "a page of {uncompressed} bytes, where {left} are left of a column's {MOST_BYTES}"
            ));
        }
        left -= uncompressed;
        let size = usize::try_from(compressed).map_err(|_| "a page of negative size")?;
        chunk = header.0.get(size..).ok_or("a page ends beyond its column")?;
        if kind != INDEX {
            sizes.push(uncompressed as usize);
        }
    }
    Ok(sizes)
}

/// Reads Thrift's compact protocol from the front of some bytes.
struct Compact<'a>(&'a [u8]);

impl Compact<'_> {
    /// Reads a page header and returns the kind of the page, its uncompressed and its compressed size.
    fn head(&mut self) -> Result<[i64; 3]> {
        let (mut field, mut head) = (0, [None; 3]);
        while let Some(kind) = self.field(&mut field)? {
            match (field, kind) {
                (1..=3, 5) => head[field as usize - 1] = Some(self.number()?),
                _ => self.skip(kind, DEPTH)?,
            }
        }
        let [Some(kind), Some(uncompressed), Some(compressed)] = head else {
            return Err("a page without a size".to_owned());
        };
        Ok([kind, uncompressed, compressed])
    }

    /// Reads the head of a field and returns its type; `None` at the end of the struct.
    fn field(&mut self, field: &mut i64) -> Result<Option<u8>> {
        let head = self.byte()?;
        if head == 0 {
            return Ok(None);
        }
        *field = match head >> 4 {
            0 => self.number()?,
            delta => field.saturating_add(delta.into()),
        };
        Ok(Some(head & 0xf))
    }

    fn skip(&mut self, kind: u8, depth: u32) -> Result<()> {
        let depth = depth.checked_sub(1).ok_or("a page header of too many levels")?;
        match kind {
            1 | 2 => {}
            3 => drop(self.byte()?),
            4..=6 => drop(self.varint()?),
            7 => self.bytes(8)?,
            8 => {
                let length = self.varint()?;
                self.bytes(length)?;
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = if head >> 4 == 15 { self.varint()? } else { (head >> 4).into() };
                for _ in 0..count {
                    // In a list, a truth value is a byte.
                    self.skip(if matches!(head & 0xf, 1 | 2) { 3 } else { head & 0xf }, depth)?;
                }
            }
            12 => {
                let mut field = 0;
                while let Some(kind) = self.field(&mut field)? {
                    self.skip(kind, depth)?;
                }
            }
            _ => return Err(format!("a page header with a field of type {kind}")),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<i64> {
        let number = self.varint()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    fn varint(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err("a number of too many bytes".to_owned())
    }

    fn byte(&mut self) -> Result<u8> {
        let (&first, rest) = self.0.split_first().ok_or("a page header is cut short")?;
        self.0 = rest;
        Ok(first)
    }

    fn bytes(&mut self, length: u64) -> Result<()> {
        let rest = usize::try_from(length).ok().and_then(|length| self.0.get(length..));
        self.0 = rest.ok_or("a page header is cut short")?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_checked_before_pages_are_read() {
        // Type 0, uncompressed 100, compressed 3, a nested struct with a text and a list of truth values, the end.
        let nested = [0x2c, 0x18, 2, b'h', b'i', 0x19, 0x21, 1, 2, 0];
        let page = |uncompressed: &[u8]| {
            [&[0x15, 0, 0x15][..], uncompressed, &[0x15, 6], &nested, &[0, 1, 2, 3]].concat()
        };
        let good = page(&[0xc8, 1]);
        assert_eq!(sizes(&[&good[..], &good].concat()), Ok(vec![100, 100]));
        let two_gib = page(&[0xfe, 0xff, 0xff, 0xff, 0x0f]);
        for (name, chunk, expected) in [
            ("two GiB", [&good[..], &two_gib].concat(), "a page of 2147483647 bytes"),
            (
                "large together",
                page(&[0x80, 0x80, 0x80, 0x28]).repeat(2),
                "a page of 41943040 bytes, where 25165824 are left",
            ),
            ("negative", page(&[1]), "a page of -1 bytes"),
            ("cut short", good[..good.len() - 1].to_vec(), "beyond its column"),
            ("no sizes", vec![0x15, 0, 0], "without a size"),
            ("endless", vec![0x1c; 40], "too many levels"),
            ("unknown type", vec![0x1e, 0], "of type 14"),
            (
                "long number",
                vec![0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
                "too many bytes",
            ),
        ] {
            let error = sizes(&chunk).expect_err(name);
            assert!(error.contains(expected), "case: {name}: {error}");
        }
        (0..good.len()).for_each(|length| drop(sizes(&good[..length])));
    }
}
