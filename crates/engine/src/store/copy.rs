//! Copies a commit to another directory.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use super::committed::Committed;
use super::directory::IndexDirectory;
use super::disk::{Disk as _, Folder};
use crate::error::{Context, Result};

impl IndexDirectory {
    /// Copies a commit to `target`, which must not exist. Uses hard links where the file system supports them: they
    /// cost neither time nor space, and are safe because files are never changed, only removed.
    pub fn copy_to(&self, committed: &Committed, target: &Path) -> Result<()> {
        fs::create_dir(target).context(format!("{} could not be created", target.display()))?;
        let target = Folder::open(target).context(format!("{} could not be opened", target.display()))?;
        for file in committed.files.iter() {
            let source = self.path_of(file.name());
            // Linking fails across file systems, and on file systems without links.
            if file.has_its_name() && fs::hard_link(&source, target.path().join(file.name())).is_ok() {
                continue;
            }
            let context = || format!("{source} could not be copied");
            let bytes = file.bytes().read_bytes().context(context())?;
            let mut copy = target.create(file.name()).context(context())?;
            copy.write_all(&bytes).and_then(|()| copy.sync()).context(context())?;
        }
        target.sync_names().context(format!("{} could not be synced", target.path().display()))
    }
}
