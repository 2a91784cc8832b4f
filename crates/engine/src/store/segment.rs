//! A segment as a commit sees it.

use std::sync::{Arc, OnceLock};

use roaring::RoaringBitmap;
use tantivy::directory::{CompositeFile, FileSlice};
use tantivy::index::SegmentComponent;
use tantivy::postings::TermInfo;
use tantivy::schema::{IndexRecordOption, Value as _};
use tantivy::store::StoreReader;
use tantivy::{DocId, DocSet, InvertedIndexReader, Segment, SegmentReader, TERMINATED, Term};

use super::attachments::Attachments;
use super::docid_set::{DocidSet, ascending};
use super::docids::{DELETED, read_docids};
use super::index_file::IndexFile;
use super::layout::Layout;
use super::manifest::{Blob, SegmentEntry};
use super::schema::{self, Fields, Presence};
use super::segment_builder::NewSegment;
use super::segment_files::SegmentFiles;
use super::short_prefixes::{ForwardLists, ShortPrefixPostings};
use crate::cache::{Owner, cached};
use crate::error::{Context, Error, Result};

cached! {
    // By segment docid.
    Documents: DocId => Box<str>, |_, text| text.len();
}

/// The parts of a segment that are the same in every commit.
pub(super) struct SegmentCore {
    pub(super) entry: SegmentEntry,
    pub(super) segment: Segment,
    pub(super) files: SegmentFiles,
    /// Docids, deleted documents included.
    docids: Arc<Vec<u32>>,
    /// Segment docids by ascending docid; `None` if the documents are in that order.
    order: Option<Vec<DocId>>,
    /// True if no docid is repeated.
    unique: bool,
    /// Least and greatest docid.
    span: (u32, u32),
    attachments: Arc<Attachments>,
    cache: Arc<Owner>,
    store: OnceLock<StoreReader>,
    positions: OnceLock<FileSlice>,
    forward_lists: Option<ForwardLists>,
    short_prefix_postings: Option<ShortPrefixPostings>,
    /// Files that contain the segment; none if it is in memory. They are not removed while a reader holds them here.
    index_files: Vec<Arc<IndexFile>>,
}

/// A segment of a snapshot.
#[derive(Clone)]
pub struct SegmentView {
    /// Postings, columns and store of the segment, deleted documents included.
    pub reader: SegmentReader,
    /// Docids by segment docid; [`DELETED`] for deleted documents.
    pub docids: Arc<Vec<u32>>,
    /// Docids of live documents.
    pub live: Arc<RoaringBitmap>,
    pub(super) core: Arc<SegmentCore>,
    /// Segment docids of deleted documents.
    pub(super) deleted: Arc<RoaringBitmap>,
    /// The blob of `deleted`; `None` if it is not written yet.
    pub(super) deleted_blob: Option<Blob>,
}

impl SegmentView {
    /// Opens a segment that no commit names yet.
    pub fn of(segment: NewSegment) -> Result<Self> {
        let entry = SegmentEntry::new(segment.id, segment.documents);
        Self::open(&segment.layout, entry, segment.files, Vec::new(), None)
    }

    /// Opens the files of a segment. `like` is the same segment, opened from other files.
    pub(super) fn open(
        layout: &Layout,
        entry: SegmentEntry,
        files: SegmentFiles,
        index_files: Vec<Arc<IndexFile>>,
        like: Option<&Self>,
    ) -> Result<Self> {
        let index = layout.index(files.clone())?;
        let id = tantivy::index::SegmentId::from_uuid_string(&entry.id).map_err(|_| {
            Error::internal("a segment could not be opened", format!("{:?} is no id", entry.id))
        })?;
        let segment = index.segment(index.new_segment_meta(id, entry.documents));
        let reader = SegmentReader::open(&segment)?;
        let forward_lists = ForwardLists::open(&reader)?;
        let short_prefix_postings = ShortPrefixPostings::open(&reader)?;
        if let Some(like) = like {
            let core = SegmentCore {
                entry,
                segment,
                files,
                docids: Arc::clone(&like.core.docids),
                order: like.core.order.clone(),
                unique: like.core.unique,
                span: like.core.span,
                attachments: Arc::clone(&like.core.attachments),
                cache: Arc::clone(&like.core.cache),
                store: OnceLock::new(),
                positions: OnceLock::new(),
                forward_lists,
                short_prefix_postings,
                index_files,
            };
            return Ok(Self { reader, core: Arc::new(core), ..like.clone() });
        }
        let docids = Arc::new(read_docids(&reader)?);
        let order = (!docids.is_sorted()).then(|| {
            let mut order: Vec<DocId> = (0..reader.max_doc()).collect();
            order.sort_by_key(|&doc| docids[doc as usize]);
            order
        });
        let at = |rank: usize| order.as_ref().map_or(rank, |order: &Vec<DocId>| order[rank] as usize);
        let unique = (1..docids.len()).all(|rank| docids[at(rank - 1)] != docids[at(rank)]);
        let span = (docids.iter().min().copied().unwrap_or(0), docids.iter().max().copied().unwrap_or(0));
        let live = Arc::new(collect(span, docids.iter().copied()));
        let core = SegmentCore {
            entry,
            segment,
            files,
            docids: Arc::clone(&docids),
            order,
            unique,
            span,
            attachments: Arc::default(),
            cache: Arc::new(layout.cache_owner()),
            store: OnceLock::new(),
            positions: OnceLock::new(),
            forward_lists,
            short_prefix_postings,
            index_files,
        };
        Ok(Self { reader, docids, live, core: Arc::new(core), deleted: Arc::default(), deleted_blob: None })
    }

