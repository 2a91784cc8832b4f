//! Checks that the files of a commit match their checksums.

use std::collections::BTreeMap;

use super::commit_file;
use super::committed::Committed;
use super::directory::{BAD_CHECKSUM, IndexDirectory};
use super::manifest::Blob;
use crate::error::Error;

impl IndexDirectory {
    /// Returns the paths of files that do not match their checksum, each with a reason.
    pub fn damages(&self, committed: &Committed) -> Vec<(String, String)> {
        let mut damages = BTreeMap::new();
        // Maps files again: pages in memory may differ from the disk.
        let mut check = |blob: &Blob| {
            let intact = self.disk.open(&blob.file).and_then(|file| commit_file::is_intact(blob, &file));
            let reason = match intact {
                Ok(true) => return,
                Ok(false) => BAD_CHECKSUM.to_owned(),
                Err(error) => error.to_string(),
            };
            damages.entry(self.path_of(&blob.file)).or_insert(reason);
        };
        committed.manifest.blobs().for_each(&mut check);
        let mut unreadable = Vec::new();
        for file in committed.files.iter().filter(|file| commit_file::is_commit_file(file.name())) {
            let path = self.path_of(file.name());
            let manifest = self.disk.open(file.name()).map_err(Error::from);
            match manifest.and_then(|file| commit_file::read_manifest(&path, &file)) {
                // A commit file may also hold blobs of other commits, which the newest manifest does not name.
                Ok(manifest) => manifest.blobs().filter(|blob| blob.file == file.name()).for_each(&mut check),
                Err(error) => unreadable.push((path, error.to_string())),
            }
        }
        damages.extend(unreadable);
        damages.into_iter().collect()
    }
}
