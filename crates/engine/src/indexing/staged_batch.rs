//! A batch, merged and validated before its commit: the documents after it, their docids and updates.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use compact_str::CompactString;
use serde_json::{Map, Value};
use smallvec::SmallVec;

use super::batch::{Batch, Method, Outcome};
use super::batch_monitor::BatchMonitor;
use super::cost::{Cost, cost_of};
use super::docids::DocidAllocator;
use super::entries::Entries;
use super::entry::{Entry, Update};
use super::json::Object;
use super::primary_key;
use super::spill_allocator::SpillAllocator;
use super::spool::Spool;
use crate::analysis::{Analyzer, Dictionaries, DictionaryIds};
use crate::error::{Error, Result};
use crate::fields::FieldMap;
use crate::settings::Settings;
use crate::store::{Snapshot, SnapshotParts};
use crate::vector::{StagedVectors, Vectors};

/// All changes of a commit before it is made. Dropping them leaves the index unchanged.
pub struct StagedBatch {
    /// Uid of the batch.
    pub batch_uid: u64,
    /// Commit that the changes build on; `None` for an index without a commit.
    pub base: Option<Snapshot>,
    /// True if the documents of `base` are deleted, except those with an entry.
    pub cleared: bool,
    /// Changes by document id, in the order of the first occurrences of ids. So documents are written roughly in the
    /// order of their bodies.
    pub entries: Entries,
    /// All fields, including those of new documents.
    pub fields: Arc<FieldMap>,
    /// True if all documents are cut into words again, even if no setting changes.
    pub reanalyses: bool,
    /// Settings after the batch.
    pub settings: Arc<Settings>,
    /// Primary key after the batch.
    pub primary_key: Option<String>,
    /// Bodies that updates refer to.
    pub spools: Vec<Spool>,
    /// The outcome of each task so far.
    pub outcomes: Vec<Outcome>,
    /// Vectors after the batch.
    pub vectors: StagedVectors,
    /// Vectors that documents get back from removed embedders, see [`Update::Vectors`].
    pub(super) returned: Vec<Map<String, Value>>,
    /// Earlier versions of documents, from which their current vectors were made, see [`crate::vector::Want`].
    pub(super) earlier: Vec<Entry>,
    /// Docid → id of the documents with an entry; built when first needed.
    pub(super) by_docid: OnceLock<HashMap<u32, CompactString>>,
    pub(super) docids: DocidAllocator,
    /// Uid of the index, for messages and the report.
    pub index_uid: String,
    /// Stops the batch and reports its progress.
    pub monitor: BatchMonitor,
    installed: Dictionaries,
    spill: SpillAllocator,
}