    /// Returns this segment without the documents `gone`, given by docid. Docids of other segments have no effect.
    pub fn without(&self, gone: &RoaringBitmap) -> Self {
        if self.live.is_disjoint(gone) {
            return self.clone();
        }
        self.mask(self.segment_docids(gone))
    }

    /// Returns this segment without the documents `docs`, given by segment docid.
    pub(super) fn mask(&self, docs: impl IntoIterator<Item = DocId>) -> Self {
        let (mut docids, mut live) = (self.docids.as_ref().clone(), self.live.as_ref().clone());
        let mut deleted = self.deleted.as_ref().clone();
        for doc in docs {
            live.remove(docids[doc as usize]);
            docids[doc as usize] = DELETED;
            deleted.insert(doc);
        }
        Self {
            docids: Arc::new(docids),
            live: Arc::new(live),
            deleted: Arc::new(deleted),
            deleted_blob: None,
            ..self.clone()
        }
    }

    /// Sets the blob that holds the deleted documents.
    pub(super) fn with_deleted_blob(self, blob: &Blob) -> Self {
        Self { deleted_blob: Some(blob.clone()), ..self }
    }

    /// Returns true if the documents are in the order of their docids.
    pub fn is_in_order(&self) -> bool {
        self.core.order.is_none()
    }

    /// Returns true if a document of the segment is deleted.
    pub fn has_deletes(&self) -> bool {
        !self.deleted.is_empty()
    }

    /// Opens the document store, which caches the most recently read blocks.
    pub(super) fn store(&self) -> Result<&StoreReader> {
        if let Some(store) = self.core.store.get() {
            return Ok(store);
        }
        let store = self.reader.get_store_reader(STORE_BLOCKS_CACHED)?;
        Ok(self.core.store.get_or_init(|| store))
    }

    /// Counts the live documents of `term`.
    pub(super) fn live_count(&self, index: &InvertedIndexReader, term: &TermInfo) -> Result<u32> {
        let deleted = self.deleted.len() as u32;
        if term.doc_freq == self.reader.max_doc() || deleted == 0 {
            return Ok(term.doc_freq - deleted);
        }
        let mut postings = index.read_postings_from_terminfo(term, IndexRecordOption::Basic)?;
        // Deleted documents are few: a segment with many is rewritten.
        let is_there =
            |&doc: &DocId| postings.doc() == doc || (postings.doc() < doc && postings.seek(doc) == doc);
        Ok(term.doc_freq - self.deleted.iter().filter(is_there).count() as u32)
    }

    /// Returns the segment docid of the live document `docid`; `None` if the segment has no such document.
    pub fn segment_docid(&self, docid: u32) -> Option<DocId> {
        if !self.live.contains(docid) {
            return None;
        }
        self.core.segment_docids(docid).find(|&doc| self.docids[doc as usize] == docid)
    }

    /// Returns the segment docids of the live documents among `docids`, by ascending docid.
    pub fn segment_docids(&self, docids: &RoaringBitmap) -> Vec<DocId> {
        let live = docids & &*self.live;
        let all = &self.core.docids;
        let Some(first) = all.first().copied() else { return Vec::new() };
        let contiguous = self.core.order.is_none()
            && all.last().is_some_and(|last| (last - first) as usize + 1 == all.len());
        if contiguous {
            let mut docs = ascending(&live);
            docs.iter_mut().for_each(|docid| *docid -= first);
            return docs;
        }
        // Looking up a few docids takes less time than a pass over the segment.
        if live.len() * 16 < self.docids.len() as u64 {
            return live.iter().filter_map(|docid| self.segment_docid(docid)).collect();
        }
        let mut wanted = live.iter().peekable();
        let mut found = Vec::with_capacity(live.len() as usize);
        for rank in 0..self.docids.len() {
            let doc = self.core.order.as_ref().map_or(rank as DocId, |order| order[rank]);
            if wanted.peek() == Some(&self.docids[doc as usize]) {
                found.push(doc);
                wanted.next();
            }
        }
        found
    }

    /// Returns values that other modules attach to this segment. They cover deleted documents too, and all commits with
    /// this segment share them.
    pub fn attachments(&self) -> &Attachments {
        &self.core.attachments
    }

    /// Returns the cached values of this segment. They cover deleted documents too, and all commits with this segment
    /// share them.
    pub fn cache(&self) -> &Owner {
        &self.core.cache
    }

    /// Converts ascending segment docids to docids, deleted documents included. Masked by `live`, the result is valid
    /// for any later commit too. `None` if several documents of the segment have the same docid.
    pub fn all_docids(&self, docs: &[DocId]) -> Option<RoaringBitmap> {
        let all = docs.iter().map(|&doc| self.core.docids[doc as usize]);
        self.core.unique.then(|| collect(self.core.span, all))
    }

