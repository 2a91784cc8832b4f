//! Requests answered over the newest commit.

use std::time::Instant;

use super::open_index::Index;
use crate::error::Result;
use crate::search::{self, Answer, SearchDeadline};

impl Index {
    /// Answers a `SearchRequest` given as JSON that began at `started`.
    ///
    /// # Errors
    /// See [`search::run`].
    pub fn search(&self, request: &[u8], search_deadline: impl Into<SearchDeadline>) -> Result<Answer> {
        search::run(&self.snapshot()?, request, search_deadline)
    }

    /// Answers a `FacetSearchRequest` given as JSON that began at `started`.
    ///
    /// # Errors
    /// See [`search::facet_search`].
    pub fn facet_search(&self, request: &[u8], search_deadline: impl Into<SearchDeadline>) -> Result<Answer> {
        search::facet_search(&self.snapshot()?, request, search_deadline)
    }

    /// Answers a `SimilarRequest` given as JSON that began at `started`.
    ///
    /// # Errors
    /// See [`search::similar`].
    pub fn similar(&self, request: &[u8], started: Instant) -> Result<Answer> {
        search::similar(&self.snapshot()?, request, started)
    }

    /// Lists documents: a `DocumentsRequest` given as JSON.
    ///
    /// # Errors
    /// See [`search::documents`].
    pub fn documents(&self, request: &[u8]) -> Result<Vec<u8>> {
        search::documents(&self.snapshot()?, request)
    }

    /// One document: a `DocumentRequest` given as JSON; `None` if the index has no such document.
    ///
    /// # Errors
    /// Internal only.
    pub fn document(&self, request: &[u8]) -> Result<Option<Vec<u8>>> {
        search::document(&self.snapshot()?, request)
    }
}
