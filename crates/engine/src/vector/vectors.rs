//! All vectors of an index, as a commit sees them.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::embedder_vectors::EmbedderVectors;
use super::flags::Flags;
use super::graphs::{GRAPH_SUFFIX, GraphFiles, lineage_of};
use super::log::{LOG_SUFFIX, Log};
use super::log_update::rewrite;
use super::vector_index::VectorIndex;
use super::vector_set::VectorSet;
use crate::background_fault::{BackgroundFaultKind, FaultReporter};
use crate::error::{Context, Result};
use crate::store::{Snapshot, VectorLog};

/// Name of the directory of logs, inside the directory of their index.
pub const DIRECTORY: &str = "vectors";

/// The vectors of every embedder that has any.
#[derive(Default)]
pub struct Vectors {
    embedders: BTreeMap<String, Arc<EmbedderVectors>>,
    /// Flags of an unwritten batch, which replace those of `embedders`.
    preview: Option<BTreeMap<String, Flags>>,
}

impl Vectors {
    /// Creates the unread vectors of a commit in `directory`. Faults of their graphs are reported to `faults`.
    pub fn of_commit(directory: &Path, logs: &BTreeMap<String, VectorLog>, faults: &FaultReporter) -> Self {
        let unread = |(name, reference): (&String, &VectorLog)| {
            let path = directory.join(DIRECTORY).join(&reference.file);
            let vectors = EmbedderVectors::unread(path, reference.clone(), faults.clone(), GraphFiles::Own);
            (name.clone(), Arc::new(vectors))
        };
        Self { embedders: logs.iter().map(unread).collect(), preview: None }
    }

    /// Opens the vectors of a commit by another process in `directory`, and holds their logs open. Reads logs that are
    /// read in `before`, an earlier commit.
    ///
    /// # Errors
    /// Internal, naming the file, if a log is shorter than in the commit, not a log, or damaged.
    pub fn followed(
        directory: &Path,
        logs: &BTreeMap<String, VectorLog>,
        faults: &FaultReporter,
        before: Option<&Self>,
    ) -> Result<Self> {
        let adopted = |(name, reference): (&String, &VectorLog)| {
            let path = directory.join(DIRECTORY).join(&reference.file);
            let before = before.and_then(|before| before.embedders.get(name));
            let vectors =
                EmbedderVectors::adopted(path, reference.clone(), faults.clone(), before.map(|it| &**it))?;
            Ok((name.clone(), Arc::new(vectors)))
        };
        Ok(Self { embedders: logs.iter().map(adopted).collect::<Result<_>>()?, preview: None })
    }

    /// Creates the vectors of a batch that was just written.
    pub fn written(embedders: BTreeMap<String, Arc<EmbedderVectors>>) -> Self {
        Self { embedders, preview: None }
    }

    /// Creates the vectors of an unwritten batch for filters.
    pub fn preview(flags: BTreeMap<String, Flags>) -> Self {
        Self { embedders: BTreeMap::new(), preview: Some(flags) }
    }

    /// Returns the vectors of a snapshot.
    pub fn of(snapshot: &Snapshot) -> Arc<Self> {
        snapshot.attachments().get::<Self>()
    }

    /// Returns the references to logs for the commit.
    pub fn logs(&self) -> BTreeMap<String, VectorLog> {
        self.embedders.iter().map(|(name, vectors)| (name.clone(), vectors.reference.clone())).collect()
    }

    /// Returns the vectors of an embedder, read or unread, for the next commit.
    pub fn of_embedder(&self, embedder: &str) -> Option<&Arc<EmbedderVectors>> {
        self.embedders.get(embedder)
    }

    /// Returns the vectors of an embedder; `None` if it has none.
    pub fn index(&self, embedder: &str) -> Result<Option<VectorIndex>> {
        self.embedders.get(embedder).map(|vectors| vectors.index()).transpose()
    }

    /// Returns sets of documents under an embedder.
    pub fn flags(&self, embedder: &str) -> Result<Flags> {
        if let Some(preview) = &self.preview {
            return Ok(preview.get(embedder).cloned().unwrap_or_default());
        }
        Ok(self.index(embedder)?.map(|index| index.set().flags().clone()).unwrap_or_default())
    }

    /// Returns the number of vectors of all embedders, and of documents with any.
    pub fn counts(&self) -> Result<(u64, u64)> {
        let (mut vectors, mut embedded) = (0, RoaringBitmap::new());
        for embedder in self.embedders.values() {
            let index = embedder.index()?;
            let set = index.set();
            vectors += set.vectors();
            embedded |= &set.flags().embedded;
        }
        Ok((vectors, embedded.len()))
    }

