//! Records on disk which fields searches have used, so that the next process prepares the indexes before their first
//! searches.
//!
//! The file names indexes and fields, no texts of searches. It only saves time: a file that is missing, damaged or of
//! another version counts as empty, and it is never synced. It holds the largest indexes, because first searches of small
//! ones are fast.
//!
//! ```text
//! file  = JSON: {"version": 1, "indexes": [index*]}      the largest index first, at most 16
//! index = {"id", "documents", "uses": {use: [path*]}}    paths sorted, at most 64 per use
//! use   = search | sort | count | distinct
//! ```

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::error::{Context, Result};
use crate::facets::FieldUses;

/// Name of the file in the directory of an engine.
const NAME: &str = "searched.json";

const VERSION: u32 = 1;

/// Recorded indexes. Preparing more of them at a start would take long, and the cache would not hold them all.
const INDEXES_MAX: usize = 16;

/// A longer file is not ours.
const FILE_BYTES_MAX: u64 = 1 << 21;

/// The uses of fields of an index by searches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchedIndex {
    /// Id of the index.
    pub id: String,
    /// Number of its documents.
    pub documents: u64,
    /// Its fields that searches have used.
    pub uses: FieldUses,
}

#[derive(Serialize, Deserialize)]
struct Content {
    version: u32,
    indexes: Vec<SearchedIndex>,
}

/// The record of an engine, as it was last read or written.
pub struct SearchRecord {
    path: PathBuf,
    indexes: Mutex<Vec<SearchedIndex>>,
}

impl SearchRecord {
    /// Reads the record of a directory.
    pub fn read(directory: &Path) -> Self {
        let path = directory.join(NAME);
        let indexes = Mutex::new(read(&path).unwrap_or_default());
        Self { path, indexes }
    }

    fn indexes(&self) -> MutexGuard<'_, Vec<SearchedIndex>> {
        self.indexes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the ids of the recorded indexes, the largest first.
    pub fn ids(&self) -> Vec<String> {
        self.indexes().iter().map(|index| index.id.clone()).collect()
    }

    /// Returns the recorded uses of an index.
    pub fn uses_of(&self, id: &str) -> Option<FieldUses> {
        self.indexes().iter().find(|index| index.id == id).map(|index| index.uses.clone())
    }

    /// Returns the record with the indexes `open`, and with earlier ones that still `exist`. `None` if that is what the
    /// file says.
    pub fn changed(
        &self,
        open: Vec<SearchedIndex>,
        exists: impl Fn(&str) -> bool,
    ) -> Option<Vec<SearchedIndex>> {
        let before = self.indexes();
        let mut after = open;
        for index in &*before {
            if after.iter().all(|other| other.id != index.id) && exists(&index.id) {
                after.push(index.clone());
            }
        }
        after.sort_by(|a, b| (Reverse(a.documents), &a.id).cmp(&(Reverse(b.documents), &b.id)));
        after.truncate(INDEXES_MAX);
        let same_uses = |(a, b): (&SearchedIndex, &SearchedIndex)| (&a.id, &a.uses) == (&b.id, &b.uses);
        let is_same = before.len() == after.len() && before.iter().zip(&after).all(same_uses);
        (!is_same).then_some(after)
    }

    /// Replaces the file atomically.
    ///
    /// # Errors
    /// Internal if it cannot be written; the file is unchanged then.
    pub fn write(&self, indexes: Vec<SearchedIndex>) -> Result<()> {
        let content = Content { version: VERSION, indexes };
        let text =
            serde_json::to_string(&content).context("a record of searches cannot be written as JSON")?;
        let new = self.path.with_extension("json.new");
        let context = || format!("{} could not be written", self.path.display());
        fs::write(&new, text + "\n").context(context())?;
        fs::rename(&new, &self.path).context(context())?;
        *self.indexes() = content.indexes;
        Ok(())
    }
}

/// Returns `None` for a file that is missing or not ours.
fn read(path: &Path) -> Option<Vec<SearchedIndex>> {
    let metadata = fs::metadata(path).ok()?;
    // Reading a pipe would wait for ever.
    if !metadata.is_file() || metadata.len() > FILE_BYTES_MAX {
        return None;
    }
    let content: Content = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let mut indexes = content.indexes;
    indexes.truncate(INDEXES_MAX);
    (content.version == VERSION).then_some(indexes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::facets::FieldUse;

    fn index(id: &str, documents: u64, sorted: &str) -> SearchedIndex {
        let uses = FieldUses::from([(FieldUse::Sort, BTreeSet::from([sorted.to_owned()]))]);
        SearchedIndex { id: id.to_owned(), documents, uses }
    }

    #[test]
    fn a_record_is_read_by_the_next_process() {
        let directory = tempfile::tempdir().unwrap();
        let record = SearchRecord::read(directory.path());
        assert!(record.ids().is_empty());
        let changed = record.changed(vec![index("a", 1, "year"), index("b", 2, "price")], |_| true).unwrap();
        record.write(changed).unwrap();
        for record in [record, SearchRecord::read(directory.path())] {
            assert_eq!(record.ids(), ["b", "a"], "the largest first");
            assert_eq!(record.uses_of("a"), Some(index("", 0, "year").uses));
            assert_eq!(record.uses_of("c"), None);
            assert_eq!(record.changed(vec![index("a", 1, "year")], |_| true), None, "nothing is new");
            let changed = record.changed(vec![index("a", 1, "price")], |id| id != "b");
            assert_eq!(changed, Some(vec![index("a", 1, "price")]), "`b` was dropped");
        }
    }

    #[test]
    fn it_keeps_the_largest_indexes() {
        let directory = tempfile::tempdir().unwrap();
        let record = SearchRecord::read(directory.path());
        let many = (0..100).map(|number| index(&format!("{number}"), number, "year")).collect();
        record.write(record.changed(many, |_| true).unwrap()).unwrap();
        let ids = SearchRecord::read(directory.path()).ids();
        assert_eq!((ids.len(), ids[0].as_str()), (INDEXES_MAX, "99"));
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_counts_as_empty_and_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(NAME);
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let record = SearchRecord::read(directory.path());
        assert!(record.ids().is_empty());
        record.write(vec![index("a", 1, "year")]).unwrap();
        assert_eq!(SearchRecord::read(directory.path()).ids(), ["a"]);
    }

    #[test]
    fn a_file_that_is_not_ours_counts_as_empty() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(NAME);
        let ours = serde_json::to_string(&Content { version: VERSION, indexes: vec![index("a", 1, "year")] });
        let ours = ours.unwrap();
        fs::write(&path, &ours).unwrap();
        assert_eq!(SearchRecord::read(directory.path()).ids(), ["a"]);
        let others = [
            ours.replace("\"version\":1", "\"version\":2"),
            ours.replace("sort", "paint"),
            ours[..ours.len() - 1].to_owned(),
            String::new(),
            "[]".to_owned(),
            " ".repeat(FILE_BYTES_MAX as usize) + &ours,
        ];
        for other in others {
            fs::write(&path, &other).unwrap();
            assert!(
                SearchRecord::read(directory.path()).ids().is_empty(),
                "{}",
                &other[..other.len().min(80)]
            );
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let record = SearchRecord::read(directory.path());
        assert!(record.ids().is_empty());
        assert!(record.write(vec![index("a", 1, "year")]).is_err(), "a directory is in the way");
        assert!(record.ids().is_empty());
    }
}
