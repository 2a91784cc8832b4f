//! The napi binding of the engine: decodes, calls and encodes.
//!
//! There are few, coarse calls. Requests and answers are UTF-8 JSON bytes, copied on entry because JavaScript may reuse
//! its buffer. Mistakes of callers and internal errors are returned as values.

mod calls;
pub mod descriptor;
mod fault;
mod memory;
mod pool;
mod running;
mod served;
mod values;

use std::path::PathBuf;
use std::sync::{Arc, Barrier, Weak};
use std::time::Instant;

use calls::closed;
use fault::ReportFault;
use napi::Env;
use napi::bindgen_prelude::{PromiseRaw, Uint8Array};
use napi_derive::napi;
use pool::{Pool, Pools, WRITERS};
use running::{Running, Ticket};
use served::{Readers, Served};
use siftd_engine::vector::VectorPage;
use siftd_engine::{Engine, Limits};
use values::{IndexedRequest, Reply, Setup, Vectors, answer, bytes, json, optional};

#[global_allocator]
static ALLOCATOR: memory::Memory = memory::Memory;

/// All indexes of a directory, and the threads that serve them.
#[napi]
pub struct EngineHandle {
    link: Link,
    /// Absent once closed, and on handles that only read.
    pools: Option<Pools>,
    running: Running,
}

/// The engine of a handle.
enum Link {
    /// The handle opened the engine.
    Owned(Arc<Served>),
    /// The handle reads an engine that another handle opened.
    Attached(Weak<Served>),
    Closed,
}

#[napi]
impl EngineHandle {
    /// Opens a directory of indexes, or creates it. `report` is called with each fault of background work. It does not
    /// keep the process alive.
    #[napi(constructor)]
    pub fn new(setup: Setup, report: ReportFault) -> napi::Result<Self> {
        memory::return_free_memory_soon();
        let limits = Limits {
            indexing_memory_bytes: setup.indexing_memory_bytes as usize / WRITERS,
            indexing_threads: setup.indexing_threads as usize,
            cache_bytes: setup.cache_bytes as usize,
        };
        let dictionaries: Vec<PathBuf> = setup.dictionaries.into_iter().map(PathBuf::from).collect();
        let open = if setup.follows_files { Engine::follow } else { Engine::open };
        let engine = open(&PathBuf::from(setup.directory), limits, fault::reporter(report))
            .and_then(|engine| engine.cutting_with(&dictionaries))
            .map_err(|error| napi::Error::from_reason(error.to_string()))?;
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        let served = Served {
            engine: Arc::new(engine),
            searching: Pool::start("siftd-search", threads)?,
            readers: Arc::default(),
        };
        let pools = Some(Pools::start()?);
        Ok(Self { link: Link::Owned(Arc::new(served)), pools, running: Running::default() })
    }

    /// Makes this engine available to `attach` until it is closed. Returns its number.
    #[napi]
    pub fn publish(&self) -> napi::Result<u32> {
        self.served().map(|served| served::publish(&served))
    }

    /// Attaches to an engine that another thread of this process opened. The handle searches and reads documents; other
    /// calls fail. It does not keep the engine open.
    #[napi(factory)]
    pub fn attach(number: u32) -> napi::Result<Self> {
        let served = served::published(number).ok_or_else(closed)?;
        Ok(Self { link: Link::Attached(served), pools: None, running: Running::default() })
    }

    /// Prepares indexes for their first searches, in the background: those that searches of earlier processes used.
    #[napi]
    pub fn warm_up(&self) -> napi::Result<()> {
        Arc::clone(&self.served()?.engine).warm_up_searched();
        Ok(())
    }

