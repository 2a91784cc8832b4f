//! Columns of long strings, built from stored documents on first use.
//!
//! A dictionary of long texts costs more disk than the texts themselves, and filters hardly ever use it. So long
//! strings are left out of columns and their documents are marked. The first search that needs them reads the marked
//! documents of a segment and writes a column file next to it. The file only copies values of stored documents. A
//! missing or damaged file is written again, and files are never synced. Files of merged segments, and of fields that
//! no setting uses, are removed.
//!
//! ```text
//! file      = columnar* footer             name: late-<segment>-<field id>.column
//! columnar  = tantivy's columnar format, one string column "v", a row per document of the segment
//! footer    = (length of each columnar: u64)* number of columnars: u32 ‖ crc32 of all before: u32 ‖ magic
//! ```
//!
//! All numbers are little-endian. A large segment gets several columnars, so that writing one takes bounded memory.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use tantivy::Directory as _;
use tantivy::columnar::{ColumnarReader, ColumnarWriter, DynamicColumn, StrColumn};
use tantivy::directory::{FileSlice, MmapDirectory, OwnedBytes};

use super::column_term::column_term;
use crate::background_fault::{BackgroundFaultKind, FaultReporter};
use crate::error::{Context, Error, Result};
use crate::fields::{FieldId, is_same_or_below};
use crate::store::schema::{Presence, presence_prefix};
use crate::store::{SegmentView, Snapshot};

/// Longer strings, in bytes, are deferred.
pub const SHORT_BYTES_MAX: usize = 256;

/// A columnar is finished once its terms take this many bytes of memory.
const COLUMNAR_BYTES: usize = 16 << 20;

const MAGIC: &[u8; 8] = b"lateCol1";
const PREFIX: &str = "late-";
const COLUMN: &str = "v";

/// Returns true if a string is left out of columns until a search needs it. Surrounding spaces do not count, so that
/// all spellings of a value are treated alike.
pub fn is_deferred(text: &str) -> bool {
    text.trim().len() > SHORT_BYTES_MAX
}

/// Returns the columns of the strings at `path` that are missing in the segment's own column. Reads or writes their
/// file.
pub(super) fn columns(snapshot: &Snapshot, segment: &SegmentView, path: &str) -> Result<Vec<StrColumn>> {
    let marked = segment.presence_docs(snapshot.schema(), Presence::Deferred, path)?;
    if marked.is_empty() {
        return Ok(Vec::new());
    }
    let location = snapshot.parts().directory.as_ref().zip(snapshot.fields().id(path));
    let file = location.map(|(directory, field)| directory.join(name_of(segment, field)));
    let faults = &snapshot.parts().faults;
    if let Some(file) = &file {
        match read(file) {
            Ok(columns) => return Ok(columns),
            Err(error) if file.exists() => faults.report(BackgroundFaultKind::DeferredColumn, file, error),
            // No file yet, or a damaged one: it is written below.
            Err(_) => {}
        }
    }
    let live = marked.into_iter().filter(|&doc| segment.docids[doc as usize] != crate::store::DELETED);
    let columnars = write_columnars(segment, snapshot, live, path)?;
    if let Some(file) = file {
        match write(&file, &columnars, faults).map_err(Error::from).and_then(|()| read(&file)) {
            Ok(columns) => return Ok(columns),
            // If the file cannot be written, for example on a full disk, the column stays in memory.
            Err(error) => faults.report(BackgroundFaultKind::DeferredColumn, &file, error),
        }
    }
    columnars.into_iter().map(|columnar| open(OwnedBytes::new(columnar))).collect()
}

/// Returns the file name of a field's column in a segment.
pub(super) fn name_of(segment: &SegmentView, field: FieldId) -> String {
    format!("{PREFIX}{}-{field}.column", segment.reader.segment_id().uuid_string())
}

