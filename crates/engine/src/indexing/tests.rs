//! 1. Words get the positions of search §3.2 at any level of nesting.
//! 2. A commit is applied completely or not at all, and only once.
//! 3. Docids follow the payload, stay the same with updates, and are reused lowest first.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::each_path_of;
use super::flatten::{Flattener, Rules};
use super::json::Object;
use crate::analysis::Analyzer;
use crate::background_fault::{BackgroundFaultKind, ReportedFaults};
use crate::fields::FieldMap;
use crate::fixture::services_reporting_to;
use crate::settings::Settings;
use crate::store::IndexedDocument;
use crate::store::schema::COLUMN_BYTES_MAX;
use crate::{Index, Limits};

const LIMITS: Limits =
    Limits { indexing_memory_bytes: 60_000_000, indexing_threads: 2, cache_bytes: 32 << 20 };

fn flatten(settings: &Settings, document: Value) -> (IndexedDocument, FieldMap) {
    let Value::Object(document) = document else { panic!("not an object") };
    let mut fields = FieldMap::default();
    each_path_of(&document, &mut fields);
    let analyzer = Analyzer::new(settings).unwrap();
    let rules = Rules { analyzer: &analyzer, fields: &fields, wants_column: &|_| false };
    let flat = Flattener::new(rules).flatten(0, "1", &Object::from(&document), Vec::new()).unwrap();
    (flat, fields)
}

/// `field: word@position …`, fields in order of appearance.
fn positions(settings: &Settings, document: Value) -> String {
    let (document, fields) = flatten(settings, document);
    let mut drawn: Vec<String> = Vec::new();
    for (field, name) in fields.iter() {
        let words: Vec<String> = document
            .text
            .words()
            .into_iter()
            .filter(|(_, of, _)| *of == field)
            .map(|(word, _, position)| format!("{word}@{position}"))
            .collect();
        if !words.is_empty() {
            drawn.push(format!("{name}: {}", words.join(" ")));
        }
    }
    drawn.join(", ")
}

#[test]
fn words_get_the_recorded_positions() {
    let cases = [
        (json!({"t": "Wi-Fi 6E, router! Tri_band"}), "t: wi@0 fi@1 6e@2 router@10 tri@18 band@19"),
        (json!({"t": "wait... what? ok"}), "t: wait@0 what@8 ok@16"),
        (json!({"t": "C++ and C#, 24/7"}), "t: c@0 and@1 c@2 24@10 7@11"),
        (json!({"tags": ["red wine", "dry"]}), "tags: red@0 wine@1 dry@9"),
        (
            json!({"n": {"b": [{"c": "x y"}, {"c": "z"}]}, "price": 3.5, "ok": true}),
            "n.b.c: x@0 y@1 z@9, price: 3@0 5@1, ok: true@0",
        ),
        (json!({"meta": {"tags": ["blue lamp", "red"]}}), "meta.tags: blue@8 lamp@9 red@17"),
        (json!({"meta": {"tags": ["a", "b"]}}), "meta.tags: a@8 b@16"),
        (json!({"a": {"b": "x"}, "a.b": "y"}), "a.b: x@0 y@8"),
        (json!({"t": [null, "x"]}), "t: x@8"),
        (json!({"t": [1e3, 1e20, -2]}), "t: 1000@0 0@1 1e@9 20@10 2@18"),
        (json!({"_geo": {"lat": 1, "lng": 2}, "t": "x"}), "t: x@0"),
    ];
    for (document, expected) in cases {
        assert_eq!(positions(&Settings::default(), document.clone()), expected, "{document}");
    }
}

#[test]
fn stop_words_take_positions_and_are_not_indexed() {
    let settings = Settings { stop_words: vec!["the".to_owned()], ..Settings::default() };
    assert_eq!(
        positions(&settings, json!({"t": "Stop the world. The end, my friend"})),
        "t: stop@0 world@2 the@10 end@11 my@19 friend@20"
    );
}

#[test]
fn words_beyond_the_last_position_and_overlong_words_are_not_indexed() {
    let long = "w".repeat(251);
    assert_eq!(positions(&Settings::default(), json!({"t": format!("a {long} b")})), "t: a@0 b@2");
    let many = vec!["x"; 10_000];
    let (document, _) = flatten(&Settings::default(), json!({ "t": many }));
    let words = document.text.words();
    assert_eq!(words.len(), 65_536 / 8);
    assert_eq!(words.last().map(|(_, _, position)| *position), Some(65_528));
}

