//! The graphs over the vectors of an embedder: caches next to the log, built and read in the background.
//!
//! No commit depends on them. They are found by name. A lineage is a log and all logs that it is rewritten to; graphs
//! of a lineage cover adjacent ranges of sequence numbers. If a file is missing or damaged, searches scan all vectors
//! until it is rebuilt.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use super::codes::code_bytes;
use super::graph::Graph;
use super::limits::{
    GRAPH_BYTES_MAX, GRAPH_VECTORS_MAX, SEAL_BYTES_MAX, SEAL_SHARE, SEAL_VECTORS, SEAL_VECTORS_MAX,
};
use super::vector_locations::VectorLocation;
use super::vector_set::VectorSet;
use crate::background_fault::{BackgroundFaultKind, FaultReporter};
use crate::error::Result;

/// Graphs over adjacent ranges, oldest first.
pub type Sealed = Arc<Vec<Arc<Graph>>>;

/// Returns the number of the first record in no graph of `sealed`.
pub fn reached(sealed: &Sealed) -> u64 {
    sealed.last().map_or(0, |graph| graph.covers().end)
}

/// The process that writes the files of graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphFiles {
    /// This process. It also removes unneeded files.
    Own,
    /// Another process. Files are read; graphs that are due before their file exists are built in memory.
    Followed,
}

/// The graphs of a lineage, shared by all its commits.
pub struct Graphs {
    directory: PathBuf,
    lineage: String,
    faults: FaultReporter,
    files: GraphFiles,
    sealed: RwLock<Sealed>,
    /// Vectors of the newest commit, over which graphs are built.
    newest: Mutex<Weak<VectorSet>>,
    busy: AtomicBool,
    files_read: AtomicBool,
    stop: AtomicBool,
}

/// Graphs are built after this time without a commit.
const PAUSE: Duration = Duration::from_millis(500);

/// Longest time to wait for that.
const PAUSE_WAIT_MAX: Duration = Duration::from_secs(10);

/// Suffix of the names of graph files.
pub const GRAPH_SUFFIX: &str = ".graph";

impl Graphs {
    /// Creates the graphs of the log at `path`. Their files are read when a search first needs them. Faults of
    /// background work are reported to `faults`.
    pub fn of_log(path: &Path, faults: &FaultReporter, files: GraphFiles) -> Arc<Self> {
        Arc::new(Self {
            directory: path.parent().map(Path::to_owned).unwrap_or_default(),
            lineage: lineage_of(path),
            faults: faults.clone(),
            files,
            sealed: RwLock::default(),
            newest: Mutex::default(),
            busy: AtomicBool::new(false),
            files_read: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        })
    }

    /// Returns the receiver of faults in reading, building and removing graphs.
    pub fn faults(&self) -> &FaultReporter {
        &self.faults
    }

    /// Returns the process that writes their files.
    pub fn files(&self) -> GraphFiles {
        self.files
    }

    /// Makes the next maintenance read the files again, because there may be new ones.
    pub fn reread_files(&self) {
        self.files_read.store(false, Ordering::Release);
    }

