//! Documents of all words with one prefix.

use roaring::RoaringBitmap;

use crate::postings::by_field::ByField;
use crate::store::bitmap_bytes;

/// Documents of all words with one prefix.
pub(crate) struct PrefixDocs {
    pub(crate) all: ByField<RoaringBitmap>,
    /// Documents of the words that are not numbers; `None` if no word is a number.
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

/// Documents of words that are not numbers, then of those that are.
pub(super) type WordsAndNumbers = [ByField<RoaringBitmap>; 2];
