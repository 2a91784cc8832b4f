//! Makes snapshots of the documents as they would be after the commit of a staged batch.

use std::sync::Arc;

use super::flatten::{Flattener, Rules};
use super::json::Object;
use super::staged_batch::StagedBatch;
use super::write::layout;
use crate::error::Result;
use crate::store::{SegmentBuilder, SegmentView, Snapshot};

/// Documents after a staged batch: those of the base with the settings of the batch, and the changed ones.
pub struct Preview {
    /// Documents of the base, including outdated versions of changed ones; `None` if all are deleted.
    pub base: Option<Snapshot>,
    /// Documents that the batch changes; `None` if there are none and `base` exists.
    pub changed: Option<Snapshot>,
}

/// Makes the snapshots. Indexes changed documents in memory.
pub fn preview(staged: &StagedBatch) -> Result<Preview> {
    let parts = staged.parts();
    let base = staged.base.as_ref().filter(|_| !staged.cleared);
    let vectors = Arc::new(staged.vectors.preview());
    let base = base.map(|base| base.with_parts(parts.clone()));
    if let Some(base) = &base {
        base.attachments().put(Arc::clone(&vectors));
    }
    // Even an index without documents needs a snapshot: filters that the settings do not allow must fail on it.
    if staged.entries.is_empty() && base.is_some() {
        return Ok(Preview { base, changed: None });
    }
    let analyzer = staged.analyzer()?;
    let wants = |_: &str| true;
    let rules = Rules { analyzer: &analyzer, fields: &staged.fields, wants_column: &wants };
    let mut flattener = Flattener::new(rules);
    let layout = match &staged.base {
        Some(base) => layout().caching_in(base.cache().cache()).cutting_with(staged.installed()),
        None => layout().cutting_with(staged.installed()),
    };
    let mut builder = SegmentBuilder::new(&layout, None, 0)?;
    for (id, entry) in staged.entries.iter() {
        if let Some(docid) = entry.docid {
            let document = staged.merged(entry)?;
            let document = Object::from(&document);
            let flat = flattener.flatten(docid, id, &document, document.to_source()?)?;
            builder.add(flat.with_fields(layout.fields()))?;
        }
    }
    let segments = builder.finish()?.map(SegmentView::of).transpose()?;
    let changed = Snapshot::new(&layout, parts, segments.into_iter().collect());
    changed.attachments().put(vectors);
    Ok(Preview { base, changed: Some(changed) })
}
