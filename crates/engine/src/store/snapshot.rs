//! One commit, as readers see it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use roaring::RoaringBitmap;
use serde_json::{Map, Value};
use tantivy::postings::TermInfo;
use tantivy::schema::{IndexRecordOption, Value as _};
use tantivy::store::StoreReader;
use tantivy::{DocId, DocSet, InvertedIndexReader, Searcher, SegmentReader, TERMINATED, Term};

use super::attachments::Attachments;
use super::schema::{self, Fields, Presence};
use crate::error::{Context, Error, Result};
use crate::fields::{FieldId, FieldMap};
use crate::settings::Settings;

/// Marks the place of a deleted document in [`SegmentView::docids`].
pub const DELETED: u32 = u32::MAX;

/// The documents, fields and settings of one commit. Cheap to clone; never changes.
#[derive(Clone)]
pub struct Snapshot {
    inner: Arc<Inner>,
}

struct Inner {
    searcher: Searcher,
    segments: Vec<SegmentView>,
    documents: RoaringBitmap,
    schema: Fields,
    parts: SnapshotParts,
    attachments: Attachments,
}

/// What a commit knows beside its segments.
#[derive(Debug, Clone, Default)]
pub struct SnapshotParts {
    /// All fields any document ever had.
    pub fields: Arc<FieldMap>,
    /// Complete settings.
    pub settings: Arc<Settings>,
    /// None until known.
    pub primary_key: Option<String>,
    /// Fields some of whose strings were too long for a column, so that making them filterable or
    /// sortable takes writing the documents again.
    pub long: Arc<BTreeSet<FieldId>>,
}

/// One segment of a snapshot.
#[derive(Clone)]
pub struct SegmentView {
    /// Postings, columns and store of the segment.
    pub reader: SegmentReader,
    /// segment docid → docid; [`DELETED`] for documents that are gone.
    pub docids: Arc<Vec<u32>>,
    /// docids of live documents only.
    pub live: Arc<RoaringBitmap>,
    all: SegmentDocids,
    store: Arc<OnceLock<StoreReader>>,
}

/// Docids of a segment, deleted documents included: what stays the same from commit to commit.
#[derive(Clone)]
pub struct SegmentDocids {
    docids: Arc<Vec<u32>>,
    /// Segment docids by ascending docid; None if they already are.
    order: Option<Arc<Vec<DocId>>>,
    attachments: Arc<Attachments>,
    store: Arc<OnceLock<StoreReader>>,
}

impl SegmentDocids {
    /// Reads the docid column of a segment.
    pub fn read(reader: &SegmentReader) -> Result<Self> {
        let column = reader.fast_fields().u64(schema::names::DOCID)?;
        let docids: Vec<u32> = (0..reader.max_doc())
            .map(|doc| {
                let docid = column.first(doc).and_then(|docid| u32::try_from(docid).ok());
                docid.filter(|&docid| docid != DELETED).ok_or_else(|| {
                    Error::internal(
                        format!("segment {} is damaged", reader.segment_id()),
                        format!("document {doc} has no docid"),
                    )
                })
            })
            .collect::<Result<_>>()?;
        let order = if docids.is_sorted() {
            None
        } else {
            let mut order: Vec<DocId> = (0..reader.max_doc()).collect();
            order.sort_by_key(|&doc| docids[doc as usize]);
            Some(Arc::new(order))
        };
        Ok(Self { docids: Arc::new(docids), order, attachments: Arc::default(), store: Arc::default() })
    }

    fn segment_docids(&self, docid: u32) -> impl Iterator<Item = DocId> + '_ {
        let at = |rank: usize| self.order.as_ref().map_or(rank as DocId, |order| order[rank]);
        let docid_at = move |rank: usize| self.docids[at(rank) as usize];
        let (mut low, mut high) = (0, self.docids.len());
        while low < high {
            let middle = low.midpoint(high);
            if docid_at(middle) < docid { low = middle + 1 } else { high = middle }
        }
        // A docid may lie in a segment twice: once deleted, once reused.
        (low..self.docids.len()).take_while(move |&rank| docid_at(rank) == docid).map(at)
    }
}

impl SegmentView {
    /// Masks the docids of a segment with its deletions.
    pub fn new(reader: SegmentReader, all: SegmentDocids) -> Self {
        let docids = match reader.alive_bitset() {
            None => Arc::clone(&all.docids),
            Some(alive) => Arc::new(
                all.docids
                    .iter()
                    .zip(0..)
                    .map(|(&docid, doc)| if alive.is_alive(doc) { docid } else { DELETED })
                    .collect(),
            ),
        };
        let live = collect(docids.iter().copied().filter(|&docid| docid != DELETED));
        let store = Arc::clone(&all.store);
        Self { reader, docids, live: Arc::new(live), all, store }
    }

