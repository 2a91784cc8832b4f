//! The write path: a batch in, one commit out.

mod batch;
mod draft;
mod flatten;
mod payload;
mod primary_key;
mod special;
mod survey;
mod write;

pub use batch::{Batch, BatchReport, Failure, Method, Operation, Outcome, Task};
pub use draft::Draft;
pub use flatten::{Flattened, Flattener, is_reserved};
pub use payload::{Format, Payload, PayloadReport, inspect};
pub use write::{WriteOptions, Written, write};

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
