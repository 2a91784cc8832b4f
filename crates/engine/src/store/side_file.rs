//! Small files beside the segments that a commit refers to by name: settings and field names.
//!
//! Written once under a fresh name before the commit that needs them, removed after the commit that no
//! longer does.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use crate::error::{Context, Result};

/// Names of side files start with it, so that leftovers are known as ours.
const PREFIX: &str = "side-";

/// Writes and syncs a new side file; gives its name.
pub fn write(directory: &Path, kind: &str, content: &[u8]) -> Result<String> {
    let name = format!("{PREFIX}{kind}-{}.json", unique_name());
    let path = directory.join(&name);
    let context = || format!("{} could not be written", path.display());
    let mut file = File::create_new(&path).context(context())?;
    file.write_all(content).context(context())?;
    file.sync_all().context(context())?;
    Ok(name)
}

/// A name that no other file has.
pub fn unique_name() -> String {
    tantivy::index::SegmentId::generate_random().uuid_string()
}

/// Reads a side file.
pub fn read(directory: &Path, name: &str) -> Result<String> {
    let path = directory.join(name);
    fs::read_to_string(&path).context(format!("{} could not be read", path.display()))
}

/// Removes side files that `keep` does not name. Those that cannot be removed are left for the next time.
pub fn remove_others(directory: &Path, keep: &[&str]) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let stale = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && !keep.contains(&name));
        if stale {
            let _ = fs::remove_file(entry.path());
        }
    }
}
