//! Small commits for tests of modules that only read. They are built without the write path.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::IndexServices;
use crate::analysis::Analyzer;
use crate::background_fault::FaultReporter;
use crate::cache::Cache;
use crate::fields::FieldMap;
use crate::indexing::document_for_tests;
use crate::settings::Settings;
use crate::store::{Layout, SegmentBuilder, SegmentView, Snapshot, SnapshotParts};

/// Enough for all cached data of a test.
const CACHE_BYTES: usize = 64 << 20;

/// The layout of the newest format, with its own cache like an opened index.
pub fn caching_layout() -> Layout {
    layout_caching(CACHE_BYTES)
}

fn layout_caching(cache_bytes: usize) -> Layout {
    crate::indexing::layout().caching_in(&Cache::new(cache_bytes))
}

/// Services of an index with its own cache. Faults are reported to `faults`.
pub fn services_reporting_to(faults: FaultReporter) -> IndexServices {
    IndexServices {
        cache: Cache::new(CACHE_BYTES),
        faults,
        writing: Arc::default(),
        dictionaries: Default::default(),
    }
}

/// A commit in memory with one segment per slice. Docids count from 0; document ids are `id` fields, or docids if there
/// are none.
pub fn snapshot_of(segments: &[&[Json]], settings: Settings) -> Snapshot {
    caching_snapshot_of(CACHE_BYTES, segments, settings)
}

/// Like [`snapshot_of`], with a cache of `cache_bytes`.
pub fn caching_snapshot_of(cache_bytes: usize, segments: &[&[Json]], settings: Settings) -> Snapshot {
    let layout = layout_caching(cache_bytes);
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
