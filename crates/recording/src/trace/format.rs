//! Parses the kernel's descriptions of its events and pages.
//!
//! Offsets and sizes differ between kernels, so only the names of fields are assumed.

use super::page::PageLayout;

/// How the value of a field is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// A number of 1, 2, 4 or 8 bytes.
    Number {
        /// Whether it is signed.
        signed: bool,
    },
    /// Bytes stored in place.
    Bytes,
    /// A `u32` with the offset (low half, from the event's start) and the length (high half) of the bytes.
    Located,
    /// The same, with the offset from the end of this field.
    LocatedFromHere,
}

/// A field of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatField {
    /// Its name.
    pub name: String,
    /// How it is stored.
    pub storage: Storage,
    /// Offset from the start of the event, in bytes.
    pub offset: usize,
    /// Size in bytes.
    pub size: usize,
}

/// The description of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    /// The number in `common_type` that identifies the event.
    pub id: u16,
    /// All its fields, including those common to all events.
    pub fields: Vec<FormatField>,
}

impl Format {
    /// Parses `events/SYSTEM/NAME/format`.
    ///
    /// # Errors
    /// Returns a description of the error if the text has no event number, or if a field has no position.
    pub fn parse(text: &str) -> Result<Self, String> {
        let id = text
            .lines()
            .find_map(|line| line.strip_prefix("ID:"))
            .ok_or("no line 'ID:'")?
            .trim()
            .parse()
            .map_err(|_| "its ID is not a number up to 65535")?;
        let fields = text
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("field:"))
            .map(field)
            .collect::<Result<Vec<_>, _>>()?;
        let format = Self { id, fields };
        match format.field("common_type") {
            Some(FormatField { offset: 0, size: 2, .. }) => Ok(format),
            _ => Err("common_type is not its first two bytes".to_owned()),
        }
    }

    /// Returns the field of that name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&FormatField> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// Parses `events/header_page`; `page_bytes` is the size of a whole page (sub-buffer).
///
/// # Errors
/// Returns a description of the error if a field is missing or does not fit.
pub fn page_layout(text: &str, page_bytes: usize) -> Result<PageLayout, String> {
    let fields = text
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("field:"))
        .map(field)
        .collect::<Result<Vec<_>, _>>()?;
    let named = |name: &str| {
        fields.iter().find(|f| f.name == name).ok_or(format!("header_page has no '{name}'"))
    };
    let (time, commit, data) = (named("timestamp")?, named("commit")?, named("data")?);
    if time.offset != 0 || time.size != 8 {
        return Err("the page's time stamp is not its first eight bytes".to_owned());
    }
    if !matches!(commit.size, 4 | 8) || commit.offset + commit.size > data.offset {
        return Err(format!("a commit word of {} bytes at {}", commit.size, commit.offset));
    }
    if data.offset >= page_bytes {
        return Err(format!("data begin at byte {} of {page_bytes}", data.offset));
    }
    Ok(PageLayout {
        commit_offset: commit.offset,
        commit_size: commit.size,
        data_offset: data.offset,
        size: page_bytes,
    })
}