#[test]
fn presence_marks_keys_and_not_elements() {
    let (document, _) = flatten(
        &Settings::default(),
        json!({
            "a": {"b": null, "c": [null, ""]}, "d": "", "e": [], "f": [{"g": null}], "_geo": null, "_geo.x": null
        }),
    );
    let expected = [
        "e\0_geo",
        "e\0a",
        "e\0a.b",
        "e\0a.c",
        "e\0d",
        "e\0e",
        "e\0f",
        "e\0f.g",
        "m\0d",
        "m\0e",
        "n\0_geo",
        "n\0a.b",
        "n\0f.g",
        "t\0_geo",
        "t\0_geo.x",
        "t\0a",
        "t\0d",
        "t\0e",
        "t\0f",
    ];
    let mut presence: Vec<&str> = document.presence.iter().map(AsRef::as_ref).collect();
    presence.sort_unstable();
    assert_eq!(presence, expected);
}

#[test]
fn strings_in_columns_are_cut_between_characters() {
    let settings = Settings::default();
    let text = "é".repeat(120);
    let (document, _) = flatten(&settings, json!({ "t": text }));
    assert_eq!(document.columns.len(), 1);
    let analyzer = Analyzer::new(&settings).unwrap();
    let mut fields = FieldMap::default();
    let Value::Object(long) = json!({ "t": "é".repeat(400) }) else { unreachable!() };
    each_path_of(&long, &mut fields);
    let wanting = Rules { analyzer: &analyzer, fields: &fields, wants_column: &|_| true };
    let flatten =
        |rules: Rules<'_>| Flattener::new(rules).flatten(0, "1", &Object::from(&long), Vec::new()).unwrap();
    let flat = flatten(wanting);
    let crate::store::ColumnValue::String(value) = &flat.columns[0].1 else { panic!("no string") };
    let (normalised, original) = value.split_once('\0').unwrap();
    assert!(normalised.len() <= COLUMN_BYTES_MAX && original.len() <= COLUMN_BYTES_MAX);
    let flat = flatten(Rules { wants_column: &|_| false, ..wanting });
    assert!(flat.columns.is_empty());
    assert!(flat.presence.contains(&"l\0t".into()));
}

/// An index in a temporary directory, and batches for it.
struct TestIndex {
    directory: tempfile::TempDir,
    index: Index,
    batches: u64,
}

impl TestIndex {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let index = Index::open(&directory.path().join("index"), LIMITS).unwrap();
        Self { directory, index, batches: 0 }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("index")
    }

    fn spool(&mut self, body: &str) -> Value {
        let path = self.directory.path().join(format!("body-{}", self.batches));
        std::fs::write(&path, body).unwrap();
        json!({ "path": path, "format": "json" })
    }

    fn put(&mut self, method: &str, documents: Value) -> Value {
        let payload = self.spool(&documents.to_string());
        json!({ "kind": "documents", "method": method, "payload": payload, "primaryKey": "id",
                "skipCreation": false })
    }

    fn batch(&mut self, operations: &[Value]) -> Vec<u8> {
        self.batches += 1;
        let tasks: Vec<Value> = operations
            .iter()
            .zip(0..)
            .map(|(operation, uid)| {
                let mut task = operation.clone();
                task["taskUid"] = json!(uid);
                task
            })
            .collect();
        json!({ "uid": self.batches, "indexUid": "things", "operations": tasks }).to_string().into_bytes()
    }

    fn apply(&mut self, operations: &[Value]) -> Value {
        let batch = self.batch(operations);
        let ticket = self.index.prepare(&batch, None).unwrap();
        serde_json::from_slice(&self.index.commit(ticket).unwrap()).unwrap()
    }

    fn replace(&mut self, documents: Value) -> Value {
        let operation = self.put("replace", documents);
        self.apply(&[operation])
    }

    /// docid → document
    fn documents(&self) -> Vec<(u32, Map<String, Value>)> {
        let snapshot = self.index.snapshot().unwrap();
        snapshot.documents().iter().map(|docid| (docid, snapshot.document(docid).unwrap().unwrap())).collect()
    }

    fn ids(&self) -> Vec<(u32, Value)> {
        self.documents().into_iter().map(|(docid, document)| (docid, document["id"].clone())).collect()
    }
}

