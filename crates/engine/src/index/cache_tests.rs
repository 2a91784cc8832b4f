//! 1. Searching a thousand indexes in turn keeps the cache within its limit.
//! 2. A commit that ranks by relevance is prepared for its first search.

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
    let documents: Vec<Json> = (0..20)
        .map(|id| json!({"id": id, "title": format!("quiet lamp number {id}"), "year": 1950 + id}))
        .collect();
    let body = directory.with_extension("json");
    std::fs::write(&body, json!(documents).to_string()).unwrap();
    let operations = json!([
        {"kind": "settings", "taskUid": 0, "settings": settings.to_string()},
        {"kind": "documents", "taskUid": 1, "method": "replace", "primaryKey": "id", "skipCreation": false,
         "payload": {"path": body, "format": "json"}},
    ]);
    let index = Index::open(directory, LIMITS).unwrap();
    let batch = json!({"uid": 1, "indexUid": "lamps", "operations": operations});
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