    /// Stored documents of the segment, with the blocks read last.
    fn store(&self) -> Result<&StoreReader> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        let store = self.reader.get_store_reader(STORE_BLOCKS_CACHED)?;
        Ok(self.store.get_or_init(|| store))
    }

    /// Live documents among those of `term`.
    fn live_count(&self, index: &InvertedIndexReader, term: &TermInfo) -> Result<u32> {
        if !self.reader.has_deletes() {
            return Ok(term.doc_freq);
        }
        let mut postings = index.read_postings_from_terminfo(term, IndexRecordOption::Basic)?;
        let mut count = 0;
        while postings.doc() != TERMINATED {
            count += u32::from(self.docids[postings.doc() as usize] != DELETED);
            postings.advance();
        }
        Ok(count)
    }

    /// Where the live document `docid` lies in this segment, if it does.
    pub fn segment_docid(&self, docid: u32) -> Option<DocId> {
        if !self.live.contains(docid) {
            return None;
        }
        self.all.segment_docids(docid).find(|&doc| self.docids[doc as usize] == docid)
    }

    /// Where the live documents among `docids` lie, by ascending docid.
    pub fn segment_docids(&self, docids: &RoaringBitmap) -> Vec<DocId> {
        let live = docids & &*self.live;
        let Some(first) = self.all.docids.first().copied() else { return Vec::new() };
        let contiguous = self.all.order.is_none()
            && self
                .all
                .docids
                .last()
                .is_some_and(|last| (last - first) as usize + 1 == self.all.docids.len());
        if contiguous {
            return live.iter().map(|docid| docid - first).collect();
        }
        // Looking each up beats walking the segment if they are few.
        if live.len() * 16 < self.docids.len() as u64 {
            return live.iter().filter_map(|docid| self.segment_docid(docid)).collect();
        }
        let mut wanted = live.iter().peekable();
        let mut found = Vec::with_capacity(live.len() as usize);
        for rank in 0..self.docids.len() {
            let doc = self.all.order.as_ref().map_or(rank as DocId, |order| order[rank]);
            if wanted.peek() == Some(&self.docids[doc as usize]) {
                found.push(doc);
                wanted.next();
            }
        }
        found
    }

    /// What rooms keep about this segment, from commit to commit, deleted documents included.
    pub fn attachments(&self) -> &Attachments {
        &self.all.attachments
    }

    /// Live docids of ascending segment docids.
    pub fn to_docids(&self, docs: impl IntoIterator<Item = DocId>) -> RoaringBitmap {
        let live = docs.into_iter().map(|doc| self.docids[doc as usize]).filter(|&docid| docid != DELETED);
        if self.all.order.is_none() { collect(live) } else { live.collect() }
    }
}

/// Docids that come in ascending order need no searching.
fn collect(docids: impl Iterator<Item = u32>) -> RoaringBitmap {
    let mut bitmap = RoaringBitmap::new();
    for docid in docids {
        if bitmap.try_push(docid).is_err() {
            bitmap.insert(docid);
        }
    }
    bitmap
}

impl Snapshot {
    /// Reads what is not yet known of the segments of `searcher`; `known` finds docids read before.
    pub fn new(
        searcher: Searcher,
        parts: SnapshotParts,
        mut known: impl FnMut(&SegmentReader) -> Option<SegmentDocids>,
    ) -> Result<Self> {
        let (_, schema) = schema::build();
        let segments: Vec<SegmentView> = searcher
            .segment_readers()
            .iter()
            .map(|reader| {
                let all = known(reader).map_or_else(|| SegmentDocids::read(reader), Ok)?;
                Ok(SegmentView::new(reader.clone(), all))
            })
            .collect::<Result<_>>()?;
        let documents = segments.iter().fold(RoaringBitmap::new(), |all, segment| all | &*segment.live);
        Ok(Self {
            inner: Arc::new(Inner {
                searcher,
                segments,
                documents,
                schema,
                parts,
                attachments: Attachments::default(),
            }),
        })
    }

    /// tantivy's view of the commit.
    pub fn searcher(&self) -> &Searcher {
        &self.inner.searcher
    }

    /// Segments, in tantivy's order.
    pub fn segments(&self) -> &[SegmentView] {
        &self.inner.segments
    }

