//! Decode, call, encode: the napi binding of local embedding models.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use embed::{Failure, Pooling, Purpose, Threads};
use napi::bindgen_prelude::{AsyncTask, Buffer, Uint8Array};
use napi::{Env, Error, Result, Status, Task};
use napi_derive::napi;

/// The code of an error in JavaScript: `InvalidArg` for a model that cannot be used, `Cancelled` for a call that was
/// stopped, `GenericFailure` for a mistake of ours.
fn error_of(failure: Failure) -> Error {
    let status = match failure {
        Failure::Model { .. } => Status::InvalidArg,
        Failure::Stopped => Status::Cancelled,
    };
    Error::new(status, failure.to_string())
}

/// Runs `work`, which reads files of anybody: a panic is an error.
fn guarded<T>(what: &str, work: impl FnOnce() -> std::result::Result<T, Failure>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(outcome) => outcome.map_err(error_of),
        Err(_) => Err(Error::from_reason(format!("{what} panicked"))),
    }
}

/// What a call under way is stopped by.
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

    /// Has the call end at its next look.
    #[napi]
    pub fn set(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }
}

// The generated types know what a task resolves to only where the task stands before the methods that return it.

/// A model on its way through libuv's pool.
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

/// Texts on their way through libuv's pool.
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

/// The threads that all models share.
#[napi]
pub struct Runtime {
    threads: Threads,
}

#[napi]
impl Runtime {
    /// Starts `threads` threads for documents and one for searches.
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
}

/// A loaded model.
#[napi]
pub struct Model {
    model: Arc<embed::Model>,
}

#[napi]
impl Model {
    /// Components of each vector.
    #[napi(getter)]
    pub fn dimensions(&self) -> u32 {
        u32::try_from(self.model.dimensions()).unwrap_or(u32::MAX)
    }

    /// The vectors of `texts`, a JSON array of strings: 32-bit floats in the machine's order, text after text.
    #[napi]
    pub fn embed(&self, texts: Uint8Array, is_search: bool, stop: &StopFlag) -> AsyncTask<Embedding> {
        let (model, stop) = (Arc::clone(&self.model), Arc::clone(&stop.flag));
        let purpose = if is_search { Purpose::Search } else { Purpose::Documents };
        AsyncTask::new(Embedding { model, texts: texts.to_vec(), purpose, stop })
    }
}
