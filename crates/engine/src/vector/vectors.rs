//! All vectors of an index, as one commit sees them.

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

/// Name of the directory of logs, below that of their index.
pub const DIRECTORY: &str = "vectors";

/// The vectors of every embedder that has any.
#[derive(Default)]
pub struct Vectors {
    embedders: BTreeMap<String, Arc<EmbedderVectors>>,
    /// Flags of a batch that is not written, which replace those of `embedders`.
    preview: Option<BTreeMap<String, Flags>>,
}

impl Vectors {
    /// The vectors of a commit in `directory`, unread. Faults of their graphs are reported to `faults`.
    pub fn of_commit(directory: &Path, logs: &BTreeMap<String, VectorLog>, faults: &FaultReporter) -> Self {
        let unread = |(name, reference): (&String, &VectorLog)| {
            let path = directory.join(DIRECTORY).join(&reference.file);
            let vectors = EmbedderVectors::unread(path, reference.clone(), faults.clone(), GraphFiles::Own);
            (name.clone(), Arc::new(vectors))
        };
        Self { embedders: logs.iter().map(unread).collect(), preview: None }
    }

    /// The vectors of a commit that another process made in `directory`, with logs held open. What is read of those of
    /// `before`, an earlier commit, is read of these.
    ///
    /// # Errors
    /// Internal, naming the file, if a log is shorter than the commit says, no log or damaged.
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

    /// The vectors of a batch that was just written.
    pub fn written(embedders: BTreeMap<String, Arc<EmbedderVectors>>) -> Self {
        Self { embedders, preview: None }
    }

    /// The vectors of a batch that is not written, as far as filters need them.
    pub fn preview(flags: BTreeMap<String, Flags>) -> Self {
        Self { embedders: BTreeMap::new(), preview: Some(flags) }
    }

    /// The vectors of a snapshot.
    pub fn of(snapshot: &Snapshot) -> Arc<Self> {
        snapshot.attachments().get::<Self>()
    }

    /// The references to logs that a commit stores.
    pub fn logs(&self) -> BTreeMap<String, VectorLog> {
        self.embedders.iter().map(|(name, vectors)| (name.clone(), vectors.reference.clone())).collect()
    }

    /// The vectors of an embedder, read or not, for the next commit to carry on.
    pub fn of_embedder(&self, embedder: &str) -> Option<&Arc<EmbedderVectors>> {
        self.embedders.get(embedder)
    }

    /// The vectors of an embedder; None if it has none.
    pub fn index(&self, embedder: &str) -> Result<Option<VectorIndex>> {
        self.embedders.get(embedder).map(|vectors| vectors.index()).transpose()
    }

    /// Sets of documents under an embedder.
    pub fn flags(&self, embedder: &str) -> Result<Flags> {
        if let Some(preview) = &self.preview {
            return Ok(preview.get(embedder).cloned().unwrap_or_default());
        }
        Ok(self.index(embedder)?.map(|index| index.set().flags().clone()).unwrap_or_default())
    }

    /// Number of vectors of all embedders, and of documents that have any.
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

    /// The vectors with logs that hold no replaced records, in the directory of an index; `None` if all are so already.
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

    /// Reads every log again. Returns paths that are damaged, each with a reason.
    pub fn damages(&self) -> Vec<(PathBuf, String)> {
        let check = |vectors: &Arc<EmbedderVectors>| {
            let log = Log::open(&vectors.path, vectors.reference.bytes);
            let outcome = log.and_then(|log| VectorSet::read(log, vectors.reference.sequence));
            outcome.err().map(|error| (vectors.path.clone(), error.to_string()))
        };
        self.embedders.values().filter_map(check).collect()
    }

    /// Bytes that vectors take in the directory of an index.
    pub fn bytes_below(directory: &Path) -> u64 {
        let Ok(entries) = fs::read_dir(directory.join(DIRECTORY)) else { return 0 };
        entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum()
    }

    /// Removes logs that no commit refers to any more. Files that cannot be removed are reported to `faults`,
    /// and stay until the next call.
    pub fn remove_stale(&self, directory: &Path, faults: &FaultReporter) {
        let directory = directory.join(DIRECTORY);
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            // An index that never had vectors has no such directory.
            Err(error) => return faults.removed(&directory, Err(error)),
        };
        let live: HashSet<&str> =
            self.embedders.values().map(|vectors| vectors.reference.file.as_str()).collect();
        let lineages: HashSet<String> = live.iter().map(|name| lineage_of(Path::new(name))).collect();
        for entry in entries.flatten() {
            let name = entry.file_name();
            // Graphs of a live lineage are removed by that lineage.
            let stale = name.to_str().is_some_and(|name| match name.ends_with(LOG_SUFFIX) {
                true => !live.contains(name),
                false => !lineages.contains(&lineage_of(Path::new(name))),
            });
            if stale {
                faults.remove_file(&entry.path());
            }
        }
    }

    /// Reads, builds and merges graphs of all vectors that were read, in the background.
    pub fn tend(&self) {
        self.embedders.values().filter_map(|vectors| vectors.read.get()).for_each(VectorIndex::tend);
    }

    /// Stops background threads, soon and for good.
    pub fn stop(&self) {
        self.embedders
            .values()
            .filter_map(|vectors| vectors.read.get())
            .for_each(|index| index.graphs().stop());
    }

    /// Keeps the logs readable even if later commits remove their files.
    ///
    /// # Errors
    /// Those of [`EmbedderVectors::log`].
    pub fn hold(&self) -> Result<()> {
        self.embedders.values().try_for_each(|vectors| vectors.log().map(|_| ()))
    }

    /// Copies the logs, up to their ends, and existing graphs below `target`.
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

/// Copies the graphs of a log. A missing graph is built again, so one that is removed meanwhile does no harm,
/// and one that cannot be copied is only reported.
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
