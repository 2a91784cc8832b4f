//! Replaces ids in hits by documents of other indexes.
//!
//! 1. First ids are collected from all hits of an answer: the values of the field, or of its array up to the first
//!    value that is not an id.
//! 2. Then each scalar at or below the field with a collected id becomes the document, or `{}` if the request may not
//!    read it or it does not exist.
//! 3. With `legacySearch`, a search replaces each id at or below the field, collected or not.
//!
//! Source: search §20.1.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use roaring::RoaringBitmap;
use serde_json::{Map, Value};

use super::bounds::Bounds;
use super::json_scanner::unquote;
use super::limits::FOREIGN_SHOWN_MAX;
use super::projection::{HIDDEN, Selection, project, project_plain};
use crate::error::{Context, Error, Result};
use crate::fields::{id_from, is_id, is_same_or_below};
use crate::filter::{self, Access, Foreign, ForeignIndexes, ForeignKey, Scope};

/// Inserts documents of other indexes into the hits of an answer.
pub(super) struct Hydration<'a> {
    indexes: &'a ForeignIndexes<'a>,
    scope: Scope<'a>,
    bounds: Bounds,
    /// True if ids need not be collected first.
    replaces_all: bool,
    /// Index and id.
    collected: HashSet<(String, String)>,
    documents: HashMap<(String, String), Arc<Vec<u8>>>,
    readable: HashMap<String, Arc<RoaringBitmap>>,
}

impl<'a> Hydration<'a> {
    /// `scope`: that of the request's own filter. Returns `None` without foreign keys to follow.
    pub fn new(scope: Scope<'a>, replaces_all: bool, bounds: Bounds) -> Option<Self> {
        let Foreign { keys, indexes } = scope.foreign?;
        (!keys.is_empty()).then(|| Self {
            indexes,
            scope,
            bounds,
            replaces_all,
            collected: HashSet::new(),
            documents: HashMap::new(),
            readable: HashMap::new(),
        })
    }

    /// # Errors
    /// `index_not_found` if ids are not collected first and the index of a key does not exist.
    pub fn check_indexes(&self, keys: &[ForeignKey]) -> Result<()> {
        match keys.iter().find(|key| key.access == Access::Missing) {
            Some(key) if self.replaces_all => Err(key.not_found()),
            _ => Ok(()),
        }
    }

    /// Records the ids in a hit, given as JSON text.
    ///
    /// # Errors
    /// `index_not_found` if there is an id but no index; `answer_too_large` if there are too many ids.
    pub fn collect(&mut self, keys: &[ForeignKey], hit: &[u8]) -> Result<()> {
        if self.replaces_all {
            return Ok(());
        }
        let hit: Map<String, Value> = serde_json::from_slice(hit).context("a hit does not parse")?;
        for key in keys {
            let mut ids = Vec::new();
            match &key.access {
                Access::Refused { .. } => {}
                Access::Missing => {
                    collect_ids(&hit, &key.field_name, &mut ids);
                    if !ids.is_empty() {
                        return Err(key.not_found());
                    }
                }
                Access::Granted { index, .. } => {
                    collect_ids(&hit, &key.field_name, &mut ids);
                    self.collected.extend(ids.into_iter().map(|id| (index.clone(), id)));
                    check_few(self.collected.len())?;
                }
            }
        }
        Ok(())
    }

