//! The write path: a batch in, one commit out.

mod batch;
mod cost;
mod draft;
mod flatten;
mod payload;
mod primary_key;
mod special;
mod survey;
mod write;

pub use batch::{Batch, BatchReport, Failure, Method, Operation, Outcome, Task};
pub use cost::{Cost, cost_of, wants_column};
pub use draft::Draft;
pub use flatten::{Flattener, is_reserved};
pub use payload::{Format, Payload, PayloadReport, inspect};
pub use write::{WriteOptions, write};

/// What every segment is made of.
pub fn layout() -> crate::store::Layout {
    crate::store::Layout::new(Vec::new())
}

#[cfg(test)]
mod tests;

/// Learns all paths of a document.
#[cfg(test)]
fn each_path_of(document: &serde_json::Map<String, serde_json::Value>, fields: &mut crate::fields::FieldMap) {
    flatten::each_path(document, &mut |path| fields.insert(path).map(|_| ())).expect("few fields");
}
