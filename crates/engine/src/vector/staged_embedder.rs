//! An embedder in a batch: its vectors before the batch, and their changes.

use std::collections::BTreeMap;

use super::embedder::Embedder;
use super::flags::Flags;
use super::log::Shape;
use super::pending_embeddings::Want;
use super::sent::DocumentVectors;
use super::vector_index::VectorIndex;
use super::vector_set::VectorSet;

/// An embedder in a batch.
#[derive(Clone)]
pub(super) struct StagedEmbedder {
    pub(super) embedder: Embedder,
    /// Vectors before the batch; `None` if there are none.
    pub(super) base: Option<VectorIndex>,
    /// By docid; `None` if the document no longer has vectors or flags.
    pub(super) changes: BTreeMap<u32, Option<DocumentVectors>>,
    pub(super) wants: BTreeMap<u32, Want>,
}

impl StagedEmbedder {
    pub(super) fn new(embedder: Embedder, base: Option<VectorIndex>) -> Self {
        Self { embedder, base, changes: BTreeMap::new(), wants: BTreeMap::new() }
    }

    pub(super) fn base(&self) -> Option<&VectorSet> {
        self.base.as_ref().map(VectorIndex::set)
    }

    pub(super) fn state(&self, docid: u32) -> Option<DocumentVectors> {
        match self.changes.get(&docid) {
            Some(changed) => changed.clone(),
            None => self.base()?.get(docid),
        }
    }

    pub(super) fn flags(&self) -> Flags {
        let mut flags = self.base().map(|base| base.flags().clone()).unwrap_or_default();
        for (docid, state) in &self.changes {
            let state = state.as_ref();
            let is = |test: fn(&DocumentVectors) -> bool| state.is_some_and(test);
            flags.put(
                *docid,
                is(|state| !state.rows.is_empty()),
                is(|state| state.user_provided),
                is(|state| state.skip_regenerate),
            );
            flags.put_fragments(*docid, state.and_then(|state| state.fragments.as_deref()));
        }
        flags
    }

    pub(super) fn skips(&self, docid: u32) -> bool {
        match self.changes.get(&docid) {
            Some(changed) => changed.as_ref().is_some_and(|state| state.skip_regenerate),
            None => self.base().is_some_and(|base| base.flags().skip_regenerate.contains(docid)),
        }
    }

    pub(super) fn want(&mut self, docid: u32, want: Want) {
        let earlier = self.wants.remove(&docid);
        self.wants.insert(docid, Want::and(earlier, want));
    }

    pub(super) fn shape(&self) -> Shape {
        Shape { dimensions: self.embedder.dimensions.unwrap_or(0), binary: self.embedder.binary }
    }
}