#[test]
fn docids_follow_the_payload_and_are_reused_lowest_first() {
    let mut test = TestIndex::new();
    test.replace(json!([{"id": "c"}, {"id": "a"}, {"id": "b"}]));
    assert_eq!(test.ids(), [(0, json!("c")), (1, json!("a")), (2, json!("b"))]);
    test.replace(json!([{"id": "a", "x": 1}]));
    assert_eq!(test.ids(), [(0, json!("c")), (1, json!("a")), (2, json!("b"))]);
    test.apply(&[json!({"kind": "deleteByIds", "ids": ["c", "a", "ghost"]})]);
    test.replace(json!([{"id": "d"}, {"id": "e"}, {"id": "f"}]));
    assert_eq!(test.ids(), [(0, json!("d")), (1, json!("e")), (2, json!("b")), (3, json!("f"))]);
}

#[test]
fn updates_merge_into_documents_within_one_batch() {
    let mut test = TestIndex::new();
    test.replace(json!([{"id": 1, "a": 1, "o": {"x": 1, "y": 2}}]));
    let update = test.put("update", json!([{"id": 1, "b": null, "o": {"x": 5}}, {"id": 2, "n": 1}]));
    test.apply(&[update]);
    let text = |test: &TestIndex| serde_json::to_string(&test.documents()).unwrap();
    assert_eq!(text(&test), r#"[[0,{"id":1,"a":1,"o":{"x":5},"b":null}],[1,{"id":2,"n":1}]]"#);
}

#[test]
fn an_unchanged_document_is_not_rewritten() {
    let mut test = TestIndex::new();
    test.replace(json!([{"id": 1, "t": "x"}, {"id": 2, "t": "y"}]));
    test.replace(json!([{"id": 1, "t": "x"}, {"id": 2, "t": "y"}]));
    let snapshot = test.index.snapshot().unwrap();
    assert_eq!(snapshot.segments().len(), 1);
    assert!(!snapshot.segments()[0].has_deletes());
}

#[test]
fn an_abandoned_batch_changes_nothing() {
    let mut test = TestIndex::new();
    test.replace(json!([{"id": 1}]));
    let operation = test.put("replace", json!([{"id": 2, "fresh": 1}]));
    let batch = test.batch(&[operation]);
    let ticket = test.index.prepare(&batch, None).unwrap();
    test.index.abandon(ticket);
    assert!(test.index.commit(ticket).is_err());
    assert_eq!(test.ids(), [(0, json!(1))]);
    assert_eq!(test.index.fields().unwrap(), ["id"]);
    test.replace(json!([{"id": 3}]));
    assert_eq!(test.ids(), [(0, json!(1)), (1, json!(3))]);
}

#[test]
fn a_stopped_preparation_fails_and_the_next_one_succeeds() {
    let mut test = TestIndex::new();
    test.replace(json!([{"id": 1}]));
    let operation = test.put("replace", json!([{"id": 2, "fresh": 1}]));
    let batch = test.batch(&[operation]);
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    assert!(test.index.prepare(&batch, Some(stop)).is_err());
    assert_eq!(test.ids(), [(0, json!(1))]);
    test.replace(json!([{"id": 3}]));
    assert_eq!(test.ids(), [(0, json!(1)), (1, json!(3))]);
}

#[test]
fn a_batch_repeated_after_a_restart_returns_its_report_and_is_not_applied() {
    let mut test = TestIndex::new();
    test.replace(json!([{"id": 1}]));
    let operation = json!({"kind": "deleteByIds", "ids": ["1"]});
    let report = test.apply(std::slice::from_ref(&operation));
    assert_eq!(report["outcomes"][0]["deletedDocuments"], 1);
    let path = test.path();
    test.index = Index::open(&path, LIMITS).unwrap();
    test.batches -= 1;
    let again = test.apply(&[operation]);
    assert_eq!(again, report);
}

fn list(directory: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn searches_continue_while_documents_are_rewritten_and_an_abandoned_batch_stops() {
    let mut test = TestIndex::new();
    let documents: Vec<Value> =
        (0..3000).map(|id| json!({"id": id, "t": "some words ".repeat(40)})).collect();
    test.replace(json!(documents));
    let before = segments(&test.index);
    let settings = json!({ "stopWords": ["some"], "filterableAttributes": ["id"] });
    let batch = test.batch(&[json!({ "kind": "settings", "settings": settings.to_string() })]);
    let ticket = test.index.prepare(&batch, None).unwrap();
    let index = &test.index;
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| index.commit(ticket));
        // Until the new commit is visible, the old one is searched with its own settings.
        while !writing.is_finished() {
            if segments(index) == before {
                assert!(select(index, "id = 7").is_err() || segments(index) != before);
            }
            assert_eq!(index.snapshot().unwrap().documents().len(), 3000);
        }
        writing.join().unwrap().unwrap();
    });
    assert_eq!(select(&test.index, "id = 7").unwrap(), [7]);

    let before = segments(&test.index);
    let settings = json!({ "stopWords": [] }).to_string();
    let batch = test.batch(&[json!({ "kind": "settings", "settings": settings })]);
    let ticket = test.index.prepare(&batch, None).unwrap();
    let index = &test.index;
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| index.commit(ticket));
        index.abandon(ticket);
        // The batch may be abandoned before, while or after it is written.
        if writing.join().unwrap().is_err() {
            assert_eq!(segments(index), before);
        }
    });
    test.replace(json!([{"id": 1}]));
    assert_eq!(test.index.snapshot().unwrap().documents().len(), 3000);
}

