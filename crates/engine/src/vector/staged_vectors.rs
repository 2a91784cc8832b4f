//! Changes of a batch to the vectors of an index. Nothing is written before the commit.
//!
//! 1. Vectors that a document provides for a configured embedder are moved out of it and stored separately.
//! 2. Vectors that are never regenerated survive all other changes to their document.
//! 3. Removing an embedder moves those vectors back into the documents; adding one moves them out.
//! 4. The server makes the other vectors before the commit, see [`Want`].
//!
//! Source: vectors §2.6, §2.7, §2.10, §4.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::current_vectors::{CurrentVectors, CurrentVectorsOf};
use super::embedder::embedders_of;
use super::embedder_vectors::EmbedderVectors;
use super::log_update::write_embedder;
use super::missing_vectors::MissingVectors;
use super::pending_embeddings::{Asked, NO_FRAGMENT, VectorPage, Want};
use super::sent::{DocumentVectors, read_sent, stored_entry, vectors_in};
use super::staged_embedder::StagedEmbedder;
use super::state_after::{After, state_after};
use super::vectors::{DIRECTORY, Vectors};
use crate::background_fault::FaultReporter;
use crate::error::{Error, Result};
use crate::settings::Settings;

/// Changed vectors of one document, by embedder.
pub type ChangedVectors = BTreeMap<String, DocumentVectors>;

/// Vectors that a document provides, and its requests to embedders.
#[derive(Default)]
pub struct Reading {
    /// Changed vectors.
    pub staged: ChangedVectors,
    /// Requests to embedders, by index of the embedder.
    pub asked: Vec<(u8, Asked)>,
}

/// Embedders and vectors after the batch.
#[derive(Clone, Default)]
pub struct StagedVectors {
    pub(super) base: Arc<Vectors>,
    pub(super) embedders: BTreeMap<String, StagedEmbedder>,
}

impl StagedVectors {
    /// Creates staged vectors without changes.
    pub fn new(settings: &Settings, base: Arc<Vectors>) -> Result<Self> {
        let mut embedders = BTreeMap::new();
        for (name, embedder) in embedders_of(settings) {
            let index = base.index(&name)?;
            embedders.insert(name, StagedEmbedder::new(embedder, index));
        }
        Ok(Self { base, embedders })
    }

    /// Returns true if there are embedders.
    pub fn is_needed(&self) -> bool {
        !self.embedders.is_empty()
    }

    /// Returns the current vectors of a document under an embedder.
    pub fn current(&self, name: &str, docid: u32) -> Option<CurrentVectors> {
        let staged = self.embedders.get(name)?;
        match staged.changes.get(&docid) {
            Some(changed) => changed.as_ref().map(CurrentVectors::from),
            None => {
                let flags = staged.base()?.flags();
                let skip_regenerate = flags.skip_regenerate.contains(docid);
                flags.knows(docid).then_some(CurrentVectors { skip_regenerate })
            }
        }
    }

    /// Sets the vectors of a document.
    pub fn put(&mut self, docid: u32, staged: ChangedVectors) {
        for (name, state) in staged {
            if let Some(staged) = self.embedders.get_mut(&name) {
                staged.changes.insert(docid, Some(state));
            }
        }
    }

    /// Notes the requests of a document to embedders. `made_of` returns the document from which its current vectors
    /// were made.
    pub fn ask(
        &mut self,
        docid: u32,
        asked: &[(u8, Asked)],
        settings: &Arc<Settings>,
        mut made_of: impl FnMut() -> Option<u32>,
    ) {
        let mut of = None;
        for (at, staged) in self.embedders.values_mut().enumerate() {
            let Some((_, asked)) = asked.iter().find(|(index, _)| usize::from(*index) == at) else {
                continue;
            };
            match asked {
                Asked::Nothing => drop(staged.wants.remove(&docid)),
                Asked::Always => staged.want(docid, Want::Always),
                Asked::IfTextChanged if staged.wants.contains_key(&docid) => {}
                Asked::IfTextChanged => {
                    let of = *of.get_or_insert_with(&mut made_of);
                    staged.want(docid, Want::IfTextChanged { settings: Arc::clone(settings), of });
                }
            }
        }
    }

    /// Returns the number of documents that the server has to embed before the commit, counted once per embedder.
    pub fn pending_count(&self) -> u64 {
        self.embedders.values().map(|staged| staged.wants.len() as u64).sum()
    }

    /// Returns requests to the embedder at an index, from a docid on; `None` after the last embedder.
    pub fn wants(&self, at: usize, from: u32) -> Option<(&str, impl Iterator<Item = (u32, &Want)>)> {
        let (name, staged) = self.embedders.iter().nth(at)?;
        Some((name, staged.wants.range(from..).map(|(docid, want)| (*docid, want))))
    }

    /// Returns true if a document has vectors made from fragments.
    pub fn is_fragmented(&self, name: &str, docid: u32) -> bool {
        let Some(staged) = self.embedders.get(name) else { return false };
        match staged.changes.get(&docid) {
            Some(changed) => changed.as_ref().is_some_and(|state| state.fragments.is_some()),
            None => staged.base().is_some_and(|base| base.flags().is_fragmented(docid)),
        }
    }

