//! Tables as another program may write them: other row groups, other orders, and values at which arithmetic ends.

use crate::change::Numbers;
use bytes::Bytes;
use parquet::basic::Compression;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::file::writer::SerializedFileWriter;
use std::iter::once;
use std::ops::Range;
use std::sync::Arc;

/// Number of ways to lay out the row groups.
pub const LAYOUTS: u8 = 6;
/// Most rows of a table.
const MOST_ROWS: usize = 3_000;
/// Integers at which arithmetic ends; in columns of 32 bits, their lower half.
const INTEGERS: [i64; 9] =
    [0, 1, -1, i64::MAX, i64::MIN, u32::MAX as i64, i32::MIN as i64, 1 << 53, 1 << 40];
/// Texts that terminals, pages, spreadsheets and metrics take for something else.
const TEXTS: [&[u8]; 9] = [
    b"",
    b"=1+1",
    b"</script><!--]]>&\"'",
    "\u{202e}evil\u{1b}[31m".as_bytes(),
    b"\0\r\n\t\\n",
    b"loop 1",
    b"a,\"b\"; {c=\"d\"} \\",
    b"\xff\xfe",
    &[b'x'; 5_000],
];

/// The values of a column, row by row.
enum Column {
    Ints(Vec<Option<i32>>),
    Longs(Vec<Option<i64>>),
    Texts(Vec<Option<ByteArray>>),
}

/// Copies a table without compression, dictionaries and statistics.
pub fn uncompressed(bytes: &[u8]) -> Vec<u8> {
    let (table, columns) = read(bytes);
    let all = 0..rows(&table);
    write(&table, &columns, &all.clone().collect::<Vec<_>>(), &[all])
}

/// Returns a valid table in place of another. The first byte of the recipe is its layout; all decide on order and values.
pub fn cooked(bytes: &[u8], recipe: &[u8]) -> Vec<u8> {
    let seed = recipe.iter().fold(7, |seed: u64, &byte| seed.wrapping_mul(257) ^ u64::from(byte));
    let mut numbers = Numbers(seed);
    let (table, mut columns) = read(bytes);
    let many = rows(&table);
    for _ in 0..numbers.below(4) {
        let column = numbers.below(columns.len());
        let (row, kind) = (numbers.below(many), numbers.below(64));
        let all = numbers.below(4) == 0;
        change(&mut columns[column], if all { 0..many } else { row..(row + 1).min(many) }, kind);
    }
    let mut order: Vec<usize> = match numbers.below(5) {
        0 => (0..many).rev().collect(),
        1 => (0..many).flat_map(|row| [row, row]).collect(),
        2 => (0..MOST_ROWS.min(many * 100)).map(|row| row % many).collect(),
        _ => (0..many).collect(),
    };
    let layout = recipe.first().copied().unwrap_or(0) % LAYOUTS;
    if layout == 5 {
        order.clear();
    }
    let groups = groups(layout, order.len(), &mut numbers);
    write(&table, &columns, &order, &groups)
}

/// Returns the rows of each group.
fn groups(layout: u8, rows: usize, numbers: &mut Numbers) -> Vec<Range<usize>> {
    let each = |size: usize| (0..rows).step_by(size).map(move |from| from..(from + size).min(rows));
    match layout {
        0 => each(rows.max(1)).collect(),
        1 => each(1).collect(),
        2 => each(7).flat_map(|group| [group.start..group.start, group]).collect(),
        3 => each(1 + numbers.below(rows)).chain(once(rows..rows)).collect(),
        4 => vec![0..0; 2_000].into_iter().chain(once(0..rows)).collect(),
        _ => vec![],
    }
}

fn change(column: &mut Column, rows: Range<usize>, kind: usize) {
    match column {
        Column::Ints(values) => set(&mut values[rows], INTEGERS[kind % INTEGERS.len()] as i32),
        Column::Longs(values) => set(&mut values[rows], INTEGERS[kind % INTEGERS.len()]),
        Column::Texts(values) => {
            set(&mut values[rows], ByteArray::from(TEXTS[kind % TEXTS.len()].to_vec()));
        }
    }
}

