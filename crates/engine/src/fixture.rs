//! Small commits for the tests of rooms that only read, written straight into tantivy.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value as Json;
use tantivy::TantivyDocument;
use tantivy::schema::OwnedValue;
use tantivy::tokenizer::{PreTokenizedString, Token};

use crate::analysis::{Analyzer, TokenKind, normalize_facet};
use crate::fields::FieldMap;
use crate::settings::Settings;
use crate::store::schema::{self, Presence, presence_term};
use crate::store::{SegmentBuilder, SegmentView, Snapshot, SnapshotParts};

/// A commit in memory: documents as they come, a segment per slice, docids from 0 on; document ids are
/// `id` fields, else docids.
pub fn snapshot_of(segments: &[&[Json]], settings: Settings) -> Snapshot {
    let layout = crate::indexing::layout();
    let fields = layout.fields();
    let mut views = Vec::new();
    let analyzer = Analyzer::new(&settings).unwrap();
    let mut names = FieldMap::default();
    let mut docid = 0u64;
    for documents in segments {
        let mut builder = SegmentBuilder::new(&layout, None, 0).unwrap();
        for json in *documents {
            let mut flat = Flat { analyzer: Some(&analyzer), ..Flat::default() };
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
            let mut lengths = BTreeMap::<&str, usize>::new();
            for token in &flat.tokens {
                *lengths.entry(&token.text[token.text.len() - 3..]).or_default() += 1;
            }
            for (suffix, words) in lengths {
                document.add_text(fields.lengths, format!("{words}\0{suffix}"));
            }
            let text = PreTokenizedString { text: String::new(), tokens: flat.tokens };
            document.add_pre_tokenized_text(fields.text, text);
            let columns = flat.columns.into_iter().map(|(path, values)| (path, OwnedValue::Array(values)));
            document.add_object(fields.columns, columns.collect());
            builder.add(document).unwrap();
            docid += 1;
        }
        views.extend(builder.finish().unwrap().map(|segment| SegmentView::of(segment).unwrap()));
    }
    let parts = SnapshotParts {
        fields: Arc::new(names),
        settings: Arc::new(settings),
        primary_key: Some("id".to_owned()),
        ..SnapshotParts::default()
    };
    Snapshot::new(&layout, parts, views)
}

#[derive(Default)]
struct Flat<'a> {
    analyzer: Option<&'a Analyzer>,
    tokens: Vec<Token>,
    /// Where the next visit of a field starts.
    next: HashMap<String, usize>,
    columns: BTreeMap<String, Vec<OwnedValue>>,
    presence: BTreeSet<String>,
}

impl Flat<'_> {
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
            let container = value.is_object() || value.is_array();
            if empty || (container && !above.is_empty()) {
                self.visit(&path);
            }
            self.value(&path, value, names);
        }
    }

    fn visit(&mut self, path: &str) -> usize {
        let next = self.next.entry(path.to_owned()).or_default();
        let start = *next;
        *next += 8;
        start
    }

    fn words(&mut self, path: &str, text: &str, names: &FieldMap) {
        let start = self.visit(path);
        let (Some(analyzer), Some(field)) = (self.analyzer, names.id(path)) else { return };
        let (mut position, mut gap, mut first) = (start, 0, true);
        for token in analyzer.tokens(text, analyzer.locales_of(path)) {
            match token.kind {
                TokenKind::Hard => gap = 8,
                TokenKind::Soft => {}
                TokenKind::Word | TokenKind::StopWord => {
                    position += if first { 0 } else { gap.max(1) };
                    (first, gap) = (false, 0);
                    if token.kind == TokenKind::Word {
                        let term = String::from_utf8(schema::term(&token.text, field)).unwrap();
                        self.tokens.push(Token { position, text: term, ..Token::default() });
                    }
                }
            }
        }
        self.next.insert(path.to_owned(), position + 8);
    }

    fn value(&mut self, path: &str, value: &Json, names: &mut FieldMap) {
        match value {
            Json::Null => {
                self.visit(path);
            }
            Json::String(text) => self.words(path, text, names),
            Json::Number(_) | Json::Bool(_) => self.words(path, &value.to_string(), names),
            Json::Array(_) | Json::Object(_) => {}
        }
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
