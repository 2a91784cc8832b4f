use std::time::Duration;

/// The time that one filter of a request may take. Half a filter would give wrong hits, so that the request fails; twice the
/// time of a search. `ts/engine/fallback/limits.ts` has the same figure.
pub(super) const FILTER_TIME_MAX: Duration = Duration::from_millis(3000);

/// Conditions on elements and values in them that are looked at between two looks at the clock.
pub(super) const TESTS_PER_LOOK: u32 = 1024;

/// Documents of which one filter may read the elements of a field, some 10 µs for each.
pub(super) const ELEMENT_DOCUMENTS_MAX: u64 = 100_000;

/// Documents of one other index that the filters of a request may select. Source: the reference.
pub(super) const FOREIGN_SELECTED_MAX: u64 = 100;
