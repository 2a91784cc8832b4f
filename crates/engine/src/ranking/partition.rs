//! Which documents cost the same at every step?
//!
//! Many documents are split by set algebra, a column at a time; few, or those that fall into very many
//! classes, are laid out as rows (`rows`). Both give the same classes.

use std::collections::BTreeMap;
use std::sync::Arc;

use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;

use super::costs::NEVER;
use super::limits::{CELLS_MAX, CLASSES_MAX, LAZY_DOCUMENTS_MIN, ROWS_MAX};
use super::rows::{Column, Prices, Rows};
use crate::postings::Budget;
use crate::store;

/// Documents by what a step costs them, cheapest first. A document counts with the first level it is in.
pub(super) type Levels = Vec<(u32, Arc<RoaringBitmap>)>;

/// [`Levels`] on their way.
pub(super) struct GatheredLevels<'a> {
    universe: &'a RoaringBitmap,
    sets: BTreeMap<u32, RoaringBitmap>,
    /// Not yet cut down to the universe: sets that are united first are cut down once.
    uncut: BTreeMap<u32, RoaringBitmap>,
    one_by_one: FxHashMap<u32, Vec<u32>>,
}

impl<'a> GatheredLevels<'a> {
    /// Of documents of `universe`.
    pub(super) fn of(universe: &'a RoaringBitmap) -> Self {
        Self { universe, sets: BTreeMap::new(), uncut: BTreeMap::new(), one_by_one: FxHashMap::default() }
    }

    pub(super) fn into_levels(mut self) -> Levels {
        for (cost, docs) in self.uncut {
            *self.sets.entry(cost).or_default() |= docs & self.universe;
        }
        for (cost, docids) in self.one_by_one {
            *self.sets.entry(cost).or_default() |= docids.into_iter().collect::<RoaringBitmap>();
        }
        self.sets.into_iter().map(|(cost, docs)| (cost, Arc::new(docs))).collect()
    }
}

impl Prices for GatheredLevels<'_> {
    fn one(&mut self, docid: u32, cost: u32) {
        self.one_by_one.entry(cost).or_default().push(docid);
    }

    fn all(&mut self, docs: &RoaringBitmap, cost: u32) {
        if docs.len() < self.universe.len() {
            *self.uncut.entry(cost).or_default() |= docs;
        } else {
            *self.sets.entry(cost).or_default() |= docs & self.universe;
        }
    }
}

/// Documents with the same costs.
pub(super) struct Class {
    /// By column; [`NEVER`] where no level holds the documents.
    pub(super) costs: Vec<u32>,
    pub(super) docs: Arc<RoaringBitmap>,
}

/// The documents of `universe` by their costs in `columns`, counting levels up to `limit`. A class may come
/// in several parts. Those that are in no level of some column are left out if `all_read`; `are_within`: levels hold
/// documents of `universe` alone. Some are missing if `budget` runs out.
pub(super) fn classes(
    universe: &Arc<RoaringBitmap>,
    columns: &[Levels],
    limit: u32,
    all_read: bool,
    are_within: bool,
    budget: &Budget,
) -> Vec<Class> {
    let columns: Vec<&[(u32, Arc<RoaringBitmap>)]> =
        columns.iter().map(|levels| &levels[..levels.partition_point(|(cost, _)| *cost <= limit)]).collect();
    let by_sets = (universe.len() >= LAZY_DOCUMENTS_MIN)
        .then(|| by_sets(universe, &columns, all_read, are_within))
        .flatten();
    by_sets.unwrap_or_else(|| by_rows(universe, &columns, budget))
}

/// None if there are very many classes.
fn by_sets(
    universe: &Arc<RoaringBitmap>,
    columns: &[&[(u32, Arc<RoaringBitmap>)]],
    all_read: bool,
    are_within: bool,
) -> Option<Vec<Class>> {
    let mut classes = vec![Class { costs: Vec::new(), docs: Arc::clone(universe) }];
    for levels in columns {
        let mut split = Vec::with_capacity(classes.len());
        for Class { costs, mut docs } in classes {
            let with = |cost| costs.iter().copied().chain([cost]).collect();
            for (at, (cost, level)) in levels.iter().enumerate() {
                // Nothing was taken from the universe yet: what the level has of it is the level.
                let is_known = are_within && at == 0 && costs.is_empty();
                let whole = match is_known {
                    true => level.len() == docs.len(),
                    false => is_dense(&docs) && docs.is_subset(level),
                };
                let here = match whole {
                    true => Arc::default(),
                    false if is_known => Arc::clone(level),
                    false => Arc::new(&*docs & &**level),
                };
                if whole || here.len() == docs.len() {
                    split.push(Class { costs: with(*cost), docs: std::mem::take(&mut docs) });
                    break;
                }
                if !here.is_empty() {
                    if !all_read || at + 1 < levels.len() {
                        take_away(&mut docs, &here);
                    }
                    split.push(Class { costs: with(*cost), docs: here });
                }
            }
            if !all_read && !docs.is_empty() {
                split.push(Class { costs: with(NEVER), docs });
            }
            if split.len() > CLASSES_MAX {
                return None;
            }
        }
        classes = split;
    }
    Some(classes)
}

