//! Documents with any word of a set, attribute by attribute.

use roaring::RoaringBitmap;

use super::searchable::Searchable;
use crate::fields::FieldId;
use crate::store::bitmap_bytes;

/// Documents with any word of a set, by field.
#[derive(Debug, Default, Clone)]
pub struct FieldDocs {
    /// Documents of all words of the set.
    all: Vec<(FieldId, RoaringBitmap)>,
    /// Documents of the words with typo tolerance. `None` if all words have it, so that only the field matters.
    forgiving: Option<Vec<(FieldId, RoaringBitmap)>>,
}

/// Restricts the fields and words that a query may match.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reading<'a> {
    /// True to match only words and fields that forgive typos, as for misspelt and concatenated words.
    pub forgiving: bool,
    /// Matches only these fields (ascending); `None` for every searchable field.
    pub within: Option<&'a [FieldId]>,
}

impl Reading<'_> {
    fn admits(&self, field: FieldId) -> bool {
        self.within.is_none_or(|fields| fields.binary_search(&field).is_ok())
    }
}

impl FieldDocs {
    /// `all` and `forgiving` are by ascending field. Drops fields of `all` without documents.
    pub(super) fn new(
        mut all: Vec<(FieldId, RoaringBitmap)>,
        forgiving: Option<Vec<(FieldId, RoaringBitmap)>>,
    ) -> Self {
        all.retain(|(_, docs)| !docs.is_empty());
        Self { all, forgiving }
    }

    /// Returns the documents that match under `reading`.
    pub fn matching(&self, reading: Reading, searchable: &Searchable) -> RoaringBitmap {
        self.admitted(reading, searchable).fold(RoaringBitmap::new(), |docs, more| docs | more)
    }

    /// Returns the documents of `universe` that match under `reading`.
    pub fn matching_in(
        &self,
        universe: &RoaringBitmap,
        reading: Reading,
        searchable: &Searchable,
    ) -> RoaringBitmap {
        let admitted = self.admitted(reading, searchable);
        admitted.fold(RoaringBitmap::new(), |docs, more| docs | (more & universe))
    }

    fn admitted(&self, reading: Reading, searchable: &Searchable) -> impl Iterator<Item = &RoaringBitmap> {
        self.fields_matching(reading, searchable).map(|(_, docs)| docs)
    }

    /// Returns the fields that match under `reading`, and their documents.
    pub fn fields_matching(
        &self,
        reading: Reading,
        searchable: &Searchable,
    ) -> impl Iterator<Item = (FieldId, &RoaringBitmap)> {
        let fields = match (&self.forgiving, reading.forgiving) {
            (Some(forgiving), true) => forgiving,
            _ => &self.all,
        };
        let admitted = fields.iter().filter(move |(field, _)| {
            reading.admits(*field) && (!reading.forgiving || searchable.field_forgives(*field))
        });
        admitted.map(|(field, docs)| (*field, docs))
    }

    /// Returns the fields with any of the words, ascending, and their documents, including fields and words that never
    /// forgive typos.
    pub fn fields(&self) -> impl Iterator<Item = (FieldId, &RoaringBitmap)> {
        self.all.iter().map(|(field, docs)| (*field, docs))
    }

    /// Returns the number of documents of all fields. Counts a document once per field.
    pub fn postings(&self) -> u64 {
        self.all.iter().map(|(_, docs)| docs.len()).sum()
    }

    /// Returns the documents with any of the words in `field`.
    pub fn in_field(&self, field: FieldId) -> Option<&RoaringBitmap> {
        let at = self.all.binary_search_by_key(&field, |(field, _)| *field).ok()?;
        Some(&self.all[at].1)
    }

    /// Returns the approximate size in memory, in bytes.
    pub fn bytes(&self) -> usize {
        let bytes = |fields: &[(FieldId, RoaringBitmap)]| -> usize {
            fields.iter().map(|(_, docs)| bitmap_bytes(docs) + size_of::<FieldId>()).sum()
        };
        bytes(&self.all) + self.forgiving.as_deref().map_or(0, bytes)
    }
}
