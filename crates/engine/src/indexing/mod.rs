//! The write path: a batch in, one commit out.

mod batch;
mod cost;
mod draft;
mod entries;
mod flatten;
mod json;
mod payload;
mod primary_key;
mod room;
mod special;
mod survey;
mod watch;
mod work;
mod write;

pub use batch::{Batch, BatchReport, Failure, Method, Operation, Outcome, Task};
pub use cost::{Cost, cost_of, wants_column};
pub use draft::Draft;
pub use flatten::is_reserved;
pub use payload::{Format, Payload, PayloadReport, inspect};
pub use room::Room;
pub use watch::{Level, Shown, Step, Watch};
pub use write::{WriteOptions, write};

/// What every segment is made of.
pub fn layout() -> crate::store::Layout {
    crate::store::Layout::newest()
}

#[cfg(test)]
mod tests;

/// Learns all paths of a document.
#[cfg(test)]
fn each_path_of(document: &serde_json::Map<String, serde_json::Value>, fields: &mut crate::fields::FieldMap) {
    flatten::each_path(document, &mut |path| fields.insert(path).map(|_| ())).expect("few fields");
}

/// A document as it is written, with a column for each of its values.
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
