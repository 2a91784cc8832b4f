//! Runs the calls of a handle on the threads of its engine.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use napi::bindgen_prelude::PromiseRaw;
use napi::{Env, JsDeferred, JsValue};
use siftd_engine::Engine;
use siftd_engine::error::{Error, Result, panic_text};

use crate::pool::Pool;
use crate::served::Served;
use crate::values::{Reply, failed};
use crate::{EngineHandle, Link};

type Settle = Box<dyn FnOnce(Env) -> napi::Result<Reply> + Send>;

impl EngineHandle {
    /// Returns the engine, or an error if it is closed.
    pub(crate) fn served(&self) -> napi::Result<Arc<Served>> {
        match &self.link {
            Link::Owned(served) => Ok(Arc::clone(served)),
            Link::Attached(served) => served.upgrade().ok_or_else(closed),
            Link::Closed => Err(closed()),
        }
    }

    /// Like `searching`. An index is not dropped while an attached handle reads it.
    pub(crate) fn reading<'e>(
        &self,
        env: &'e Env,
        indexes: Vec<String>,
        job: impl FnOnce(&Engine) -> Result<Reply> + Send + 'static,
    ) -> napi::Result<PromiseRaw<'e, Reply>> {
        let readers = match &self.link {
            Link::Attached(_) => Arc::clone(&self.served()?.readers),
            _ => return self.searching(env, job),
        };
        self.searching(env, move |engine| {
            let _reader = readers.enter(indexes)?;
            job(engine)
        })
    }

    /// Runs a job of a search thread.
    pub(crate) fn searching<'e>(
        &self,
        env: &'e Env,
        job: impl FnOnce(&Engine) -> Result<Reply> + Send + 'static,
    ) -> napi::Result<PromiseRaw<'e, Reply>> {
        let served = self.served()?;
        self.defer(env, &served.searching, job)
    }

    /// Runs a job that changes an index. Small ones do not wait for large ones.
    pub(crate) fn writing<'e>(
        &self,
        env: &'e Env,
        is_small: bool,
        job: impl FnOnce(&Engine) -> Result<Reply> + Send + 'static,
    ) -> napi::Result<PromiseRaw<'e, Reply>> {
        let pools = self.pools.as_ref().ok_or_else(closed)?;
        self.defer(env, if is_small { &pools.writing_small } else { &pools.writing }, job)
    }

    /// Runs a job that neither searches nor writes.
    pub(crate) fn background<'e>(
        &self,
        env: &'e Env,
        job: impl FnOnce(&Engine) -> Result<Reply> + Send + 'static,
    ) -> napi::Result<PromiseRaw<'e, Reply>> {
        self.defer(env, &self.pools.as_ref().ok_or_else(closed)?.background, job)
    }

    /// Returns a promise for the result of `job`, which runs on a pool thread.
    fn defer<'e>(
        &self,
        env: &'e Env,
        pool: &Pool,
        job: impl FnOnce(&Engine) -> Result<Reply> + Send + 'static,
    ) -> napi::Result<PromiseRaw<'e, Reply>> {
        let engine = Arc::clone(&self.served()?.engine);
        let (deferred, promise): (JsDeferred<Reply, Settle>, _) = env.create_deferred()?;
        pool.run(move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| job(&engine)));
            let reply = match outcome {
                Ok(Ok(reply)) => reply,
                Ok(Err(error)) => failed(&error),
                Err(panic) => failed(&Error::internal("the engine panicked", panic_text(&*panic).to_owned())),
            };
            deferred.resolve(Box::new(move |_| Ok(reply)));
        });
        Ok(PromiseRaw::new(env.raw(), promise.raw()))
    }
}

/// The error of a call after the engine was closed.
pub fn closed() -> napi::Error {
    napi::Error::from_reason("the engine is closed")
}
