//! Decode, call, encode: the napi binding of the scripts.

use std::panic::{AssertUnwindSafe, catch_unwind};

use napi::bindgen_prelude::{AsyncTask, Buffer, Uint8Array};
use napi::{Env, Task};
use napi_derive::napi;
use script::{EditedPage, Failure};

/// What became of a page, or why nothing did.
#[napi(object, object_from_js = false)]
pub struct Reply {
    /// Documents that changed, as NDJSON.
    pub changed: Option<Buffer>,
    /// Ids of documents to delete.
    pub deleted: Vec<String>,
    /// Of the API's error table, `internal` included.
    pub code: Option<String>,
    /// Shown as is, unless the code is `internal`.
    pub message: Option<String>,
}

/// A page on its way through libuv's pool.
pub struct Editing {
    page: Vec<u8>,
}

impl Task for Editing {
    type Output = Result<EditedPage, Failure>;
    type JsValue = Reply;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        let outcome = catch_unwind(AssertUnwindSafe(|| script::edit_page(&self.page)));
        outcome.map_err(|_| napi::Error::from_reason("a script panicked"))
    }

    fn resolve(&mut self, _env: Env, outcome: Self::Output) -> napi::Result<Self::JsValue> {
        Ok(match outcome {
            Ok(EditedPage { changed, deleted }) => {
                Reply { changed: Some(changed.into()), deleted, code: None, message: None }
            }
            Err(Failure { code, message }) => {
                Reply { changed: None, deleted: Vec::new(), code: Some(code.into()), message: Some(message) }
            }
        })
    }
}

/// `page`: `Page` of the crate `script` as UTF-8 JSON.
#[napi]
pub fn edit_page(page: Uint8Array) -> AsyncTask<Editing> {
    AsyncTask::new(Editing { page: page.to_vec() })
}
