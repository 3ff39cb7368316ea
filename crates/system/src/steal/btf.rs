//! Parses the kernel's type data (BTF): ids of types and functions, offsets of fields.
//!
//! The format is described in `Documentation/bpf/btf.rst` of the kernel: a header, a section of types
//! numbered from 1 in their order, and a section of NUL-terminated names.

use std::collections::HashSet;

/// Returns why type data cannot be parsed, and where, in bytes from the start of its section.
pub(super) fn bad(what: &str, at: usize) -> String {
    format!("the kernel's type data cannot be parsed: {what} at byte {at}")
}

/// The kind of an entry that can be looked up by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `struct NAME`.
    Struct = 4,
    /// `typedef NAME`; every tracepoint has one, `btf_trace_NAME`.
    Typedef = 8,
    /// A function.
    Function = 12,
}

const UNION: u32 = 5;
const MAGIC: u16 = 0xeb9f;
/// Size of `btf_type`: name, info and size or type, 32 bits each.
const TYPE_BYTES: usize = 12;
/// Size of `btf_member`: name, type and offset in bits.
const MEMBER_BYTES: usize = 12;
/// The longest chain of typedefs and qualifiers that is followed; C code has a handful.
const MAX_QUALIFIERS: usize = 32;

/// Indexed type data.
#[derive(Debug)]
pub struct Btf {
    types: Vec<u8>,
    names: Vec<u8>,
    /// Byte offset of each type in `types`, starting with type 1.
    starts: Vec<usize>,
}

/// An entry of the type section.
#[derive(Clone, Copy)]
struct Type<'a> {
    name: u32,
    info: u32,
    /// Size in bytes, or the type that this one refers to.
    link: u32,
    /// The following bytes, as many as the kind has.
    body: &'a [u8],
}

impl Type<'_> {
    fn kind(self) -> u32 {
        (self.info >> 24) & 0x1f
    }

    /// Returns the members of a structure or union: name, type, offset in bits, whether it is a bit field.
    fn members(&self) -> impl Iterator<Item = (u32, u32, u32, bool)> {
        let with_widths = self.info >> 31 == 1; // the upper 8 bits of an offset are then a width
        self.body.chunks_exact(MEMBER_BYTES).map(move |member| {
            let word = |i: usize| word(member, 4 * i).unwrap_or_default();
            let offset = word(2);
            let bits = if with_widths { offset & 0x00ff_ffff } else { offset };
            (word(0), word(1), bits, with_widths && offset >> 24 != 0)
        })
    }
}

impl Btf {
    /// Indexes type data, for example the content of `/sys/kernel/btf/vmlinux`.
    ///
    /// # Errors
    /// Fails unless every entry lies within its section and is of a known kind.
    pub fn parse(bytes: &[u8]) -> Result<Btf, String> {
        let header = |at| word(bytes, at).ok_or_else(|| bad("header cut short", at));
        let magic = header(0)?.to_ne_bytes();
        if u16::from_ne_bytes([magic[0], magic[1]]) != MAGIC {
            return Err(bad("no BTF of this byte order", 0));
        }
        let start = header(4)? as usize;
        let section = |offset: u32, length: u32| {
            let from = start.checked_add(offset as usize)?;
            bytes.get(from..from.checked_add(length as usize)?)
        };
        let types = section(header(8)?, header(12)?).ok_or_else(|| bad("types cut short", 8))?;
        let names = section(header(16)?, header(20)?).ok_or_else(|| bad("names cut short", 16))?;

        let mut starts = Vec::new();
        let mut at = 0;
        while at < types.len() {
            starts.push(at);
            let info = word(types, at + 4).ok_or_else(|| bad("type cut short", at))?;
            let body = body_bytes(info).ok_or_else(|| bad("unknown kind of type", at))?;
            at += TYPE_BYTES + body;
        }
        if at != types.len() {
            return Err(bad("last type cut short", at));
        }
        Ok(Btf { types: types.to_vec(), names: names.to_vec(), starts })
    }

