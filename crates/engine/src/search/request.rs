//! Requests as `http/` sends them: validated and complete. Source: `ts/engine/requests.ts`.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;
use serde_json::value::RawValue;

use crate::error::{Context, Result};
use crate::filter::{Features, ForeignKey};
use crate::ranking::MatchingStrategy;

/// Parses a request.
///
/// # Errors
/// Internal: `http/` builds requests, so a request that does not parse is a bug.
pub fn decode<T: DeserializeOwned>(request: &[u8]) -> Result<T> {
    serde_json::from_slice(request).context("a request does not parse")
}

/// Decodes the components of a vector, sent as little-endian 32-bit floats in Base64. Source: `ts/engine/encoding.ts`.
fn components<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<Vec<f32>>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    let bytes = BASE64_STANDARD.decode(text).map_err(D::Error::custom)?;
    let (floats, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        return Err(D::Error::custom("a vector ends within a component"));
    }
    Ok(Some(floats.iter().map(|float| f32::from_le_bytes(*float)).collect()))
}

/// Paging by offset or by page number. With page numbers, totals are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Paging {
    /// `limit` hits after `offset`.
    Offset {
        /// Number of hits before the page.
        offset: usize,
        /// Number of hits on the page.
        limit: usize,
    },
    /// A numbered page.
    #[serde(rename_all = "camelCase")]
    Page {
        /// Counted from 1; page 0 is empty.
        page: usize,
        /// Number of hits on each page.
        hits_per_page: usize,
    },
}

/// A vector search in addition to the search by words.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hybrid {
    /// Name of the embedder.
    pub embedder: String,
    /// Weight of vectors: 0 means words alone, 1 vectors alone.
    pub semantic_ratio: f64,
}

/// A document at a fixed position.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Pin {
    /// Id of the document.
    pub id: String,
    /// Position among the hits, counted from 0.
    pub position: u32,
}

/// Multiplies the scores of some documents.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Scale {
    /// Uid of the rule that the action belongs to.
    pub rule_uid: String,
    /// Zero or more; 0 hides the documents.
    pub weight: f64,
    /// Ids of documents.
    pub ids: Vec<String>,
    /// Selects further documents; null: none.
    pub filter: Json,
}

/// A search.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "documented in ts/engine/requests.ts")]
pub struct SearchRequest {
    pub index_uid: String,
    pub q: Option<String>,
    pub paging: Paging,
    pub attributes_to_retrieve: Option<Vec<String>>,
    pub attributes_to_crop: Option<Vec<String>>,
    pub crop_length: usize,
    pub crop_marker: String,
    pub attributes_to_highlight: Option<Vec<String>>,
    pub highlight_pre_tag: String,
    pub highlight_post_tag: String,
    pub show_matches_position: bool,
    #[serde(default)]
    pub filter: Json,
    pub sort: Option<Vec<String>>,
    pub distinct: Option<String>,
    pub facets: Option<Vec<String>>,
    pub matching_strategy: Option<MatchingStrategy>,
    pub attributes_to_search_on: Option<Vec<String>>,
    pub ranking_score_threshold: Option<f64>,
    pub locales: Option<Vec<String>>,
    pub hybrid: Option<Hybrid>,
    #[serde(default, deserialize_with = "components")]
    pub vector: Option<Vec<f32>>,
    #[serde(default)]
    pub embedding_ms: Option<f64>,
    #[serde(default)]
    pub retrieve_vectors: bool,
    pub show_ranking_score: bool,
    pub show_ranking_score_details: bool,
    #[serde(default)]
    pub show_performance_details: bool,
    #[serde(default)]
    pub features: Features,
    /// Absent: other indexes may not be read.
    #[serde(default)]
    pub foreign_keys: Option<Vec<ForeignKey>>,
    pub request_uid: String,
    #[serde(default)]
    pub metadata: Option<Box<RawValue>>,
    /// The pins, by descending priority.
    #[serde(default)]
    pub pins: Vec<Pin>,
    /// Actions that multiply scores, in the order of their display.
    #[serde(default)]
    pub scales: Vec<Scale>,
    /// Id of the only document to rank. Absent: all are ranked.
    #[serde(default)]
    pub only: Option<String>,
    #[serde(default)]
    pub answer_bytes_max: Option<usize>,
}

/// Asks why a document has its rank among the hits of a search.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "documented in ts/engine/requests.ts")]
pub struct ExplainRequest {
    pub search: SearchRequest,
    pub document_id: String,
    #[serde(default)]
    pub visible: Json,
}

impl SearchRequest {
    /// The foreign keys that hits follow.
    pub(super) fn foreign_keys(&self) -> &[ForeignKey] {
        self.foreign_keys.as_deref().unwrap_or_default()
    }
}

/// A search among the values of a facet.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "documented in ts/engine/requests.ts")]
pub struct FacetSearchRequest {
    pub index_uid: String,
    pub facet_name: String,
    pub facet_query: Option<String>,
    pub q: Option<String>,
    #[serde(default)]
    pub filter: Json,
    pub matching_strategy: Option<MatchingStrategy>,
    pub attributes_to_search_on: Option<Vec<String>>,
    pub ranking_score_threshold: Option<f64>,
    pub locales: Option<Vec<String>>,
    pub exhaustive_facet_count: bool,
    pub hybrid: Option<Hybrid>,
    #[serde(default, deserialize_with = "components")]
    pub vector: Option<Vec<f32>>,
    #[serde(default)]
    pub features: Features,
    /// Absent: other indexes may not be read.
    #[serde(default)]
    pub foreign_keys: Option<Vec<ForeignKey>>,
    #[serde(default)]
    pub pins: Vec<Pin>,
    #[serde(default)]
    pub scales: Vec<Scale>,
    #[serde(default)]
    pub answer_bytes_max: Option<usize>,
}

/// A search for documents similar to a given document.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "documented in ts/engine/requests.ts")]
pub struct SimilarRequest {
    pub index_uid: String,
    pub id: String,
    pub embedder: String,
    #[serde(default)]
    pub visible: Json,
    pub offset: usize,
    pub limit: usize,
    #[serde(default)]
    pub filter: Json,
    pub attributes_to_retrieve: Option<Vec<String>>,
    pub retrieve_vectors: bool,
    pub show_ranking_score: bool,
    pub show_ranking_score_details: bool,
    #[serde(default)]
    pub show_performance_details: bool,
    pub ranking_score_threshold: Option<f64>,
    #[serde(default)]
    pub features: Features,
    /// Absent: other indexes may not be read.
    #[serde(default)]
    pub foreign_keys: Option<Vec<ForeignKey>>,
    #[serde(default)]
    pub answer_bytes_max: Option<usize>,
}

/// A listing of documents.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "documented in ts/engine/requests.ts")]
pub struct DocumentsRequest {
    pub index_uid: String,
    pub offset: usize,
    pub limit: usize,
    pub fields: Option<Vec<String>>,
    #[serde(default)]
    pub retrieve_vectors: bool,
    pub ids: Option<Vec<String>>,
    #[serde(default)]
    pub filter: Json,
    pub sort: Option<Vec<String>>,
    #[serde(default)]
    pub features: Features,
    /// Absent: other indexes may not be read.
    #[serde(default)]
    pub foreign_keys: Option<Vec<ForeignKey>>,
    #[serde(default)]
    pub answer_bytes_max: Option<usize>,
}

/// A request for a single document.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "documented in ts/engine/requests.ts")]
pub struct DocumentRequest {
    pub id: String,
    pub fields: Option<Vec<String>>,
    #[serde(default)]
    pub retrieve_vectors: bool,
}
