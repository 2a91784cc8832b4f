//! The napi binding of scripts: decodes, calls and encodes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use napi::bindgen_prelude::{AsyncTask, Buffer, Uint8Array};
use napi::{Env, Task};
use napi_derive::napi;
use script::{EditedPage, Failure};

/// The result of a page, or an error.
#[napi(object, object_from_js = false)]
pub struct Reply {
    /// Changed documents as NDJSON.
    pub changed: Option<Buffer>,
    /// Ids of documents to delete.
    pub deleted: Vec<String>,
    /// Number of documents edited, from the first of the page.
    pub documents: u32,
    /// A code of the API's error table, including `internal`.
    pub code: Option<String>,
    /// Shown unchanged, unless the code is `internal`.
    pub message: Option<String>,
}

/// Stops a running script.
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

    /// Stops the script at its next check.
    #[napi]
    pub fn set(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }
}

/// A page being edited on libuv's thread pool.
pub struct Editing {
    page: Vec<u8>,
    stop: Arc<AtomicBool>,
}

#[napi]
impl Task for Editing {
    type Output = Result<EditedPage, Failure>;
    type JsValue = Reply;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        let outcome =
            catch_unwind(AssertUnwindSafe(|| script::edit_page(&self.page, Some(Arc::clone(&self.stop)))));
        outcome.map_err(|_| napi::Error::from_reason("a script panicked"))
    }

    fn resolve(&mut self, _env: Env, outcome: Self::Output) -> napi::Result<Self::JsValue> {
        Ok(match outcome {
            Ok(EditedPage { changed, deleted, documents }) => {
                let documents = u32::try_from(documents).unwrap_or(u32::MAX);
                Reply { changed: Some(changed.into()), deleted, documents, code: None, message: None }
            }
            Err(Failure { code, message }) => Reply {
                changed: None,
                deleted: Vec::new(),
                documents: 0,
                code: Some(code.into()),
                message: Some(message),
            },
        })
    }
}

/// `page`: `Page` of the crate `script` as UTF-8 JSON.
#[napi]
pub fn edit_page(page: Uint8Array, stop: &StopFlag) -> AsyncTask<Editing> {
    AsyncTask::new(Editing { page: page.to_vec(), stop: Arc::clone(&stop.flag) })
}
