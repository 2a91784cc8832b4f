//! Tests: records for the next process, the warm-up of a start, and merges that fail.

use super::remembered::CHINESE;
use super::*;
use crate::analysis::Analyzer;
use crate::background_fault::{BackgroundFaultKind, ReportedFaults};
use crate::settings::Settings;
use crate::store::SegmentView;

#[test]
fn a_chinese_text_makes_the_next_process_read_its_dictionary() {
    let directory = tempfile::tempdir().unwrap();
    let limits = Limits { indexing_memory_bytes: 1 << 20, indexing_threads: 1, cache_bytes: 1 << 20 };
    let engine = Engine::open(directory.path(), limits, FaultReporter::default()).unwrap();
    let analyzer = Analyzer::new(&Settings::default()).unwrap();
    analyzer.each("人人生而自由", None, |_| ());
    let note = directory.path().join(CHINESE);
    engine.remember();
    assert!(!note.exists(), "another process may be writing");
    engine.index_to_write("a").unwrap();
    engine.remember();
    assert!(note.exists());
    assert!(!engine.list().unwrap().contains(&CHINESE.to_owned()));
    std::fs::remove_file(&note).unwrap();
    engine.close();
    engine.remember();
    assert!(!note.exists(), "the engine does not write into a directory that it no longer holds");
    drop(engine);
    let faults = ReportedFaults::default();
    let engine = Engine::open(directory.path(), limits, faults.reporter()).unwrap();
    engine.index_to_write("a").unwrap();
    std::fs::remove_dir_all(directory.path()).unwrap();
    engine.remember();
    let reported = faults.take();
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert_eq!((reported[0].kind, &reported[0].file), (BackgroundFaultKind::DictionaryReadAhead, &note));
    Engine::open(directory.path(), limits, FaultReporter::default()).unwrap();
}

#[test]
fn a_merge_that_fails_is_reported_and_the_next_merge_succeeds() {
    let directory = tempfile::tempdir().unwrap();
    let limits = Limits { indexing_memory_bytes: 60_000_000, indexing_threads: 1, cache_bytes: 1 << 20 };
    let faults = ReportedFaults::default();
    let engine = Engine::open(directory.path(), limits, faults.reporter()).unwrap();
    let index = engine.index_to_write("things").unwrap();
    let body = directory.path().join("body");
    let text = |id: u32| (0..150).map(|at| format!("{:x} ", id * 7919 + at * 104_729)).collect::<String>();
    let documents: serde_json::Value =
        (0..160).map(|id| serde_json::json!({ "id": id, "text": text(id) })).collect();
    std::fs::write(&body, documents.to_string()).unwrap();
    let put = serde_json::json!({
        "taskUid": 0, "kind": "documents", "method": "replace", "primaryKey": "id", "skipCreation": false,
        "payload": { "path": body, "format": "json" },
    });
    let ids: Vec<String> = (0..100).map(|id| id.to_string()).collect();
    let delete = serde_json::json!({ "taskUid": 1, "kind": "deleteByIds", "ids": ids });
    for (uid, operation) in [(1, put), (2, delete)] {
        let batch = serde_json::json!({ "uid": uid, "indexUid": "things", "operations": [operation] });
        let ticket = index.prepare(batch.to_string().as_bytes(), None).unwrap();
        index.commit(ticket).unwrap();
    }
    let is_thinned = || index.snapshot().unwrap().segments().iter().any(SegmentView::has_deletes);
    assert!(is_thinned());
    // The merge is the third commit. A directory in place of its file makes it fail. The failed merge uses up its
    // number, so the next merge succeeds.
    let commit = directory.path().join("things/commit-00000000000000000003.tmp");
    std::fs::create_dir(&commit).unwrap();
    engine.merge_in_background("things");
    let reported = faults.take();
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert_eq!(reported[0].kind, BackgroundFaultKind::SegmentMerge);
    assert_eq!(reported[0].index.as_deref(), Some("things"));
    assert_eq!(reported[0].file, directory.path().join("things"));
    assert!(is_thinned());
    engine.merge_in_background("things");
    assert_eq!(faults.take(), []);
    assert!(!is_thinned());
}

/// Documents of an index that is worth a warm-up.
const MANY: usize = 10_000;

const SMALL: Limits = Limits { indexing_memory_bytes: 60_000_000, indexing_threads: 1, cache_bytes: 8 << 20 };

fn open(directory: &Path) -> Arc<Engine> {
    Arc::new(Engine::open(directory, SMALL, FaultReporter::default()).unwrap())
}

