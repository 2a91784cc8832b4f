//! Takes back commits whose batches were reported as failed.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::commit_file;
use super::directory::IndexDirectory;
use super::disk::{Disk, Folder};
use crate::error::{Context, Result};

impl IndexDirectory {
    /// Takes back the newest commits of a local directory that is not open; see [`Self::undo_on`].
    ///
    /// # Errors
    /// Internal, naming the path.
    pub fn undo(path: &Path, batch_uids: &BTreeSet<u64>) -> Result<()> {
        let folder = Folder::open(path).context(format!("{} could not be opened", path.display()))?;
        Self::undo_on(&(Arc::new(folder) as Arc<dyn Disk>), batch_uids)
    }

    /// Takes back the newest commits as long as they belong to `batch_uids`. The files of the commit before them still
    /// exist, because only a later commit removes files that the newest one does not name. Syncs names even if no
    /// commit is removed, because an earlier call may have removed one without syncing.
    ///
    /// # Errors
    /// Internal, naming the path, if the newest commit does not decode, or cannot be removed durably.
    pub fn undo_on(disk: &Arc<dyn Disk>, batch_uids: &BTreeSet<u64>) -> Result<()> {
        let context = |path: &Path| format!("{} could not be undone", path.display());
        let files = disk.list().context(context(disk.path()))?;
        let mut numbers: Vec<u64> =
            files.iter().filter_map(|(name, _)| commit_file::number_of(name)).collect();
        numbers.sort_unstable();
        for number in numbers.into_iter().rev() {
            let name = commit_file::name_of(number);
            let path = disk.path().join(&name);
            let file = disk.open(&name).context(context(&path))?;
            let manifest = commit_file::read_manifest(&path.display().to_string(), &file)?;
            let batch_uid = manifest.record.report["batchUid"].as_u64();
            if !batch_uid.is_some_and(|uid| batch_uids.contains(&uid)) {
                break;
            }
            disk.remove(&name).context(context(&path))?;
        }
        disk.sync_names().context(context(disk.path()))
    }
}
