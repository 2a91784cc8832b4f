//! The graphs over one embedder's vectors: caches beside the log, made and read in the background.
//!
//! Nothing of a commit depends on them. They are found by name: those of one lineage, which is the log and all
//! that it is rewritten to, cover stretches of sequence numbers that follow each other. A missing or damaged
//! file only means that a scan answers until it is made anew.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

use super::graph::Graph;
use super::limits::{
    GRAPH_BYTES_MAX, GRAPH_VECTORS_MAX, SEAL_BYTES, SEAL_VECTORS, SMALL_GRAPH_VECTORS, SMALL_GRAPHS_MAX,
};
use super::log::Record;
use super::set::VectorSet;
use crate::error::Result;

/// Graphs that follow each other without a gap, oldest first.
pub type Sealed = Arc<Vec<Arc<Graph>>>;

/// The graphs of a lineage, shared by all its commits.
pub struct Graphs {
    directory: PathBuf,
    lineage: String,
    sealed: RwLock<Sealed>,
    /// What to look after: the newest commit's vectors.
    newest: Mutex<Weak<VectorSet>>,
    busy: AtomicBool,
    read: AtomicBool,
    stop: AtomicBool,
}

/// Names of graphs end with it.
pub const GRAPH_SUFFIX: &str = ".graph";

impl Graphs {
    /// Those of the log at `path`; read when somebody asks for them.
    pub fn of_log(path: &Path) -> Arc<Self> {
        Arc::new(Self {
            directory: path.parent().map(Path::to_owned).unwrap_or_default(),
            lineage: lineage_of(path),
            sealed: RwLock::default(),
            newest: Mutex::default(),
            busy: AtomicBool::new(false),
            read: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        })
    }

    /// What there is right now.
    pub fn sealed(&self) -> Sealed {
        Arc::clone(&self.sealed.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Stops what is under way, soon.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Sees to it that graphs are read, built and merged as `set` needs them, on a thread that ends when that
    /// is done.
    pub fn tend(self: &Arc<Self>, set: &Arc<VectorSet>) {
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(set);
        if !set.wants_graphs() || self.stop.load(Ordering::Relaxed) || self.busy.swap(true, Ordering::AcqRel)
        {
            return;
        }
        let graphs = Arc::clone(self);
        let work = move || {
            // A failure leaves the scan to answer; the next commit or search tries again.
            let done = graphs.work();
            graphs.busy.store(false, Ordering::Release);
            done
        };
        if std::thread::Builder::new().name("siftd-vectors".to_owned()).spawn(work).is_err() {
            self.busy.store(false, Ordering::Release);
        }
    }

    /// Does the same before it returns: for tests and measurements.
    ///
    /// # Errors
    /// Internal, if memory or room does not suffice.
    pub fn tend_now(&self, set: &Arc<VectorSet>) -> Result<()> {
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(set);
        self.work()
    }

    fn work(&self) -> Result<()> {
        if !self.read.swap(true, Ordering::AcqRel) {
            self.read_files();
        }
        while let Some(set) = self.newest() {
            let records = set.records()?;
            let Some(step) = next_step(&set, &self.sealed(), &records) else { break };
            let covered: Vec<Record> =
                records.into_iter().filter(|record| step.contains(&record.sequence)).collect();
            let Some(graph) = Graph::build(&set, step, &covered, &self.stop)? else { break };
            // One that cannot be written serves as long as the process lives.
            let saved = graph.save(&self.path_of(graph.covers()));
            self.put(graph);
            saved?;
        }
        Ok(())
    }

    fn newest(&self) -> Option<Arc<VectorSet>> {
        let stopped = self.stop.load(Ordering::Relaxed);
        let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        newest.filter(|_| !stopped)
    }

    fn path_of(&self, covers: &Range<u64>) -> PathBuf {
        let Range { start, end } = covers;
        self.directory.join(format!("{}.{start}-{end}{GRAPH_SUFFIX}", self.lineage))
    }

    /// Takes a graph in, and those out whose stretch it covers.
    fn put(&self, graph: Graph) {
        let covers = graph.covers().clone();
        let mut sealed = self.sealed.write().unwrap_or_else(PoisonError::into_inner);
        let within = |old: &Range<u64>| covers.start <= old.start && old.end <= covers.end;
        let (replaced, mut kept): (Vec<_>, Vec<_>) =
            sealed.iter().cloned().partition(|old| within(old.covers()));
        kept.push(Arc::new(graph));
        kept.sort_by_key(|graph| graph.covers().start);
        *sealed = Arc::new(kept);
        for old in replaced.iter().filter(|old| *old.covers() != covers) {
            let _ = fs::remove_file(self.path_of(old.covers()));
        }
    }

    /// Reads the longest run of files without a gap; removes the others.
    fn read_files(&self) {
        let Some(set) = self.newest() else { return };
        let Ok(entries) = fs::read_dir(&self.directory) else { return };
        let mut files: Vec<(Range<u64>, PathBuf)> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let rest = name.strip_prefix(&self.lineage)?.strip_prefix('.')?.strip_suffix(GRAPH_SUFFIX)?;
                let (start, end) = rest.split_once('-')?;
                Some((start.parse().ok()?..end.parse().ok()?, entry.path()))
            })
            .collect();
        // Of those that begin alike, the one that reaches furthest.
        files.sort_by_key(|(covers, _)| (covers.start, std::cmp::Reverse(covers.end)));
        let mut reached = 0;
        for (covers, path) in files {
            let graph = Graph::load(&path, set.shape().dimensions);
            let next = covers.start == reached && covers.end <= set.sequence();
            match graph {
                Ok(graph) if next && *graph.covers() == covers => {
                    reached = covers.end;
                    self.put(graph);
                }
                _ => {
                    let _ = fs::remove_file(&path);
                }
            }
        }
    }
}