    /// Rewrites the logs in the directory of an index to drop replaced records. `None` if there are none.
    pub fn compacted(&self, directory: &Path) -> Result<Option<Self>> {
        let mut embedders = self.embedders.clone();
        let mut is_changed = false;
        for vectors in embedders.values_mut() {
            let index = vectors.index()?;
            if index.set().has_dead() {
                let rewritten = rewrite(&index, &directory.join(DIRECTORY))?;
                *vectors = Arc::new(EmbedderVectors::written(rewritten));
                is_changed = true;
            }
        }
        Ok(is_changed.then(|| Self::written(embedders)))
    }

    /// Reads every log again. Returns paths of damaged logs, each with a reason.
    pub fn damages(&self) -> Vec<(PathBuf, String)> {
        let check = |vectors: &Arc<EmbedderVectors>| {
            let log = Log::open(&vectors.path, vectors.reference.bytes);
            let outcome = log.and_then(|log| VectorSet::read(log, vectors.reference.sequence));
            outcome.err().map(|error| (vectors.path.clone(), error.to_string()))
        };
        self.embedders.values().filter_map(check).collect()
    }

    /// Returns the bytes of vectors in the directory of an index.
    pub fn bytes_below(directory: &Path) -> u64 {
        let Ok(entries) = fs::read_dir(directory.join(DIRECTORY)) else { return 0 };
        entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum()
    }

    /// Removes logs that no commit refers to any more. Failures are reported to `faults`; the next call retries.
    pub fn remove_stale(&self, directory: &Path, faults: &FaultReporter) {
        let directory = directory.join(DIRECTORY);
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            // An index that never had vectors does not have this directory.
            Err(error) => return faults.removed(&directory, Err(error)),
        };
        let live: HashSet<&str> =
            self.embedders.values().map(|vectors| vectors.reference.file.as_str()).collect();
        let lineages: HashSet<String> = live.iter().map(|name| lineage_of(Path::new(name))).collect();
        for entry in entries.flatten() {
            let name = entry.file_name();
            // A live lineage removes its graphs itself.
            let stale = name.to_str().is_some_and(|name| match name.ends_with(LOG_SUFFIX) {
                true => !live.contains(name),
                false => !lineages.contains(&lineage_of(Path::new(name))),
            });
            if stale {
                faults.remove_file(&entry.path());
            }
        }
    }

    /// Reads, builds and merges the graphs of all vectors that were read, in the background.
    pub fn maintain_graphs(&self) {
        self.embedders
            .values()
            .filter_map(|vectors| vectors.read.get())
            .for_each(VectorIndex::maintain_graphs);
    }

    /// Stops background threads soon and permanently.
    pub fn stop(&self) {
        self.embedders
            .values()
            .filter_map(|vectors| vectors.read.get())
            .for_each(|index| index.graphs().stop());
    }

    /// Maps the logs, so that they stay readable even if later commits remove their files.
    ///
    /// # Errors
    /// See [`EmbedderVectors::log`].
    pub fn hold(&self) -> Result<()> {
        self.embedders.values().try_for_each(|vectors| vectors.log().map(|_| ()))
    }

    /// Copies the logs, up to their ends, and existing graphs to `target`.
    pub fn copy_to(&self, target: &Path) -> Result<()> {
        let directory = target.join(DIRECTORY);
        for vectors in self.embedders.values() {
            let context = || format!("{} could not be copied", vectors.path.display());
            fs::create_dir_all(&directory).context(context())?;
            let copy = directory.join(&vectors.reference.file);
            let mut file = fs::File::create_new(&copy).context(context())?;
            file.write_all(vectors.log()?.bytes()).context(context())?;
            file.sync_all().context(context())?;
            copy_graphs(&vectors.path, &directory, &vectors.faults);
        }
        Ok(())
    }
}

/// Copies the graphs of a log. A missing graph is rebuilt: so one that is removed during the copy is no problem, and
/// one that cannot be copied is only reported.
fn copy_graphs(log: &Path, target: &Path, faults: &FaultReporter) {
    let Some(directory) = log.parent() else { return };
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => return faults.report(BackgroundFaultKind::VectorGraph, directory, error),
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_graph = name.to_str().is_some_and(|name| name.ends_with(GRAPH_SUFFIX));
        if is_graph && lineage_of(Path::new(&name)) == lineage_of(log) {
            match fs::copy(entry.path(), target.join(&name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    faults.report(BackgroundFaultKind::VectorGraph, &entry.path(), error);
                }
                _ => {}
            }
        }
    }
}
