//! Documents without the vectors that only the user can provide.

use std::collections::HashSet;

use compact_str::CompactString;
use serde_json::{Map, Value};

use super::embedder::Embedder;
use crate::error::{Error, Result};

/// Number of documents that a message lists; further documents are counted.
const NAMED_MAX: usize = 10;

/// Greatest number of edits between a key and the name that it may stand for. Source: vectors §4.
const EDITS_MAX: usize = 2;

/// Documents without the vectors that only the user can provide.
#[derive(Default)]
pub struct MissingVectors {
    /// In the order of their first document.
    embedders: Vec<MissingOf>,
}

/// Documents without vectors of an embedder.
struct MissingOf {
    embedder: Embedder,
    ids: Vec<CompactString>,
    /// Id of one of the first documents, and a sentence about a key in it that may be misspelt.
    hints: Vec<(CompactString, String)>,
}

impl MissingVectors {
    /// Notes a document.
    pub fn note(&mut self, id: &str, embedder: &Embedder, document: &Map<String, Value>) {
        let known = self.embedders.iter().position(|missing| missing.embedder.name == embedder.name);
        let known = known.unwrap_or_else(|| {
            self.embedders.push(MissingOf { embedder: embedder.clone(), ids: vec![], hints: vec![] });
            self.embedders.len() - 1
        });
        let missing = &mut self.embedders[known];
        missing.ids.push(id.into());
        if missing.ids.len() <= NAMED_MAX
            && let Some((found, meant)) = misspelt(document, &embedder.name)
        {
            let hint = format!("; did you mean `{meant}` by the `{found}` of document `{id}`?");
            missing.hints.push((id.into(), hint));
        }
    }

    /// Checks that no document was noted, except those for which `is_provided` returns true: a later version in the
    /// same body may bring the vectors. Gets the id and the name of the embedder.
    ///
    /// # Errors
    /// `vector_embedding_error` about the first embedder with such documents, naming some of them.
    pub fn check(&self, is_provided: impl Fn(&str, &str) -> bool) -> Result<()> {
        for MissingOf { embedder, ids, hints } in &self.embedders {
            let name = &embedder.name;
            let mut ids: Vec<&str> = ids.iter().map(CompactString::as_str).collect();
            let mut seen = HashSet::new();
            ids.retain(|id| !is_provided(id, name) && seen.insert(*id));
            if ids.is_empty() {
                continue;
            }
            let shown: Vec<String> = ids.iter().take(NAMED_MAX).map(|id| format!("`{id}`")).collect();
            let more = match ids.len() - shown.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let hint = hints.iter().find(|(id, _)| ids.contains(&id.as_str())).map(|(_, hint)| hint.as_str());
            let message = format!(
                "the embedder `{name}` has no vectors for document(s) {}{more}: its source is `userProvided`, so \
                 each document brings them under `_vectors.{name}`, or `null` to have none{}",
                shown.join(", "),
                hint.unwrap_or_default()
            );
            return Err(Error::user("vector_embedding_error", message));
        }
        Ok(())
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