/// Parses `unsigned int vec; offset:8; size:4; signed:0;`, with tabs between the parts.
fn field(line: &str) -> Result<FormatField, String> {
    let bad = |why: &str| format!("{why} in field '{}'", line.trim());
    let mut parts = line.split(';').map(str::trim);
    let declaration = parts.next().filter(|d| !d.is_empty()).ok_or_else(|| bad("no name"))?;
    let mut numbers = [None; 3];
    for part in parts {
        let Some((key, value)) = part.split_once(':') else { continue };
        let Some(slot) = ["offset", "size", "signed"].iter().position(|k| *k == key) else {
            continue;
        };
        // No event is larger than a sub-buffer, so 16 bits hold any offset and sums cannot overflow.
        let value: u16 = value.trim().parse().map_err(|_| bad("no number"))?;
        numbers[slot] = Some(usize::from(value));
    }
    let offset = numbers[0].ok_or_else(|| bad("no offset"))?;
    let size = numbers[1].ok_or_else(|| bad("no size"))?;
    let signed = numbers[2] == Some(1);
    let (kind, name) = declaration.rsplit_once([' ', '*']).ok_or_else(|| bad("no type"))?;
    let (name, in_name) = name.split_once('[').map_or((name, false), |(name, _)| (name, true));
    let storage = match kind {
        _ if kind.starts_with("__data_loc") => Storage::Located,
        _ if kind.starts_with("__rel_loc") => Storage::LocatedFromHere,
        _ if in_name || kind.ends_with(']') => Storage::Bytes,
        _ if matches!(size, 1 | 2 | 4 | 8) => Storage::Number { signed },
        _ => Storage::Bytes,
    };
    Ok(FormatField { name: name.to_owned(), storage, offset, size })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(name: &str, storage: Storage, offset: usize, size: usize) -> FormatField {
        FormatField { name: name.to_owned(), storage, offset, size }
    }

    #[test]
    fn fields_of_all_forms_are_parsed() {
        let (plus, minus) = (Storage::Number { signed: false }, Storage::Number { signed: true });
        let cases = [
            (
                "number",
                "unsigned int vec;\toffset:8;\tsize:4;\tsigned:0;",
                stored("vec", plus, 8, 4),
            ),
            (
                "sign",
                "pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;",
                stored("next_pid", minus, 56, 4),
            ),
            ("pointer", "void * func;\toffset:8;\tsize:8;\tsigned:0;", stored("func", plus, 8, 8)),
            (
                "pointer without a space",
                "void *func;\toffset:8;\tsize:8;\tsigned:0;",
                stored("func", plus, 8, 8),
            ),
            (
                "array",
                "char comm[16];\toffset:8;\tsize:16;\tsigned:0;",
                stored("comm", Storage::Bytes, 8, 16),
            ),
            (
                "array of a number's size",
                "char tag[8];\toffset:8;\tsize:8;\tsigned:0;",
                stored("tag", Storage::Bytes, 8, 8),
            ),
            (
                "array named by a constant",
                "char comm[TASK_COMM_LEN];\toffset:8;\tsize:16;\tsigned:1;",
                stored("comm", Storage::Bytes, 8, 16),
            ),
            (
                "located",
                "__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;",
                stored("name", Storage::Located, 12, 4),
            ),
            (
                "located mask",
                "__data_loc cpumask_t cpumask;\toffset:8;\tsize:4;\tsigned:0;",
                stored("cpumask", Storage::Located, 8, 4),
            ),
            (
                "located from here",
                "__rel_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;",
                stored("name", Storage::LocatedFromHere, 12, 4),
            ),
            (
                "struct",
                "struct timespec64 now;\toffset:8;\tsize:16;\tsigned:0;",
                stored("now", Storage::Bytes, 8, 16),
            ),
            ("no sign", "int irq;\toffset:8;\tsize:4;", stored("irq", plus, 8, 4)),
        ];
        for (name, line, expected) in cases {
            assert_eq!(field(line), Ok(expected), "case: {name}");
        }
    }

    #[test]
    fn hostile_formats_are_refused_with_a_reason() {
        let common = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n";
        let cases = [
            ("empty", String::new(), "ID"),
            ("no id", format!("name: x\nformat:\n{common}"), "ID"),
            ("id in words", format!("ID: many\n{common}"), "ID"),
            ("id too large", format!("ID: 70000\n{common}"), "ID"),
            ("no common_type", "ID: 5\n".to_owned(), "common_type"),
            (
                "common_type elsewhere",
                format!("ID: 5\n{}", common.replace("offset:0", "offset:2")),
                "common_type",
            ),
            (
                "no offset",
                format!("ID: 5\n{common}\tfield:int a;\tsize:4;\tsigned:1;\n"),
                "no offset",
            ),
            ("no size", format!("ID: 5\n{common}\tfield:int a;\toffset:8;\n"), "no size"),
            (
                "offset too large",
                format!("ID: 5\n{common}\tfield:int a;\toffset:99999999999;\tsize:4;\n"),
                "no number",
            ),
            (
                "negative size",
                format!("ID: 5\n{common}\tfield:int a;\toffset:8;\tsize:-4;\n"),
                "no number",
            ),
            ("no type", format!("ID: 5\n{common}\tfield:a;\toffset:8;\tsize:4;\n"), "no type"),
            ("nothing", format!("ID: 5\n{common}\tfield:;\toffset:8;\tsize:4;\n"), "no name"),
        ];
        for (name, text, expected) in cases {
            let error = Format::parse(&text).unwrap_err();
            assert!(error.contains(expected), "case: {name}: {error}");
        }
    }

    #[test]
    fn page_headers_are_parsed_or_refused() {
        let line = |kind: &str, name: &str, offset: u32, size: u32| {
            format!("\tfield: {kind} {name};\toffset:{offset};\tsize:{size};\tsigned:0;\n")
        };
        let header = |commit: u32, data: u32| {
            line("u64", "timestamp", 0, 8)
                + &line("local_t", "commit", 8, commit)
                + &line("int", "overwrite", 8, 1)
                + &line("char", "data", data, 4080)
        };
        let layout = |commit_size, data_offset| PageLayout {
            commit_offset: 8,
            commit_size,
            data_offset,
            size: 4096,
        };
        let cases = [
            ("64 bits", header(8, 16), Some(layout(8, 16))),
            ("32 bits", header(4, 12), Some(layout(4, 12))),
            ("odd commit", header(2, 16), None),
            ("commit runs into the data", header(8, 12), None),
            ("data beyond the page", header(8, 4096), None),
            ("empty", String::new(), None),
        ];
        for (name, text, expected) in cases {
            assert_eq!(page_layout(&text, 4096).ok(), expected, "case: {name}");
        }
    }
}