const SHORT_OR_LONG: &str = "t = short OR t STARTS WITH long";

fn select(index: &Index, filter: &str) -> crate::error::Result<Vec<u32>> {
    let features = crate::filter::Features::default();
    let scope = crate::filter::Scope {
        code: "invalid_search_filter",
        index_uid: None,
        features,
        stop: None,
        until: None,
        foreign: None,
    };
    let expression = crate::filter::parse(&json!(filter), &scope).unwrap().unwrap();
    let documents = crate::filter::select(&index.snapshot().unwrap(), &expression, &scope)?;
    Ok(documents.iter().collect())
}

fn filterable(names: Value) -> Value {
    json!({ "kind": "settings", "settings": json!({ "filterableAttributes": names }).to_string() })
}

fn segments(index: &Index) -> Vec<String> {
    let snapshot = index.snapshot().unwrap();
    snapshot.segments().iter().map(|segment| segment.reader.segment_id().uuid_string()).collect()
}

fn deferred_files(test: &TestIndex) -> Vec<PathBuf> {
    let is_deferred = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("late-");
    list(&test.path()).into_iter().filter(is_deferred).collect()
}

#[test]
fn a_long_text_gets_its_column_once_a_setting_uses_it() {
    let mut test = TestIndex::new();
    test.replace(json!([
        {"id": 1, "t": "long ".repeat(100)},
        {"id": 2, "t": "short", "o": [{"t": "long ".repeat(60)}, {"t": "brief"}]},
        {"id": 3, "t": ["short too", "long ".repeat(99)], "o.t": "long ".repeat(61)},
    ]));
    assert!(select(&test.index, SHORT_OR_LONG).is_err());
    let before = segments(&test.index);
    test.apply(&[filterable(json!(["t", "o"]))]);
    assert_eq!(segments(&test.index), before, "no document was written again");
    assert_eq!(deferred_files(&test).len(), 2);
    let answers = |index: &Index| {
        assert_eq!(select(index, SHORT_OR_LONG).unwrap(), [0, 1, 2]);
        assert_eq!(select(index, "t STARTS WITH long").unwrap(), [0, 2]);
        assert_eq!(select(index, "o.t STARTS WITH long").unwrap(), [1, 2]);
        assert_eq!(select(index, "o.t = brief").unwrap(), [1]);
    };
    answers(&test.index);
    // Damaged and missing files are written again.
    for damage in [0usize, 1] {
        for file in deferred_files(&test) {
            match damage {
                0 => std::fs::remove_file(file).unwrap(),
                _ => {
                    let mut bytes = std::fs::read(&file).unwrap();
                    bytes[20] ^= 4;
                    std::fs::write(&file, bytes).unwrap();
                }
            }
        }
        answers(&Index::open(&test.path(), LIMITS).unwrap());
        assert_eq!(deferred_files(&test).len(), 2);
    }
    test.apply(&[filterable(json!(["t"]))]);
    assert_eq!(deferred_files(&test).len(), 1);
    test.apply(&[filterable(json!([]))]);
    assert_eq!(deferred_files(&test), [] as [PathBuf; 0]);
}

