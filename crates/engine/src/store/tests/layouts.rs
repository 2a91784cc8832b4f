//! Searches over the same documents give the same results in one segment, in ten segments that all have deleted
//! documents, and in the segments merged from these.

use std::time::Instant;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use super::Batches;
use crate::background_fault::FaultReporter;
use crate::indexing::{Batch, StagedBatch, WriteOptions, layout, write};
use crate::search;
use crate::search::tests::request;
use crate::store::schema::Presence;
use crate::store::{IndexDirectory, SegmentView, Snapshot, merge};

/// Few and similar words, so that they are misspellings, prefixes and halves of each other.
const WORDS: &[&str] = &[
    "lamp", "lamps", "lampe", "lapm", "lamppost", "post", "posts", "broken", "brocken", "break", "a", "al",
    "new", "york", "newyork", "12", "125",
];

/// Words that only deleted documents hold.
const GONE: &[&str] = &["lampa", "lampb", "lampc", "brokem", "postal", "ape", "newer"];

fn words(from: &'static [&'static str], most: usize) -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(from), 0..=most).prop_map(|words| words.join(" "))
}

fn document(from: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let tag = || proptest::sample::select(from);
    let year = prop_oneof![
        4 => (1990..1996i64).prop_map(Value::from),
        1 => Just(Value::Null),
        1 => tag().prop_map(Value::from),
    ];
    let point = proptest::option::of((-3..3i32, -3..3i32));
    (words(from, 5), words(from, 8), proptest::collection::vec(tag(), 0..3), year, point).prop_map(
        |(title, text, tags, year, point)| {
            let mut document = json!({ "title": title, "text": text, "tags": tags, "year": year });
            if !tags.is_empty() {
                document["a"] = json!({ "b": tags[0] });
            }
            if let Some((lat, lng)) = point {
                document["_geo"] = json!({ "lat": lat, "lng": lng });
            }
            document
        },
    )
}

fn search() -> impl Strategy<Value = Value> {
    let q = prop_oneof![
        6 => words(WORDS, 3),
        2 => words(GONE, 2),
        2 => words(WORDS, 3).prop_map(|words| words.get(..words.len().saturating_sub(1)).unwrap_or("").to_owned()),
        1 => words(WORDS, 2).prop_map(|words| format!("\"{words}\"")),
        1 => words(WORDS, 2).prop_map(|words| format!("lamp -{words}")),
    ];
    let strategy = proptest::sample::select(&["last", "all", "frequency"][..]);
    let filters = [
        json!(null),
        json!(null),
        json!("year > 1992"),
        json!("tags = lamp OR a.b = post"),
        json!("year IS NULL OR NOT year EXISTS"),
        json!("tags IS EMPTY"),
        json!("_geoRadius(0, 0, 250000)"),
        json!("tags NOT IN [lamp, lamps] AND year 1991 TO 1994"),
    ];
    let sorts = [
        json!(null),
        json!(["year:asc"]),
        json!(["title:desc", "year:desc"]),
        json!(["_geoPoint(1, 1):asc"]),
    ];
    let (filters, sorts) =
        (proptest::sample::select(filters.to_vec()), proptest::sample::select(sorts.to_vec()));
    (q, strategy, filters, sorts, any::<[bool; 3]>(), 0..12usize).prop_map(
        |(q, strategy, filter, sort, [facets, distinct, marked], offset)| {
            json!({
                "q": q, "matchingStrategy": strategy, "filter": filter, "sort": sort,
                "paging": { "kind": "offset", "offset": offset, "limit": 15 },
                "facets": facets.then_some(json!(["tags", "year", "a.b"])),
                "distinct": distinct.then_some("a.b"),
                "attributesToHighlight": marked.then_some(["*"]),
                "showRankingScore": true, "showRankingScoreDetails": true,
            })
        },
    )
}

#[derive(Debug, Clone)]
struct Case {
    /// Documents, each with its earlier content if it was changed.
    documents: Vec<(Value, Option<Value>)>,
    /// Documents that are added and deleted.
    gone: Vec<Value>,
    searches: Vec<Value>,
}

fn case() -> impl Strategy<Value = Case> {
    let stays = (document(WORDS), proptest::option::of(document(GONE)));
    (
        proptest::collection::vec(stays, 10..40),
        proptest::collection::vec(document(GONE), 5..20),
        proptest::collection::vec(search(), 12),
    )
        .prop_map(|(documents, gone, searches)| Case { documents, gone, searches })
}

/// An index without merges: one segment per batch.
struct Growing {
    directory: IndexDirectory,
    batches: Batches,
    snapshot: Option<Snapshot>,
}

impl Growing {
    fn new(home: &std::path::Path, name: &str) -> Self {
        let directory =
            IndexDirectory::create(&home.join(name), layout(), &FaultReporter::default()).unwrap();
        let mut growing = Self { directory, batches: Batches::new(home), snapshot: None };
        let settings = json!({
            "filterableAttributes": ["tags", "year", "a.b", "_geo"],
            "sortableAttributes": ["year", "title", "_geo"],
            "synonyms": { "york": ["post", "new lamp"] },
            "typoTolerance": {
                "enabled": true, "minWordSizeForTypos": { "oneTypo": 3, "twoTypos": 6 },
                "disableOnWords": [], "disableOnAttributes": [], "disableOnNumbers": false,
            },
        });
        growing.batch(json!({ "kind": "settings", "settings": settings.to_string() }));
        // Attribute ids follow their first occurrence, so the first document has all attributes.
        let all = json!({ "id": 0, "title": "", "text": "", "tags": [], "year": 0, "a": { "b": "" }, "_geo": null });
        growing.put(vec![all]);
        growing
    }