/// Writes an index with `count` documents that can be sorted by `year`.
fn write_lamps(engine: &Engine, id: &str, count: usize) {
    let body = engine.directory.join(format!("{id}.body"));
    let documents: serde_json::Value =
        (0..count).map(|id| serde_json::json!({"id": id, "title": "quiet lamp", "year": id % 97})).collect();
    std::fs::write(&body, documents.to_string()).unwrap();
    let operations = serde_json::json!([
        {"kind": "settings", "taskUid": 0, "settings": r#"{"sortableAttributes": ["year"]}"#},
        {"kind": "documents", "taskUid": 1, "method": "replace", "primaryKey": "id", "skipCreation": false,
         "payload": {"path": body, "format": "json"}},
    ]);
    let batch = serde_json::json!({"uid": 1, "indexUid": id, "operations": operations});
    let index = engine.index_to_write(id).unwrap();
    index.commit(index.prepare(batch.to_string().as_bytes(), None).unwrap()).unwrap();
}

fn search(engine: &Engine, id: &str) -> Answer {
    let asked = crate::search::tests::request(&serde_json::json!({"q": "lamp", "sort": ["year:desc"]}));
    engine.search(id, &serde_json::to_vec(&asked).unwrap(), Instant::now().into()).unwrap()
}

/// Number of tables in the cache that sorted searches use, and of lookups that did not find one.
fn tables(engine: &Engine) -> (usize, u64) {
    let figures = engine.cache_figures();
    let tables = figures.kinds.iter().find(|figures| figures.kind == "documents_by_value").unwrap();
    (tables.entries, tables.misses)
}

fn wait_until(is_so: impl Fn() -> bool) {
    for _ in 0..6_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("it did not come about in a minute");
}

fn record(directory: &Path) -> String {
    std::fs::read_to_string(directory.join("searched.json")).unwrap_or_default()
}

#[test]
fn what_searches_used_is_prepared_by_the_next_process() {
    let home = tempfile::tempdir().unwrap();
    let engine = open(home.path());
    for (id, count) in [("large", MANY), ("small", MANY - 1), ("unsearched", MANY)] {
        write_lamps(&engine, id, count);
    }
    engine.remember();
    assert_eq!(record(home.path()), "", "there was no search");
    let answers = ["large", "small"].map(|id| search(&engine, id).facts.hits);
    assert_eq!(answers, [20, 20]);
    assert_eq!(record(home.path()), "", "a search does not write");
    engine.remember();
    let uses = r#"{"search":["*"],"sort":["year"]}"#;
    let expected = format!(
        "{{\"version\":1,\"indexes\":[{{\"id\":\"large\",\"documents\":{MANY},\"uses\":{uses}}}]}}\n"
    );
    assert_eq!(record(home.path()), expected);
    engine.close();

    let engine = open(home.path());
    assert_eq!(tables(&engine), (0, 0));
    Arc::clone(&engine).warm_up_searched();
    wait_until(|| tables(&engine).0 > 0);
    let open: Vec<String> = engine.indexes.all().into_iter().map(|(id, _)| id).collect();
    assert_eq!(open, ["large"], "no other index is opened");
    let (_, misses) = tables(&engine);
    search(&engine, "large");
    assert_eq!(tables(&engine).1, misses, "the search finds the table");
    engine.close();
    assert_eq!(record(home.path()), expected);
}

#[test]
fn searches_are_recorded_at_the_end_of_a_process_that_may_write() {
    let home = tempfile::tempdir().unwrap();
    let engine = open(home.path());
    write_lamps(&engine, "lamps", MANY);
    engine.close();
    let follower = Engine::follow(home.path(), SMALL, FaultReporter::default()).unwrap();
    search(&follower, "lamps");
    follower.remember();
    follower.close();
    assert_eq!(record(home.path()), "", "a follower writes nothing");

    let (reader, writer) = (open(home.path()), open(home.path()));
    writer.index_to_write("lamps").unwrap();
    search(&reader, "lamps");
    reader.close();
    assert_eq!(record(home.path()), "", "another process writes to the directory");
    writer.close();

    let engine = open(home.path());
    search(&engine, "lamps");
    engine.close();
    assert!(record(home.path()).contains(r#""sort":["year"]"#));

    let engine = open(home.path());
    engine.drop_index("lamps").unwrap();
    Arc::clone(&engine).warm_up_searched();
    engine.close();
    assert!(!record(home.path()).contains("lamps"), "a dropped index is forgotten");
    assert!(!home.path().join("lamps").exists());
}

#[test]
fn a_record_that_cannot_be_written_is_reported() {
    let home = tempfile::tempdir().unwrap();
    let faults = ReportedFaults::default();
    let engine = Engine::open(home.path(), SMALL, faults.reporter()).unwrap();
    write_lamps(&engine, "lamps", MANY);
    search(&engine, "lamps");
    let path = home.path().join("searched.json");
    std::fs::create_dir(&path).unwrap();
    engine.remember();
    let reported = faults.take();
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert_eq!((reported[0].kind, &reported[0].file), (BackgroundFaultKind::SearchRecord, &path));
    std::fs::remove_dir(&path).unwrap();
    engine.remember();
    assert_eq!(faults.take(), []);
    assert!(path.is_file());
}

#[test]
fn searches_of_an_index_do_not_wait_while_another_is_opened() {
    let home = tempfile::tempdir().unwrap();
    let engine = open(home.path());
    write_lamps(&engine, "first", MANY);
    write_lamps(&engine, "second", MANY);
    let slot = engine.indexes.slot("first");
    let being_opened = slot.lock();
    assert_eq!(search(&engine, "second").facts.hits, 20);
    engine.remember();
    assert!(record(home.path()).contains("second"));
    drop(being_opened);
    assert_eq!(search(&engine, "first").facts.hits, 20);
}
