//! Applies new settings to the documents of a batch: refuses malformed documents, and moves vectors between documents
//! and embedders.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::entry::Update;
use super::geo_fields::GeoFieldChecks;
use super::primary_key;
use super::staged_batch::{StagedBatch, id_in};
use crate::error::Result;
use crate::facets::Columns;
use crate::settings::Settings;
use crate::vector::Remake;

impl StagedBatch {
    /// Refuses settings that use a geographic field if a document has a malformed value in it.
    pub(super) fn check_documents(&self, settings: &Settings) -> Result<()> {
        let (before, after) = (GeoFieldChecks::new(&self.settings), GeoFieldChecks::new(settings));
        let has = |field: &str| self.fields.id(field).is_some();
        let fresh = GeoFieldChecks {
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

    /// Moves vectors from documents to new embedders, and from removed embedders back to documents.
    pub(super) fn change_embedders(
        &mut self,
        settings: &Settings,
        remakes: &BTreeMap<String, Remake>,
    ) -> Result<()> {
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
            let update = Update::Vectors(self.returned.len() as u32 - 1);
            self.touch(&id, Some(update))?;
        }
        Ok(())
    }
}
