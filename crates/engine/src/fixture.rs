//! Small commits for tests of modules that only read, written without the write path.

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

/// Room for everything that a test has cached.
const CACHE_BYTES: usize = 64 << 20;

/// The layout of the newest format, with a cache of its own as an opened index has it.
pub fn caching_layout() -> Layout {
    layout_caching(CACHE_BYTES)
}

fn layout_caching(cache_bytes: usize) -> Layout {
    crate::indexing::layout().caching_in(&Cache::new(cache_bytes))
}

/// Services of one index, with a cache of its own, whose faults are reported to `faults`.
pub fn services_reporting_to(faults: FaultReporter) -> IndexServices {
    IndexServices { cache: Cache::new(CACHE_BYTES), faults, writing: Arc::default() }
}

/// A commit in memory: documents as they come, a segment per slice, docids from 0 on; document ids are
/// `id` fields, else docids.
pub fn snapshot_of(segments: &[&[Json]], settings: Settings) -> Snapshot {
    caching_snapshot_of(CACHE_BYTES, segments, settings)
}

/// The same with a cache of so many bytes.
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
