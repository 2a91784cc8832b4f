//! A batch merged and validated in memory, before its commit: the documents it leaves, their docids, and the pieces of
//! uploads that each is made of.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use allocator_api2::vec::Vec as SpillVec;
use compact_str::CompactString;
use roaring::RoaringBitmap;
use serde_json::{Map, Value};
use smallvec::SmallVec;

use super::batch::{Batch, Failure, Method, Operation, Outcome};
use super::batch_monitor::BatchMonitor;
use super::document_scanner::{DocumentScanner, Known};
use super::entries::{Entries, no_disk_space};
use super::flatten::each_path;
use super::json::Object;
use super::payload::{Payload, Slice, Spool};
use super::spill_allocator::SpillAllocator;
use super::{primary_key, special};
use crate::error::{Error, Result};
use crate::facets::Columns;
use crate::fields::{FieldMap, is_same_or_below};
use crate::filter::{self, Features, Scope};
use crate::settings::{FilterableRule, Settings};
use crate::store::Snapshot;
use crate::vector::{
    Asked, ChangedVectors, CurrentVectors, CurrentVectorsOf, MissingVectors, Remake, StagedVectors, Vectors,
};

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
    returned: Vec<Map<String, Value>>,
    /// Documents as they were when vectors were made of them, see [`crate::vector::Want`].
    pub(super) earlier: Vec<Entry>,
    /// Ids by docid, made when they are first needed.
    pub(super) by_docid: OnceLock<HashMap<u32, CompactString>>,
    docids: Docids,
    /// Name of the index, for messages and the report.
    pub index_uid: String,
    /// Stops the batch, and shows its progress.
    pub monitor: BatchMonitor,
    spill: SpillAllocator,
}

/// What becomes of one document id.
#[derive(Debug, Clone, Default)]
pub struct Entry {
    /// Its docid from here on; None: there is no such document any more.
    pub docid: Option<u32>,
    /// Its docid in the base; None if it was not there.
    pub base: Option<u32>,
    /// Whether the first piece builds on the base document.
    pub on_base: bool,
    /// Pieces merged one after another.
    pub pieces: SmallVec<[Piece; 1]>,
    /// The last of [`StagedBatch::spools`] that had the id, counted from 1; 0: none had.
    pub(super) seen_in: u32,
}

/// What a document is made of.
#[derive(Debug, Clone, Copy)]
pub enum Piece {
    /// A document of a body.
    Body {
        /// Which of [`StagedBatch::spools`].
        spool: u32,
        /// Where in it.
        slice: Slice,
    },
    /// Vectors it gets back: which of those the staged batch keeps.
    Vectors(u32),
}

impl Piece {
    /// About how much there is to read, in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Body { slice, .. } => slice.bytes() as usize,
            Self::Vectors(_) => 0,
        }
    }
}

/// Docids in use, and the lowest that is not.
#[derive(Clone, Default)]
struct Docids {
    used: RoaringBitmap,
    lowest_free: u32,
}

impl Docids {
    fn new(used: RoaringBitmap) -> Self {
        let lowest_free = lowest_gap(&used);
        Self { used, lowest_free }
    }

    fn take(&mut self) -> u32 {
        while self.used.contains(self.lowest_free) {
            self.lowest_free += 1;
        }
        self.used.insert(self.lowest_free);
        self.lowest_free
    }

    fn free(&mut self, docid: u32) {
        self.used.remove(docid);
        self.lowest_free = self.lowest_free.min(docid);
    }
}