#[test]
fn an_unusable_column_file_is_reported_and_searches_succeed() {
    let mut test = TestIndex::new();
    test.replace(json!([{"id": 1, "t": "long ".repeat(100)}, {"id": 2, "t": "short"}]));
    let snapshot = test.index.snapshot().unwrap();
    let name = format!("late-{}-{}.column", segments(&test.index)[0], snapshot.fields().id("t").unwrap());
    let (file, stale) = (test.path().join(name), test.path().join("late-gone.column"));
    let faults = ReportedFaults::default();
    let path = test.path();
    let open = || {
        Index::open_with(&path, LIMITS, services_reporting_to(faults.reporter().of_index("things"))).unwrap()
    };
    // Replacing or removing a directory like a file fails.
    std::fs::create_dir(&file).unwrap();
    std::fs::create_dir(&stale).unwrap();
    test.index = open();
    test.apply(&[filterable(json!(["t"]))]);
    let reported: Vec<_> =
        faults.take().into_iter().map(|it| (it.kind, it.index.unwrap(), it.file)).collect();
    let fault = |kind, file: &PathBuf| (kind, "things".into(), file.clone());
    let column = fault(BackgroundFaultKind::DeferredColumn, &file);
    assert_eq!(reported, [column.clone(), column, fault(BackgroundFaultKind::FileRemoval, &stale)]);
    assert_eq!(select(&test.index, "t STARTS WITH long").unwrap(), [0]);
    assert_eq!(faults.take(), [], "the column is in memory");
    std::fs::remove_dir(&file).unwrap();
    std::fs::write(&file, "damaged").unwrap();
    for reported in [1, 0] {
        assert_eq!(select(&open(), "t STARTS WITH long").unwrap(), [0]);
        assert_eq!(faults.take().len(), reported, "a damaged file is written again");
    }
}

#[test]
fn a_filter_after_a_change_of_settings_in_one_batch_sees_long_texts() {
    let mut test = TestIndex::new();
    test.replace(json!([{"id": 1, "t": "long ".repeat(100)}, {"id": 2, "t": "short"}]));
    let delete = json!({ "kind": "deleteByFilter", "filter": "t STARTS WITH long" });
    let report = test.apply(&[filterable(json!(["t"])), delete]);
    assert_eq!(report["outcomes"][1]["deletedDocuments"], 1);
    assert_eq!(test.ids(), [(1, json!(2))]);
}

#[test]
fn a_change_of_settings_has_the_cost_of_the_table() {
    use super::{Cost, cost_of};
    let cases = [
        (json!({"displayedAttributes": ["a"]}), Cost::Metadata),
        (json!({"searchableAttributes": ["a"]}), Cost::Metadata),
        (json!({"synonyms": {"a": ["b"]}}), Cost::Metadata),
        (json!({"prefixSearch": "disabled"}), Cost::Metadata),
        (json!({"filterableAttributes": ["t"]}), Cost::DeferredColumns),
        (json!({"sortableAttributes": ["t"]}), Cost::DeferredColumns),
        (json!({"distinctAttribute": "t"}), Cost::DeferredColumns),
        (json!({"stopWords": ["the"]}), Cost::Documents),
        (json!({"dictionary": ["j. r. r."]}), Cost::Documents),
    ];
    for (settings, cost) in cases {
        let after = Settings::parse(&settings.to_string()).unwrap();
        assert_eq!(cost_of(&Settings::default(), &after), cost, "{settings}");
        assert_eq!(cost_of(&after, &after), Cost::Metadata);
        // The cost determines if segments are written again.
        let mut test = TestIndex::new();
        test.replace(json!([{"id": 1, "t": "the text"}, {"id": 2, "t": "long ".repeat(100)}]));
        let before = segments(&test.index);
        test.apply(&[json!({ "kind": "settings", "settings": settings.to_string() })]);
        assert_eq!(segments(&test.index) != before, cost == Cost::Documents, "{settings}");
    }
}