    /// `payload`: `Payload`. Resolves to `PayloadReport`.
    #[napi]
    pub fn inspect<'e>(&self, env: &'e Env, payload: Uint8Array) -> napi::Result<PromiseRaw<'e, Reply>> {
        let payload = payload.to_vec();
        self.background(env, move |engine| json(&engine.inspect(&payload)?))
    }

    /// `filter`: `FilterCheck`. Resolves to nothing.
    #[napi]
    pub fn check_filter<'e>(&self, env: &'e Env, filter: Uint8Array) -> napi::Result<PromiseRaw<'e, Reply>> {
        let filter = filter.to_vec();
        self.searching(env, move |engine| engine.check_filter(&filter).map(|()| Reply::default()))
    }

    /// `batch`: `Batch`. Resolves to its ticket, and the number of documents to embed before it is committed. A batch
    /// that `is_small` does not wait for larger ones.
    #[napi]
    pub fn prepare<'e>(
        &self,
        env: &'e Env,
        index: String,
        batch: Uint8Array,
        is_small: bool,
        ticket: Option<Ticket>,
    ) -> napi::Result<PromiseRaw<'e, Reply>> {
        let (batch, waited) = (batch.to_vec(), self.running.wait(ticket));
        self.served()?.readers.readmit(&index);
        self.writing(env, is_small, move |engine| {
            let index = engine.index_to_write(&index)?;
            let ticket = index.prepare(&batch, waited.stop())?;
            json(&serde_json::json!({"ticket": ticket, "work": index.pending_embeddings_count(ticket)?}))
        })
    }

    /// Resolves to the next `WorkPage` to embed before a prepared batch is committed, or to nothing after the last.
    #[napi]
    pub fn work<'e>(
        &self,
        env: &'e Env,
        index: String,
        ticket: u32,
        is_small: bool,
        from: Option<String>,
    ) -> napi::Result<PromiseRaw<'e, Reply>> {
        self.writing(env, is_small, move |engine| {
            Ok(optional(engine.index(&index)?.pending_embeddings(ticket, from.as_deref())?))
        })
    }

    /// Resolves to `BatchReport`. If there are too many segments, they are merged in the background.
    #[napi]
    pub fn commit<'e>(
        &self,
        env: &'e Env,
        index: String,
        ticket: u32,
        is_small: bool,
        #[napi(ts_arg_type = "readonly Vectors[]")] vectors: Vec<Vectors>,
    ) -> napi::Result<PromiseRaw<'e, Reply>> {
        let vectors: Vec<VectorPage> = vectors.into_iter().map(VectorPage::from).collect();
        let (merging, merger) =
            (self.pools.as_ref().map(|pools| pools.merging.clone()), Arc::clone(&self.served()?.engine));
        self.writing(env, is_small, move |engine| {
            let writing = engine.index(&index)?;
            vectors.iter().try_for_each(|page| writing.add_vectors(ticket, page))?;
            let report = writing.commit(ticket).map(bytes)?;
            if let Some(merging) = merging {
                merging.run(move || {
                    merger.remember();
                    merger.merge_in_background(&index);
                });
            }
            Ok(report)
        })
    }

    /// Resolves to the progress of the batch being prepared or committed: `Step`s, outermost first, or nothing.
    #[napi]
    pub fn progress<'e>(&self, env: &'e Env, index: String) -> napi::Result<PromiseRaw<'e, Reply>> {
        self.searching(env, move |engine| Ok(optional(engine.index(&index)?.progress()?)))
    }

    /// Discards a prepared batch. Resolves to nothing.
    #[napi]
    pub fn abandon<'e>(
        &self,
        env: &'e Env,
        index: String,
        ticket: u32,
    ) -> napi::Result<PromiseRaw<'e, Reply>> {
        self.background(env, move |engine| {
            engine.index(&index)?.abandon(ticket);
            Ok(Reply::default())
        })
    }

    /// Removes the newest commits of an index as long as they belong to these batches. Resolves to nothing.
    #[napi]
    pub fn undo<'e>(
        &self,
        env: &'e Env,
        index: String,
        #[napi(ts_arg_type = "readonly number[]")] batch_uids: Vec<u32>,
    ) -> napi::Result<PromiseRaw<'e, Reply>> {
        let batch_uids = batch_uids.into_iter().map(u64::from).collect();
        self.writing(env, true, move |engine| engine.undo(&index, &batch_uids).map(|()| Reply::default()))
    }

    /// Makes the newest commit in the directory of an index visible. Resolves to nothing.
    #[napi]
    pub fn adopt<'e>(&self, env: &'e Env, index: String) -> napi::Result<PromiseRaw<'e, Reply>> {
        let merging = self.pools.as_ref().map(|pools| pools.merging.clone());
        let adopter = Arc::clone(&self.served()?.engine);
        self.writing(env, false, move |engine| {
            engine.adopt(&index)?;
            if let Some(merging) = merging {
                merging.run(move || adopter.warm_up(&index));
            }
            Ok(Reply::default())
        })
    }

    /// Resolves to `BatchReport`, or to nothing.
    #[napi]
    pub fn last_commit<'e>(&self, env: &'e Env, index: String) -> napi::Result<PromiseRaw<'e, Reply>> {
        self.background(env, move |engine| Ok(optional(engine.index(&index)?.last_commit()?)))
    }

    /// Resolves to `IndexSettings`, or to nothing if none were set.
    #[napi]
    pub fn settings<'e>(&self, env: &'e Env, index: String) -> napi::Result<PromiseRaw<'e, Reply>> {
        self.searching(env, move |engine| {
            Ok(optional(engine.index(&index)?.settings()?.map(String::into_bytes)))
        })
    }

    /// `settings`: `IndexSettings`. Resolves to the settings that would cost more than a commit without documents.
    #[napi]
    pub fn settings_cost<'e>(
        &self,
        env: &'e Env,
        index: String,
        settings: String,
    ) -> napi::Result<PromiseRaw<'e, Reply>> {
        self.searching(env, move |engine| engine.index(&index)?.settings_cost(&settings).map(bytes))
    }

    /// `request`: `SearchRequest`.
    #[napi]
    pub fn search<'e>(
        &self,
        env: &'e Env,
        index: String,
        request: Uint8Array,
        ticket: Option<Ticket>,
    ) -> napi::Result<PromiseRaw<'e, Reply>> {
        let (request, waited) = (request.to_vec(), self.running.wait(ticket));
        self.reading(env, vec![index.clone()], move |engine| {
            engine.search(&index, &request, waited.search_deadline()).map(answer)
        })
    }

    /// Runs several searches: separately, or merged as configured by `federation` (`FederationRequest`).
    #[napi]
    pub fn multi_search<'e>(
        &self,
        env: &'e Env,
        #[napi(ts_arg_type = "readonly IndexedRequest[]")] requests: Vec<IndexedRequest>,
        federation: Option<Uint8Array>,
        ticket: Option<Ticket>,
    ) -> napi::Result<PromiseRaw<'e, Reply>> {
        let requests: Vec<_> = requests.into_iter().map(|one| (one.index, one.request.to_vec())).collect();
        let federation = federation.map(|federation| federation.to_vec());
        let waited = self.running.wait(ticket);
        let indexes = requests.iter().map(|(index, _)| index.clone()).collect();
        self.reading(env, indexes, move |engine| {
            engine.multi_search(requests, federation.as_deref(), &waited.search_deadline()).map(answer)
        })
    }

    /// `request`: `FacetSearchRequest`.
    #[napi]
    pub fn facet_search<'e>(
        &self,
        env: &'e Env,
        index: String,
        request: Uint8Array,
        ticket: Option<Ticket>,
    ) -> napi::Result<PromiseRaw<'e, Reply>> {
        let (request, waited) = (request.to_vec(), self.running.wait(ticket));
        self.reading(env, vec![index.clone()], move |engine| {
            engine.facet_search(&index, &request, waited.search_deadline()).map(answer)
        })
    }

    /// `request`: `ExplainRequest`. Resolves to nothing if the document does not exist.
    #[napi]
    pub fn explain<'e>(
        &self,
        env: &'e Env,
        index: String,
        request: Uint8Array,
        ticket: Option<Ticket>,
    ) -> napi::Result<PromiseRaw<'e, Reply>> {
        let (request, waited) = (request.to_vec(), self.running.wait(ticket));
        self.searching(env, move |engine| {
            engine.explain(&index, &request, waited.search_deadline()).map(optional)
        })
    }

    /// Stops the call with this ticket, because its answer is no longer needed.
    #[napi]
    pub fn stop(&self, ticket: u32) {
        self.running.stop(ticket);
    }

    /// `request`: `SimilarRequest`.
    #[napi]
    pub fn similar<'e>(
        &self,
        env: &'e Env,
        index: String,
        request: Uint8Array,
    ) -> napi::Result<PromiseRaw<'e, Reply>> {
        let (request, started) = (request.to_vec(), Instant::now());
        self.reading(env, vec![index.clone()], move |engine| {
            engine.similar(&index, &request, started).map(answer)
        })
    }

    /// `request`: `DocumentsRequest`.
    #[napi]
    pub fn documents<'e>(
        &self,
        env: &'e Env,
        index: String,
        request: Uint8Array,
    ) -> napi::Result<PromiseRaw<'e, Reply>> {
        let request = request.to_vec();
        self.searching(env, move |engine| engine.documents(&index, &request).map(bytes))
    }

    /// `request`: `DocumentRequest`. Resolves to nothing if the document does not exist.
    #[napi]
    pub fn document<'e>(
        &self,
        env: &'e Env,
        index: String,
        request: Uint8Array,
    ) -> napi::Result<PromiseRaw<'e, Reply>> {
        let request = request.to_vec();
        self.reading(env, vec![index.clone()], move |engine| {
            engine.index(&index)?.document(&request).map(optional)
        })
    }

    /// Resolves to `IndexStats`.
    #[napi]
    pub fn stats<'e>(&self, env: &'e Env, index: String) -> napi::Result<PromiseRaw<'e, Reply>> {
        self.searching(env, move |engine| json(&engine.index(&index)?.stats()?))
    }

    /// Resolves to `IndexAnalysis`.
    #[napi]
    pub fn analysis<'e>(&self, env: &'e Env, index: String) -> napi::Result<PromiseRaw<'e, Reply>> {
        self.searching(env, move |engine| json(&engine.index(&index)?.analysis()?))
    }

    /// Resolves to `IndexSizes`.
    #[napi]
    pub fn sizes<'e>(&self, env: &'e Env, index: String) -> napi::Result<PromiseRaw<'e, Reply>> {
        self.searching(env, move |engine| json(&engine.index(&index)?.sizes()?))
    }

    /// Resolves to an array of names.
    #[napi]
    pub fn fields<'e>(&self, env: &'e Env, index: String) -> napi::Result<PromiseRaw<'e, Reply>> {
        self.searching(env, move |engine| json(&engine.index(&index)?.fields()?))
    }

    /// Pins the newest commit of an index for reading. Resolves to the number of the pin as JSON.
    #[napi]
    pub fn pin<'e>(&self, env: &'e Env, index: String) -> napi::Result<PromiseRaw<'e, Reply>> {
        self.background(env, move |engine| json(&engine.pin(&index)?))
    }

    /// Resolves to `IndexSettings`, or to nothing if none were set.
    #[napi]
    pub fn pinned_settings<'e>(&self, env: &'e Env, pin: u32) -> napi::Result<PromiseRaw<'e, Reply>> {
        self.background(env, move |engine| {
            Ok(optional(engine.pinned(pin)?.settings().map(String::into_bytes)))
        })
    }

    /// `request`: `DocumentsRequest`.
    #[napi]
    pub fn pinned_documents<'e>(
        &self,
        env: &'e Env,
        pin: u32,
        request: Uint8Array,
    ) -> napi::Result<PromiseRaw<'e, Reply>> {
        let request = request.to_vec();
        self.background(env, move |engine| engine.pinned(pin)?.documents(&request).map(bytes))
    }

    /// Copies a pinned commit to `directory`, which must not exist. Resolves to nothing.
    #[napi]
    pub fn copy_pinned<'e>(
        &self,
        env: &'e Env,
        pin: u32,
        directory: String,
    ) -> napi::Result<PromiseRaw<'e, Reply>> {
        self.background(env, move |engine| {
            engine.pinned(pin)?.copy_to(&PathBuf::from(directory)).map(|()| Reply::default())
        })
    }

    /// Unpins a commit. Resolves to nothing.
    #[napi]
    pub fn unpin<'e>(&self, env: &'e Env, pin: u32) -> napi::Result<PromiseRaw<'e, Reply>> {
        self.background(env, move |engine| {
            engine.unpin(pin);
            Ok(Reply::default())
        })
    }

    /// Rewrites the files of an index without deleted and replaced documents. Resolves to nothing.
    #[napi]
    pub fn compact<'e>(
        &self,
        env: &'e Env,
        index: String,
        ticket: Option<Ticket>,
    ) -> napi::Result<PromiseRaw<'e, Reply>> {
        let waited = self.running.wait(ticket);
        self.writing(env, false, move |engine| {
            engine.index(&index)?.compact(&waited.stop().unwrap_or_default())?;
            Ok(Reply::default())
        })
    }

    /// Resolves to an array of `Damage`.
    #[napi]
    pub fn verify<'e>(&self, env: &'e Env, index: String) -> napi::Result<PromiseRaw<'e, Reply>> {
        self.background(env, move |engine| json(&engine.verify(&index)?))
    }

    /// Writes the readable documents of an index to a new file. Resolves to `Rescued`.
    #[napi]
    pub fn rescue<'e>(
        &self,
        env: &'e Env,
        index: String,
        path: String,
    ) -> napi::Result<PromiseRaw<'e, Reply>> {
        self.background(env, move |engine| json(&engine.rescue(&index, &PathBuf::from(path))?))
    }

    /// Removes an index. Resolves to nothing.
    #[napi]
    pub fn drop<'e>(&self, env: &'e Env, index: String) -> napi::Result<PromiseRaw<'e, Reply>> {
        let readers = Arc::clone(&self.served()?.readers);
        self.writing(env, true, move |engine| {
            readers.shut_out(&index);
            engine.drop_index(&index).map(|()| Reply::default())
        })
    }

    /// Resolves to an array of ids.
    #[napi]
    pub fn list<'e>(&self, env: &'e Env) -> napi::Result<PromiseRaw<'e, Reply>> {
        self.background(env, |engine| json(&engine.list()?))
    }

    /// Resolves to `CacheFigures`.
    #[napi]
    pub fn cache_figures<'e>(&self, env: &'e Env) -> napi::Result<PromiseRaw<'e, Reply>> {
        self.background(env, |engine| json(&engine.cache_figures()))
    }

    /// Finishes running writes and closes everything. Later calls fail. Resolves to nothing.
    #[napi]
    pub fn close<'e>(&mut self, env: &'e Env) -> napi::Result<PromiseRaw<'e, Reply>> {
        if matches!(self.link, Link::Attached(_)) {
            return Err(napi::Error::from_reason("only the handle that opened an engine closes it"));
        }
        let readers: Arc<Readers> = Arc::clone(&self.served()?.readers);
        // Each writing thread waits here once its queue is empty.
        let writers_ended = Arc::new(Barrier::new(WRITERS + 2));
        for (pool, threads) in
            self.pools.iter().flat_map(|it| [(&it.writing, WRITERS), (&it.writing_small, 1)])
        {
            for _ in 0..threads {
                let ended = Arc::clone(&writers_ended);
                pool.run(move || {
                    ended.wait();
                });
            }
        }
        let promise = self.background(env, move |engine| {
            writers_ended.wait();
            readers.close();
            engine.close();
            Ok(Reply::default())
        });
        self.pools = None;
        self.link = Link::Closed;
        promise
    }
}