/// The lowest number that is not in a set, without walking it.
fn lowest_gap(used: &RoaringBitmap) -> u32 {
    let (mut low, mut high) = (0, used.len() as u32);
    while low < high {
        let middle = low.midpoint(high);
        // As many numbers up to here as there can be: no gap so far.
        if used.rank(middle) == u64::from(middle) + 1 { low = middle + 1 } else { high = middle }
    }
    low
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

    /// Documents there will be.
    pub fn documents(&self) -> u64 {
        self.docids.used.len()
    }

    /// Carries out the tasks of a batch, one after another. A task that fails changes nothing.
    ///
    /// # Errors
    /// Only internal ones, that it was told to stop among them; mistakes of users are in the outcomes.
    pub fn apply(&mut self, batch: Batch) -> Result<()> {
        for task in batch.operations {
            let nothing = nothing_done(&task.operation);
            let outcome = match self.operation(task.operation) {
                Ok(outcome) => outcome,
                Err(error @ Error::User(_)) => Outcome { error: Some(Failure::from(&error)), ..nothing },
                Err(error) => return Err(error),
            };
            self.outcomes.push(Outcome { task_uid: task.task_uid, ..outcome });
        }
        Ok(())
    }

    fn operation(&mut self, operation: Operation) -> Result<Outcome> {
        match operation {
            Operation::Documents { method, payload, primary_key, skip_creation, .. } => {
                self.put(&payload, method, primary_key.as_deref(), skip_creation)
            }
            Operation::DeleteByIds { ids } => {
                let mut removed = 0;
                for id in ids {
                    removed += u64::from(self.remove(&id)?);
                }
                Ok(deleted(removed))
            }
            Operation::DeleteByFilter { filter } => {
                let ids = self.ids_matching(&filter)?;
                self.monitor.progress.expect(ids.len() as u64);
                let mut removed = 0;
                for id in ids {
                    removed += u64::from(self.remove(&id)?);
                }
                Ok(deleted(removed))
            }
            Operation::Edit { payload, deleted, edited_documents } => {
                if let Some(payload) = payload {
                    self.put(&payload, Method::Replace, None, false)?;
                }
                for id in deleted {
                    self.remove(&id)?;
                }
                Ok(Outcome { edited_documents: Some(edited_documents), touched: true, ..Outcome::default() })
            }
            Operation::Clear => {
                let removed = self.documents();
                self.cleared = true;
                self.entries.clear();
                self.docids = Docids::default();
                self.vectors.clear();
                Ok(Outcome { deleted_documents: Some(removed), touched: true, ..Outcome::default() })
            }
            Operation::Settings { settings, remakes } => {
                let settings = Settings::parse(&settings)?;
                self.check_documents(&settings)?;
                self.change_embedders(&settings, &remakes)?;
                self.settings = Arc::new(settings);
                Ok(Outcome { touched: true, ..Outcome::default() })
            }
            Operation::PrimaryKey { primary_key } => self.declare_primary_key(primary_key),
        }
    }

    /// Settings that give a field a meaning of its own ask for documents that suit it.
    fn check_documents(&self, settings: &Settings) -> Result<()> {
        let (before, after) = (Checks::new(&self.settings), Checks::new(settings));
        let has = |field: &str| self.fields.id(field).is_some();
        let fresh = Checks {
            geo: after.geo && !before.geo && has("_geo"),
            geojson: after.geojson && !before.geojson && has("_geojson"),
        };
        if !fresh.geo && !fresh.geojson {
            return Ok(());
        }
        for (id, entry) in self.entries.iter().filter(|(_, entry)| entry.docid.is_some()) {
            fresh.run(id, &self.merged(entry)?)?;
        }
        let Some(base) = self.base.as_ref().filter(|_| !self.cleared) else { return Ok(()) };
        let columns = Columns::new(base);
        for (field, is_fresh) in [("_geo", fresh.geo), ("_geojson", fresh.geojson)] {
            if !is_fresh {
                continue;
            }
            for docid in columns.malformed(field)? {
                let id = id_in(base, docid)?;
                if !self.entries.contains(&id) {
                    fresh.run(&id, &base.document(docid)?.unwrap_or_default())?;
                }
            }
        }
        Ok(())
    }

    /// Documents give what a new embedder needs, and take back what one that goes has kept.
    fn change_embedders(&mut self, settings: &Settings, remakes: &BTreeMap<String, Remake>) -> Result<()> {
        let mut change = self.vectors.reconfigure(settings, remakes)?;
        let mut rewritten: Vec<String> = Vec::new();
        if change.concerns_all() {
            for (id, entry) in self.entries.iter() {
                if let Some(docid) = entry.docid
                    && change.visit(docid, id, &self.merged(entry)?)?
                {
                    rewritten.push(id.to_string());
                }
            }
            if let Some(base) = self.base.as_ref().filter(|_| !self.cleared) {
                self.monitor.progress.expect(base.documents().len());
                for docid in base.documents() {
                    self.monitor.next()?;
                    let document = base.document(docid)?.unwrap_or_default();
                    let id = primary_key::id_of(base.primary_key().unwrap_or_default(), &document)?;
                    if !self.entries.contains(&id) && change.visit(docid, &id, &document)? {
                        rewritten.push(id);
                    }
                }
            }
        }
        if change.remakes() {
            let base = self.base.as_ref().filter(|_| !self.cleared);
            let mut untouched = base.map(|base| base.documents().clone()).unwrap_or_default();
            for entry in self.entries.values() {
                if let Some(base) = entry.base {
                    untouched.remove(base);
                }
                if let Some(docid) = entry.docid {
                    self.earlier.push(entry.clone());
                    change.remake(docid, &self.settings, Some(self.earlier.len() as u32 - 1));
                }
            }
            for docid in untouched {
                change.remake(docid, &self.settings, None);
            }
        }
        let returning = change.returning();
        let mut returned: Vec<(String, Map<String, Value>)> = Vec::new();
        let live = self.entries.iter().filter_map(|(id, entry)| Some((id, entry.docid?)));
        for (id, docid) in live.filter(|(_, docid)| returning.contains(*docid)) {
            returned.extend(change.give_back(docid).map(|vectors| (id.to_string(), vectors)));
        }
        if let Some(base) = self.base.as_ref().filter(|_| !self.cleared) {
            for docid in &returning & base.documents() {
                let id = id_in(base, docid)?;
                if !self.entries.contains(&id) {
                    returned.extend(change.give_back(docid).map(|vectors| (id, vectors)));
                }
            }
        }
        self.vectors = change.finish()?;
        for id in rewritten {
            self.touch(&id, None)?;
        }
        for (id, vectors) in returned {
            self.returned.push(vectors);
            let piece = Piece::Vectors(self.returned.len() as u32 - 1);
            self.touch(&id, Some(piece))?;
        }
        Ok(())
    }

    /// Has a document written again, with `piece` if there is one.
    fn touch(&mut self, id: &str, piece: Option<Piece>) -> Result<()> {
        if let Some(at) = self.find(id)? {
            self.entries[at].pieces.extend(piece);
        }
        Ok(())
    }

    /// The place of an id's entry, made from the base if there is none; None if neither the base nor the batch has the id.
    fn find(&mut self, id: &str) -> Result<Option<usize>> {
        if let Some(at) = self.entries.place(id) {
            return Ok(Some(at));
        }
        let entry = self.base_entry(id)?;
        entry.base.is_some().then(|| self.entries.add(id, entry)).transpose()
    }

    fn declare_primary_key(&mut self, wanted: Option<String>) -> Result<Outcome> {
        let Some(wanted) = wanted else { return Ok(Outcome::default()) };
        if self.documents() > 0 && self.primary_key.as_ref().is_some_and(|stored| *stored != wanted) {
            return Err(self.has_primary_key());
        }
        self.primary_key = Some(wanted);
        Ok(Outcome { touched: true, ..Outcome::default() })
    }

    fn has_primary_key(&self) -> Error {
        let stored = self.primary_key.as_deref().unwrap_or_default();
        let message = format!("Index `{}`: Index already has a primary key: `{stored}`.", self.index_uid);
        Error::user("index_primary_key_already_exists", message)
    }

    fn put(
        &mut self,
        payload: &Payload,
        method: Method,
        wanted_key: Option<&str>,
        skip_creation: bool,
    ) -> Result<Outcome> {
        if let (Some(stored), Some(wanted)) = (&self.primary_key, wanted_key)
            && stored != wanted
        {
            return Err(self.has_primary_key());
        }
        let mut key = self.primary_key.clone().or_else(|| wanted_key.map(str::to_owned));
        let mut fields = Arc::clone(&self.fields);
        let checks = Checks::new(&self.settings);
        let spool = Spool::open(payload)?;
        let number = self.spools.len() as u32;

        // First everything is read, so that a fault in the last document undoes nothing.
        let mut puts: SpillVec<(CompactString, Piece), SpillAllocator> = SpillVec::new_in(self.spill.clone());
        let mut vectors: HashMap<CompactString, ChangedVectors> = HashMap::new();
        // What documents ask of embedders, by their place in `puts`.
        let mut asked: HashMap<usize, Vec<(u8, Asked)>> = HashMap::new();
        let mut lacking = MissingVectors::default();
        let mut survey = (!self.vectors.is_needed()).then(DocumentScanner::default);
        let looked_at = checks.fields();
        spool.each(&mut |slice| {
            self.monitor.next()?;
            let piece = Piece::Body { spool: number, slice };
            puts.try_reserve(1).map_err(|error| no_disk_space(&error))?;
            if let (Some(survey), Some(key), Some(json)) = (&mut survey, &key, spool.json(slice)?)
                && let Some(id) = survey.id(json, key, &Known { fields: &fields, looked_at: &looked_at })
            {
                puts.push((id.into(), piece));
                return Ok(());
            }
            let document = spool.document(slice)?;
            let key = match &key {
                Some(key) => key,
                None => key.insert(primary_key::infer(&self.index_uid, &document)?),
            };
            let id: CompactString = primary_key::id_of(key, &document)?.into();
            checks.run(&id, &document)?;
            learn_fields(&mut fields, &document)?;
            let asks = self.read_vectors(&id, &document, &mut vectors, skip_creation, &mut lacking)?;
            if !asks.is_empty() {
                asked.insert(puts.len(), asks);
            }
            puts.push((id, piece));
            Ok(())
        })?;

        lacking.check()?;
        spool.let_go(0..u64::MAX);
        self.spools.push(spool);
        self.fields = fields;
        self.primary_key = key;
        self.entries.reserve(puts.len())?;
        let (mut distinct, mut unknown) = (0, HashSet::new());
        for (place, (id, piece)) in puts.into_iter().enumerate() {
            self.monitor.go_on()?;
            let asks = asked.get(&place);
            let before = asks.map(|_| self.entry(&id)).transpose()?;
            let put = self.put_piece(&id, piece, method, skip_creation)?;
            if let (Some(before), Some(asks)) = (before, asks) {
                self.ask(&id, before, asks);
            }
            distinct += match put {
                Some(is_first) => u64::from(is_first),
                None => u64::from(unknown.insert(id)),
            };
        }
        for (id, staged) in vectors {
            if let Some(docid) = self.entries.get(&id).and_then(|entry| entry.docid) {
                self.vectors.put(docid, staged);
            }
        }
        Ok(Outcome { indexed_documents: Some(distinct), touched: true, ..Outcome::default() })
    }

    /// Notes what a document of a body says of vectors, after what those before it said.
    fn read_vectors(
        &self,
        id: &str,
        document: &Map<String, Value>,
        vectors: &mut HashMap<CompactString, ChangedVectors>,
        skip_creation: bool,
        lacking: &mut MissingVectors,
    ) -> Result<Vec<(u8, Asked)>> {
        if !self.vectors.is_needed() {
            return self.vectors.read(document, id, None, lacking).map(|reading| reading.asked);
        }
        let docid = match self.entries.get(id) {
            Some(entry) => entry.docid,
            None => self.base_entry(id)?.docid,
        };
        let earlier = vectors.get(id);
        if docid.is_none() && earlier.is_none() && skip_creation {
            return Ok(Vec::new());
        }
        let standing = |name: &str| {
            let staged = earlier.and_then(|staged| staged.get(name)).map(CurrentVectors::from);
            staged.or_else(|| self.vectors.standing(name, docid?))
        };
        let is_new = docid.is_none() && earlier.is_none();
        let before: Option<CurrentVectorsOf<'_>> = if is_new { None } else { Some(&standing) };
        let reading = self.vectors.read(document, id, before, lacking)?;
        vectors.entry(id.into()).or_default().extend(reading.staged);
        Ok(reading.asked)
    }

    /// Notes what a document that was just put asks of embedders; `before` is what it was.
    fn ask(&mut self, id: &str, before: Entry, asked: &[(u8, Asked)]) {
        let Some(docid) = self.entries.get(id).and_then(|entry| entry.docid) else { return };
        let earlier = &mut self.earlier;
        self.vectors.ask(docid, asked, &self.settings, || {
            if before.on_base && before.pieces.is_empty() {
                return None;
            }
            earlier.push(before.clone());
            Some(earlier.len() as u32 - 1)
        });
    }

    /// What is there of an id now.
    fn entry(&self, id: &str) -> Result<Entry> {
        match self.entries.get(id) {
            Some(entry) => Ok(entry.clone()),
            None => self.base_entry(id),
        }
    }

    /// Adds a piece of the newest spool to what is known of an id, and says whether it is the first one of that
    /// spool. None if there is no such document and none is to be made.
    fn put_piece(
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
    fn base_entry(&self, id: &str) -> Result<Entry> {
        let base = match &self.base {
            Some(base) if !self.cleared => base.docid_of(id)?,
            _ => None,
        };
        Ok(Entry { docid: base, base, on_base: base.is_some(), ..Entry::default() })
    }

    fn remove(&mut self, id: &str) -> Result<bool> {
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

    /// Ids of the documents, as they are now, that a filter matches.
    fn ids_matching(&self, filter: &Value) -> Result<Vec<String>> {
        // The route has already refused what needs a feature that is off.
        let features =
            Features { contains_filter: true, legacy_search: false, multimodal: true, foreign_keys: true };
        let (code, index_uid) = ("invalid_document_filter", Some(self.index_uid.as_str()));
        let scope = Scope { code, index_uid, features, stop: None };
        let Some(expression) = filter::parse(filter, &scope)? else { return Ok(Vec::new()) };
        let preview = super::write::preview(self)?;
        let mut ids = Vec::new();
        if let Some(base) = &preview.base {
            for docid in filter::select(base, &expression, &scope)?.iter() {
                let id = id_in(base, docid)?;
                // Those with an entry have changed: the other half of the preview shows how.
                if !self.entries.contains(&id) {
                    ids.push(id);
                }
            }
        }
        if let Some(changed) = &preview.changed {
            for docid in filter::select(changed, &expression, &scope)?.iter() {
                ids.push(id_in(changed, docid)?);
            }
        }
        Ok(ids)
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

/// Counters of a task that failed.
fn nothing_done(operation: &Operation) -> Outcome {
    match operation {
        Operation::Documents { .. } => Outcome { indexed_documents: Some(0), ..Outcome::default() },
        Operation::DeleteByIds { .. } | Operation::DeleteByFilter { .. } | Operation::Clear => deleted(0),
        Operation::Edit { .. } | Operation::Settings { .. } | Operation::PrimaryKey { .. } => {
            Outcome::default()
        }
    }
}

fn deleted(removed: u64) -> Outcome {
    Outcome { deleted_documents: Some(removed), touched: removed > 0, ..Outcome::default() }
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

fn learn_fields(fields: &mut Arc<FieldMap>, document: &Map<String, Value>) -> Result<()> {
    each_path(document, &mut |path| {
        if fields.id(path).is_none() {
            Arc::make_mut(fields).insert(path)?;
        }
        Ok(())
    })
}

/// Which special fields have to be well formed under the settings.
struct Checks {
    geo: bool,
    geojson: bool,
}

impl Checks {
    fn new(settings: &Settings) -> Self {
        Self {
            geo: filter::is_filterable_place(settings, "_geo")
                || settings.sortable_attributes.iter().any(|name| is_same_or_below(name, "_geo")),
            geojson: filter::is_filterable_place(settings, "_geojson"),
        }
    }

    /// Fields that have to be looked at before it is known whether a document will do.
    fn fields(&self) -> Vec<&'static str> {
        let places = [("_geo", self.geo), ("_geojson", self.geojson)];
        let places = places.into_iter().filter_map(|(name, checked)| checked.then_some(name));
        places.chain(["_vectors"]).collect()
    }

    fn run(&self, id: &str, document: &Map<String, Value>) -> Result<()> {
        match document.get("_geo") {
            Some(geo) if self.geo => special::check_geo(id, geo)?,
            _ => {}
        }
        match document.get("_geojson") {
            Some(shape) if self.geojson => special::check_geojson(id, shape)?,
            _ => {}
        }
        Ok(())
    }
}

/// Whether a rule names the field or matches it by a pattern.
pub fn is_filterable(settings: &Settings, field: &str) -> bool {
    settings.filterable_attributes.iter().any(|rule| match rule {
        FilterableRule::Field(name) => is_same_or_below(name, field),
        FilterableRule::Patterns { attribute_patterns, .. } => {
            attribute_patterns.iter().any(|pattern| crate::fields::matches_pattern(pattern, field))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_gap_is_found_wherever_it_is() {
        for gap in [0, 1, 63, 64, 65_535, 65_536, 100_000] {
            let mut used: RoaringBitmap = (0..200_000).collect();
            used.remove(gap);
            used.remove(150_000);
            assert_eq!(lowest_gap(&used), gap);
            used.remove_range(gap..);
            assert_eq!(lowest_gap(&used), gap);
        }
    }
}