    /// Replaces ids in a JSON object by documents.
    pub fn hydrated(&mut self, keys: &[ForeignKey], object: Vec<u8>) -> Result<Vec<u8>> {
        let mut text = object;
        for key in keys {
            let Access::Granted { index, filter } = &key.access else { continue };
            let source = std::str::from_utf8(&text).context("a hit is not text")?;
            let mut hydrated = Vec::with_capacity(text.len());
            let mut failure = None;
            let bounds = self.bounds;
            project(source, &Selection::All, &[], &mut hydrated, |leaf, out| {
                if failure.is_some() {
                    return;
                }
                let id =
                    if is_same_or_below(&key.field_name, leaf.path) { id_of_leaf(leaf.raw) } else { None };
                match id.map(|id| self.document(index, filter, id)) {
                    // The same document may be inserted many times.
                    Some(Ok(Some(document))) => match bounds.check(out.len() + document.len()) {
                        Ok(()) => out.extend_from_slice(&document),
                        Err(error) => failure = Some(error),
                    },
                    Some(Err(error)) => failure = Some(error),
                    Some(Ok(None)) | None => out.extend_from_slice(leaf.raw.as_bytes()),
                }
            });
            if let Some(error) = failure {
                return Err(error);
            }
            text = hydrated;
        }
        Ok(text)
    }

    /// Returns the document for an id; `None` if the id stays.
    fn document(&mut self, index: &str, filter: &Value, id: String) -> Result<Option<Arc<Vec<u8>>>> {
        let key = (index.to_owned(), id);
        if !self.replaces_all && !self.collected.contains(&key) {
            return Ok(None);
        }
        if let Some(document) = self.documents.get(&key) {
            return Ok(Some(Arc::clone(document)));
        }
        check_few(self.documents.len() + 1)?;
        let document = Arc::new(self.shown(index, filter, &key.1)?);
        self.documents.insert(key, Arc::clone(&document));
        Ok(Some(document))
    }

    fn shown(&mut self, index: &str, filter: &Value, id: &str) -> Result<Vec<u8>> {
        let nothing = || b"{}".to_vec();
        let snapshot = self.indexes.snapshot(index)?;
        let Some(docid) = snapshot.docid_of(id)? else { return Ok(nothing()) };
        let readable = match self.readable.get(index) {
            Some(readable) => Arc::clone(readable),
            None => {
                let readable = filter::readable(&snapshot, filter, &self.scope)?;
                self.readable.insert(index.to_owned(), Arc::clone(&readable));
                readable
            }
        };
        if !readable.contains(docid) {
            return Ok(nothing());
        }
        let Some(source) = snapshot.cached_source(docid)? else { return Ok(nothing()) };
        self.bounds.check(source.len())?;
        let mut shown = Vec::new();
        let displayed = Selection::of(&snapshot.settings().displayed_attributes);
        project_plain(&source, &displayed, &HIDDEN, &mut shown);
        Ok(shown)
    }
}

fn check_few(documents: usize) -> Result<()> {
    if documents <= FOREIGN_SHOWN_MAX {
        return Ok(());
    }
    let message = format!(
        "the hits refer to more than {FOREIGN_SHOWN_MAX} documents of other indexes; ask for fewer hits, or leave \
         fields that refer to them out of `attributesToRetrieve`"
    );
    Err(Error::user("answer_too_large", message))
}

/// Returns the document id in a JSON scalar: a string with the characters of an id, or an integer.
fn id_of_leaf(raw: &str) -> Option<String> {
    if raw.starts_with('"') {
        let text = unquote(raw);
        return is_id(&text).then(|| text.into_owned());
    }
    let digits = raw.strip_prefix('-').unwrap_or(raw);
    let is_integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_integer.then(|| raw.to_owned())
}

/// Collects ids at a dotted path through objects and objects in arrays; keys may contain dots.
fn collect_ids(object: &Map<String, Value>, path: &str, ids: &mut Vec<String>) {
    for (key, value) in object.iter().filter(|(key, _)| is_same_or_below(key, path)) {
        let values = match value {
            Value::Array(values) => values.as_slice(),
            one => std::slice::from_ref(one),
        };
        match path[key.len()..].strip_prefix('.') {
            None => ids.extend(values.iter().map_while(id_from)),
            Some(rest) => {
                values.iter().filter_map(Value::as_object).for_each(|inner| collect_ids(inner, rest, ids));
            }
        }
    }
}
