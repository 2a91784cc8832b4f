//! Records on disk what the next process prepares, and prepares it.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::Engine;
use super::search_record::SearchedIndex;
use crate::analysis;
use crate::background_fault::{BackgroundFaultKind, FaultReporter};
use crate::threads::{self, Priority};

/// After this time no further index is warmed up at a start.
const WARM_UP_TIME_MAX: Duration = Duration::from_secs(60);

/// Name of an empty file that exists once texts were in Chinese.
pub(super) const CHINESE: &str = "chinese";

impl Engine {
    /// Records on disk what the next process should prepare: the Chinese dictionary if texts needed it, and fields that
    /// searches have used. Does nothing unless this engine may write. A failure is reported, and the record is made next
    /// time.
    pub fn remember(&self) {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let note = self.directory.join(CHINESE);
        if lock.is_some() && analysis::is_chinese_read() && !note.exists() {
            self.faults.watch(BackgroundFaultKind::DictionaryReadAhead, &note, || {
                File::create(&note)?;
                Ok(())
            });
        }
        if lock.is_some()
            && let Some(changed) = self.changed_searches()
        {
            let kind = BackgroundFaultKind::SearchRecord;
            self.faults.watch(kind, self.searched.path(), || self.searched.write(changed));
        }
    }

    /// Returns the record of searches, unless it is on disk already.
    pub(super) fn changed_searches(&self) -> Option<Vec<SearchedIndex>> {
        let searched = self.indexes.all().into_iter().filter_map(|(id, index)| {
            let (documents, uses) = index.searched()?;
            Some(SearchedIndex { id, documents, uses })
        });
        self.searched.changed(searched.collect(), |id| self.path_of(id).is_ok_and(|path| path.is_dir()))
    }

    /// Opens and [warms up](Index::warm_up), on a thread of its own, the indexes that searches of earlier processes used,
    /// the largest first. Ends early once the engine is closed, or most of the cache is full.
    pub fn warm_up_searched(self: Arc<Self>) {
        let ids = self.searched.ids();
        if ids.is_empty() {
            return;
        }
        let until = Instant::now() + WARM_UP_TIME_MAX;
        let warm_up = move || {
            for id in ids {
                let bytes_max = self.cache.bytes_max() / 4 * 3;
                let room = bytes_max.saturating_sub(self.cache.figures().bytes());
                let is_over = self.closed.load(Ordering::Relaxed) || Instant::now() >= until || room == 0;
                // An index that was dropped must not be opened, and a damaged one is reported by its first search.
                if !is_over
                    && self.path_of(&id).is_ok_and(|path| path.is_dir())
                    && let Ok(index) = self.index(&id)
                {
                    index.warm_up_within(room);
                }
            }
        };
        // Without a thread, first searches take longer.
        std::thread::Builder::new().name("siftd-warm-up".to_owned()).spawn(warm_up).ok();
    }
}

/// Reads the Chinese dictionary on a low-priority thread, if an earlier process needed it.
pub(super) fn read_ahead(directory: &Path, faults: &FaultReporter) {
    let note = directory.join(CHINESE);
    if !note.exists() {
        return;
    }
    let (kind, of_thread, file) = (BackgroundFaultKind::DictionaryReadAhead, faults.clone(), note.clone());
    let read = move || {
        of_thread.watch(kind, &file, || {
            analysis::read_chinese();
            Ok(())
        });
    };
    if let Err(error) = threads::aside(Priority::Tenth, read) {
        faults.report(kind, &note, error);
    }
}
