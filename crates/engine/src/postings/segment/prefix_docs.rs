//! Documents of all words with a prefix.

use roaring::RoaringBitmap;

use crate::postings::by_field::ByField;
use crate::store::bitmap_bytes;

/// Documents of all words with a prefix.
pub(crate) struct PrefixDocs {
    pub(crate) all: ByField<RoaringBitmap>,
    /// Documents of the words other than numbers; `None` if no word is a number.
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

/// Documents of words other than numbers, then documents of numbers.
pub(super) type WordsAndNumbers = [ByField<RoaringBitmap>; 2];