    /// Returns the graphs that are available now.
    pub fn sealed(&self) -> Sealed {
        Arc::clone(&self.sealed.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Stops reading and building soon.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Reads, builds and merges the graphs that `set` needs, on a temporary thread.
    pub fn maintain_graphs(self: &Arc<Self>, set: &Arc<VectorSet>) {
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(set);
        if !set.wants_graphs() || self.stop.load(Ordering::Relaxed) || self.busy.swap(true, Ordering::AcqRel)
        {
            return;
        }
        let graphs = Arc::clone(self);
        let build = move || {
            // After a failure, searches scan. The next commit or search tries again.
            graphs.faults.watch(BackgroundFaultKind::VectorGraph, &graphs.directory, || {
                match graphs.build_due(Self::wait_for_a_pause) {
                    // A removed index stops its graphs first, so its missing directory is not a fault.
                    Err(_) if graphs.stop.load(Ordering::Relaxed) => Ok(()),
                    outcome => outcome,
                }
            });
            graphs.busy.store(false, Ordering::Release);
        };
        if let Err(error) = std::thread::Builder::new().name("siftd-vectors".to_owned()).spawn(build) {
            self.busy.store(false, Ordering::Release);
            self.faults.report(BackgroundFaultKind::VectorGraph, &self.directory, error);
        }
    }

    /// As [`Self::maintain_graphs`], but on this thread, for tests and measurements.
    ///
    /// # Errors
    /// Internal, if there is not enough memory or disk space.
    pub fn maintain_graphs_now(&self, set: &Arc<VectorSet>) -> Result<()> {
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(set);
        self.build_due(|_| ())
    }

    /// Reads the files once, then builds all graphs that are due. Calls `wait` before each check for the next graph.
    fn build_due(&self, wait: impl Fn(&Self)) -> Result<()> {
        if !self.files_read.swap(true, Ordering::AcqRel) {
            self.read_files();
        }
        wait(self);
        while let Some(set) = self.newest() {
            let Some(step) = next_step(&set, &self.sealed()) else { break };
            let Step { covers, locations, onto } = step;
            let Some(graph) = Graph::build(&set, covers, &locations, onto.as_deref(), &self.stop)? else {
                break;
            };
            // A graph that cannot be written is used until the process ends.
            let saved = match self.files {
                GraphFiles::Own => graph.save(&self.path_of(graph.covers())),
                GraphFiles::Followed => Ok(()),
            };
            self.put(graph);
            saved?;
            wait(self);
        }
        Ok(())
    }

    /// Waits for a pause between commits. Building a graph once costs less than extending it repeatedly, and during
    /// writes memory is more useful for documents.
    fn wait_for_a_pause(&self) {
        let reached = || self.newest().map(|set| set.sequence());
        let (began, mut quiet_since, mut seen) = (Instant::now(), Instant::now(), reached());
        while seen.is_some() && quiet_since.elapsed() < PAUSE && began.elapsed() < PAUSE_WAIT_MAX {
            std::thread::sleep(PAUSE / 10);
            let now = reached();
            if now != seen {
                (quiet_since, seen) = (Instant::now(), now);
            }
        }
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

    /// Adds a graph and removes graphs with a range inside its range.
    fn put(&self, graph: Graph) {
        let covers = graph.covers().clone();
        let mut sealed = self.sealed.write().unwrap_or_else(PoisonError::into_inner);
        let within = |old: &Range<u64>| covers.start <= old.start && old.end <= covers.end;
        let (replaced, mut graphs): (Vec<_>, Vec<_>) =
            sealed.iter().cloned().partition(|old| within(old.covers()));
        graphs.push(Arc::new(graph));
        graphs.sort_by_key(|graph| graph.covers().start);
        *sealed = Arc::new(graphs);
        for old in replaced.iter().filter(|old| *old.covers() != covers) {
            self.discard(&self.path_of(old.covers()));
        }
    }

    fn discard(&self, path: &Path) {
        if self.files == GraphFiles::Own {
            self.faults.remove_file(path);
        }
    }

    /// Reads the longest run of files over adjacent ranges. Uses its graphs if they reach further than the available
    /// ones. Removes other files.
    fn read_files(&self) {
        let Some(set) = self.newest() else { return };
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) => {
                return self.faults.report(BackgroundFaultKind::VectorGraph, &self.directory, error);
            }
        };
        let mut files: Vec<(Range<u64>, PathBuf)> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let rest = name.strip_prefix(&self.lineage)?.strip_prefix('.')?.strip_suffix(GRAPH_SUFFIX)?;
                let (start, end) = rest.split_once('-')?;
                Some((start.parse().ok()?..end.parse().ok()?, entry.path()))
            })
            .collect();
        // Sorts files with the same start by descending end.
        files.sort_by_key(|(covers, _)| (covers.start, std::cmp::Reverse(covers.end)));
        let sealed = self.sealed();
        let load = |covers: &Range<u64>, path: &Path| match sealed.iter().find(|it| it.covers() == covers) {
            Some(known) => Ok(Arc::clone(known)),
            None => Graph::load(path, set.shape().dimensions).map(Arc::new),
        };
        let mut run: Vec<Arc<Graph>> = Vec::new();
        for (covers, path) in files {
            let from = run.last().map_or(0, |graph| graph.covers().end);
            let next = covers.start == from && covers.end <= set.sequence();
            match next.then(|| load(&covers, &path)) {
                Some(Ok(graph)) if *graph.covers() == covers => {
                    run.push(graph);
                    continue;
                }
                Some(Err(error)) => self.faults.report(BackgroundFaultKind::VectorGraph, &path, error),
                _ => {}
            }
            self.discard(&path);
        }
        let run = Arc::new(run);
        if reached(&run) > reached(&sealed) {
            *self.sealed.write().unwrap_or_else(PoisonError::into_inner) = run;
        }
    }
}