impl StagedBatch {
    /// Creates a batch before any of its tasks is applied.
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
            reanalyses: false,
            settings: parts.settings,
            primary_key: parts.primary_key,
            spools: Vec::new(),
            outcomes: Vec::new(),
            vectors,
            returned: Vec::new(),
            earlier: Vec::new(),
            by_docid: OnceLock::new(),
            docids: DocidAllocator::new(used),
            index_uid: batch.index_uid.clone(),
            monitor,
            installed: Dictionaries::default(),
            spill,
        })
    }

    /// Allocates tables in `spill`; without this they take unbounded memory. Call it before [`StagedBatch::apply`].
    pub fn within(self, spill: SpillAllocator) -> Self {
        Self { entries: Entries::new(&spill), spill, ..self }
    }

    /// Sets the installed dictionaries.
    pub fn cutting_with(self, installed: &Dictionaries) -> Self {
        Self { installed: installed.clone(), ..self }
    }

    /// Returns true if new settings require writing every document again.
    pub fn needs_reindexing(&self) -> bool {
        self.base.as_ref().is_some_and(|base| {
            self.reanalyses || cost_of(base.settings(), &self.settings) == Cost::Documents
        })
    }

    /// Returns true if no document of the base stays as it is, so that this engine has cut all texts into words.
    pub fn analyses_all(&self) -> bool {
        let is_empty = self.base.as_ref().is_none_or(|base| base.documents().is_empty());
        is_empty || self.cleared || self.needs_reindexing()
    }

    /// Returns the installed dictionaries.
    pub fn installed(&self) -> &Dictionaries {
        &self.installed
    }

    /// Returns the ids of the dictionaries that cut texts after the batch: the installed ones if all texts are cut
    /// again, otherwise those of the base.
    fn dictionaries(&self) -> DictionaryIds {
        match &self.base {
            Some(base) if !self.analyses_all() => base.parts().dictionaries.clone(),
            _ => self.installed.ids(),
        }
    }

    /// Returns an analyzer for the documents after the batch.
    ///
    /// # Errors
    /// See [`Analyzer::new`].
    pub fn analyzer(&self) -> Result<Analyzer> {
        let dictionaries = self.installed.of_languages(&self.dictionaries());
        Ok(Analyzer::new(&self.settings)?.cutting_with(dictionaries))
    }

    /// Returns the allocator of tables.
    pub fn spill(&self) -> &SpillAllocator {
        &self.spill
    }

    /// Returns fields, settings and primary key after the batch.
    pub fn parts(&self) -> SnapshotParts {
        SnapshotParts {
            fields: Arc::clone(&self.fields),
            settings: Arc::clone(&self.settings),
            primary_key: self.primary_key.clone(),
            dictionaries: self.dictionaries(),
            directory: self.base.as_ref().and_then(|base| base.parts().directory.clone()),
            faults: self.base.as_ref().map(|base| base.parts().faults.clone()).unwrap_or_default(),
        }
    }

    /// Returns the number of documents after the batch.
    pub fn documents(&self) -> u64 {
        self.docids.used.len()
    }

    /// Schedules a document to be written again, with `update` if there is one.
    pub(super) fn touch(&mut self, id: &str, update: Option<Update>) -> Result<()> {
        if let Some(at) = self.find(id)? {
            self.entries[at].updates.extend(update);
        }
        Ok(())
    }

    /// Returns the row of an id. Adds it from the base if necessary; `None` if neither the base nor the batch has the
    /// id.
    pub(super) fn find(&mut self, id: &str) -> Result<Option<usize>> {
        if let Some(at) = self.entries.find(id) {
            return Ok(Some(at));
        }
        let entry = self.base_entry(id)?;
        entry.base.is_some().then(|| self.entries.add(id, entry)).transpose()
    }

    /// Returns the entry of an id, or the one that it would get.
    pub(super) fn entry(&self, id: &str) -> Result<Entry> {
        match self.entries.get(id) {
            Some(entry) => Ok(entry.clone()),
            None => self.base_entry(id),
        }
    }

    /// Adds an update from the newest spool to an id. Returns true if it is the first update of the id from that spool,
    /// and `None` if there is no such document and `skip_creation` forbids creating it.
    pub(super) fn put_update(
        &mut self,
        id: &str,
        update: Update,
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
            entry.updates.clear();
        }
        entry.updates.push(update);
        Ok(Some(is_first))
    }

    /// Returns the entry of an id that the batch has not changed.
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
        entry.updates = SmallVec::new();
        if entry.base.is_none() {
            self.entries.remove(at);
        }
        if let Some(docid) = docid {
            self.docids.free(docid);
            self.vectors.remove(docid);
        }
        Ok(docid.is_some())
    }

    /// Returns the memory of tables in bytes, without vectors and without blocks in files.
    pub fn memory_bytes(&self) -> usize {
        self.spill.held_bytes()
    }

    /// Returns the document of [`StagedBatch::merged`], borrowed from its body. `None` unless it is a single JSON
    /// object of a body, as most documents are.
    pub fn plain(&self, entry: &Entry) -> Result<Option<Object<'_>>> {
        let &[Update::Body { spool, slice }] = entry.updates.as_slice() else { return Ok(None) };
        if entry.on_base {
            return Ok(None);
        }
        let object = self.spools[spool as usize].object(slice)?;
        Ok(object.filter(|object| !object.has("_vectors")))
    }

    /// Returns the document of an entry after the batch.
    pub fn merged(&self, entry: &Entry) -> Result<Map<String, Value>> {
        let mut document = match (&self.base, entry.base) {
            (Some(base), Some(docid)) if entry.on_base => base.document(docid)?.unwrap_or_default(),
            _ => Map::new(),
        };
        let mut updates = entry.updates.iter();
        if document.is_empty()
            && let Some(first) = updates.next()
        {
            document = self.fields_of(first)?;
        }
        for update in updates {
            merge(&mut document, self.fields_of(update)?);
        }
        self.vectors.strip(&mut document);
        Ok(document)
    }

    fn fields_of(&self, update: &Update) -> Result<Map<String, Value>> {
        match *update {
            Update::Body { spool, slice } => self.spools[spool as usize].document(slice),
            Update::Vectors(which) => {
                let vectors = self.returned[which as usize].clone();
                Ok(Map::from_iter([("_vectors".to_owned(), Value::Object(vectors))]))
            }
        }
    }
}

/// Returns the document id of a docid of a snapshot.
pub fn id_in(snapshot: &Snapshot, docid: u32) -> Result<String> {
    let document = snapshot.document(docid)?.unwrap_or_default();
    primary_key::id_of(snapshot.primary_key().unwrap_or_default(), &document)
        .map_err(|source| Error::internal(format!("document {docid} has lost its id"), source))
}

/// Overwrites top-level fields; within `_vectors`, overwrites embedders.
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
