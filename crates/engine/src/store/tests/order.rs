//! What would segments sorted by docid cost, and what would they save? Behind the lines in ARCHITECTURE.md; by
//! command:
//!
//! `DOCUMENTS=million.ndjson cargo test --release -p engine --lib docid_order -- --ignored --nocapture`

use std::time::Instant;

use serde_json::Value;
use tantivy::indexer::merge_filtered_segments;
use tantivy::{IndexSortByField, Order, Segment};

use crate::analysis::Analyzer;
use crate::fields::FieldMap;
use crate::indexing::{document_for_tests, layout};
use crate::store::pieces::Pieces;
use crate::store::schema::names::DOCID;
use crate::store::{Layout, NewSegment, SegmentBuilder, SegmentView};

const SEGMENTS: usize = 8;

/// Every so many documents one lies in a segment of changes, at the end.
const CHANGED_EVERY: usize = 100;

#[test]
#[ignore = "measures: see the head of the file"]
fn what_docid_order_costs() {
    let path = std::env::var("DOCUMENTS").expect("DOCUMENTS names a file of NDJSON");
    let text = std::fs::read_to_string(path).unwrap();
    let documents: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let layout = layout();
    let segments = build(&layout, &documents);
    let sources: Vec<Segment> = segments.iter().map(|segment| segment.core.segment.clone()).collect();
    for sorted in [false, true, false, true] {
        let mut settings = layout.settings();
        settings.sort_by_field =
            sorted.then(|| IndexSortByField { field: DOCID.to_owned(), order: Order::Asc });
        let began = Instant::now();
        let alive = sources.iter().map(|_| None).collect();
        let pieces = Pieces::new(None);
        let merged = merge_filtered_segments(&sources, settings, alive, pieces.clone()).unwrap();
        let meta = merged.searchable_segment_metas().unwrap().remove(0);
        println!("sorted: {sorted}: merged {} documents in {:?}", meta.max_doc(), began.elapsed());
        let (id, documents) = (meta.id().uuid_string(), meta.max_doc());
        let segment = SegmentView::of(NewSegment { layout: layout.clone(), id, documents, pieces }).unwrap();
        for every in [1, 3, 100] {
            let began = Instant::now();
            let found = segment.to_docids((0..documents).step_by(every));
            println!("sorted: {sorted}: docids of {} documents in {:?}", found.len(), began.elapsed());
        }
    }
}

fn build(layout: &Layout, documents: &[Value]) -> Vec<SegmentView> {
    let analyzer = Analyzer::new(&Default::default()).unwrap();
    let mut fields = FieldMap::default();
    let changed = |at: &usize| at.is_multiple_of(CHANGED_EVERY);
    let mut parts: Vec<Vec<usize>> = (0..documents.len())
        .filter(|at| !changed(at))
        .collect::<Vec<_>>()
        .chunks(documents.len().div_ceil(SEGMENTS - 1))
        .map(<[usize]>::to_vec)
        .collect();
    parts.push((0..documents.len()).filter(changed).collect());
    let built = parts.iter().map(|part| {
        let mut builder = SegmentBuilder::new(layout, None, 100_000_000).unwrap();
        for &at in part {
            let document = document_for_tests(&analyzer, &mut fields, at as u32, &documents[at]);
            builder.add(document.with_fields(layout.fields())).unwrap();
        }
        SegmentView::of(builder.finish().unwrap().unwrap()).unwrap()
    });
    built.collect()
}
