//! Small commits for tests of modules that only read, written without the write path.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::analysis::Analyzer;
use crate::cache::Cache;
use crate::fields::FieldMap;
use crate::indexing::document_for_tests;
use crate::settings::Settings;
use crate::store::{Layout, SegmentBuilder, SegmentView, Snapshot, SnapshotParts};

/// Room for everything that a test has cached.
const CACHE_BYTES: usize = 64 << 20;

/// The layout of the newest format, with a cache of its own as an opened index has it.
pub fn caching_layout() -> Layout {
    crate::indexing::layout().caching_in(&Cache::new(CACHE_BYTES))
}

/// A commit in memory: documents as they come, a segment per slice, docids from 0 on; document ids are
/// `id` fields, else docids.
pub fn snapshot_of(segments: &[&[Json]], settings: Settings) -> Snapshot {
    let layout = caching_layout();
    let mut views = Vec::new();
    let analyzer = Analyzer::new(&settings).unwrap();
    let mut names = FieldMap::default();
    let mut docid = 0u32;
    for documents in segments {
        let mut builder = SegmentBuilder::new(&layout, None, 0).unwrap();
        for json in *documents {
            let id = json
                .get("id")
                .map_or(docid.to_string(), |id| id.as_str().map_or_else(|| id.to_string(), str::to_owned));
            builder.add(document_for_tests(&analyzer, &mut names, docid, &id, json)).unwrap();
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
