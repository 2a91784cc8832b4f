//! The index for fuzzing searches, and search requests as completed by `http/`.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use serde_json::{Map, Value as Json, json};
use siftd_engine::{Engine, FaultReporter, Index, Limits};

/// The small index that every build must be able to open. A copy is used, so it stays unchanged.
const INDEX: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../__test__/compat/native-2");

fn index() -> &'static Index {
    static OPENED: OnceLock<(Engine, Arc<Index>)> = OnceLock::new();
    let (_, index) = OPENED.get_or_init(|| {
        let directory = std::env::temp_dir().join(format!("siftd-fuzz-{}", std::process::id()));
        copy(Path::new(INDEX), &directory.join("native-2"));
        let limits = Limits { indexing_memory_bytes: 1 << 28, indexing_threads: 1, cache_bytes: 256 << 20 };
        let engine = Engine::open(&directory, limits, FaultReporter::default()).expect("it opens");
        let index = engine.index("native-2").expect("it opens");
        (engine, index)
    });
    index
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("the temporary directory can be written");
    for entry in std::fs::read_dir(from).expect("the index is there") {
        let entry = entry.expect("the index is there");
        let to = to.join(entry.file_name());
        match entry.file_type().expect("the index is there").is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), to).expect("the temporary directory can be written")),
        }
    }
}

/// Answers a search with these parameters.
pub fn search(parameters: Json) -> Json {
    let mut request: Map<String, Json> = Map::new();
    let defaults = json!({
        "indexUid": "fuzzed", "paging": {"kind": "offset", "offset": 0, "limit": 20},
        "cropLength": 10, "cropMarker": "…", "highlightPreTag": "<em>", "highlightPostTag": "</em>",
        "showMatchesPosition": false, "matchingStrategy": "last", "showRankingScore": false,
        "showRankingScoreDetails": false, "requestUid": "00000000-0000-0000-0000-000000000000"
    });
    for parameters in [defaults, parameters] {
        request.extend(parameters.as_object().cloned().unwrap_or_default());
    }
    let request = serde_json::to_vec(&request).expect("JSON prints");
    let answer = index().search(&request, Instant::now()).expect("no text is an error");
    serde_json::from_slice(&answer.body).expect("an answer is JSON")
}
