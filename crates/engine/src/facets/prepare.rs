//! Builds columns that readers of a commit will need, before the commit becomes visible.

use std::collections::BTreeSet;
use std::fs;

use super::columns::Columns;
use super::deferred::{deferred_paths, is_column_file, name_of};
use crate::background_fault::BackgroundFaultKind;
use crate::store::{Snapshot, SnapshotParts};

/// Writes the missing deferred columns of every field that `is_wanted`. Removes files of other fields, and of segments
/// outside the commit. A failed write is reported, and tried again when a search needs the column.
pub fn prepare(snapshot: &Snapshot, is_wanted: &dyn Fn(&str) -> bool) {
    let SnapshotParts { directory: Some(directory), faults, .. } = snapshot.parts() else { return };
    let columns = Columns::new(snapshot);
    let (mut wanted_paths, mut wanted_files) = (BTreeSet::new(), Vec::new());
    for segment in snapshot.segments() {
        let paths = match deferred_paths(snapshot, segment) {
            Ok(paths) => paths,
            Err(error) => return faults.report(BackgroundFaultKind::DeferredColumn, directory, error),
        };
        for path in paths.into_iter().filter(|path| is_wanted(path)) {
            wanted_files.extend(snapshot.fields().id(&path).map(|field| name_of(segment, field)));
            wanted_paths.insert(path);
        }
    }
    for path in &wanted_paths {
        faults.watch(BackgroundFaultKind::DeferredColumn, directory, || columns.field(path).map(drop));
    }
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => return faults.report(BackgroundFaultKind::FileRemoval, directory, error),
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_stale = |name: &str| is_column_file(name) && !wanted_files.iter().any(|file| file == name);
        if name.to_str().is_some_and(is_stale) {
            faults.remove_file(&entry.path());
        }
    }
}
