//! Lists the documents of a prepared batch that have to be embedded before its commit.
//!
//! Lists pages, so that not all texts are in memory. Shape: `WorkPage` in `ts/engine/batches.ts`.

use std::collections::HashMap;
use std::sync::Arc;

use compact_str::CompactString;
use serde_json::{Map, Value, json};

use super::primary_key;
use super::staged_batch::StagedBatch;
use crate::error::{Context, Error, Result};
use crate::settings::Settings;
use crate::vector::Want;

/// Documents in a page: enough for 40 concurrent requests of 10 texts to an embedder.
const PAGE_ITEMS_MAX: usize = 400;

/// Bytes of documents in a page. A single document may be longer.
const PAGE_BYTES_MAX: usize = 8 << 20;

impl StagedBatch {
    /// Returns the page at the cursor `from`, which is `next` of the previous page; the first page without a cursor.
    /// `None` after the last page.
    ///
    /// # Errors
    /// Internal, if `from` is not a cursor or a document cannot be read.
    pub fn pending_embeddings(&self, from: Option<&str>) -> Result<Option<Value>> {
        let (mut number, mut docid) = from.map(position).transpose()?.unwrap_or_default();
        while let Some((embedder, wants)) = self.vectors.wants(number, docid) {
            let mut wants = wants.peekable();
            if wants.peek().is_some() {
                return self.page(number, embedder, wants).map(Some);
            }
            (number, docid) = (number + 1, 0);
        }
        Ok(None)
    }

    /// Makes a page of documents of the embedder with this `number`.
    fn page<'w>(
        &self,
        number: usize,
        embedder: &str,
        wants: impl Iterator<Item = (u32, &'w Want)>,
    ) -> Result<Value> {
        let by_docid: &HashMap<u32, CompactString> = self.by_docid.get_or_init(|| {
            self.entries.iter().filter_map(|(id, entry)| Some((entry.docid?, id.into()))).collect()
        });
        let (mut items, mut bytes, mut next) = (Vec::new(), 0, (number + 1, 0));
        let mut shown: Option<&Arc<Settings>> = None;
        for (docid, want) in wants {
            let settings = match want {
                Want::Always => &self.settings,
                Want::IfTextChanged { settings, .. } => settings,
            };
            let is_other = shown.is_some_and(|shown| !Arc::ptr_eq(shown, settings));
            if is_other || items.len() == PAGE_ITEMS_MAX || bytes > PAGE_BYTES_MAX {
                next = (number, docid);
                break;
            }
            shown = Some(settings);
            let document = match by_docid.get(&docid).and_then(|id| self.entries.get(id.as_str())) {
                Some(entry) => self.merged(entry)?,
                None => self.stored(docid)?,
            };
            let before = match want {
                Want::Always => None,
                Want::IfTextChanged { of: None, .. } => Some(self.stored(docid)?),
                Want::IfTextChanged { of: Some(which), .. } => {
                    Some(self.merged(&self.earlier[*which as usize])?)
                }
            };
            bytes += weight(&document) + before.as_ref().map_or(0, weight);
            let id = primary_key::id_of(self.primary_key.as_deref().unwrap_or_default(), &document)?;
            let keeps = self.vectors.is_fragmented(embedder, docid);
            items.push(
                json!({"docid": docid, "id": id, "document": document, "before": before, "keeps": keeps}),
            );
        }
        Ok(json!({
            "embedder": embedder,
            "after": rendering(&self.settings, embedder),
            "before": rendering(shown.unwrap_or(&self.settings), embedder),
            "items": items,
            "next": format!("{}:{}", next.0, next.1),
        }))
    }

    fn stored(&self, docid: u32) -> Result<Map<String, Value>> {
        let base = self.base.as_ref().map(|base| base.document(docid)).transpose()?.flatten();
        Ok(base.unwrap_or_default())
    }
}

fn rendering(settings: &Settings, embedder: &str) -> Value {
    json!({
        "fields": settings.embedders.get(embedder),
        "searchableAttributes": settings.searchable_attributes,
    })
}

/// Parses a cursor into the number of the embedder and the docid.
fn position(cursor: &str) -> Result<(usize, u32)> {
    let wrong = || Error::internal("pending embeddings cannot be read", "there is no such page");
    let (number, docid) = cursor.split_once(':').ok_or_else(wrong)?;
    let context = "pending embeddings cannot be read";
    Ok((number.parse().context(context)?, docid.parse().context(context)?))
}

/// Returns the approximate length of a document as JSON, in bytes.
fn weight(document: &Map<String, Value>) -> usize {
    fn of(value: &Value) -> usize {
        match value {
            Value::String(text) => text.len() + 4,
            Value::Array(items) => items.iter().map(of).sum::<usize>() + 2,
            Value::Object(entries) => weight(entries),
            _ => 8,
        }
    }
    document.iter().map(|(name, value)| name.len() + 4 + of(value)).sum()
}
