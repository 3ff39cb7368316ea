//! The pages of a column, decompressed.
//!
//! Parquet's own reader makes two contexts of Zstandard for each column of each row group. Each of them asks the processor
//! what it can (`cpuid`), which traps into the hypervisor of a guest: in a file of small row groups that took three
//! quarters of the time. Here each thread keeps one context.

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::ChunkReader;
use parquet::file::serialized_reader::SerializedPageReader;
use std::cell::RefCell;
use std::sync::Arc;
use zstd::bulk::Decompressor;

type Result<T> = std::result::Result<T, ParquetError>;

thread_local! {
    static ZSTD: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Reads the pages of a column. Refuses dictionaries that claim more entries than bytes, before memory is allocated for
/// them.
pub(crate) struct Inflated {
    pages: Box<dyn PageReader>,
    /// The size of each page, where they are compressed with Zstandard.
    sizes: Option<std::vec::IntoIter<usize>>,
}

impl Inflated {
    /// Reads a column of a row group with this many rows, whose pages have these sizes when decompressed.
    pub(crate) fn open<R: ChunkReader + 'static>(
        file: &Arc<R>,
        column: &ColumnChunkMetaData,
        rows: usize,
        sizes: Vec<usize>,
    ) -> Result<Self> {
        let open = |column: &ColumnChunkMetaData| {
            SerializedPageReader::new(Arc::clone(file), column, rows, None)
        };
        if !matches!(column.compression(), Compression::ZSTD(_)) {
            return Ok(Self { pages: Box::new(open(column)?), sizes: None });
        }
        let as_it_is = column.clone().into_builder().set_compression(Compression::UNCOMPRESSED);
        let sizes = Some(sizes.into_iter());
        Ok(Self { pages: Box::new(open(&as_it_is.build()?)?), sizes })
    }
}

impl Iterator for Inflated {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Inflated {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let Some(mut page) = self.pages.get_next_page()? else { return Ok(None) };
        if let Some(sizes) = &mut self.sizes {
            let size = sizes.next().ok_or_else(|| wrong("more pages than it has".to_owned()))?;
            inflate(&mut page, size)?;
        }
        if let Page::DictionaryPage { buf, num_values, .. } = &page
            && *num_values as usize > buf.len()
        {
            return Err(wrong(format!("a dictionary of {num_values} entries")));
        }
        Ok(Some(page))
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        if let Some(sizes) = &mut self.sizes {
            sizes.next();
        }
        self.pages.skip_next_page()
    }
}

/// Decompresses a page that has this size then.
fn inflate(page: &mut Page, size: usize) -> Result<()> {
    let (bytes, levels) = match page {
        Page::DataPage { buf, .. } | Page::DictionaryPage { buf, .. } => (buf, 0),
        Page::DataPageV2 { is_compressed: false, .. } => return Ok(()),
        Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
            (buf, *def_levels_byte_len as usize + *rep_levels_byte_len as usize)
        }
    };
    // The levels of this kind of page are never compressed.
    let rest = size.checked_sub(levels).filter(|_| levels <= bytes.len());
    let rest = rest.ok_or_else(|| wrong("a page smaller than its levels".to_owned()))?;
    let values = match rest {
        0 => vec![], // a page of nulls alone
        rest => decompress(&bytes[levels..], rest)?,
    };
    if values.len() != rest {
        return Err(wrong(format!("a page of {} bytes instead of {rest}", values.len())));
    }
    *bytes = match levels {
        0 => values.into(),
        levels => Bytes::from([&bytes[..levels], &values].concat()),
    };
    Ok(())
}

fn decompress(bytes: &[u8], most: usize) -> Result<Vec<u8>> {
    ZSTD.with_borrow_mut(|zstd| {
        let zstd = match zstd {
            Some(zstd) => zstd,
            None => zstd.insert(Decompressor::new()?),
        };
        Ok(zstd.decompress(bytes, most)?)
    })
}

fn wrong(why: String) -> ParquetError {
    ParquetError::General(why)
}