#[test]
fn a_setting_that_uses_a_geo_field_is_refused_if_documents_are_malformed() {
    let mut test = TestIndex::new();
    test.replace(json!([
        {"id": 1, "_geo": {"lat": 1, "lng": "2"}},
        {"id": 2, "_geo": {"lat": 1, "lng": 2, "alt": 3}, "_geojson": {"type": "Blob"}},
        {"id": 3, "_geo": null, "_geojson": {"type": "Point", "coordinates": [1, 2]}},
    ]));
    for field in ["_geo", "_geojson"] {
        let report = test.apply(&[filterable(json!([field]))]);
        let error = &report["outcomes"][0]["error"];
        assert_eq!(error["code"], "invalid_document_geo_field");
        assert!(error["message"].as_str().unwrap().contains("document `2`"), "{error}");
    }
    test.replace(json!([{"id": 2, "_geo": {"lat": 1, "lng": 2}}]));
    let report = test.apply(&[filterable(json!(["_geo", "_geojson"]))]);
    assert_eq!(report["outcomes"][0]["error"], Value::Null);
}

#[test]
fn deeply_nested_documents_are_refused() {
    let mut test = TestIndex::new();
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let payload = test.spool(&format!(r#"[{{"id":1,"t":{deep}}}]"#));
    let report = super::inspect(&serde_json::from_value(payload).unwrap()).unwrap();
    assert_eq!(report.error.unwrap().code, "malformed_payload");
}

#[test]
fn documents_with_distinct_paths_are_indexed_merged_and_found() {
    let mut test = TestIndex::new();
    let own = |id: u64| {
        let paths =
            (0..9u64).map(|n| (format!("p{n}"), json!(if n == 0 { json!("word") } else { json!(id) })));
        json!({ "id": id, format!("own{id}"): Map::from_iter(paths) })
    };
    // 7,201 paths in nine segments, which are then merged.
    for part in 0..9u64 {
        let documents: Vec<Value> = (0..80).map(|at| own(part * 80 + at)).collect();
        test.replace(Value::from(documents));
    }
    while test.index.merge().unwrap() {}
    assert!(segments(&test.index).len() < 9);
    assert_eq!(test.index.fields().unwrap().len(), 1 + 720 * 10);
    let features = json!({ "facetSearch": true, "filter": { "equality": true, "comparison": true } });
    let filterable =
        json!({ "filterableAttributes": [{ "attributePatterns": ["own*"], "features": features }] });
    test.apply(&[json!({ "kind": "settings", "settings": filterable.to_string() })]);
    let delete = |filter: &str| json!({ "kind": "deleteByFilter", "filter": filter });
    for (filter, deleted) in [
        ("own77.p8 = 77", 1),
        ("own77.p8 = 77", 0),
        ("own700.p0 = word", 1),
        ("own5 EXISTS", 1),
        ("own6.p1 > 6", 0),
    ] {
        let report = test.apply(&[delete(filter)]);
        assert_eq!(report["outcomes"][0]["deletedDocuments"], deleted, "{filter}");
    }
    // Paths of deleted documents are no longer listed, though their field ids remain.
    assert_eq!(test.index.fields().unwrap().len(), 1 + 717 * 10);
    assert_eq!(test.documents().len(), 717);
}

#[test]
fn a_task_that_exceeds_the_limit_of_paths_is_refused_and_changes_nothing() {
    let mut test = TestIndex::new();
    test.replace(json!([{"id": 1, "t": "x"}]));
    // The paths of each batch are far below the limit, those of both exceed it by one.
    let part = |id: u64, paths: usize| {
        let own = (0..paths - 1).map(|n| (format!("own{id}-{n}"), json!(n)));
        Value::Object(own.chain([("id".to_owned(), json!(id))]).collect())
    };
    let half = crate::fields::FIELDS_MAX / 2;
    test.replace(json!([part(2, half)]));
    let operation = test.put("replace", json!([part(3, half), {"id": 4, "own4": 1}]));
    let report = test.apply(&[operation]);
    assert_eq!(report["outcomes"][0]["error"]["code"], "max_fields_limit_exceeded");
    assert_eq!(test.ids().len(), 2);
    // The first batch reaches the limit exactly, the second exceeds it.
    let (last, after) = (json!([part(3, half)]), json!([{"id": 4, "own4": 1}]));
    assert_eq!(test.replace(last)["outcomes"][0]["error"], Value::Null);
    assert_eq!(test.replace(after)["outcomes"][0]["error"]["code"], "max_fields_limit_exceeded");
    assert_eq!(test.ids().len(), 3);
}
