//! 1. Searching a thousand indexes in turn keeps the cache within its limit.
//! 2. A commit that ranks by relevance, or whose fields or words were searched before, is prepared for its first search.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value as Json, json};

use super::{Index, IndexServices, Limits};
use crate::background_fault::FaultReporter;
use crate::cache::Cache;
use crate::search::tests::request;

const LIMITS: Limits = Limits { indexing_memory_bytes: 16_000_000, indexing_threads: 1, cache_bytes: 0 };

/// Searches of a hundred indexes need more than this.
const CACHE_BYTES: usize = 1 << 18;

/// Writes an index of twenty documents.
fn write(directory: &Path, settings: &Json) {
    commit(&Index::open(directory, LIMITS).unwrap(), directory, 0, settings);
}

/// Commits twenty documents with ids from `first` on.
fn commit(index: &Index, directory: &Path, first: u32, settings: &Json) {
    commit_many(index, directory, first..first + 20, settings);
}

/// Commits documents with these ids.
fn commit_many(index: &Index, directory: &Path, ids: Range<u32>, settings: &Json) {
    let first = ids.start;
    let documents: Vec<Json> = ids
        .map(|id| json!({"id": id, "title": format!("quiet lamp number {id}"), "year": 1950 + id}))
        .collect();
    let body = directory.with_extension("json");
    std::fs::write(&body, json!(documents).to_string()).unwrap();
    let operations = json!([
        {"kind": "settings", "taskUid": 2 * first, "settings": settings.to_string()},
        {"kind": "documents", "taskUid": 2 * first + 1, "method": "replace", "primaryKey": "id",
         "skipCreation": false, "payload": {"path": body, "format": "json"}},
    ]);
    let batch = json!({"uid": first + 1, "indexUid": "lamps", "operations": operations});
    index.commit(index.prepare(batch.to_string().as_bytes(), None).unwrap()).unwrap();
}

fn open(directory: &Path, cache: &Arc<Cache>) -> Index {
    let services = IndexServices {
        cache: Arc::clone(cache),
        faults: FaultReporter::default(),
        writing: Arc::default(),
        dictionaries: Default::default(),
    };
    Index::open_with(directory, LIMITS, services).unwrap()
}

#[test]
fn the_cache_of_a_thousand_indexes_stays_within_its_limit() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("index");
    write(&directory, &json!({"filterableAttributes": ["year"], "sortableAttributes": ["year"]}));
    let cache = Cache::new(CACHE_BYTES);
    // An index that is opened again has a new owner, so its earlier entries are not found.
    let open = |_| open(&directory, &cache);
    let indexes: Vec<Index> = (0..1_000).map(open).collect();
    let requests = [
        json!({"q": "quiet lamp"}),
        json!({"q": "qiuet lam"}),
        json!({"q": "", "filter": "year > 1960", "sort": ["year:desc"], "facets": ["year"]}),
    ];
    let requests = requests.map(|asked| serde_json::to_vec(&request(&asked)).unwrap());
    let mut answers = Vec::new();
    for index in &indexes {
        for request in &requests {
            answers.push(index.search(request, Instant::now()).unwrap().facts.hits);
            let bytes = cache.figures().bytes();
            assert!(bytes <= CACHE_BYTES, "{bytes} bytes after {} searches", answers.len());
        }
    }
    assert!(answers.chunks(requests.len()).all(|answers| answers == [20, 20, 9]), "{:?}", &answers[..3]);
    assert!(cache.figures().bytes() > CACHE_BYTES / 2, "the searches fill the cache");
}

#[test]
fn a_commit_that_ranks_by_relevance_has_lengths_before_its_first_search() {
    let home = tempfile::tempdir().unwrap();
    for (rules, lengths) in [(json!(["relevance"]), 1), (json!(["words", "typo"]), 0)] {
        let directory = home.path().join(format!("index-{lengths}"));
        write(&directory, &json!({"rankingRules": rules}));
        let cache = Cache::new(CACHE_BYTES);
        let index = open(&directory, &cache);
        index.warm_up();
        let figures = || {
            let kinds = cache.figures().kinds.into_iter();
            let of_kind = kinds.filter(|figures| figures.kind == "segment_lengths");
            of_kind.map(|figures| (figures.entries, figures.misses)).next().unwrap()
        };
        assert_eq!(figures(), (lengths, lengths as u64), "{rules}");
        let asked = json!({"q": "quiet lamp", "matchingStrategy": "last"});
        index.search(&serde_json::to_vec(&request(&asked)).unwrap(), Instant::now()).unwrap();
        assert_eq!(figures(), (lengths, lengths as u64), "{rules}: a search finds them");
    }
}

#[test]
fn a_commit_has_tables_for_the_fields_that_searches_sort_by_before_its_first_search() {
    let home = tempfile::tempdir().unwrap();
    let sorts = [
        (json!({"sortableAttributes": ["year"]}), json!({"sort": ["year:asc"]}), "documents_by_value"),
        (json!({"rankingRules": ["year:desc"]}), json!({}), "documents_by_value"),
        (
            json!({"filterableAttributes": ["title"], "distinctAttribute": "title"}),
            json!({"q": "lamp"}),
            "string_groups",
        ),
    ];
    for (number, (settings, asked, kind)) in sorts.iter().enumerate() {
        for (searched, bytes, prepared) in
            [(true, 1 << 20, true), (false, 1 << 20, false), (true, 1 << 7, false)]
        {
            let directory = home.path().join(format!("index-{number}-{searched}-{bytes}"));
            write(&directory, settings);
            let cache = Cache::new(bytes);
            let index = open(&directory, &cache);
            let search =
                || index.search(&serde_json::to_vec(&request(asked)).unwrap(), Instant::now()).unwrap();
            if searched {
                search();
            }
            commit(&index, &directory, 20, settings);
            index.warm_up();
            let misses = || {
                let mut kinds = cache.figures().kinds.into_iter();
                kinds.find(|figures| figures.kind == *kind).unwrap().misses
            };
            let before = misses();
            search();
            assert_eq!(misses() == before, prepared, "{settings}, {searched}, {bytes} bytes");
        }
    }
}

#[test]
fn frequent_words_and_short_prefixes_are_ranked_before_the_first_search_of_a_large_segment() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("index");
    let settings = json!({"searchableAttributes": ["title"]});
    let writer = Index::open(&directory, LIMITS).unwrap();
    commit_many(&writer, &directory, 0..10_000, &settings);
    for searched in [true, false] {
        let cache = Cache::new(1 << 24);
        let index = open(&directory, &cache);
        let search = |q: &str| {
            let asked = serde_json::to_vec(&request(&json!({"q": q}))).unwrap();
            index.search(&asked, Instant::now()).unwrap()
        };
        let misses = || {
            let of_words = ["word_documents", "prefix_documents", "segment_positions"];
            let kinds = cache.figures().kinds.into_iter();
            kinds
                .filter(|figures| of_words.contains(&figures.kind))
                .map(|figures| figures.misses)
                .sum::<u64>()
        };
        if searched {
            search("number 1");
        }
        index.warm_up();
        let before = misses();
        assert_eq!(before > 0, searched, "an index without searches costs nothing");
        for q in ["quiet", "lamp", "l", "qu"] {
            assert_eq!(search(q).facts.hits, 20);
        }
        assert_eq!(misses() == before, searched);
        let now = misses();
        index.warm_up();
        assert_eq!(misses() == now, searched, "a segment is read once");
    }
}
