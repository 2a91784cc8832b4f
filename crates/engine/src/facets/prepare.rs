//! Columns that readers of a commit will need, made before it is shown to them.

use std::fs;

use super::columns::Columns;
use super::deferred::{deferred_paths, is_column_file, name_of};
use crate::store::Snapshot;

/// Writes the missing deferred columns of every field that `is_wanted`, and removes files of other fields and of
/// segments that are not in the commit. A column that cannot be written now is tried again when a search needs it.
pub fn prepare(snapshot: &Snapshot, is_wanted: &dyn Fn(&str) -> bool) {
    let Some(directory) = &snapshot.parts().directory else { return };
    let columns = Columns::new(snapshot);
    let mut wanted = Vec::new();
    for segment in snapshot.segments() {
        let Ok(paths) = deferred_paths(snapshot, segment) else { return };
        for path in paths.iter().filter(|path| is_wanted(path)) {
            let _ = columns.field(path);
            wanted.extend(snapshot.fields().id(path).map(|field| name_of(segment, field)));
        }
    }
    let Ok(entries) = fs::read_dir(directory.as_ref()) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_stale = |name: &str| is_column_file(name) && !wanted.iter().any(|file| file == name);
        if name.to_str().is_some_and(is_stale) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