fn set<T: Clone>(values: &mut [Option<T>], to: T) {
    values.iter_mut().flatten().for_each(|value| *value = to.clone());
}

fn rows(table: &SerializedFileReader<Bytes>) -> usize {
    table.metadata().file_metadata().num_rows() as usize
}

fn read(bytes: &[u8]) -> (SerializedFileReader<Bytes>, Vec<Column>) {
    let table = SerializedFileReader::new(Bytes::copy_from_slice(bytes)).expect("a table");
    let mut columns = vec![];
    for group in 0..table.num_row_groups() {
        let from = table.get_row_group(group).expect("rows");
        let rows = from.metadata().num_rows() as usize;
        for column in 0..from.num_columns() {
            let added = match from.get_column_reader(column).expect("a column") {
                ColumnReader::Int32ColumnReader(from) => Column::Ints(values(from, rows)),
                ColumnReader::Int64ColumnReader(from) => Column::Longs(values(from, rows)),
                ColumnReader::ByteArrayColumnReader(from) => Column::Texts(values(from, rows)),
                _ => panic!("a column of another type"),
            };
            match (columns.get_mut(column), added) {
                (None, added) => columns.push(added),
                (Some(Column::Ints(all)), Column::Ints(added)) => all.extend(added),
                (Some(Column::Longs(all)), Column::Longs(added)) => all.extend(added),
                (Some(Column::Texts(all)), Column::Texts(added)) => all.extend(added),
                _ => panic!("a column of another type"),
            }
        }
    }
    (table, columns)
}

fn values<T: DataType>(mut from: ColumnReaderImpl<T>, rows: usize) -> Vec<Option<T::T>> {
    let (mut values, mut levels) = (vec![], vec![]);
    from.read_records(rows, Some(&mut levels), None, &mut values).expect("its values");
    let mut values = values.into_iter();
    if levels.is_empty() {
        return values.map(Some).collect();
    }
    levels.into_iter().map(|level| if level == 0 { None } else { values.next() }).collect()
}

fn write(
    like: &SerializedFileReader<Bytes>,
    columns: &[Column],
    order: &[usize],
    groups: &[Range<usize>],
) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_dictionary_enabled(false);
    let schema = like.metadata().file_metadata().schema_descr().root_schema_ptr();
    let mut copy = SerializedFileWriter::new(vec![], schema, Arc::new(properties.build()))
        .expect("a new table");
    for group in groups {
        let mut to = copy.next_row_group().expect("space");
        for column in columns {
            let mut out = to.next_column().expect("space").expect("as many columns");
            let rows = &order[group.clone()];
            match (column, out.untyped()) {
                (Column::Ints(from), ColumnWriter::Int32ColumnWriter(to)) => append(from, rows, to),
                (Column::Longs(from), ColumnWriter::Int64ColumnWriter(to)) => {
                    append(from, rows, to)
                }
                (Column::Texts(from), ColumnWriter::ByteArrayColumnWriter(to)) => {
                    append(from, rows, to);
                }
                _ => panic!("a column of another type"),
            }
            out.close().expect("space");
        }
        to.close().expect("space");
    }
    copy.into_inner().expect("space")
}

fn append<T: DataType>(from: &[Option<T::T>], rows: &[usize], to: &mut ColumnWriterImpl<'_, T>) {
    let values: Vec<T::T> = rows.iter().filter_map(|&row| from[row].clone()).collect();
    let levels: Vec<i16> = rows.iter().map(|&row| i16::from(from[row].is_some())).collect();
    let levels = (to.get_descriptor().max_def_level() > 0).then_some(&levels[..]);
    to.write_batch(&values, levels, None).expect("space");
}