/// Returns true if `name` is the file name of a deferred column of any segment and field.
pub(super) fn is_column_file(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Returns the paths at which a document of the segment is marked.
pub(super) fn deferred_paths(snapshot: &Snapshot, segment: &SegmentView) -> Result<Vec<String>> {
    let prefix = presence_prefix(Presence::Deferred);
    let index = segment.reader.inverted_index(snapshot.schema().presence)?;
    let after = [prefix.as_bytes()[0], 1];
    let mut terms = index.terms().range().ge(prefix).lt(after).into_stream()?;
    let mut paths = Vec::new();
    while terms.advance() {
        paths.push(String::from_utf8_lossy(&terms.key()[prefix.len()..]).into_owned());
    }
    Ok(paths)
}

fn write_columnars(
    segment: &SegmentView,
    snapshot: &Snapshot,
    docs: impl Iterator<Item = u32>,
    path: &str,
) -> Result<Vec<Vec<u8>>> {
    let mut columnars = Vec::new();
    let (mut writer, mut bytes) = (ColumnarWriter::default(), 0);
    let finish = |writer: &mut ColumnarWriter| -> Result<Vec<u8>> {
        let mut columnar = Vec::new();
        let context = || format!("the column of {path:?} could not be written");
        writer.serialize(segment.reader.max_doc(), None, &mut columnar).context(context())?;
        Ok(columnar)
    };
    for doc in docs {
        let source = segment.source(snapshot.schema(), doc)?;
        let mut texts = Vec::new();
        serde_json::Deserializer::from_slice(&source)
            .deserialize_map(Below { path, texts: &mut texts })
            .context("a stored document does not parse")?;
        for term in texts.iter().filter(|text| is_deferred(text)).filter_map(|text| column_term(text)) {
            writer.record_str(doc, COLUMN, &term);
            bytes += term.len();
        }
        if bytes > COLUMNAR_BYTES {
            columnars.push(finish(&mut std::mem::take(&mut writer))?);
            bytes = 0;
        }
    }
    if bytes > 0 || columnars.is_empty() {
        columnars.push(finish(&mut writer)?);
    }
    Ok(columnars)
}

fn write(file: &Path, columnars: &[Vec<u8>], faults: &FaultReporter) -> io::Result<()> {
    // Two threads may write the same file with equal content, so each uses its own name before renaming.
    let unique = format!("{}-{:?}.tmp", std::process::id(), std::thread::current().id());
    let staged = file.with_extension(unique);
    let written = (|| {
        let mut out = io::BufWriter::new(File::create(&staged)?);
        let mut footer = Vec::new();
        let mut checksum = crc32fast::Hasher::new();
        for columnar in columnars {
            out.write_all(columnar)?;
            checksum.update(columnar);
            footer.extend_from_slice(&(columnar.len() as u64).to_le_bytes());
        }
        footer.extend_from_slice(&(columnars.len() as u32).to_le_bytes());
        checksum.update(&footer);
        out.write_all(&footer)?;
        out.write_all(&checksum.finalize().to_le_bytes())?;
        out.write_all(MAGIC)?;
        out.flush()?;
        fs::rename(&staged, file)
    })();
    if written.is_err() {
        faults.remove_file(&staged);
    }
    written
}

fn read(file: &Path) -> Result<Vec<StrColumn>> {
    let context = || format!("{} could not be read", file.display());
    let damaged = || Error::internal(format!("{} is damaged", file.display()), "its checksum does not match");
    let (directory, name) = file.parent().zip(file.file_name()).ok_or_else(damaged)?;
    // Mapping is safe because a file never changes after it is renamed.
    let all =
        MmapDirectory::open(directory).context(context())?.open_read(Path::new(name)).context(context())?;
    let all = all.read_bytes()?;
    let (rest, magic) = all.as_slice().split_last_chunk::<8>().ok_or_else(damaged)?;
    let (body, checksum) = rest.split_last_chunk::<4>().ok_or_else(damaged)?;
    if magic != MAGIC || crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
        return Err(damaged());
    }
    let (rest, count) = body.split_last_chunk::<4>().ok_or_else(damaged)?;
    let count = u32::from_le_bytes(*count) as usize;
    let lengths = rest.len().checked_sub(count.saturating_mul(8)).ok_or_else(damaged)?;
    let mut start = 0;
    let mut columns = Vec::with_capacity(count);
    for length in rest[lengths..].chunks_exact(8) {
        let length = u64::from_le_bytes(length.try_into().expect("eight bytes")) as usize;
        let end = start + length;
        if end > lengths {
            return Err(damaged());
        }
        columns.push(open(all.slice(start..end))?);
        start = end;
    }
    Ok(columns)
}

fn open(columnar: OwnedBytes) -> Result<StrColumn> {
    let reader = ColumnarReader::open(FileSlice::new(Arc::new(columnar)))?;
    for handle in reader.read_columns(COLUMN)? {
        if let DynamicColumn::Str(column) = handle.open()? {
            return Ok(column);
        }
    }
    Ok(StrColumn::wrap(tantivy::columnar::BytesColumn::empty(reader.num_docs())))
}

/// Collects the strings at a dotted path of an object; keys may contain dots.
struct Below<'a> {
    path: &'a str,
    texts: &'a mut Vec<String>,
}

impl<'de> Visitor<'de> for Below<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if is_same_or_below(&key, self.path) {
                map.next_value_seed(Within { key: &key, path: self.path, texts: &mut *self.texts })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// Collects the strings below the value of `key`, at the rest of the path.
struct Within<'a> {
    key: &'a str,
    path: &'a str,
    texts: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Within<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        let value = <Value as serde::Deserialize>::deserialize(deserializer)?;
        collect(value, self.path[self.key.len()..].strip_prefix('.').unwrap_or(""), self.texts);
        Ok(())
    }
}

/// Collects the strings at `path` below a value. An empty path means the value itself.
fn collect(value: Value, path: &str, texts: &mut Vec<String>) {
    match value {
        Value::String(text) if path.is_empty() => texts.push(text),
        Value::Array(values) => values.into_iter().for_each(|value| collect(value, path, texts)),
        Value::Object(object) if !path.is_empty() => {
            for (key, value) in object {
                if is_same_or_below(&key, path) {
                    collect(value, path[key.len()..].strip_prefix('.').unwrap_or(""), texts);
                }
            }
        }
        _ => {}
    }
}
