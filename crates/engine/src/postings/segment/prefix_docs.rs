//! Documents of all words with one beginning.

use roaring::RoaringBitmap;

use crate::postings::by_field::{ByField, bitmap_bytes};

/// Documents of all words with one beginning.
pub(crate) struct PrefixDocs {
    pub(crate) all: ByField<RoaringBitmap>,
    /// The same without words that are numbers; None if there are none.
    pub(crate) without_numbers: Option<ByField<RoaringBitmap>>,
}

impl PrefixDocs {
    pub(super) fn bytes(&self) -> usize {
        let bytes = |fields: &ByField<RoaringBitmap>| {
            fields.iter().map(|(_, docs)| bitmap_bytes(docs)).sum::<usize>()
        };
        bytes(&self.all) + self.without_numbers.as_ref().map_or(0, bytes)
    }
}

/// Documents of words and of those that are numbers.
pub(super) type WordsAndNumbers = [ByField<RoaringBitmap>; 2];
