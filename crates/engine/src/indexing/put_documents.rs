//! Adds the documents of an uploaded body to a staged batch.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use allocator_api2::vec::Vec as SpillVec;
use compact_str::CompactString;
use serde_json::{Map, Value};

use super::batch::{Method, Outcome};
use super::document_scanner::{DocumentScanner, Known};
use super::entries::no_disk_space;
use super::entry::{Entry, Update};
use super::flatten::each_path;
use super::geo_fields::GeoFieldChecks;
use super::payload::Payload;
use super::primary_key;
use super::spill_allocator::SpillAllocator;
use super::spool::Spool;
use super::staged_batch::StagedBatch;
use crate::error::Result;
use crate::fields::FieldMap;
use crate::vector::{Asked, ChangedVectors, CurrentVectors, CurrentVectorsOf, MissingVectors};

impl StagedBatch {
    pub(super) fn put(
        &mut self,
        payload: &Payload,
        method: Method,
        wanted_key: Option<&str>,
        skip_creation: bool,
    ) -> Result<Outcome> {
        if let (Some(stored), Some(wanted)) = (&self.primary_key, wanted_key)
            && stored != wanted
        {
            return Err(primary_key::already_exists(stored));
        }
        let mut key = self.primary_key.clone().or_else(|| wanted_key.map(str::to_owned));
        let mut fields = Arc::clone(&self.fields);
        let checks = GeoFieldChecks::new(&self.settings);
        let spool = Spool::open(payload)?;
        let number = self.spools.len() as u32;

        // Reads the complete body before anything changes, so that an error in its last document leaves nothing to
        // undo.
        let mut puts: SpillVec<(CompactString, Update), SpillAllocator> =
            SpillVec::new_in(self.spill().clone());
        let mut vectors: HashMap<CompactString, ChangedVectors> = HashMap::new();
        // Index into `puts` → requests of the document to embedders.
        let mut asked: HashMap<usize, Vec<(u8, Asked)>> = HashMap::new();
        let mut missing = MissingVectors::default();
        let mut scanner = (!self.vectors.is_needed()).then(DocumentScanner::default);
        let checked = checks.fields();
        spool.each(&mut |slice| {
            self.monitor.next()?;
            let update = Update::Body { spool: number, slice };
            puts.try_reserve(1).map_err(|error| no_disk_space(&error))?;
            if let (Some(scanner), Some(key), Some(json)) = (&mut scanner, &key, spool.json(slice)?)
                && let Some(id) = scanner.id(json, key, &Known { fields: &fields, checked: &checked })
            {
                puts.push((id.into(), update));
                return Ok(());
            }
            let document = spool.document(slice)?;
            let key = match &key {
                Some(key) => key,
                None => key.insert(primary_key::infer(&document)?),
            };
            let id: CompactString = primary_key::id_of(key, &document)?.into();
            checks.run(&id, &document)?;
            learn_fields(&mut fields, &document)?;
            let asks = self.read_vectors(&id, &document, &mut vectors, skip_creation, &mut missing)?;
            if !asks.is_empty() {
                asked.insert(puts.len(), asks);
            }
            puts.push((id, update));
            Ok(())
        })?;

        missing.check(|id, embedder| vectors.get(id).is_some_and(|staged| staged.contains_key(embedder)))?;
        spool.release(0..u64::MAX);
        self.spools.push(spool);
        self.fields = fields;
        self.primary_key = key;
        self.entries.reserve(puts.len())?;
        let (mut distinct, mut unknown) = (0, HashSet::new());
        for (at, (id, update)) in puts.into_iter().enumerate() {
            self.monitor.check()?;
            let asks = asked.get(&at);
            let before = asks.map(|_| self.entry(&id)).transpose()?;
            let put = self.put_update(&id, update, method, skip_creation)?;
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

    /// Notes the vectors of a document and returns its requests to embedders. `vectors` holds those of earlier
    /// documents of the body.
    fn read_vectors(
        &self,
        id: &str,
        document: &Map<String, Value>,
        vectors: &mut HashMap<CompactString, ChangedVectors>,
        skip_creation: bool,
        missing: &mut MissingVectors,
    ) -> Result<Vec<(u8, Asked)>> {
        if !self.vectors.is_needed() {
            return self.vectors.read(document, id, None, missing).map(|reading| reading.asked);
        }
        let docid = match self.entries.get(id) {
            Some(entry) => entry.docid,
            None => self.base_entry(id)?.docid,
        };
        let earlier = vectors.get(id);
        if docid.is_none() && earlier.is_none() && skip_creation {
            return Ok(Vec::new());
        }
        let current = |name: &str| {
            let staged = earlier.and_then(|staged| staged.get(name)).map(CurrentVectors::from);
            staged.or_else(|| self.vectors.current(name, docid?))
        };
        let is_new = docid.is_none() && earlier.is_none();
        let before: Option<CurrentVectorsOf<'_>> = if is_new { None } else { Some(&current) };
        let reading = self.vectors.read(document, id, before, missing)?;
        vectors.entry(id.into()).or_default().extend(reading.staged);
        Ok(reading.asked)
    }

    /// Notes the requests of a document to embedders. `before` is the entry before the document was put.
    fn ask(&mut self, id: &str, before: Entry, asked: &[(u8, Asked)]) {
        let Some(docid) = self.entries.get(id).and_then(|entry| entry.docid) else { return };
        let earlier = &mut self.earlier;
        self.vectors.ask(docid, asked, &self.settings, || {
            if before.on_base && before.updates.is_empty() {
                return None;
            }
            earlier.push(before.clone());
            Some(earlier.len() as u32 - 1)
        });
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