    /// Docids of all documents of the index.
    pub fn documents(&self) -> &RoaringBitmap {
        &self.inner.documents
    }

    /// All fields any document ever had.
    pub fn fields(&self) -> &FieldMap {
        &self.inner.parts.fields
    }

    /// Settings this commit was made under.
    pub fn settings(&self) -> &Settings {
        &self.inner.parts.settings
    }

    /// Field that holds the document id; None until known.
    pub fn primary_key(&self) -> Option<&str> {
        self.inner.parts.primary_key.as_deref()
    }

    /// What the commit knows beside its segments.
    pub fn parts(&self) -> &SnapshotParts {
        &self.inner.parts
    }

    /// What rooms keep about this commit.
    pub fn attachments(&self) -> &Attachments {
        &self.inner.attachments
    }

    /// tantivy's fields.
    pub fn schema(&self) -> &Fields {
        &self.inner.schema
    }

    /// Docids of a segment, to be handed to the snapshot after this one.
    pub fn known_docids(&self, reader: &SegmentReader) -> Option<SegmentDocids> {
        let same = |segment: &&SegmentView| segment.reader.segment_id() == reader.segment_id();
        self.segments().iter().find(same).map(|segment| segment.all.clone())
    }

    /// Segment and segment docid of a live document.
    pub fn locate(&self, docid: u32) -> Option<(&SegmentView, DocId)> {
        self.segments().iter().find_map(|segment| Some((segment, segment.segment_docid(docid)?)))
    }

    /// The document's JSON bytes, compact, keys in the order received; None if there is no such document.
    pub fn source(&self, docid: u32) -> Result<Option<Vec<u8>>> {
        let Some((segment, doc)) = self.locate(docid) else { return Ok(None) };
        let document: tantivy::TantivyDocument =
            segment.store()?.get(doc).context("a stored document could not be read")?;
        let source = document.get_first(self.inner.schema.source);
        match source.and_then(|value| value.as_bytes().map(<[u8]>::to_vec)) {
            Some(bytes) => Ok(Some(bytes)),
            None => Err(Error::internal("a stored document is damaged", "it has no source")),
        }
    }

    /// The document, parsed; None if there is no such document.
    pub fn document(&self, docid: u32) -> Result<Option<Map<String, Value>>> {
        let source = self.source(docid)?;
        source
            .map(|bytes| serde_json::from_slice(&bytes).context("a stored document does not parse"))
            .transpose()
    }

    /// Paths of which `presence` says this, with the number of documents; sorted, none with zero.
    pub fn presence_counts(&self, kind: Presence) -> Result<BTreeMap<String, u64>> {
        let prefix = schema::presence_prefix(kind);
        let mut counts = BTreeMap::new();
        for segment in self.segments() {
            let index = segment.reader.inverted_index(self.inner.schema.presence)?;
            let after = [prefix.as_bytes()[0], 1];
            let mut terms = index.terms().range().ge(prefix).lt(after).into_stream()?;
            while let Some((term, info)) = terms.next() {
                let count = segment.live_count(&index, info)?;
                if count > 0 {
                    let path = String::from_utf8_lossy(&term[prefix.len()..]).into_owned();
                    *counts.entry(path).or_insert(0) += u64::from(count);
                }
            }
        }
        Ok(counts)
    }

    /// The same documents under other fields and settings.
    pub fn with_parts(&self, parts: SnapshotParts) -> Self {
        let inner = &self.inner;
        Self {
            inner: Arc::new(Inner {
                searcher: inner.searcher.clone(),
                segments: inner.segments.clone(),
                documents: inner.documents.clone(),
                schema: inner.schema,
                parts,
                attachments: Attachments::default(),
            }),
        }
    }

    /// The docid of the live document whose primary key reads `id`.
    pub fn docid_of(&self, id: &str) -> Result<Option<u32>> {
        let term = Term::from_field_text(self.inner.schema.id, id);
        for segment in self.segments() {
            let index = segment.reader.inverted_index(self.inner.schema.id)?;
            let Some(mut postings) = index.read_postings(&term, IndexRecordOption::Basic)? else { continue };
            while postings.doc() != TERMINATED {
                let docid = segment.docids[postings.doc() as usize];
                if docid != DELETED {
                    return Ok(Some(docid));
                }
                postings.advance();
            }
        }
        Ok(None)
    }
}

/// Blocks of decompressed documents a segment keeps, of 16 kB each.
const STORE_BLOCKS_CACHED: usize = 32;
