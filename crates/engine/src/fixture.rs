//! Small commits for the tests of rooms that only read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value as Json;
use tantivy::schema::OwnedValue;
use tantivy::{Index, IndexWriter, TantivyDocument};

use crate::analysis::normalize_facet;
use crate::fields::FieldMap;
use crate::settings::Settings;
use crate::store::schema::{self, Presence, presence_term};
use crate::store::{Snapshot, SnapshotParts};

/// A commit in memory: documents as they come, a segment per slice, docids from 0 on; document ids are
/// `id` fields, else docids. Texts are not indexed.
pub fn snapshot_of(segments: &[&[Json]], settings: Settings) -> Snapshot {
    let (tantivy_schema, fields) = schema::build();
    let index = Index::create_in_ram(tantivy_schema);
    index.tokenizers().register(schema::PACKED_TOKENIZER, tantivy::tokenizer::RawTokenizer::default());
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 15_000_000).unwrap();
    writer.set_merge_policy(Box::new(tantivy::merge_policy::NoMergePolicy));
    let mut names = FieldMap::default();
    let mut docid = 0u64;
    for documents in segments {
        for json in *documents {
            let mut flat = Flat::default();
            flat.object("", json, &mut names);
            let mut document = TantivyDocument::new();
            let id = json
                .get("id")
                .map_or(docid.to_string(), |id| id.as_str().map_or_else(|| id.to_string(), str::to_owned));
            document.add_text(fields.id, id);
            document.add_u64(fields.docid, docid);
            document.add_bytes(fields.source, json.to_string().as_bytes());
            for term in flat.presence {
                document.add_text(fields.presence, term);
            }
            let columns = flat.columns.into_iter().map(|(path, values)| (path, OwnedValue::Array(values)));
            document.add_object(fields.columns, columns.collect());
            writer.add_document(document).unwrap();
            docid += 1;
        }
        writer.commit().unwrap();
    }
    writer.wait_merging_threads().unwrap();
    let searcher = index.reader().unwrap().searcher();
    let parts = SnapshotParts {
        fields: Arc::new(names),
        settings: Arc::new(settings),
        primary_key: Some("id".to_owned()),
    };
    Snapshot::new(searcher, parts, |_| None).unwrap()
}

#[derive(Default)]
struct Flat {
    columns: BTreeMap<String, Vec<OwnedValue>>,
    presence: BTreeSet<String>,
}

impl Flat {
    fn object(&mut self, above: &str, object: &Json, names: &mut FieldMap) {
        for (key, value) in object.as_object().into_iter().flatten() {
            let path = if above.is_empty() { key.clone() } else { format!("{above}.{key}") };
            names.insert(&path).unwrap();
            self.presence.insert(presence_term(Presence::Exists, &path));
            let empty = match value {
                Json::Null => {
                    self.presence.insert(presence_term(Presence::Null, &path));
                    false
                }
                Json::String(text) => text.is_empty(),
                Json::Array(values) => values.is_empty(),
                Json::Object(values) => values.is_empty(),
                _ => false,
            };
            if empty {
                self.presence.insert(presence_term(Presence::Empty, &path));
            }
            self.value(&path, value, names);
        }
    }

    fn value(&mut self, path: &str, value: &Json, names: &mut FieldMap) {
        let leaf = match value {
            Json::Object(_) => return self.object(path, value, names),
            Json::Array(values) => return values.iter().for_each(|value| self.value(path, value, names)),
            Json::Null => return,
            Json::Number(number) => OwnedValue::F64(number.as_f64().unwrap()),
            Json::Bool(flag) => OwnedValue::Str(format!("{flag}\0{flag}")),
            Json::String(text) if path.starts_with("_geo.") => OwnedValue::F64(text.parse().unwrap()),
            Json::String(text) if text.trim().is_empty() => return,
            Json::String(text) => OwnedValue::Str(format!("{}\0{text}", normalize_facet(text))),
        };
        self.columns.entry(path.to_owned()).or_default().push(leaf);
    }
}
