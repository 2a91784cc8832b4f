//! Finds the positions of words with a prefix in the documents of a segment.

use std::sync::Arc;

use super::cache::{Cached, SegmentOccurrences};
use super::lists::frequency;
use super::reader::Segment;
use crate::error::Result;
use crate::postings::occurrences::{Occurrences, pack_all};
use crate::postings::side::Side;

/// Occurrences of a prefix are cached up to this many postings.
const OCCURRENCES_POSTINGS_MAX: u64 = 1 << 20;

impl Segment<'_> {
    /// Returns the occurrences of all words with the prefix `prefix` in all fields, deleted documents included. `None`
    /// above [`OCCURRENCES_POSTINGS_MAX`] postings.
    pub(crate) fn prefix_occurrences(&self, prefix: &str) -> Result<Option<Arc<Cached<Occurrences>>>> {
        let known = self.view.cache().get::<SegmentOccurrences>(prefix);
        if let Some(known) = known.filter(|known| known.deleted <= self.deleted) {
            return Ok(Some(known));
        }
        let lists = self.lists(&Side::Prefix(prefix.into()))?;
        if frequency(&lists) > OCCURRENCES_POSTINGS_MAX {
            return Ok(None);
        }
        let cached = self.cached::<SegmentOccurrences, _>(
            prefix,
            || prefix.into(),
            || {
                let mut packed = Vec::with_capacity(frequency(&lists) as usize);
                let mut reader = self.reader();
                for list in &lists {
                    self.each_docid_with_positions(&mut reader, list, |docid, positions| {
                        packed.extend(pack_all(docid, list.field, positions));
                    })?;
                }
                Ok(Occurrences::new(packed))
            },
        )?;
        Ok(Some(cached))
    }
}
