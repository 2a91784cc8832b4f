//! Finds damaged files of an index.

use serde::Serialize;

use super::open_index::Index;
use crate::error::Result;
use crate::vector::Vectors;

/// A damaged file, found by [`Index::verify`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// Path of the file.
    pub path: String,
    /// Why the file counts as damaged.
    pub reason: String,
}

impl Index {
    /// Reads all files of the newest commit and reports those that do not decode.
    pub fn verify(&self) -> Result<Vec<Damage>> {
        let Some(current) = self.current() else { return Ok(Vec::new()) };
        let Some(committed) = &current.committed else { return Ok(Vec::new()) };
        let damages = current.directory.damages(committed).into_iter();
        let mut damages: Vec<Damage> = damages.map(|(path, reason)| Damage { path, reason }).collect();
        if !damages.is_empty() {
            // Documents and vectors in damaged files may not decode. Reporting them would repeat the damage.
            return Ok(damages);
        }
        for (path, reason) in Vectors::of(&committed.snapshot).damages() {
            damages.push(Damage { path: path.display().to_string(), reason });
        }
        for docid in committed.snapshot.documents() {
            if let Err(error) = committed.snapshot.document(docid) {
                let reason = format!("document {docid}: {error}");
                damages.push(Damage { path: self.path.display().to_string(), reason });
            }
        }
        Ok(damages)
    }
}