    /// Returns the segment docids of the documents with this property at `path`, deleted documents included.
    pub fn presence_docs(&self, schema: &Fields, kind: Presence, path: &str) -> Result<Vec<DocId>> {
        let term = Term::from_field_text(schema.presence, &schema::presence_term(kind, path));
        let index = self.reader.inverted_index(schema.presence)?;
        let mut docs = Vec::new();
        if let Some(mut postings) = index.read_postings(&term, IndexRecordOption::Basic)? {
            while postings.doc() != TERMINATED {
                docs.push(postings.doc());
                postings.advance();
            }
        }
        Ok(docs)
    }

    /// Returns the JSON bytes of a document: compact, keys in the order received.
    pub fn source(&self, schema: &Fields, doc: DocId) -> Result<Vec<u8>> {
        let document: tantivy::TantivyDocument =
            self.store()?.get(doc).context("a stored document could not be read")?;
        let source = document.get_first(schema.source);
        match source.and_then(|value| value.as_bytes().map(<[u8]>::to_vec)) {
            Some(bytes) => Ok(bytes),
            None => Err(Error::internal("a stored document is damaged", "it has no source")),
        }
    }

    /// As [`Self::source`], but as cached text: a short search spends most of its time on decompressing the blocks of
    /// its twenty hits.
    pub(super) fn cached_source(&self, schema: &Fields, doc: DocId) -> Result<Arc<Box<str>>> {
        if let Some(text) = self.cache().get::<Documents>(&doc) {
            return Ok(text);
        }
        let text = String::from_utf8(self.source(schema, doc)?);
        let text = text.map_err(|error| Error::internal("a stored document is not text", error))?;
        let text = Arc::new(text.into_boxed_str());
        self.cache().insert::<Documents>(doc, &text);
        Ok(text)
    }

    /// Converts ascending segment docids to docids of live documents.
    pub fn to_docids(&self, docs: impl IntoIterator<Item = DocId>) -> RoaringBitmap {
        let live = docs.into_iter().map(|doc| self.docids[doc as usize]).filter(|&docid| docid != DELETED);
        collect(self.core.span, live)
    }

    /// Creates an empty set for docids of this segment.
    pub fn docid_set(&self) -> DocidSet {
        DocidSet::new(self.core.span.0, self.core.span.1)
    }

    /// Returns the short-prefix lists by document; `None` if the segment was written by a version without them.
    pub fn forward_lists(&self) -> Option<&ForwardLists> {
        self.core.forward_lists.as_ref()
    }

    /// Returns the short-prefix postings. `None` if callers have to read document by document, because the segment is
    /// small or because several of its documents have the same docid.
    pub fn short_prefix_postings(&self) -> Option<&ShortPrefixPostings> {
        self.core.short_prefix_postings.as_ref().filter(|_| self.core.unique)
    }

    /// Returns the positions file of the field `text`, as tantivy wrote it.
    pub fn positions_file(&self, schema: &Fields) -> Result<FileSlice> {
        if let Some(file) = self.core.positions.get() {
            return Ok(file.clone());
        }
        let all = self.core.segment.open_read(SegmentComponent::Positions);
        let all = CompositeFile::open(&all.context("positions could not be read")?)?;
        let file = all.open_read(schema.text).unwrap_or_else(FileSlice::empty);
        Ok(self.core.positions.get_or_init(|| file).clone())
    }
}

impl SegmentCore {
    /// Returns true if this is the segment of `entry` and `is_there` accepts all its files.
    pub(super) fn is_of(&self, entry: &SegmentEntry, is_there: impl Fn(&Arc<IndexFile>) -> bool) -> bool {
        let known = &self.entry;
        (&known.id, known.documents, &known.files) == (&entry.id, entry.documents, &entry.files)
            && self.index_files.iter().all(is_there)
    }

    fn segment_docids(&self, docid: u32) -> impl Iterator<Item = DocId> + '_ {
        let at = |rank: usize| self.order.as_ref().map_or(rank as DocId, |order| order[rank]);
        let docid_at = move |rank: usize| self.docids[at(rank) as usize];
        let (mut low, mut high) = (0, self.docids.len());
        while low < high {
            let middle = low.midpoint(high);
            if docid_at(middle) < docid { low = middle + 1 } else { high = middle }
        }
        // A segment may contain a docid twice: first deleted, then used again.
        (low..self.docids.len()).take_while(move |&rank| docid_at(rank) == docid).map(at)
    }
}

/// Collects docids within `span` into a bitmap.
fn collect(span: (u32, u32), docids: impl Iterator<Item = u32>) -> RoaringBitmap {
    let mut set = DocidSet::new(span.0, span.1);
    docids.for_each(|docid| set.add(docid));
    set.finish()
}

/// Decompressed blocks of `STORE_BLOCK_BYTES` that a segment caches: one megabyte, enough for 50,000 short documents.
const STORE_BLOCKS_CACHED: usize = 128;