/// Takes `gone` out of `docs`, which others may hold too.
fn take_away(docs: &mut Arc<RoaringBitmap>, gone: &RoaringBitmap) {
    match Arc::get_mut(docs) {
        Some(docs) => *docs -= gone,
        None => *docs = Arc::new(&**docs - gone),
    }
}

/// Whether a set is mostly bits: that these are part of others is seen without making the common part, which for lists
/// is as quick.
fn is_dense(docs: &RoaringBitmap) -> bool {
    docs.max().is_some_and(|last| docs.len() >= u64::from(last) / 16)
}

fn by_rows(
    universe: &RoaringBitmap,
    columns: &[&[(u32, Arc<RoaringBitmap>)]],
    budget: &Budget,
) -> Vec<Class> {
    let rows_max = (CELLS_MAX / columns.len().max(1)).clamp(1, ROWS_MAX);
    let mut found = Vec::new();
    for docids in store::ascending(universe).chunks(rows_max) {
        if budget.is_spent() {
            break;
        }
        let rows = Rows::of_docids(docids);
        let columns: Vec<Column> = columns.iter().map(|levels| rows.column_of(levels)).collect();
        found.extend(rows.classes(&columns));
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;

    type Table = BTreeMap<Vec<u32>, RoaringBitmap>;

    fn merged(classes: Vec<Class>) -> Table {
        let mut table = Table::new();
        for Class { costs, docs } in classes {
            *table.entry(costs).or_default() |= &*docs;
        }
        table
    }

    proptest! {
        #[test]
        fn gathered_levels_hold_what_was_said_of_the_universe(
            universe in proptest::collection::btree_set(0u32..300, 0..80),
            sets in proptest::collection::vec((proptest::collection::btree_set(0u32..300, 0..120), 0u32..6), 0..8),
            ones in proptest::collection::vec((0u32..300, 0u32..6), 0..20),
        ) {
            let universe: RoaringBitmap = universe.into_iter().collect();
            let mut gathered = GatheredLevels::of(&universe);
            let mut expected: BTreeMap<u32, RoaringBitmap> = BTreeMap::new();
            for (docs, cost) in sets {
                let docs = docs.into_iter().collect();
                gathered.all(&docs, cost);
                *expected.entry(cost).or_default() |= docs & &universe;
            }
            // One by one they are told of the universe alone.
            for (docid, cost) in ones.into_iter().filter(|(docid, _)| universe.contains(*docid)) {
                gathered.one(docid, cost);
                expected.entry(cost).or_default().insert(docid);
            }
            let levels: Vec<(u32, RoaringBitmap)> =
                gathered.into_levels().into_iter().map(|(cost, docs)| (cost, RoaringBitmap::clone(&docs))).collect();
            prop_assert_eq!(levels, Vec::from_iter(expected));
        }

        #[test]
        fn sets_and_rows_give_the_same_classes(
            universe in proptest::collection::btree_set(0u32..300, 1..80),
            columns in proptest::collection::vec(
                proptest::collection::btree_map(0u32..6, proptest::collection::btree_set(0u32..300, 0..120), 0..4),
                1..4,
            ),
        ) {
            let universe: Arc<RoaringBitmap> = Arc::new(universe.into_iter().collect());
            let columns: Vec<Levels> = columns
                .into_iter()
                .map(|levels| levels.into_iter().map(|(cost, docs)| (cost, Arc::new(docs.into_iter().collect()))).collect())
                .collect();
            let columns: Vec<&[(u32, Arc<RoaringBitmap>)]> = columns.iter().map(Vec::as_slice).collect();
            let budget = Budget::until(Instant::now() + Duration::from_secs(60));
            let sets = merged(by_sets(&universe, &columns, false, false).expect("there are few"));
            prop_assert_eq!(&sets, &merged(by_rows(&universe, &columns, &budget)));
            let mut all_read = sets.clone();
            all_read.retain(|costs, _| !costs.contains(&NEVER));
            prop_assert_eq!(&all_read, &merged(by_sets(&universe, &columns, true, false).expect("there are fewer")));
            let within: Vec<Levels> = columns
                .iter()
                .map(|levels| levels.iter().map(|(cost, docs)| (*cost, Arc::new(&**docs & &*universe))).collect())
                .collect();
            let within: Vec<&[(u32, Arc<RoaringBitmap>)]> = within.iter().map(Vec::as_slice).collect();
            prop_assert_eq!(&sets, &merged(by_sets(&universe, &within, false, true).expect("as few")));
            for (costs, docs) in &sets {
                for docid in docs {
                    let least = |levels: &&[(u32, Arc<RoaringBitmap>)]| {
                        levels.iter().find(|(_, docs)| docs.contains(docid)).map_or(NEVER, |(cost, _)| *cost)
                    };
                    prop_assert_eq!(costs, &columns.iter().map(least).collect::<Vec<_>>());
                }
            }
        }
    }
}
