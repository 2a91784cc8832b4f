//! Merges segments of a commit while later commits are made.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use roaring::RoaringBitmap;

use super::committed::Committed;
use super::directory::IndexDirectory;
use super::merge::{self, Effort};
use super::segment::SegmentView;
use super::segment_builder::NewSegment;
use crate::error::{Context, Result};
use crate::threads::{self, Priority};

/// A merged segment that no commit names yet, and the segments it replaces.
pub struct Merge {
    inputs: Vec<SegmentView>,
    merged: Option<NewSegment>,
}

impl IndexDirectory {
    /// Merges segments of `committed`, if `effort` finds any to merge. Pass the result to
    /// [`IndexDirectory::commit_merge`]. `None` if there is nothing to merge.
    pub fn merge(
        &self,
        committed: &Committed,
        effort: Effort,
        stop: &Arc<AtomicBool>,
    ) -> Result<Option<Merge>> {
        let segments = committed.snapshot.segments();
        let Some(chosen) = merge::choose(&merge::weights(segments), effort) else { return Ok(None) };
        let inputs: Vec<SegmentView> = chosen.iter().map(|&at| segments[at].clone()).collect();
        let refs: Vec<&SegmentView> = inputs.iter().collect();
        // Nothing but the commit of the merge waits for it.
        let merge = || merge::merge(&self.layout, &refs, Some(self.spill(stop)));
        let merged = threads::giving_way(Priority::Tenth, merge)
            .context(format!("{} could not be merged", self.path().display()))??;
        Ok(Some(Merge { inputs, merged }))
    }

    /// Makes a merge visible as a separate commit that changes no document. `newest` may be a later commit than the
    /// merged one. Returns `None` if `newest` no longer has the merged segments.
    pub fn commit_merge(&self, newest: &Committed, merge: Merge) -> Result<Option<Committed>> {
        let mut segments = newest.snapshot.segments().to_vec();
        let mut gone = RoaringBitmap::new();
        let mut replaced = Vec::new();
        for input in &merge.inputs {
            match segments.iter().position(|segment| segment.core.entry.id == input.core.entry.id) {
                Some(at) => {
                    gone |= &*input.live - &*segments[at].live;
                    replaced.push(at);
                }
                // All documents of the segment were deleted during the merge.
                None => gone |= &*input.live,
            }
        }
        if replaced.is_empty() {
            return Ok(None);
        }
        let at = merge::replace(&mut segments, &replaced, merge.merged)?;
        if let Some(at) = at {
            segments[at] = segments[at].without(&gone);
        }
        segments.retain(|segment| !segment.live.is_empty());
        let parts = newest.snapshot.parts().clone();
        self.write(Some(newest), segments, parts, newest.record.clone()).map(Some)
    }
}
