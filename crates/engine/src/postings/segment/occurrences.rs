//! Where in the documents of a segment do words with one beginning stand?

use std::sync::Arc;

use super::cache::Kept;
use super::lists::frequency;
use super::reader::Segment;
use crate::error::Result;
use crate::postings::occurrences::{Occurrences, pack};
use crate::postings::side::Side;

/// Postings of a beginning up to which its places are worked out for the whole segment.
const PLACES_POSTINGS_MAX: u64 = 1 << 20;

impl Segment<'_> {
    /// Places of all words that begin with `prefix`, in all fields, documents deleted since included. None
    /// if they are very many.
    pub(crate) fn prefix_places(&self, prefix: &str) -> Result<Option<Arc<Kept<Occurrences>>>> {
        let mut lists = Vec::new();
        let known = self.cache.places.get(&prefix.into()).filter(|known| known.lost <= self.lost);
        if known.is_none() {
            lists = self.lists(&Side::Prefix(prefix.into()))?;
        }
        if frequency(&lists) > PLACES_POSTINGS_MAX {
            return Ok(None);
        }
        let kept = self.kept(&self.cache.places, prefix.into(), Occurrences::bytes, || {
            let mut places = Vec::with_capacity(frequency(&lists) as usize);
            let mut reader = self.reader();
            for list in &lists {
                self.each_docid_with_positions(&mut reader, list, |docid, positions| {
                    places.extend(positions.iter().map(|&position| pack(docid, list.field, position)));
                })?;
            }
            Ok(Occurrences::new(places))
        })?;
        Ok(Some(kept))
    }
}
