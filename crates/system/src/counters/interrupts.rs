//! Parses /proc/interrupts and /proc/softirqs: a header with the online CPUs, then one row per interrupt or
//! vector with one number per CPU.

/// Returns (key, CPU, count) of every cell.
///
/// A row's key is the text before its first colon: `36`, `LOC`, `TIMER`. Rows with fewer numbers than the
/// header has CPUs are totals (`ERR`, `MIS`) and belong to no CPU.
pub fn rows(text: &str) -> impl Iterator<Item = (&str, u32, u64)> {
    let mut lines = text.lines();
    let cpus = header(lines.next().unwrap_or_default());
    lines.flat_map(move |line| {
        let cells = row(line, cpus.len()).unwrap_or_default();
        let key = cells.key;
        cpus.clone().into_iter().zip(cells.counts).map(move |(cpu, n)| (key, cpu, n))
    })
}

/// Returns the number and the action name of each numbered interrupt that has a name. The actions of a shared
/// interrupt stay together (`ehci_hcd:usb1, ata_piix`).
pub fn names(text: &str) -> impl Iterator<Item = (u64, String)> {
    let columns = header(text.lines().next().unwrap_or_default()).len();
    text.lines().skip(1).filter_map(move |line| {
        let cells = row(line, columns)?;
        let number = cells.key.parse().ok()?;
        let name = action(cells.rest);
        (!name.is_empty()).then(|| (number, name.to_owned()))
    })
}

/// Returns the CPUs of the columns, in order. An offline CPU has no column.
fn header(line: &str) -> Vec<u32> {
    let cpus = line.split_ascii_whitespace().map(|word| word.strip_prefix("CPU")?.parse().ok());
    cpus.collect::<Option<Vec<u32>>>().unwrap_or_default()
}

/// Rows that are totals, although on a machine with one CPU they look like the others.
const TOTALS: &[&str] = &["ERR", "MIS", "Err"];

#[derive(Default)]
struct Row<'a> {
    key: &'a str,
    counts: Vec<u64>,
    rest: &'a str,
}

fn row(line: &str, columns: usize) -> Option<Row<'_>> {
    let (key, mut rest) = line.split_once(':')?;
    let key = key.trim();
    if key.is_empty() || TOTALS.contains(&key) {
        return None;
    }
    let mut counts = Vec::with_capacity(columns);
    for _ in 0..columns {
        rest = rest.trim_start();
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        counts.push(rest[..end].parse().ok()?);
        rest = &rest[end..];
    }
    Some(Row { key, counts, rest })
}

/// Returns the action's name, which the kernel writes last and after two spaces; names may contain single
/// spaces and colons. An interrupt without an action ends in padding.
fn action(rest: &str) -> &str {
    rest.rsplit_once("  ").map_or("", |(_, name)| name).trim()
}
