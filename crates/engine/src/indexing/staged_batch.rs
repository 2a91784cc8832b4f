//! A batch merged and validated in memory, before its commit: the documents it leaves, their docids, and the pieces of
//! uploads that each is made of.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use compact_str::CompactString;
use serde_json::{Map, Value};
use smallvec::SmallVec;

use super::batch::{Batch, Method, Outcome};
use super::batch_monitor::BatchMonitor;
use super::docids::Docids;
use super::entries::Entries;
use super::entry::{Entry, Piece};
use super::json::Object;
use super::primary_key;
use super::spill_allocator::SpillAllocator;
use super::spool::Spool;
use crate::error::{Error, Result};
use crate::fields::FieldMap;
use crate::settings::Settings;
use crate::store::{Snapshot, SnapshotParts};
use crate::vector::{StagedVectors, Vectors};

/// Everything a commit will change. Dropping it leaves no trace.
pub struct StagedBatch {
    /// Batch it came from.
    pub batch_uid: u64,
    /// Commit it builds on; None for an index that has none.
    pub base: Option<Snapshot>,
    /// All documents of `base` are gone, unless an entry says otherwise.
    pub cleared: bool,
    /// What changes, by document id, in the order in which ids came, so that documents are written about as they lie in
    /// their bodies.
    pub entries: Entries,
    /// All fields, those of new documents included.
    pub fields: Arc<FieldMap>,
    /// Settings from here on.
    pub settings: Arc<Settings>,
    /// Primary key from here on.
    pub primary_key: Option<String>,
    /// Bodies that pieces lie in.
    pub spools: Vec<Spool>,
    /// How each task ended.
    pub outcomes: Vec<Outcome>,
    /// Vectors from here on.
    pub vectors: StagedVectors,
    /// Vectors that documents get back from embedders that went, see [`Piece::Vectors`].
    pub(super) returned: Vec<Map<String, Value>>,
    /// Documents as they were when vectors were made of them, see [`crate::vector::Want`].
    pub(super) earlier: Vec<Entry>,
    /// Ids by docid, made when they are first needed.
    pub(super) by_docid: OnceLock<HashMap<u32, CompactString>>,
    pub(super) docids: Docids,
    /// Name of the index, for messages and the report.
    pub index_uid: String,
    /// Stops the batch, and shows its progress.
    pub monitor: BatchMonitor,
    spill: SpillAllocator,
}

impl StagedBatch {
    /// Nothing changed yet.
    ///
    /// # Errors
    /// Internal, if vectors of the base cannot be read.
    pub fn new(batch: &Batch, base: Option<Snapshot>, monitor: BatchMonitor) -> Result<Self> {
        let parts = base.as_ref().map(|base| base.parts().clone()).unwrap_or_default();
        let used = base.as_ref().map(|base| base.documents().clone()).unwrap_or_default();
        let vectors = base.as_ref().map(Vectors::of).unwrap_or_default();
        let vectors = StagedVectors::new(&parts.settings, vectors)?;
        let spill = SpillAllocator::new(Path::new("."), usize::MAX);
        Ok(Self {
            batch_uid: batch.uid,
            base,
            cleared: false,
            entries: Entries::new(&spill),
            fields: parts.fields,
            settings: parts.settings,
            primary_key: parts.primary_key,
            spools: Vec::new(),
            outcomes: Vec::new(),
            vectors,
            returned: Vec::new(),
            earlier: Vec::new(),
            by_docid: OnceLock::new(),
            docids: Docids::new(used),
            index_uid: batch.index_uid.clone(),
            monitor,
            spill,
        })
    }

    /// Has tables lie in `spill`, which is unbounded otherwise. Asked before anything is applied.
    pub fn within(self, spill: SpillAllocator) -> Self {
        Self { entries: Entries::new(&spill), spill, ..self }
    }

    /// Where tables lie.
    pub fn spill(&self) -> &SpillAllocator {
        &self.spill
    }

    /// Fields, settings and primary key as they will be.
    pub fn parts(&self) -> SnapshotParts {
        SnapshotParts {
            fields: Arc::clone(&self.fields),
            settings: Arc::clone(&self.settings),
            primary_key: self.primary_key.clone(),
            directory: self.base.as_ref().and_then(|base| base.parts().directory.clone()),
        }
    }

    /// Documents there will be.
    pub fn documents(&self) -> u64 {
        self.docids.used.len()
    }

    /// Has a document written again, with `piece` if there is one.
    pub(super) fn touch(&mut self, id: &str, piece: Option<Piece>) -> Result<()> {
        if let Some(at) = self.find(id)? {
            self.entries[at].pieces.extend(piece);
        }
        Ok(())
    }

