use super::embedder::Embedder;
use crate::error::{Error, Result};

/// Documents a message names before it only counts them.
const NAMED_MAX: usize = 10;

/// Documents that lack vectors which only their user can provide.
#[derive(Default)]
pub struct MissingVectors {
    embedder: Option<Embedder>,
    named: Vec<String>,
    count: usize,
}

impl MissingVectors {
    /// Notes one; of several embedders the first is told about.
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

    /// # Errors
    /// `vector_embedding_error`, naming documents, if there are any.
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
