//! Requests that read the newest commit.

use super::open_index::Index;
use crate::error::Result;
use crate::search::{self, Answer, SearchDeadline};

impl Index {
    /// Runs a `SearchRequest` given as JSON, whose foreign keys must lead to no index.
    ///
    /// # Errors
    /// See [`search::run`].
    pub fn search(&self, request: &[u8], search_deadline: impl Into<SearchDeadline>) -> Result<Answer> {
        search::run(&self.snapshot()?, request, search_deadline, &())
    }

    /// Lists documents: a `DocumentsRequest` given as JSON, whose foreign keys must lead to no index.
    ///
    /// # Errors
    /// See [`search::documents`].
    pub fn documents(&self, request: &[u8]) -> Result<Vec<u8>> {
        search::documents(&self.snapshot()?, request, &())
    }

    /// Returns a document for a `DocumentRequest` given as JSON; `None` if the index has no such document.
    ///
    /// # Errors
    /// Internal only.
    pub fn document(&self, request: &[u8]) -> Result<Option<Vec<u8>>> {
        search::document(&self.snapshot()?, request)
    }
}
