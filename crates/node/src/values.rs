//! The objects that cross the boundary to JavaScript, and how replies are made.

use napi::bindgen_prelude::{Buffer, Float32Array, Uint8Array, Uint32Array};
use napi_derive::napi;
use siftd_engine::error::{Error, Result};
use siftd_engine::search::Answer;
use siftd_engine::vector::VectorPage;

/// An error of the API, or `internal`.
#[napi(object, object_from_js = false)]
pub struct Failure {
    /// A code of the API's error table.
    pub code: String,
    /// Shown unchanged, unless the code is `internal`.
    pub message: String,
}

/// Facts about an answer that are not in its bytes.
#[napi(object, object_from_js = false)]
pub struct Facts {
    /// True if the search ran out of time.
    pub degraded: bool,
    /// True if the query excludes something with `-`.
    pub used_negative_operator: bool,
    /// Number of terms in the query.
    pub terms: u32,
    /// Number of hits found by vectors; absent for a search by words alone.
    pub semantic_hits: Option<u32>,
    /// True if a query vector was missing that the search would have used.
    pub lacks_vector: bool,
    /// Number of hits on the page.
    pub hits: u32,
    /// For a single search: the offset of the digits of `processingTimeMs` in the body.
    pub time_at: Option<u32>,
}

/// The outcome of any call: a failure, or the bytes of an answer, if any.
#[napi(object, object_from_js = false)]
#[derive(Default)]
pub struct Reply {
    /// UTF-8 JSON.
    pub body: Option<Buffer>,
    /// Only for searches.
    pub facts: Option<Facts>,
    /// Set if the call failed.
    pub failure: Option<Failure>,
}

/// Options for opening an engine.
#[napi(object, object_to_js = false)]
pub struct Setup {
    /// Absolute path of the directory with a subdirectory per index.
    pub directory: String,
    /// Bytes that indexing may use in addition to mapped files.
    pub indexing_memory_bytes: f64,
    /// Number of threads for indexing.
    pub indexing_threads: u32,
    /// Cache limit in bytes, for all indexes together.
    pub cache_bytes: f64,
    /// True if another process writes the files of the indexes.
    pub follows_files: bool,
    /// Paths of word dictionaries.
    pub dictionaries: Vec<String>,
}

/// A query of a multi-search.
#[napi(object, object_to_js = false)]
pub struct IndexedRequest {
    /// Id of the index.
    pub index: String,
    /// `SearchRequest` as UTF-8 JSON.
    pub request: Uint8Array,
}

/// Vectors of an embedder for documents: `VectorPage`.
#[napi(object, object_to_js = false)]
pub struct Vectors {
    /// Name of the embedder.
    pub embedder: String,
    /// Documents of the vectors.
    pub docids: Uint32Array,
    /// Number of vectors of each document.
    pub counts: Uint8Array,
    /// Per vector: number of its fragment.
    pub fragments: Uint8Array,
    /// Per vector: 1 if the document keeps its vector of this fragment, 0 if the vector is the next of `rows`.
    pub reused: Uint8Array,
    /// Components of new vectors, row-major.
    pub rows: Float32Array,
}

impl From<Vectors> for VectorPage {
    fn from(vectors: Vectors) -> Self {
        Self {
            embedder: vectors.embedder,
            docids: vectors.docids.to_vec(),
            counts: vectors.counts.to_vec(),
            fragments: vectors.fragments.to_vec(),
            reused: vectors.reused.to_vec(),
            rows: vectors.rows.to_vec(),
        }
    }
}

/// Returns the failure of a call.
pub fn failed(error: &Error) -> Reply {
    let failure = Failure { code: error.code().to_owned(), message: error.to_string() };
    Reply { failure: Some(failure), ..Reply::default() }
}

/// Returns an answer of UTF-8 JSON.
pub fn bytes(body: Vec<u8>) -> Reply {
    Reply { body: Some(body.into()), ..Reply::default() }
}

/// Returns an answer, or an empty reply.
pub fn optional(body: Option<Vec<u8>>) -> Reply {
    Reply { body: body.map(Into::into), ..Reply::default() }
}

/// Writes a value as an answer.
pub fn json(value: &impl serde::Serialize) -> Result<Reply> {
    let body = serde_json::to_vec(value);
    body.map(bytes).map_err(|error| Error::internal("an answer cannot be written as JSON", error))
}

/// Returns the answer to a search with its facts.
pub fn answer(answer: Answer) -> Reply {
    let facts = Facts {
        degraded: answer.facts.degraded,
        used_negative_operator: answer.facts.used_negative_operator,
        terms: answer.facts.terms as u32,
        semantic_hits: answer.facts.semantic_hits.map(|hits| hits as u32),
        lacks_vector: answer.facts.lacks_vector,
        hits: answer.facts.hits as u32,
        time_at: answer.facts.time_at.map(|at| at as u32),
    };
    Reply { facts: Some(facts), ..bytes(answer.body) }
}
