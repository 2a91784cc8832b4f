//! Short-prefix postings: the documents of a first letter, by bucket of positions.
//!
//! ```text
//! file   = bitmap* entry* count                 count: number of entries, 4 bytes
//! entry  = code:1 field:2 bucket:1 end:8        by code, field and bucket; end: end of its bitmap in the file
//! ```
//!
//! A bitmap holds docids in the portable format of roaring: documents with the letter at a position of the bucket. From
//! [`EXACT_POSITIONS`] on, only the first such position in an attribute counts. Codes, fields and numbers are big
//! endian, so that entries sort by their bytes. Segments with few documents have an empty file, because reading them
//! document by document is as fast.

use std::io::Write;

use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;
use tantivy::directory::OwnedBytes;
use tantivy::{DocId, SegmentReader};

use super::codes::{OTHER, ShortPrefix};
use super::files::read_file;
use super::forward::{damaged, each_written};
use crate::error::{Context as _, Result};
use crate::fields::FieldId;
use crate::store::buckets::{EXACT_POSITIONS, bucket_of};

/// Extension of the file.
pub(super) const EXTENSION: &str = "places";

/// Fewer documents are read one by one, which takes a millisecond or two.
const DOCUMENTS_MIN: DocId = 4096;

/// Code, field and bucket.
type Key = [u8; 4];

const KEY_BYTES: usize = size_of::<Key>();
const ENTRY_BYTES: usize = KEY_BYTES + size_of::<u64>();
const COUNT_BYTES: usize = 4;

/// Returns true if a segment of this many documents has short-prefix postings.
pub(super) fn has_postings(documents: DocId) -> bool {
    documents >= DOCUMENTS_MIN
}

/// Reads the short-prefix postings of a segment, deleted documents included.
#[derive(Debug, Clone)]
pub struct ShortPrefixPostings {
    bytes: OwnedBytes,
    count: usize,
}

/// Documents with a first letter at the positions of one bucket of an attribute.
pub struct ShortPrefixPosting {
    /// True if it holds numbers, false if it holds other words.
    pub is_number: bool,
    /// The attribute.
    pub field: FieldId,
    /// Index in [`crate::store::buckets::BUCKETS`].
    pub bucket: usize,
    /// Docids.
    pub docs: RoaringBitmap,
}

impl ShortPrefixPostings {
    /// Opens the postings of a segment; `None` if it has none.
    ///
    /// # Errors
    /// Internal, if the file cannot be read.
    pub(crate) fn open(reader: &SegmentReader) -> Result<Option<Self>> {
        let Some(bytes) = read_file(reader, EXTENSION)? else { return Ok(None) };
        let (_, count) = bytes.split_last_chunk::<COUNT_BYTES>().ok_or_else(damaged)?;
        let count = u32::from_be_bytes(*count) as usize;
        let needed = count.checked_mul(ENTRY_BYTES).and_then(|entries| entries.checked_add(COUNT_BYTES));
        needed.filter(|&needed| needed <= bytes.len()).ok_or_else(damaged)?;
        Ok(Some(Self { bytes, count }))
    }

    /// Calls `take` with all postings of a prefix.
    ///
    /// # Errors
    /// Internal, if the file is damaged.
    pub fn each(&self, prefix: ShortPrefix, mut take: impl FnMut(ShortPrefixPosting)) -> Result<()> {
        let codes = [Some(prefix.word), Some(prefix.number).filter(|&number| number != prefix.word)];
        for code in codes.into_iter().flatten() {
            let from = self.entries().partition_point(|entry| entry[0] < code);
            for at in (from..self.count).take_while(|&at| self.entries()[at][0] == code) {
                let (key, docs) = self.at(at)?;
                take(ShortPrefixPosting {
                    is_number: code != prefix.word,
                    field: FieldId::from_be_bytes([key[1], key[2]]),
                    bucket: usize::from(key[3]),
                    docs,
                });
            }
        }
        Ok(())
    }

    fn entries(&self) -> &[[u8; ENTRY_BYTES]] {
        let end = self.bytes.len() - COUNT_BYTES;
        self.bytes[end - self.count * ENTRY_BYTES..end].as_chunks().0
    }

    fn at(&self, at: usize) -> Result<(Key, RoaringBitmap)> {
        let entries = self.entries();
        let end_of = |entry: &[u8; ENTRY_BYTES]| {
            let end = entry.last_chunk().map_or(u64::MAX, |end| u64::from_be_bytes(*end));
            usize::try_from(end).unwrap_or(usize::MAX)
        };
        let start = at.checked_sub(1).map_or(0, |before| end_of(&entries[before]));
        let bitmap = self.bytes.get(start..end_of(&entries[at])).ok_or_else(damaged)?;
        let docs = RoaringBitmap::deserialize_from(bitmap).context("short-prefix postings are damaged")?;
        let [code, high, low, bucket, ..] = entries[at];
        Ok(([code, high, low, bucket], docs))
    }
}

/// Collects the postings of a new segment.
#[derive(Default)]
pub(super) struct ShortPrefixPostingsBuilder {
    /// Index in `docs` of each key. There are few keys: combinations of letter, attribute and bucket, most of which
    /// occur often.
    known: FxHashMap<u32, usize>,
    docs: Vec<Collected>,
}

