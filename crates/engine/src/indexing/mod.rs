//! The write path: converts a batch into a commit.

mod batch;
mod batch_monitor;
mod change_settings;
mod cost;
mod csv_body;
mod docids;
mod document_scanner;
mod entries;
mod entry;
mod flatten;
mod geo_fields;
mod inspect;
mod json;
mod payload;
mod pending_embeddings;
mod preview;
mod primary_key;
mod put_documents;
mod spill_allocator;
mod spool;
mod staged_batch;
mod tasks;
mod write;

pub use batch::{Batch, BatchReport, Failure, Method, Operation, Outcome, Task};
pub use batch_monitor::{BatchMonitor, ProgressGuard, Step, StepProgress};
pub use cost::{Cost, cost_of, costs_of, wants_column};
pub use flatten::is_reserved;
pub use inspect::{PayloadReport, inspect};
pub use payload::{Format, Payload};
pub use spill_allocator::SpillAllocator;
pub use staged_batch::StagedBatch;
pub use write::{WriteOptions, layout, write};

#[cfg(test)]
mod tests;

/// Adds all paths of a document to a field map.
#[cfg(test)]
fn each_path_of(document: &serde_json::Map<String, serde_json::Value>, fields: &mut crate::fields::FieldMap) {
    flatten::each_path(document, &mut |path| fields.insert(path).map(|_| ())).expect("few fields");
}

/// Flattens a document, with long strings in columns too.
#[cfg(test)]
pub fn document_for_tests(
    analyzer: &crate::analysis::Analyzer,
    fields: &mut crate::fields::FieldMap,
    docid: u32,
    id: &str,
    document: &serde_json::Value,
) -> crate::store::WrittenDocument {
    let document = document.as_object().expect("documents are objects");
    each_path_of(document, fields);
    let rules = flatten::Rules { analyzer, fields, wants_column: &|_| true };
    let source = serde_json::to_vec(document).expect("it was JSON");
    let flat = flatten::Flattener::new(rules).flatten(docid, id, &json::Object::from(document), source);
    flat.expect("its paths are known").with_fields(layout().fields())
}