/// A graph to build.
struct Step {
    covers: Range<u64>,
    /// Locations of the records to add, in the order of the log.
    locations: Vec<(u32, VectorLocation)>,
    /// Graph over all earlier records, to be extended.
    onto: Option<Arc<Graph>>,
}

/// Returns true if `open` vectors outside of graphs should be added to one, possibly by extending `onto`.
fn is_due(set: &VectorSet, open: u64, onto: Option<&Arc<Graph>>) -> bool {
    let share = onto.map_or(0, |graph| graph.keys() / SEAL_SHARE).clamp(SEAL_VECTORS, SEAL_VECTORS_MAX);
    let bytes = open * set.shape().bytes() as u64;
    open > 0 && (open >= share || bytes >= SEAL_BYTES_MAX)
}

/// Returns true if counts show that nothing is due. They are cheap, and most commits change little.
fn is_settled(set: &VectorSet, sealed: &Sealed) -> bool {
    let Some(least) = sealed.iter().map(|graph| graph.keys()).min() else { return false };
    let open: u64 = set.since(reached(sealed)).iter().map(|docid| set.location(docid).count() as u64).sum();
    let keys: u64 = sealed.iter().map(|graph| graph.keys()).sum();
    let dead = keys.saturating_sub(set.vectors() - open);
    dead * 4 <= least && !is_due(set, open, sealed.last())
}

/// Returns the next graph to build; `None` if none is due.
fn next_step(set: &VectorSet, sealed: &Sealed) -> Option<Step> {
    if is_settled(set, sealed) {
        return None;
    }
    let bytes = code_bytes(set.shape().dimensions) as u64;
    let most = GRAPH_VECTORS_MAX.min(GRAPH_BYTES_MAX / bytes).max(1);
    let locations = set.locations();
    let count = |covers: &Range<u64>| -> u64 { counted(within(&locations, covers)) };
    let step = |covers: Range<u64>, onto: Option<&Arc<Graph>>| {
        let from = onto.map_or(covers.start, |graph| graph.covers().end);
        Some(Step {
            locations: within(&locations, &(from..covers.end)).to_vec(),
            covers,
            onto: onto.cloned(),
        })
    };
    let end = set.sequence();
    // Rebuilds a graph if more than a quarter of it is dead. The last graph then takes all later records too.
    if let Some(graph) = sealed.iter().find(|graph| count(graph.covers()) * 4 < graph.keys() * 3) {
        let Range { start, end: sealed_end } = *graph.covers();
        let last = sealed.last().is_some_and(|last| Arc::ptr_eq(last, graph));
        return step(start..if last && count(&(start..end)) <= most { end } else { sealed_end }, None);
    }
    let from = reached(sealed);
    let open = count(&(from..end));
    let onto = sealed.last().filter(|graph| graph.keys() + open <= most);
    if !is_due(set, open, onto) {
        return None;
    }
    if let Some(graph) = onto {
        return step(graph.covers().start..end, Some(graph));
    }
    let mut taken = 0;
    let next = within(&locations, &(from..end)).iter().find(|(_, location)| {
        taken += location.count() as u64;
        taken > most
    });
    // A step adds at least one record, however many vectors it has.
    step(from..next.map_or(end, |(_, location)| location.sequence().max(from + 1)), None)
}

/// Returns the part of `locations`, which are in the order of the log, with records in `covers`.
fn within<'p>(locations: &'p [(u32, VectorLocation)], covers: &Range<u64>) -> &'p [(u32, VectorLocation)] {
    let before = |end: u64| locations.partition_point(|(_, location)| location.sequence() < end);
    &locations[before(covers.start)..before(covers.end)]
}

fn counted(locations: &[(u32, VectorLocation)]) -> u64 {
    locations.iter().map(|(_, location)| location.count() as u64).sum()
}

/// Returns the common part of the names of a log and of all logs that it is rewritten to.
pub fn lineage_of(log: &Path) -> String {
    let name = log.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.split('.').next().unwrap_or_default().to_owned()
}
