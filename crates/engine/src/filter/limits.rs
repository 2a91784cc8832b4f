/// Documents of which one filter may read the elements of a field, some 10 µs for each.
pub(super) const ELEMENT_DOCUMENTS_MAX: u64 = 100_000;

/// Documents of one other index that the filters of a request may select. Source: the reference.
pub(super) const FOREIGN_SELECTED_MAX: u64 = 100;
