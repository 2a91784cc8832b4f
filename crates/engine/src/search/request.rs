//! Requests as they come from `http/`: validated and complete. Source: `ts/engine/requests.ts`.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;
use serde_json::value::RawValue;

use crate::error::{Context, Result};
use crate::filter::Features;
use crate::ranking::MatchingStrategy;

/// Reads a request.
///
/// # Errors
/// Internal: `http/` builds requests, so one that does not parse is our bug.
pub fn decode<T: DeserializeOwned>(request: &[u8]) -> Result<T> {
    serde_json::from_slice(request).context("a request does not parse")
}

/// Components of a vector: they come as 32-bit floats, little endian, in Base64. Source: `ts/engine/encoding.ts`.
fn components<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<Vec<f32>>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    let bytes = BASE64_STANDARD.decode(text).map_err(D::Error::custom)?;
    let (floats, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        return Err(D::Error::custom("a vector ends within a component"));
    }
    Ok(Some(floats.iter().map(|float| f32::from_le_bytes(*float)).collect()))
}

/// Rows by count, or by page: with pages, totals are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Paging {
    /// So many after so many.
    Offset {
        /// Hits skipped.
        offset: usize,
        /// Hits shown.
        limit: usize,
    },
    /// A page of so many.
    #[serde(rename_all = "camelCase")]
    Page {
        /// From 1; 0 shows nothing.
        page: usize,
        /// Hits on a page.
        hits_per_page: usize,
    },
}

/// Which words of a query may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Strategy {
    /// Those at the end.
    Last,
    /// None.
    All,
    /// The commonest.
    Frequency,
}

impl From<Strategy> for MatchingStrategy {
    fn from(strategy: Strategy) -> Self {
        match strategy {
            Strategy::Last => Self::Last,
            Strategy::All => Self::All,
            Strategy::Frequency => Self::Frequency,
        }
    }
}

/// Search by meaning as well.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hybrid {
    /// Name in the settings.
    pub embedder: String,
    /// 0: words alone; 1: meaning alone.
    pub semantic_ratio: f64,
}

/// A document at a place of the page.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Pin {
    /// The document's id as text.
    pub id: String,
    /// From 0.
    pub position: u32,
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
    pub matching_strategy: Strategy,
    pub attributes_to_search_on: Option<Vec<String>>,
    pub ranking_score_threshold: Option<f64>,
    pub locales: Option<Vec<String>>,
    pub hybrid: Option<Hybrid>,
    #[serde(default, deserialize_with = "components")]
    pub vector: Option<Vec<f32>>,
    #[serde(default)]
    pub retrieve_vectors: bool,
    pub show_ranking_score: bool,
    pub show_ranking_score_details: bool,
    #[serde(default)]
    pub show_performance_details: bool,
    #[serde(default)]
    pub features: Features,
    pub request_uid: String,
    #[serde(default)]
    pub metadata: Option<Box<RawValue>>,
    /// Those that count more come first.
    #[serde(default)]
    pub pins: Vec<Pin>,
    #[serde(default)]
    pub answer_bytes_max: Option<usize>,
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
    pub matching_strategy: Strategy,
    pub attributes_to_search_on: Option<Vec<String>>,
    pub ranking_score_threshold: Option<f64>,
    pub locales: Option<Vec<String>>,
    pub exhaustive_facet_count: bool,
    pub hybrid: Option<Hybrid>,
    #[serde(default, deserialize_with = "components")]
    pub vector: Option<Vec<f32>>,
    #[serde(default)]
    pub features: Features,
    #[serde(default)]
    pub pins: Vec<Pin>,
    #[serde(default)]
    pub answer_bytes_max: Option<usize>,
}

/// A search for documents that are like one.
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
    #[serde(default)]
    pub answer_bytes_max: Option<usize>,
}

/// One document.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "documented in ts/engine/requests.ts")]
pub struct DocumentRequest {
    pub id: String,
    pub fields: Option<Vec<String>>,
    #[serde(default)]
    pub retrieve_vectors: bool,
}
