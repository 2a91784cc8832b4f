//! Documents that hold any of some words, attribute by attribute.

use roaring::RoaringBitmap;

use super::searchable::Searchable;
use crate::fields::FieldId;

/// Documents of a set of words.
#[derive(Debug, Default, Clone)]
pub struct FieldDocs {
    /// By ascending field: documents that hold any of the words there.
    all: Vec<(FieldId, RoaringBitmap)>,
    /// The same, without what forgives no typo. None if it leaves out whole fields and nothing else.
    forgiving: Option<Vec<(FieldId, RoaringBitmap)>>,
}

/// How a query looks at an attribute.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reading<'a> {
    /// Only where a typo would be forgiven: what misspelt words and joined words may match.
    pub forgiving: bool,
    /// Only in these fields (ascending); None: in every searchable one.
    pub within: Option<&'a [FieldId]>,
}

impl Reading<'_> {
    fn admits(&self, field: FieldId) -> bool {
        self.within.is_none_or(|fields| fields.binary_search(&field).is_ok())
    }
}

impl FieldDocs {
    /// By ascending field, fields without documents left out.
    pub(super) fn new(
        mut all: Vec<(FieldId, RoaringBitmap)>,
        forgiving: Option<Vec<(FieldId, RoaringBitmap)>>,
    ) -> Self {
        all.retain(|(_, docs)| !docs.is_empty());
        Self { all, forgiving }
    }

    /// Documents that match under `reading`.
    pub fn matching(&self, reading: Reading, searchable: &Searchable) -> RoaringBitmap {
        self.admitted(reading, searchable).fold(RoaringBitmap::new(), |docs, more| docs | more)
    }

    /// Those of `universe` that match under `reading`.
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
        let fields = match (&self.forgiving, reading.forgiving) {
            (Some(forgiving), true) => forgiving,
            _ => &self.all,
        };
        let admitted = fields.iter().filter(move |(field, _)| {
            reading.admits(*field) && (!reading.forgiving || searchable.field_forgives(*field))
        });
        admitted.map(|(_, docs)| docs)
    }

    /// Fields that hold the words, ascending, with their documents. Forgiving or not is the same here.
    pub fn fields(&self) -> impl Iterator<Item = (FieldId, &RoaringBitmap)> {
        self.all.iter().map(|(field, docs)| (*field, docs))
    }

    /// Documents that hold the words in `field`.
    pub fn in_field(&self, field: FieldId) -> Option<&RoaringBitmap> {
        let at = self.all.binary_search_by_key(&field, |(field, _)| *field).ok()?;
        Some(&self.all[at].1)
    }

    /// About how much memory this takes.
    pub fn bytes(&self) -> usize {
        let bytes = |fields: &[(FieldId, RoaringBitmap)]| -> usize {
            fields
                .iter()
                .map(|(_, docs)| docs.serialized_size() + size_of::<(FieldId, RoaringBitmap)>())
                .sum()
        };
        bytes(&self.all) + self.forgiving.as_deref().map_or(0, bytes)
    }
}