    fn put(&mut self, documents: Vec<Value>) {
        if !documents.is_empty() {
            let operation = self.batches.put(Value::from(documents));
            self.batch(operation);
        }
    }

    fn batch(&mut self, operation: Value) {
        let batch: Batch = serde_json::from_value(self.batches.batch(operation)).unwrap();
        let mut staged = StagedBatch::new(&batch, self.snapshot.clone(), Default::default()).unwrap();
        staged.apply(batch).unwrap();
        assert!(staged.outcomes.iter().all(|outcome| outcome.error.is_none()), "{:?}", staged.outcomes);
        let spill = self.directory.spill(&Default::default());
        let options = WriteOptions { threads: 1, memory_bytes: 1_000_000, spill };
        let change = write(&staged, &layout(), &options).unwrap();
        let before = self.snapshot.iter().filter(|_| !change.cleared).flat_map(Snapshot::segments);
        let unchanged =
            before.map(|segment| segment.without(&change.deleted)).collect::<Vec<_>>().into_iter();
        let added = change.added.into_iter().map(|segment| SegmentView::of(segment).unwrap());
        self.snapshot = Some(Snapshot::new(&layout(), staged.parts(), unchanged.chain(added).collect()));
    }
}

fn with_id(document: &Value, id: String) -> Value {
    let mut document = document.clone();
    document["id"] = json!(id);
    document
}

fn at_once(home: &std::path::Path, case: &Case) -> Snapshot {
    let mut growing = Growing::new(home, "one");
    growing.put((0..).zip(&case.documents).map(|(at, (last, _))| with_id(last, format!("d{at}"))).collect());
    growing.snapshot.unwrap()
}

/// Puts documents in five batches, some with other content at first. Later batches correct that content and add other
/// documents, all of which are deleted in the end.
fn bit_by_bit(home: &std::path::Path, case: &Case) -> Snapshot {
    let mut growing = Growing::new(home, "many");
    let named: Vec<(String, &(Value, Option<Value>))> =
        (0..).zip(&case.documents).map(|(at, versions)| (format!("d{at}"), versions)).collect();
    let parts: Vec<_> = named.chunks(named.len().div_ceil(5)).collect();
    for part in &parts {
        let first =
            part.iter().map(|(id, (last, first))| with_id(first.as_ref().unwrap_or(last), id.clone()));
        growing.put(first.collect());
    }
    let gone: Vec<Value> =
        (0..).zip(&case.gone).map(|(at, gone)| with_id(gone, format!("gone{at}"))).collect();
    let mut others = gone.chunks(gone.len().div_ceil(5));
    for part in &parts {
        let changed = part.iter().filter(|(_, (_, first))| first.is_some());
        let changed = changed.map(|(id, (last, _))| with_id(last, id.clone()));
        growing.put(changed.chain(others.next().unwrap_or_default().iter().cloned()).collect());
    }
    let ids: Vec<&Value> = gone.iter().map(|gone| &gone["id"]).collect();
    growing.batch(json!({ "kind": "deleteByIds", "ids": ids }));
    growing.snapshot.unwrap()
}

fn merged(snapshot: &Snapshot) -> Snapshot {
    let segments: Vec<&SegmentView> = snapshot.segments().iter().collect();
    let merged = merge::merge(&layout(), &segments, None).unwrap().unwrap();
    Snapshot::new(&layout(), snapshot.parts().clone(), vec![SegmentView::of(merged).unwrap()])
}

/// Returns search results without the processing time.
fn answer(snapshot: &Snapshot, search: &Value) -> Value {
    let body = serde_json::to_vec(&request(search)).unwrap();
    let answer = search::run(snapshot, &body, Instant::now(), &()).unwrap();
    let mut answer: Value = serde_json::from_slice(&answer.body).unwrap();
    answer.as_object_mut().unwrap().remove("processingTimeMs");
    answer
}

fn check(case: &Case) -> Result<(), TestCaseError> {
    let home = tempfile::tempdir().unwrap();
    let one = at_once(home.path(), case);
    let many = bit_by_bit(home.path(), case);
    prop_assert!(many.segments().len() >= 8, "{}", many.segments().len());
    // Few cases have deletions in fewer segments. Too many rejected cases would fail the test.
    prop_assume!(many.segments().iter().filter(|segment| segment.has_deletes()).count() >= 5);
    let merged = merged(&many);
    for (name, other) in [("many segments", &many), ("merged", &merged)] {
        prop_assert_eq!(one.documents(), other.documents(), "{}", name);
        for kind in [Presence::TopLevel, Presence::Exists, Presence::Null, Presence::Empty] {
            let counts = |snapshot: &Snapshot| snapshot.presence_counts(kind).unwrap();
            prop_assert_eq!(counts(&one), counts(other), "{}", name);
        }
        for search in &case.searches {
            prop_assert_eq!(answer(&one, search), answer(other, search), "{}: {}", name, search);
        }
    }
    Ok(())
}

#[test]
fn results_do_not_depend_on_the_distribution_over_segments() {
    let cases = std::env::var("LAYOUT_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(24);
    TestRunner::new(Config::with_cases(cases)).run(&case(), |case| check(&case)).unwrap();
}