/// Docids. The last of them are not in the bitmap yet, because adding many at once is faster.
#[derive(Default)]
struct Collected {
    docs: RoaringBitmap,
    last: Vec<u32>,
}

/// Number of docids that are added to a bitmap at once.
const STRETCH: usize = 64;

impl Collected {
    fn push(&mut self, docid: u32) {
        self.last.push(docid);
        if self.last.len() == STRETCH {
            self.flush();
        }
    }

    fn flush(&mut self) {
        // Appending is faster. It requires ascending docids, which most are.
        if self.docs.append(self.last.iter().copied()).is_err() {
            self.docs.extend(&self.last);
        }
        self.last.clear();
    }
}

impl ShortPrefixPostingsBuilder {
    /// Adds a document in the encoding of [`super::forward_writer::DocumentEncoder::write`].
    pub(super) fn add(&mut self, docid: u32, document: &[u8]) -> Result<()> {
        each_written(document, |field, words| {
            let mut beyond = [0u64; 4];
            let [high, low] = field.to_be_bytes();
            words.each(|position, code| {
                let (of, bit) = (usize::from(code) / 64, 1 << (code % 64));
                let is_beyond = position >= EXACT_POSITIONS;
                if code == OTHER || (is_beyond && beyond[of] & bit != 0) {
                    return;
                }
                if is_beyond {
                    beyond[of] |= bit;
                }
                let at = *self
                    .known
                    .entry(u32::from_be_bytes([code, high, low, bucket_of(position) as u8]))
                    .or_insert_with(|| {
                        self.docs.push(Collected::default());
                        self.docs.len() - 1
                    });
                self.docs[at].push(docid);
            });
        })
    }

    /// Writes the file.
    pub(super) fn write(self, file: impl Write) -> Result<()> {
        write(self.into_sorted().into_iter().map(Ok), file)
    }

    fn into_sorted(mut self) -> Vec<(Key, RoaringBitmap)> {
        let mut sorted: Vec<(u32, usize)> = self.known.into_iter().collect();
        sorted.sort_unstable();
        let take = |(key, at): (u32, usize)| {
            let collected = &mut self.docs[at];
            collected.flush();
            (key.to_be_bytes(), std::mem::take(&mut collected.docs))
        };
        sorted.into_iter().map(take).collect()
    }
}

/// Postings of a segment to be merged.
pub(super) enum Source {
    /// Postings in a file. The merged segment gets the docids in `live`.
    Written { postings: ShortPrefixPostings, live: RoaringBitmap, next: usize },
    /// Postings collected from live documents.
    Collected(std::iter::Peekable<std::vec::IntoIter<(Key, RoaringBitmap)>>),
}

impl Source {
    /// Creates a source from postings that were collected from documents.
    pub(super) fn collected(builder: ShortPrefixPostingsBuilder) -> Self {
        Self::Collected(builder.into_sorted().into_iter().peekable())
    }

    fn next_key(&mut self) -> Option<Key> {
        match self {
            Self::Written { postings, next, .. } => {
                let entry = postings.entries().get(*next)?;
                entry.first_chunk().copied()
            }
            Self::Collected(postings) => postings.peek().map(|(key, _)| *key),
        }
    }

    fn take(&mut self) -> Result<RoaringBitmap> {
        match self {
            Self::Written { postings, live, next } => {
                *next += 1;
                Ok(postings.at(*next - 1)?.1 & &*live)
            }
            Self::Collected(postings) => Ok(postings.next().map(|(_, docs)| docs).unwrap_or_default()),
        }
    }
}

/// Merges the postings of several segments, one bitmap at a time.
pub(super) fn merge(mut sources: Vec<Source>, file: impl Write) -> Result<()> {
    let merged = std::iter::from_fn(|| {
        let key = sources.iter_mut().filter_map(Source::next_key).min()?;
        let here = sources.iter_mut().filter_map(|source| (source.next_key()? == key).then(|| source.take()));
        let docs = here.into_iter().try_fold(RoaringBitmap::new(), |all, docs| Ok(all | docs?));
        Some(docs.map(|docs| (key, docs)))
    });
    write(merged, file)
}

fn write(postings: impl Iterator<Item = Result<(Key, RoaringBitmap)>>, mut file: impl Write) -> Result<()> {
    const COULD_NOT: &str = "short-prefix postings could not be written";
    let (mut entries, mut bitmap, mut written) = (Vec::new(), Vec::new(), 0u64);
    for posting in postings {
        let (key, mut docs) = posting?;
        if docs.is_empty() {
            continue;
        }
        docs.optimize();
        bitmap.clear();
        docs.serialize_into(&mut bitmap).context(COULD_NOT)?;
        file.write_all(&bitmap).context(COULD_NOT)?;
        written += bitmap.len() as u64;
        entries.extend_from_slice(&key);
        entries.extend_from_slice(&written.to_be_bytes());
    }
    let count = (entries.len() / ENTRY_BYTES) as u32;
    file.write_all(&entries).context(COULD_NOT)?;
    file.write_all(&count.to_be_bytes()).context(COULD_NOT)
}
