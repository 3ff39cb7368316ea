//! Tables that other programs wrote: pandas, DuckDB and Spark use snappy and let every column have nulls.

use anechoic_lab::sample;
use anechoic_recording::run::RunState;
use anechoic_recording::{Detour, Problem, Recorder, Recording};
use parquet::basic::{Compression, GzipLevel};
use parquet::data_type::{Int32Type, Int64Type};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaDataReader, ParquetMetaDataWriter};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes a recording of some detours without checksums and returns its part of detours.
fn recording(dir: &Path) -> PathBuf {
    let run = sample::run(RunState::Complete);
    let mut recorder = Recorder::create(dir, &run).unwrap();
    recorder.append(&sample::detours(0)).unwrap();
    recorder.finish(&run).unwrap();
    fs::remove_file(dir.join("SHA256SUMS")).unwrap();
    dir.join("detours/part-00000.parquet")
}

fn detours(dir: &Path) -> Result<Vec<Detour>, Problem> {
    Ok(Recording::open(dir)?.rows::<Detour>().collect::<Result<Vec<_>, _>>()?.concat())
}

/// Writes the table again with columns that may have nulls; `present` is false for rows whose CPU is null.
fn write_again(part: &Path, rows: &[Detour], codec: Compression, present: impl Fn(usize) -> bool) {
    let schema = "message schema { optional int32 cpu; optional int64 start_ticks; optional int64 end_ticks; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = Arc::new(WriterProperties::builder().set_compression(codec).build());
    let mut file =
        SerializedFileWriter::new(File::create(part).unwrap(), schema, properties).unwrap();
    let mut group = file.next_row_group().unwrap();
    let levels: Vec<i16> = (0..rows.len()).map(|row| present(row).into()).collect();
    let kept = rows.iter().enumerate().filter(|(row, _)| present(*row));
    let cpus: Vec<i32> = kept.map(|(_, row)| row.cpu.cast_signed()).collect();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int32Type>().write_batch(&cpus, Some(&levels), None).unwrap();
    column.close().unwrap();
    for ticks in [|row: &Detour| row.start_ticks, |row: &Detour| row.end_ticks] {
        let ticks: Vec<i64> = rows.iter().map(|row| ticks(row).cast_signed()).collect();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&ticks, Some(&vec![1; ticks.len()]), None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    file.close().unwrap();
}

#[test]
fn a_table_with_snappy_and_nullable_columns_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("recording");
    let part = recording(&place);
    let rows = detours(&place).unwrap();
    for codec in [Compression::SNAPPY, Compression::UNCOMPRESSED] {
        write_again(&part, &rows, codec, |_| true);
        assert_eq!(detours(&place).unwrap(), rows, "{codec}");
    }
    write_again(&part, &rows, Compression::SNAPPY, |row| row != 3);
    let error = detours(&place).unwrap_err().to_string();
    assert!(error.contains("column cpu has nulls"), "{error}");
}

#[test]
fn a_codec_that_is_not_read_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("recording");
    let part = recording(&place);
    // The parts of the crate that compress with it are not built in, so only the footer says so.
    let parsed =
        ParquetMetaDataReader::new().parse_and_finish(&File::open(&part).unwrap()).unwrap();
    let gzip = |column: &ColumnChunkMetaData| {
        let codec = Compression::GZIP(GzipLevel::default());
        column.clone().into_builder().set_compression(codec).build().unwrap()
    };
    let groups = parsed.row_groups().iter().map(|group| {
        let columns = group.columns().iter().map(gzip).collect();
        group.clone().into_builder().set_column_metadata(columns).build().unwrap()
    });
    let footer = parsed.clone().into_builder().set_row_groups(groups.collect()).build();
    let mut bytes = fs::read(&part).unwrap();
    let length = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap());
    bytes.truncate(bytes.len() - 8 - length as usize);
    let mut file = File::create(&part).unwrap();
    std::io::Write::write_all(&mut file, &bytes).unwrap();
    let mut footers = vec![];
    ParquetMetaDataWriter::new(&mut footers, &footer).finish().unwrap();
    std::io::Write::write_all(&mut file, &footers).unwrap();
    let error = detours(&place).unwrap_err().to_string();
    assert!(error.contains("is compressed with GZIP") && error.contains("zstd"), "{error}");
    assert!(!error.contains("damaged"), "{error}");
}
