use std::time::Duration;

/// Maximum time for a filter of a request: twice the time of a search. The request fails after it, because a partial
/// filter would give wrong hits. `ts/engine/fallback/limits.ts` has the same value.
pub(super) const FILTER_TIME_MAX: Duration = Duration::from_millis(3000);

/// Conditions and values of elements tested between two checks of the clock.
pub(super) const TESTS_PER_CHECK: u32 = 1024;

/// Documents for which a filter may read the elements of a field, about 10 µs each.
pub(super) const ELEMENT_DOCUMENTS_MAX: u64 = 100_000;

/// Documents of another index that the filters of a request may select. Source: the reference.
pub(super) const FOREIGN_SELECTED_MAX: u64 = 1000;
