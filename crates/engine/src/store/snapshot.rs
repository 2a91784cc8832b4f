//! A commit, as readers see it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use roaring::RoaringBitmap;
use serde_json::{Map, Value};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, TERMINATED, Term};

use super::attachments::Attachments;
use super::docids::DELETED;
use super::layout::Layout;
use super::schema::{self, Fields, Presence};
use super::segment::SegmentView;
use crate::analysis::{Dictionaries, DictionaryIds};
use crate::background_fault::FaultReporter;
use crate::cache::Owner;
use crate::error::{Context, Result};
use crate::fields::FieldMap;
use crate::settings::Settings;

/// The documents, fields and settings of one commit. Immutable and cheap to clone.
#[derive(Clone)]
pub struct Snapshot {
    inner: Arc<Inner>,
}

struct Inner {
    segments: Vec<SegmentView>,
    documents: Arc<RoaringBitmap>,
    schema: Fields,
    parts: SnapshotParts,
    attachments: Attachments,
    cache: Owner,
    installed: Dictionaries,
}

/// Properties of a commit other than its segments.
#[derive(Debug, Clone, Default)]
pub struct SnapshotParts {
    /// All fields that any document ever had.
    pub fields: Arc<FieldMap>,
    /// Complete settings.
    pub settings: Arc<Settings>,
    /// The primary key; `None` until known.
    pub primary_key: Option<String>,
    /// Ids of the dictionaries that cut its texts.
    pub dictionaries: DictionaryIds,
    /// Path of the index; `None` if it is in memory.
    pub directory: Option<Arc<Path>>,
    /// Receives faults of background work.
    pub faults: FaultReporter,
}

impl Snapshot {
    /// Creates a snapshot of `segments` with these fields and settings.
    pub fn new(layout: &Layout, parts: SnapshotParts, segments: Vec<SegmentView>) -> Self {
        let mut documents = RoaringBitmap::new();
        for segment in &segments {
            documents |= &*segment.live;
        }
        Self {
            inner: Arc::new(Inner {
                segments,
                documents: Arc::new(documents),
                schema: layout.fields(),
                parts,
                attachments: Attachments::default(),
                cache: layout.cache_owner(),
                installed: layout.dictionaries().clone(),
            }),
        }
    }

    /// Returns the segments, in the order of the commit.
    pub fn segments(&self) -> &[SegmentView] {
        &self.inner.segments
    }

    /// Returns the docids of all documents.
    pub fn documents(&self) -> &RoaringBitmap {
        &self.inner.documents
    }

    /// As [`Self::documents`], but shared.
    pub fn shared_documents(&self) -> Arc<RoaringBitmap> {
        Arc::clone(&self.inner.documents)
    }

    /// All fields that any document ever had.
    pub fn fields(&self) -> &FieldMap {
        &self.inner.parts.fields
    }

    /// Returns the settings of this commit.
    pub fn settings(&self) -> &Settings {
        &self.inner.parts.settings
    }

    /// Returns the field that holds the document id; `None` until known.
    pub fn primary_key(&self) -> Option<&str> {
        self.inner.parts.primary_key.as_deref()
    }

    /// Returns the properties of the commit other than its segments.
    pub fn parts(&self) -> &SnapshotParts {
        &self.inner.parts
    }

    /// Returns the dictionaries that cut its texts, as far as they are installed. Replaces a missing dictionary by one of
    /// another version.
    pub fn dictionaries(&self) -> Dictionaries {
        self.inner.installed.of_languages(&self.inner.parts.dictionaries)
    }

    /// Returns values that live as long as this commit, such as opened columns.
    pub fn attachments(&self) -> &Attachments {
        &self.inner.attachments
    }

    /// Returns the cached values of this commit.
    pub fn cache(&self) -> &Owner {
        &self.inner.cache
    }

    /// Returns the fields of the schema.
    pub fn schema(&self) -> &Fields {
        &self.inner.schema
    }

    /// Returns the segment and segment docid of a live document.
    pub fn locate(&self, docid: u32) -> Option<(&SegmentView, DocId)> {
        self.segments().iter().find_map(|segment| Some((segment, segment.segment_docid(docid)?)))
    }

    /// Returns the JSON bytes of a document: compact, keys in the order received. `None` if there is no such document.
    pub fn source(&self, docid: u32) -> Result<Option<Vec<u8>>> {
        let Some((segment, doc)) = self.locate(docid) else { return Ok(None) };
        segment.source(&self.inner.schema, doc).map(Some)
    }

    /// As [`Self::source`], but as cached text.
    pub fn cached_source(&self, docid: u32) -> Result<Option<Arc<Box<str>>>> {
        let Some((segment, doc)) = self.locate(docid) else { return Ok(None) };
        segment.cached_source(&self.inner.schema, doc).map(Some)
    }

    /// Returns a parsed document; `None` if there is no such document.
    pub fn document(&self, docid: u32) -> Result<Option<Map<String, Value>>> {
        let source = self.source(docid)?;
        source
            .map(|bytes| serde_json::from_slice(&bytes).context("a stored document does not parse"))
            .transpose()
    }

    /// Counts the documents with this property, by path. Paths are sorted; paths without documents are left out.
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

    /// Returns these documents with other fields and settings.
    pub fn with_parts(&self, parts: SnapshotParts) -> Self {
        let inner = &self.inner;
        Self {
            inner: Arc::new(Inner {
                segments: inner.segments.clone(),
                documents: Arc::clone(&inner.documents),
                schema: inner.schema,
                parts,
                attachments: Attachments::default(),
                cache: inner.cache.cache().owner(),
                installed: inner.installed.clone(),
            }),
        }
    }

    /// Returns the docid of the live document with the primary key `id`.
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