    /// The place of an id's entry, made from the base if there is none; None if neither the base nor the batch has the id.
    pub(super) fn find(&mut self, id: &str) -> Result<Option<usize>> {
        if let Some(at) = self.entries.place(id) {
            return Ok(Some(at));
        }
        let entry = self.base_entry(id)?;
        entry.base.is_some().then(|| self.entries.add(id, entry)).transpose()
    }

    /// What is there of an id now.
    pub(super) fn entry(&self, id: &str) -> Result<Entry> {
        match self.entries.get(id) {
            Some(entry) => Ok(entry.clone()),
            None => self.base_entry(id),
        }
    }

    /// Adds a piece of the newest spool to what is known of an id, and says whether it is the first one of that
    /// spool. None if there is no such document and none is to be made.
    pub(super) fn put_piece(
        &mut self,
        id: &str,
        piece: Piece,
        method: Method,
        skip_creation: bool,
    ) -> Result<Option<bool>> {
        let at = match self.find(id)? {
            Some(at) => at,
            None if skip_creation => return Ok(None),
            None => self.entries.add(id, Entry::default())?,
        };
        let entry = &mut self.entries[at];
        let spools = self.spools.len() as u32;
        let is_first = std::mem::replace(&mut entry.seen_in, spools) != spools;
        if entry.docid.is_none() && skip_creation {
            return Ok(Some(is_first));
        }
        let is_new = entry.docid.is_none();
        if is_new {
            entry.docid = Some(self.docids.take());
        }
        if is_new || method == Method::Replace {
            entry.on_base = false;
            entry.pieces.clear();
        }
        entry.pieces.push(piece);
        Ok(Some(is_first))
    }

    /// What the base says about an id that has no entry.
    pub(super) fn base_entry(&self, id: &str) -> Result<Entry> {
        let base = match &self.base {
            Some(base) if !self.cleared => base.docid_of(id)?,
            _ => None,
        };
        Ok(Entry { docid: base, base, on_base: base.is_some(), ..Entry::default() })
    }

    pub(super) fn remove(&mut self, id: &str) -> Result<bool> {
        self.monitor.next()?;
        let Some(at) = self.find(id)? else { return Ok(false) };
        let entry = &mut self.entries[at];
        let docid = entry.docid.take();
        entry.on_base = false;
        entry.pieces = SmallVec::new();
        if entry.base.is_none() {
            self.entries.remove(at);
        }
        if let Some(docid) = docid {
            self.docids.free(docid);
            self.vectors.remove(docid);
        }
        Ok(docid.is_some())
    }

    /// About what it takes, in bytes, beside vectors and what lies in files.
    pub fn memory_bytes(&self) -> usize {
        self.spill.held_bytes()
    }

    /// The same as [`StagedBatch::merged`] for a document that is one object of one body, which most are; None for any
    /// other.
    pub fn plain(&self, entry: &Entry) -> Result<Option<Object<'_>>> {
        let &[Piece::Body { spool, slice }] = entry.pieces.as_slice() else { return Ok(None) };
        if entry.on_base {
            return Ok(None);
        }
        let object = self.spools[spool as usize].object(slice)?;
        Ok(object.filter(|object| !object.has("_vectors")))
    }

    /// The document an entry stands for, from here on.
    pub fn merged(&self, entry: &Entry) -> Result<Map<String, Value>> {
        let mut document = match (&self.base, entry.base) {
            (Some(base), Some(docid)) if entry.on_base => base.document(docid)?.unwrap_or_default(),
            _ => Map::new(),
        };
        let mut pieces = entry.pieces.iter();
        if document.is_empty()
            && let Some(first) = pieces.next()
        {
            document = self.piece(first)?;
        }
        for piece in pieces {
            merge(&mut document, self.piece(piece)?);
        }
        self.vectors.strip(&mut document);
        Ok(document)
    }

    fn piece(&self, piece: &Piece) -> Result<Map<String, Value>> {
        match *piece {
            Piece::Body { spool, slice } => self.spools[spool as usize].document(slice),
            Piece::Vectors(which) => {
                let vectors = self.returned[which as usize].clone();
                Ok(Map::from_iter([("_vectors".to_owned(), Value::Object(vectors))]))
            }
        }
    }
}

/// The document id behind a docid of a snapshot.
pub fn id_in(snapshot: &Snapshot, docid: u32) -> Result<String> {
    let document = snapshot.document(docid)?.unwrap_or_default();
    primary_key::id_of(snapshot.primary_key().unwrap_or_default(), &document)
        .map_err(|source| Error::internal(format!("document {docid} has lost its id"), source))
}

/// Top-level fields overwrite; of `_vectors`, embedders do.
fn merge(document: &mut Map<String, Value>, update: Map<String, Value>) {
    for (key, value) in update {
        match (document.get_mut(&key), value) {
            (Some(Value::Object(vectors)), Value::Object(update)) if key == "_vectors" => {
                vectors.extend(update);
            }
            (_, value) => {
                document.insert(key, value);
            }
        }
    }
}
