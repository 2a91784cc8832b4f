//! Documents without the vectors that only the user can provide.

use serde_json::{Map, Value};

use super::embedder::Embedder;
use crate::error::{Error, Result};

/// Number of documents that a message lists; further documents are counted.
const NAMED_MAX: usize = 10;

/// Documents without the vectors that only the user can provide.
#[derive(Default)]
pub struct MissingVectors {
    embedder: Option<Embedder>,
    named: Vec<String>,
    count: usize,
    /// The document, the key that may be misspelt, and the name it may stand for.
    hint: Option<String>,
}

/// Greatest number of edits between a key and the name that it may stand for. Source: vectors §4.
const EDITS_MAX: usize = 2;

impl MissingVectors {
    /// Notes a document. Reports only the first of several embedders.
    pub fn note(&mut self, id: &str, embedder: &Embedder, document: &Map<String, Value>) {
        let first = self.embedder.get_or_insert_with(|| embedder.clone());
        if first.name != embedder.name {
            return;
        }
        self.count += 1;
        if self.named.len() < NAMED_MAX {
            self.named.push(format!("`{id}`"));
            if self.hint.is_none() {
                self.hint = misspelt(document, &embedder.name).map(|(found, meant)| {
                    format!("; did you mean `{meant}` by the `{found}` of document `{id}`?")
                });
            }
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
            "the embedder `{name}` has no vectors for document(s) {}{more}: {reason}{}",
            self.named.join(", "),
            self.hint.as_deref().unwrap_or_default()
        );
        Err(Error::user("vector_embedding_error", message))
    }
}

/// Returns a possibly misspelt key with the correct name: the first key similar to `_vectors`, or the first key in
/// `_vectors` similar to the embedder.
fn misspelt<'d>(document: &'d Map<String, Value>, embedder: &'d str) -> Option<(&'d str, &'d str)> {
    let near = |keys: &'d Map<String, Value>, name: &'d str| {
        keys.keys().find(|key| *key != name && is_near(key, name)).map(|key| (key.as_str(), name))
    };
    let inner = document.get("_vectors").and_then(Value::as_object);
    near(document, "_vectors").or_else(|| near(inner?, embedder))
}

/// Returns true if a few edits, fewer than the characters of `name`, turn `key` into `name`.
fn is_near(key: &str, name: &str) -> bool {
    let (key, name): (Vec<char>, Vec<char>) = (key.chars().collect(), name.chars().collect());
    let most = EDITS_MAX.min(name.len().saturating_sub(1));
    key.len().abs_diff(name.len()) <= most && edits(&key, &name) <= most
}

/// Returns the Levenshtein distance: insertions, deletions and replacements.
fn edits(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(left != right);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