    /// Returns the id of the first type of this kind and name.
    ///
    /// # Errors
    /// Fails if there is none.
    pub fn id(&self, kind: Kind, name: &str) -> Result<u32, String> {
        let wanted = |t: &Type| t.kind() == kind as u32 && self.is_named(t.name, name);
        let words = match kind {
            Kind::Struct => "struct",
            Kind::Typedef => "typedef",
            Kind::Function => "function",
        };
        (1..=self.starts.len() as u32)
            .find(|&id| self.get(id).is_some_and(|t| wanted(&t)))
            .ok_or_else(|| format!("the kernel's type data has no {words} '{name}'"))
    }

    /// Returns the offset of a field in a structure, in bytes.
    ///
    /// Anonymous structures and unions are searched, as in C.
    ///
    /// # Errors
    /// Fails if there is no such structure or field, or if it is a bit field.
    pub fn field_offset(&self, structure: &str, field: &str) -> Result<u32, String> {
        let outer = self.id(Kind::Struct, structure)?;
        // A damaged structure may contain itself or another one many times, so each is searched once.
        let mut seen = HashSet::from([outer]);
        let mut open = vec![(outer, 0_u64)];
        while let Some((id, base)) = open.pop() {
            let Some(holder) = self.get(id) else { continue };
            for (name, member, bits, is_bit_field) in holder.members() {
                let bits = base + u64::from(bits);
                let whole = !is_bit_field && bits.is_multiple_of(8);
                if whole && self.is_named(name, field) {
                    return u32::try_from(bits / 8).map_err(|_| bad("offset too large", 0));
                }
                let inner = self.unqualified(member);
                if self.is_named(name, "") && self.is_compound(inner) && seen.insert(inner) {
                    open.push((inner, bits));
                }
            }
        }
        Err(format!("the kernel's 'struct {structure}' has no field '{field}'"))
    }

    fn get(&self, id: u32) -> Option<Type<'_>> {
        let at = *self.starts.get((id as usize).checked_sub(1)?)?;
        let info = word(&self.types, at + 4)?;
        let body = self.types.get(at + TYPE_BYTES..)?.get(..body_bytes(info)?)?;
        Some(Type { name: word(&self.types, at)?, info, link: word(&self.types, at + 8)?, body })
    }

    fn is_named(&self, offset: u32, name: &str) -> bool {
        let rest = self.names.get(offset as usize..).unwrap_or_default();
        rest.strip_prefix(name.as_bytes()).is_some_and(|tail| tail.first() == Some(&0))
    }

    fn is_compound(&self, id: u32) -> bool {
        self.get(id).is_some_and(|t| t.kind() == Kind::Struct as u32 || t.kind() == UNION)
    }

    /// Resolves typedef (8), volatile (9), const (10), restrict (11) and type tag (18).
    fn unqualified(&self, mut id: u32) -> u32 {
        for _ in 0..MAX_QUALIFIERS {
            match self.get(id) {
                Some(t) if matches!(t.kind(), 8..=11 | 18) => id = t.link,
                _ => break,
            }
        }
        id
    }
}

/// Returns how many bytes follow the fixed part of a type; `None` for an unknown kind, after which nothing
/// can be located.
fn body_bytes(info: u32) -> Option<usize> {
    let count = (info & 0xffff) as usize;
    match (info >> 24) & 0x1f {
        1 | 14 | 17 => Some(4),              // integer, variable, declaration tag
        3 => Some(12),                       // array
        4 | 5 | 15 | 19 => Some(12 * count), // structure, union, section, 64-bit enumeration
        6 | 13 => Some(8 * count),           // enumeration, function prototype
        // pointer, forward, typedef, volatile, const, restrict, function, float, type tag
        2 | 7..=12 | 16 | 18 => Some(0),
        _ => None,
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(four.try_into().ok()?))
}

#[cfg(test)]
mod tests;
