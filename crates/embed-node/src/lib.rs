//! The napi binding of local models: decodes, calls and encodes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use embed::{Failure, Pooling, Purpose, Threads};
use napi::bindgen_prelude::{AsyncTask, Buffer, Uint8Array};
use napi::{Env, Error, Result, Status, Task};
use napi_derive::napi;
use serde::Deserialize;

/// Converts an error for JavaScript. Its code is `InvalidArg` for a model that cannot be used, `Cancelled` for a
/// stopped call, and `GenericFailure` for a bug.
fn error_of(failure: Failure) -> Error {
    let status = match failure {
        Failure::Model { .. } => Status::InvalidArg,
        Failure::Stopped => Status::Cancelled,
    };
    Error::new(status, failure.to_string())
}

/// Runs `work`, which reads untrusted files, and turns a panic into an error.
fn guarded<T>(what: &str, work: impl FnOnce() -> std::result::Result<T, Failure>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(outcome) => outcome.map_err(error_of),
        Err(_) => Err(Error::from_reason(format!("{what} panicked"))),
    }
}

/// Stops a running call.
#[napi]
#[derive(Default)]
pub struct StopFlag {
    flag: Arc<AtomicBool>,
}

#[napi]
impl StopFlag {
    /// A flag that is not set.
    #[napi(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the call at its next check.
    #[napi]
    pub fn set(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }
}

// Tasks must come before the methods that return them; otherwise the generated types lack their results.

/// A model being loaded on libuv's thread pool.
pub struct Loading {
    folder: PathBuf,
    pooling: Option<Pooling>,
    threads: Threads,
}

#[napi]
impl Task for Loading {
    type Output = embed::Model;
    type JsValue = Model;

    fn compute(&mut self) -> Result<Self::Output> {
        guarded("loading a model", || embed::Model::load(&self.folder, self.pooling, self.threads.clone()))
    }

    fn resolve(&mut self, _env: Env, model: Self::Output) -> Result<Self::JsValue> {
        Ok(Model { model: Arc::new(model) })
    }
}

/// Texts being embedded on libuv's thread pool.
pub struct Embedding {
    model: Arc<embed::Model>,
    texts: Vec<u8>,
    purpose: Purpose,
    stop: Arc<AtomicBool>,
}

#[napi]
impl Task for Embedding {
    type Output = Vec<f32>;
    type JsValue = Buffer;

    fn compute(&mut self) -> Result<Self::Output> {
        let texts: Vec<String> =
            serde_json::from_slice(&self.texts).map_err(|error| Error::from_reason(error.to_string()))?;
        guarded("a model", || self.model.embed(&texts, self.purpose, &self.stop))
    }

    fn resolve(&mut self, _env: Env, vectors: Self::Output) -> Result<Self::JsValue> {
        let bytes: Vec<u8> = vectors.into_iter().flat_map(f32::to_ne_bytes).collect();
        Ok(bytes.into())
    }
}

/// A cross-encoder being loaded on libuv's thread pool.
pub struct CrossEncoderLoading {
    folder: PathBuf,
    threads: Threads,
}

#[napi]
impl Task for CrossEncoderLoading {
    type Output = embed::CrossEncoder;
    type JsValue = CrossEncoder;

    fn compute(&mut self) -> Result<Self::Output> {
        guarded("loading a model", || embed::CrossEncoder::load(&self.folder, self.threads.clone()))
    }

    fn resolve(&mut self, _env: Env, model: Self::Output) -> Result<Self::JsValue> {
        Ok(CrossEncoder { model: Arc::new(model) })
    }
}

/// Documents being scored on libuv's thread pool.
pub struct Scoring {
    model: Arc<embed::CrossEncoder>,
    request: Vec<u8>,
    stop: Arc<AtomicBool>,
}

#[derive(Deserialize)]
struct ScoringRequest {
    query: String,
    documents: Vec<String>,
}

#[napi]
impl Task for Scoring {
    type Output = Vec<f64>;
    type JsValue = Buffer;

    fn compute(&mut self) -> Result<Self::Output> {
        let ScoringRequest { query, documents } =
            serde_json::from_slice(&self.request).map_err(|error| Error::from_reason(error.to_string()))?;
        guarded("a model", || self.model.score(&query, &documents, &self.stop))
    }

    fn resolve(&mut self, _env: Env, scores: Self::Output) -> Result<Self::JsValue> {
        let bytes: Vec<u8> = scores.into_iter().flat_map(f64::to_ne_bytes).collect();
        Ok(bytes.into())
    }
}

/// The threads shared by all models.
#[napi]
pub struct Runtime {
    threads: Threads,
}

#[napi]
impl Runtime {
    /// Starts `threads` threads for documents and one for searches. The first cross-encoder starts `threads` more.
    #[napi(constructor)]
    pub fn new(threads: u32) -> Result<Self> {
        let threads = Threads::start(threads as usize).map_err(Error::from_reason)?;
        Ok(Self { threads })
    }

    /// Reads the model in `folder`. `pooling`: `useModel`, `forceCls` or `forceMean`.
    #[napi]
    pub fn load(&self, folder: String, pooling: String) -> Result<AsyncTask<Loading>> {
        let pooling = match pooling.as_str() {
            "useModel" => None,
            "forceCls" => Some(Pooling::Cls),
            "forceMean" => Some(Pooling::Mean),
            other => return Err(Error::from_reason(format!("there is no pooling `{other}`"))),
        };
        Ok(AsyncTask::new(Loading { folder: folder.into(), pooling, threads: self.threads.clone() }))
    }

    /// Reads the cross-encoder in `folder`.
    #[napi]
    pub fn load_cross_encoder(&self, folder: String) -> AsyncTask<CrossEncoderLoading> {
        AsyncTask::new(CrossEncoderLoading { folder: folder.into(), threads: self.threads.clone() })
    }
}

/// A loaded sentence model.
#[napi]
pub struct Model {
    model: Arc<embed::Model>,
}

#[napi]
impl Model {
    /// Number of components of each vector.
    #[napi(getter)]
    pub fn dimensions(&self) -> u32 {
        u32::try_from(self.model.dimensions()).unwrap_or(u32::MAX)
    }

    /// Embeds `texts`, a JSON array of strings. Returns 32-bit floats in the machine's order, text after text.
    #[napi]
    pub fn embed(&self, texts: Uint8Array, is_search: bool, stop: &StopFlag) -> AsyncTask<Embedding> {
        let (model, stop) = (Arc::clone(&self.model), Arc::clone(&stop.flag));
        let purpose = if is_search { Purpose::Search } else { Purpose::Documents };
        AsyncTask::new(Embedding { model, texts: texts.to_vec(), purpose, stop })
    }
}

/// A loaded cross-encoder.
#[napi]
pub struct CrossEncoder {
    model: Arc<embed::CrossEncoder>,
}

#[napi]
impl CrossEncoder {
    /// Scores documents for a query, from 0 to 1. `request`: JSON, `{"query": "…", "documents": ["…"]}`. Returns 64-bit
    /// floats in the machine's order, one per document.
    #[napi]
    pub fn score(&self, request: Uint8Array, stop: &StopFlag) -> AsyncTask<Scoring> {
        let (model, stop) = (Arc::clone(&self.model), Arc::clone(&stop.flag));
        AsyncTask::new(Scoring { model, request: request.to_vec(), stop })
    }
}
