//! Statistics of an index: documents, fields and sizes.

use std::collections::BTreeMap;

use serde::Serialize;

use super::open_index::{Current, Index};
use crate::analysis::{AnalysisVersion, DictionaryIds, analysis_version, unstamped_version};
use crate::error::Result;
use crate::store::schema::Presence;
use crate::vector::Vectors;

/// The size of an index on disk, in bytes. Shape: `IndexSizes` in `ts/engine/engine.ts`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexSizes {
    /// Size of the stored documents.
    pub raw_document_db_size: u64,
    /// Size of the directory.
    pub index_size: u64,
}

/// Statistics of an index. Shape: `IndexStats` in `ts/engine/engine.ts`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexStats {
    /// The number of documents.
    pub number_of_documents: u64,
    /// Sizes on disk.
    #[serde(flatten)]
    pub sizes: IndexSizes,
    /// The number of vectors.
    pub number_of_embeddings: u64,
    /// The number of documents with a vector.
    pub number_of_embedded_documents: u64,
    /// Top-level field → number of documents that have it.
    pub field_distribution: BTreeMap<String, u64>,
    /// Language → id of the word dictionary that cuts it.
    pub word_dictionaries: DictionaryIds,
}

/// Versions of what cuts texts into words. Shape: `IndexAnalysis` in `ts/engine/engine.ts`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IndexAnalysis {
    /// Versions that cut the documents of the index.
    pub index: AnalysisVersion,
    /// Versions of this engine, which cut queries and new documents.
    pub engine: AnalysisVersion,
}

impl Index {
    /// Returns the versions of what cuts texts into words. They differ after an upgrade of the engine, until the
    /// documents are analysed again.
    ///
    /// # Errors
    /// See [`Index::snapshot`].
    pub fn analysis(&self) -> Result<IndexAnalysis> {
        self.snapshot()?;
        let engine = analysis_version();
        let index = match self.current().as_deref() {
            Some(Current { committed: Some(committed), .. }) => {
                committed.record.analysis.clone().unwrap_or_else(unstamped_version)
            }
            _ => engine.clone(),
        };
        Ok(IndexAnalysis { index, engine })
    }

    /// Returns statistics of the newest commit.
    ///
    /// # Errors
    /// See [`Index::snapshot`]; internal, if a file cannot be read.
    pub fn stats(&self) -> Result<IndexStats> {
        let snapshot = self.snapshot()?;
        let vectors = Vectors::of(&snapshot);
        let (number_of_embeddings, number_of_embedded_documents) = vectors.counts()?;
        Ok(IndexStats {
            number_of_documents: snapshot.documents().len(),
            sizes: self.sizes()?,
            number_of_embeddings,
            number_of_embedded_documents,
            field_distribution: snapshot.presence_counts(Presence::TopLevel)?,
            word_dictionaries: snapshot.dictionaries().ids(),
        })
    }

    /// Returns the size of the newest commit; 0 if there is none.
    ///
    /// # Errors
    /// Internal, if the directory cannot be read.
    pub fn sizes(&self) -> Result<IndexSizes> {
        let (directory, raw_document_db_size) = match self.current().as_deref() {
            Some(Current { directory, committed: Some(committed) }) => directory.sizes(committed)?,
            _ => (0, 0),
        };
        Ok(IndexSizes { raw_document_db_size, index_size: directory + Vectors::bytes_below(&self.path) })
    }

    /// Returns the names of all fields of all documents, including dotted paths, sorted.
    pub fn fields(&self) -> Result<Vec<String>> {
        Ok(self.snapshot()?.presence_counts(Presence::Exists)?.into_keys().collect())
    }
}