/// The stretch to build next; None if all is well.
fn next_step(set: &VectorSet, sealed: &[Arc<Graph>], records: &[Record]) -> Option<Range<u64>> {
    let bytes = set.shape().bytes() as u64;
    let live = |covers: &Range<u64>| -> u64 {
        let inside = records.iter().filter(|record| covers.contains(&record.sequence));
        inside.map(|record| u64::from(record.count)).sum()
    };
    // More dead than a quarter: made anew.
    let stale = sealed.iter().find(|graph| live(graph.covers()) * 4 < graph.keys() * 3);
    if let Some(graph) = stale {
        return Some(graph.covers().clone());
    }
    let small: Vec<_> = sealed.iter().filter(|graph| graph.keys() < SMALL_GRAPH_VECTORS).collect();
    if small.len() > SMALL_GRAPHS_MAX {
        let pairs = sealed.windows(2).map(|pair| pair[0].covers().start..pair[1].covers().end);
        let least = pairs.min_by_key(|covers| live(covers));
        return least.filter(|covers| live(covers) <= GRAPH_VECTORS_MAX);
    }
    let from = sealed.last().map_or(0, |graph| graph.covers().end);
    let open = live(&(from..u64::MAX));
    if open == 0 || (open < SEAL_VECTORS && open * bytes < SEAL_BYTES) {
        return None;
    }
    let most = GRAPH_VECTORS_MAX.min(GRAPH_BYTES_MAX / bytes.max(1)).max(1);
    let mut taken = 0;
    let next = records.iter().filter(|record| record.sequence >= from).find(|record| {
        taken += u64::from(record.count);
        taken > most
    });
    // At least one record, however many vectors it has.
    Some(from..next.map_or(set.sequence(), |record| record.sequence.max(from + 1)))
}

/// What all logs that one is rewritten to have in common.
pub fn lineage_of(log: &Path) -> String {
    let name = log.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.split('.').next().unwrap_or_default().to_owned()
}
