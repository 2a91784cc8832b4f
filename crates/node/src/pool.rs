//! Thread pools of the engine, so that it never blocks the event loop or libuv's small pool.

use std::thread;

use crossbeam_channel::{Receiver, Sender, unbounded};

/// The nesting of documents and filters is limited; this is generous for both.
const STACK_BYTES: usize = 16 * 1024 * 1024;

type Job = Box<dyn FnOnce() + Send>;

/// A fixed number of threads with a shared queue. They end once all clones are dropped and the queue is empty.
#[derive(Clone)]
pub struct Pool {
    queue: Sender<Job>,
}

impl Pool {
    /// Starts `threads` threads with this name.
    pub fn start(name: &str, threads: usize) -> std::io::Result<Self> {
        let (queue, jobs): (_, Receiver<Job>) = unbounded();
        for _ in 0..threads.max(1) {
            let jobs = jobs.clone();
            let builder = thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES);
            builder.spawn(move || jobs.iter().for_each(|job| job()))?;
        }
        Ok(Self { queue })
    }

    /// Runs `job` as soon as a thread is free. Jobs must catch their own panics.
    pub fn run(&self, job: impl FnOnce() + Send + 'static) {
        // Threads live as long as the queue, so sending cannot fail.
        let _ = self.queue.send(Box::new(job));
    }
}

/// Number of batches written at the same time, each for another index. They share the memory for indexing.
pub const WRITERS: usize = 2;

/// The threads of an engine that do not search. A long commit must not block searches, inspection of uploads or small
/// batches of other indexes.
pub struct Pools {
    pub writing: Pool,
    /// For batches that are too small to need a share of the indexing memory.
    pub writing_small: Pool,
    pub background: Pool,
    pub merging: Pool,
}

impl Pools {
    pub fn start() -> std::io::Result<Self> {
        Ok(Self {
            writing: Pool::start("siftd-write", WRITERS)?,
            writing_small: Pool::start("siftd-write-small", 1)?,
            background: Pool::start("siftd-background", 2)?,
            merging: Pool::start("siftd-merge", 1)?,
        })
    }
}