    /// Adds vectors made by the server.
    ///
    /// # Errors
    /// Internal, if a page is inconsistent or does not match the embedder.
    pub fn add_page(&mut self, page: &VectorPage) -> Result<()> {
        let Some(staged) = self.embedders.get_mut(&page.embedder) else { return Ok(()) };
        let dimensions = staged.embedder.dimensions.unwrap_or(0);
        let wrong = || Error::internal("vectors cannot be added", "their numbers do not match");
        let (mut rows, mut slot) = (page.rows.chunks_exact(dimensions.max(1)), 0);
        for (docid, count) in page.docids.iter().zip(&page.counts) {
            let slots = slot..slot + usize::from(*count);
            slot = slots.end;
            let numbers = page.fragments.get(slots.clone()).ok_or_else(wrong)?;
            let reused = page.reused.get(slots).ok_or_else(wrong)?;
            let before = staged.state(*docid).unwrap_or_default();
            let mut made = Vec::with_capacity(numbers.len() * dimensions);
            for (number, reused) in numbers.iter().zip(reused) {
                let row = if *reused == 1 {
                    let known = before.fragments.as_deref().unwrap_or_default();
                    let at = known.iter().position(|known| known == number).ok_or_else(wrong)?;
                    before.rows.chunks_exact(dimensions.max(1)).nth(at)
                } else {
                    rows.next()
                };
                made.extend_from_slice(row.filter(|_| dimensions > 0).ok_or_else(wrong)?);
            }
            if staged.embedder.binary {
                made.iter_mut().for_each(|component| *component = f32::from(u8::from(*component > 0.0)));
            }
            let fragmented = staged.embedder.fragments.is_some() && !numbers.contains(&NO_FRAGMENT);
            let fragments = fragmented.then(|| numbers.to_vec());
            let state = DocumentVectors { rows: made, fragments, ..DocumentVectors::default() };
            staged.changes.insert(*docid, Some(state));
        }
        match rows.next() {
            Some(_) => Err(wrong()),
            None => Ok(()),
        }
    }

    /// Removes a document and its vectors.
    pub fn remove(&mut self, docid: u32) {
        for staged in self.embedders.values_mut() {
            staged.wants.remove(&docid);
            match staged.base().is_some_and(|base| base.flags().knows(docid)) {
                true => staged.changes.insert(docid, None),
                false => staged.changes.remove(&docid),
            };
        }
    }

    /// Removes all documents.
    pub fn clear(&mut self) {
        for staged in self.embedders.values_mut() {
            staged.base = None;
            staged.changes.clear();
            staged.wants.clear();
        }
    }

    /// Reads the `_vectors` of `document`. `before` looks up its current vectors; `None` for a new document. Notes the
    /// document in `missing` if an embedder requires vectors from the client and gets none.
    ///
    /// # Errors
    /// `invalid_vectors_type`, `invalid_vector_dimensions`, `too_many_vectors`, `vector_embedding_error`.
    pub fn read(
        &self,
        document: &Map<String, Value>,
        id: &str,
        before: Option<CurrentVectorsOf<'_>>,
        missing: &mut MissingVectors,
    ) -> Result<Reading> {
        let vectors = vectors_in(document, id)?;
        let mut reading = Reading::default();
        for (index, (name, staged)) in (0..=u8::MAX).zip(&self.embedders) {
            let sent = vectors.and_then(|vectors| vectors.get(name));
            let sent = sent.map(|value| read_sent(id, &staged.embedder, value)).transpose()?;
            match state_after(before.map(|before| before(name)), sent, &staged.embedder) {
                After::MissingVectors => missing.note(id, &staged.embedder, document),
                After::Same => {}
                After::Always => reading.asked.push((index, Asked::Always)),
                After::IfTextChanged => reading.asked.push((index, Asked::IfTextChanged)),
                After::Changed(state) => {
                    reading.asked.push((index, Asked::Nothing));
                    reading.staged.insert(name.clone(), state);
                }
            }
        }
        for (name, value) in vectors.into_iter().flatten() {
            if !self.embedders.contains_key(name) {
                stored_entry(id, name, value)?;
            }
        }
        Ok(reading)
    }

    /// Removes the vectors of embedders from a document, which is stored without them.
    pub fn strip(&self, document: &mut Map<String, Value>) {
        let Some(Value::Object(vectors)) = document.get_mut("_vectors") else { return };
        vectors.retain(|name, _| !self.embedders.contains_key(name));
        for (name, value) in vectors.iter_mut() {
            if let Ok(stored) = stored_entry("", name, value) {
                *value = stored;
            }
        }
        if vectors.is_empty() {
            document.shift_remove("_vectors");
        }
    }

    /// Returns the vectors for filters, before the batch is written.
    pub fn preview(&self) -> Vectors {
        Vectors::preview(self.embedders.iter().map(|(name, staged)| (name.clone(), staged.flags())).collect())
    }

    /// Writes and syncs changes below `directory`. They take effect with the commit that refers to the logs. Faults of
    /// graphs of new lineages are reported to `faults`.
    pub fn write(&self, directory: &Path, faults: &FaultReporter) -> Result<Vectors> {
        let mut embedders = BTreeMap::new();
        for (name, staged) in &self.embedders {
            let unchanged = staged.changes.is_empty();
            let same_base = staged.base().filter(|base| base.shape() == staged.shape());
            if let (true, Some(_), Some(known)) = (unchanged, same_base, self.base.of_embedder(name)) {
                embedders.insert(name.clone(), Arc::clone(known));
            } else if let Some(index) = write_embedder(staged, &directory.join(DIRECTORY), faults)? {
                embedders.insert(name.clone(), Arc::new(EmbedderVectors::written(index)));
            }
        }
        Ok(Vectors::written(embedders))
    }
}
