//! Reports failures of background work: its kind, its file and the reason.

use std::fmt;
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Result, panic_text};

/// Kinds of background work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackgroundFaultKind {
    /// Building, writing or reading a column of values from stored documents.
    DeferredColumn,
    /// Reading the Chinese dictionary ahead of the first text, or recording that the next process should do so.
    DictionaryReadAhead,
    /// Removing a file that no commit uses.
    FileRemoval,
    /// Recording which fields searches have used.
    SearchRecord,
    /// Merging segments after a commit.
    SegmentMerge,
    /// Building, writing, reading or copying a vector graph.
    VectorGraph,
    /// Cutting words as at the time of indexing: the dictionary of that time is not installed.
    WordDictionary,
}

impl BackgroundFaultKind {
    /// Name in logs and counters: a value of `backgroundFaultKinds` in `ts/engine/background-faults.ts`.
    pub fn name(self) -> &'static str {
        match self {
            Self::DeferredColumn => "deferred_column",
            Self::DictionaryReadAhead => "dictionary_read_ahead",
            Self::FileRemoval => "file_removal",
            Self::SearchRecord => "search_record",
            Self::SegmentMerge => "segment_merge",
            Self::VectorGraph => "vector_graph",
            Self::WordDictionary => "word_dictionary",
        }
    }
}

/// A failure of background work. Committed documents are not affected, and the work is tried again later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackgroundFault {
    /// The work that failed.
    pub kind: BackgroundFaultKind,
    /// Id of the index; `None` for work on behalf of all indexes.
    pub index: Option<Arc<str>>,
    /// The file or directory concerned.
    pub file: PathBuf,
    /// The error or panic message in one line.
    pub reason: String,
}

type ReportFault = dyn Fn(&BackgroundFault) + Send + Sync;

/// Reports the faults of an index, or of work for all indexes. Clones report to the same function. The default reporter
/// drops all faults.
#[derive(Clone, Default)]
pub struct FaultReporter {
    report: Option<Arc<ReportFault>>,
    index: Option<Arc<str>>,
}

impl FaultReporter {
    /// Passes faults to `report` on the thread whose work failed. The thread may hold locks of the engine, so `report`
    /// must return soon and must not call the engine.
    pub fn new(report: impl Fn(&BackgroundFault) + Send + Sync + 'static) -> Self {
        Self { report: Some(Arc::new(report)), index: None }
    }

    /// Returns a reporter with the same function for the index with id `index`.
    pub fn of_index(&self, index: &str) -> Self {
        Self { report: self.report.clone(), index: Some(Arc::from(index)) }
    }

    /// Reports a fault of work on `file`, which may be a directory.
    pub fn report(&self, kind: BackgroundFaultKind, file: &Path, reason: impl fmt::Display) {
        let Some(report) = &self.report else { return };
        let reason = reason.to_string().lines().collect::<Vec<_>>().join(" ");
        report(&BackgroundFault { kind, index: self.index.clone(), file: file.to_owned(), reason });
    }

    /// Runs `work` on `file`. Reports an error or panic and does not pass it on.
    pub fn watch(&self, kind: BackgroundFaultKind, file: &Path, work: impl FnOnce() -> Result<()>) {
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.report(kind, file, error),
            Err(panic) => self.report(kind, file, format!("a panic: {}", panic_text(&*panic))),
        }
    }

    /// Removes a file that no commit uses, and reports failures. A missing file is no failure.
    pub fn remove_file(&self, path: &Path) {
        self.removed(path, fs::remove_file(path));
    }

    /// Reports the failure to remove the file at `path`, unless the file was missing.
    pub fn removed(&self, path: &Path, outcome: io::Result<()>) {
        match outcome {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                self.report(BackgroundFaultKind::FileRemoval, path, error);
            }
            _ => {}
        }
    }
}

impl fmt::Debug for FaultReporter {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.debug_struct("FaultReporter").field("index", &self.index).finish_non_exhaustive()
    }
}

/// Collects faults for a test.
#[cfg(test)]
#[derive(Clone, Default)]
pub struct ReportedFaults(Arc<std::sync::Mutex<Vec<BackgroundFault>>>);

#[cfg(test)]
impl ReportedFaults {
    /// Returns a reporter that collects its faults here.
    pub fn reporter(&self) -> FaultReporter {
        let faults = Self::clone(self);
        FaultReporter::new(move |fault| faults.0.lock().unwrap().push(fault.clone()))
    }

    /// Takes the faults since the last call.
    pub fn take(&self) -> Vec<BackgroundFault> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn an_error_and_a_panic_are_reported_and_success_is_not() {
        let faults = ReportedFaults::default();
        let reporter = faults.reporter().of_index("films");
        let (kind, file) = (BackgroundFaultKind::SegmentMerge, Path::new("/films"));
        reporter.watch(kind, file, || Ok(()));
        assert_eq!(faults.take(), []);
        reporter.watch(kind, file, || Err(Error::internal("the merge failed", "the disk is full")));
        reporter.watch(kind, file, || panic!("an array\nis too {}", "short"));
        let fault = |reason: &str| BackgroundFault {
            kind,
            index: Some("films".into()),
            file: file.to_owned(),
            reason: reason.to_owned(),
        };
        assert_eq!(
            faults.take(),
            [fault("the merge failed: the disk is full"), fault("a panic: an array is too short")]
        );
    }

    #[test]
    fn a_failed_removal_is_reported_and_a_missing_file_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let (file, folder) = (directory.path().join("file"), directory.path().join("folder"));
        fs::write(&file, "").unwrap();
        fs::create_dir(&folder).unwrap();
        let faults = ReportedFaults::default();
        let reporter = faults.reporter();
        reporter.remove_file(&file);
        reporter.remove_file(&file);
        assert_eq!(faults.take(), []);
        assert!(!file.exists());
        reporter.remove_file(&folder);
        let reported = faults.take();
        assert_eq!(reported.len(), 1);
        assert_eq!((reported[0].kind, &reported[0].file), (BackgroundFaultKind::FileRemoval, &folder));
        assert_eq!(reported[0].index, None);
    }
}
