//! Which documents lack vectors that only the user can provide?

use super::embedder::Embedder;
use crate::error::{Error, Result};

/// Number of documents that a message names; further ones are counted.
const NAMED_MAX: usize = 10;

/// Documents that lack vectors which only the user can provide.
#[derive(Default)]
pub struct MissingVectors {
    embedder: Option<Embedder>,
    named: Vec<String>,
    count: usize,
}

impl MissingVectors {
    /// Notes a document; of several embedders only the first one is reported.
    pub fn note(&mut self, id: &str, embedder: &Embedder) {
        let first = self.embedder.get_or_insert_with(|| embedder.clone());
        if first.name != embedder.name {
            return;
        }
        self.count += 1;
        if self.named.len() < NAMED_MAX {
            self.named.push(format!("`{id}`"));
        }
    }

    /// Checks that no document was noted.
    ///
    /// # Errors
    /// `vector_embedding_error`, naming documents, if any was.
    pub fn check(&self) -> Result<()> {
        let Some(embedder) = &self.embedder else { return Ok(()) };
        let name = &embedder.name;
        let reason = format!(
            "its source is `userProvided`, so each document brings them under `_vectors.{name}`, or `null` to \
             have none"
        );
        let more = match self.count - self.named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let message = format!(
            "the embedder `{name}` has no vectors for document(s) {}{more}: {reason}",
            self.named.join(", ")
        );
        Err(Error::user("vector_embedding_error", message))
    }
}
