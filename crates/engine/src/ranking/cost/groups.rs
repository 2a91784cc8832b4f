//! Groups documents that cost the same at every step.
//!
//! Many documents are split by set algebra, step by step. Few documents, or documents that form too many groups, use a
//! table. Both give the same groups.

use std::sync::Arc;

use roaring::RoaringBitmap;

use super::levels::CostLevels;
use super::rule::NEVER;
use super::table::{CostColumn, CostGroup, CostTable};
use crate::postings::Budget;
use crate::ranking::limits::{CELLS_MAX, COST_GROUPS_MAX, LAZY_DOCUMENTS_MIN, TABLE_DOCUMENTS_MAX};
use crate::store;

/// Groups the documents of `universe` by their costs in `columns`, using levels up to `limit`. A group may come in
/// several parts. If `all_read`, documents without a level in some column are left out. If `budget` runs out, documents
/// are missing.
pub(super) fn cost_groups(
    universe: &Arc<RoaringBitmap>,
    columns: &[CostLevels],
    limit: u32,
    all_read: bool,
    budget: &Budget,
) -> Vec<CostGroup> {
    let columns: Vec<Column> = columns.iter().map(|levels| Column::up_to(limit, levels)).collect();
    let by_sets =
        (universe.len() >= LAZY_DOCUMENTS_MIN).then(|| by_sets(universe, &columns, all_read)).flatten();
    by_sets.unwrap_or_else(|| by_table(universe, &columns, budget))
}

/// The levels of a step up to the limit.
struct Column<'a> {
    levels: &'a [(u32, Arc<RoaringBitmap>)],
    are_within: bool,
}

impl<'a> Column<'a> {
    fn up_to(limit: u32, CostLevels { levels, are_within }: &'a CostLevels) -> Self {
        let counting = levels.partition_point(|(cost, _)| *cost <= limit);
        Self { levels: &levels[..counting], are_within: *are_within }
    }
}

/// Returns None if there are too many groups.
fn by_sets(universe: &Arc<RoaringBitmap>, columns: &[Column<'_>], all_read: bool) -> Option<Vec<CostGroup>> {
    let mut groups = vec![CostGroup { costs: Vec::new(), docs: Arc::clone(universe) }];
    for Column { levels, are_within } in columns {
        let mut split = Vec::with_capacity(groups.len());
        for CostGroup { costs, mut docs } in groups {
            let with = |cost| costs.iter().copied().chain([cost]).collect();
            for (at, (cost, level)) in levels.iter().enumerate() {
                // The universe is still complete, so its part of the level is the level itself.
                let is_known = *are_within && at == 0 && costs.is_empty();
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
                    split.push(CostGroup { costs: with(*cost), docs: std::mem::take(&mut docs) });
                    break;
                }
                if !here.is_empty() {
                    if !all_read || at + 1 < levels.len() {
                        take_away(&mut docs, &here);
                    }
                    split.push(CostGroup { costs: with(*cost), docs: here });
                }
            }
            if !all_read && !docs.is_empty() {
                split.push(CostGroup { costs: with(NEVER), docs });
            }
            if split.len() > COST_GROUPS_MAX {
                return None;
            }
        }
        groups = split;
    }
    Some(groups)
}

/// Removes `gone` from `docs`, which may be shared.
fn take_away(docs: &mut Arc<RoaringBitmap>, gone: &RoaringBitmap) {
    match Arc::get_mut(docs) {
        Some(docs) => *docs -= gone,
        None => *docs = Arc::new(&**docs - gone),
    }
}

/// Returns true if a set is mostly stored as bitmaps. Then testing for a subset is faster than an intersection; for
/// sparse sets it is not.
fn is_dense(docs: &RoaringBitmap) -> bool {
    docs.max().is_some_and(|last| docs.len() >= u64::from(last) / 16)
}

fn by_table(universe: &RoaringBitmap, columns: &[Column<'_>], budget: &Budget) -> Vec<CostGroup> {
    let documents_max = (CELLS_MAX / columns.len().max(1)).clamp(1, TABLE_DOCUMENTS_MAX);
    let mut found = Vec::new();
    for docids in store::ascending(universe).chunks(documents_max) {
        if budget.is_spent() {
            break;
        }
        let table = CostTable::of_docids(docids);
        let columns: Vec<CostColumn> = columns.iter().map(|column| table.column_of(column.levels)).collect();
        found.extend(table.groups(&columns));
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::{Duration, Instant};

    use proptest::collection::{btree_map, btree_set, vec};
    use proptest::prelude::*;

    use super::*;

    type Table = BTreeMap<Vec<u32>, RoaringBitmap>;

    fn merged(groups: Vec<CostGroup>) -> Table {
        let mut table = Table::new();
        for CostGroup { costs, docs } in groups {
            *table.entry(costs).or_default() |= &*docs;
        }
        table
    }

    proptest! {
        #[test]
        fn sets_and_tables_give_the_same_groups(
            universe in btree_set(0u32..300, 1..80),
            columns in vec(btree_map(0u32..6, btree_set(0u32..300, 0..120), 0..4), 1..4),
        ) {
            let universe: Arc<RoaringBitmap> = Arc::new(universe.into_iter().collect());
            let of = |cut: bool| -> Vec<CostLevels> {
                let set = |docs: &std::collections::BTreeSet<u32>| {
                    let docs: RoaringBitmap = docs.iter().collect();
                    Arc::new(if cut { docs & &*universe } else { docs })
                };
                let levels = columns.iter().map(|levels| levels.iter().map(|(cost, docs)| (*cost, set(docs))).collect());
                levels.map(|levels| CostLevels { levels, are_within: cut }).collect()
            };
            let (uncut, within) = (of(false), of(true));
            let (uncut, within): (Vec<Column>, Vec<Column>) =
                uncut.iter().zip(&within).map(|(a, b)| (Column::up_to(9, a), Column::up_to(9, b))).unzip();
            let budget = Budget::until(Instant::now() + Duration::from_secs(60));
            let sets = merged(by_sets(&universe, &uncut, false).expect("there are few"));
            prop_assert_eq!(&sets, &merged(by_table(&universe, &uncut, &budget)));
            let mut all_read = sets.clone();
            all_read.retain(|costs, _| !costs.contains(&NEVER));
            prop_assert_eq!(&all_read, &merged(by_sets(&universe, &uncut, true).expect("there are fewer")));
            prop_assert_eq!(&sets, &merged(by_sets(&universe, &within, false).expect("as few")));
            for (costs, docs) in &sets {
                for docid in docs {
                    let least = |column: &Column| {
                        column.levels.iter().find(|(_, docs)| docs.contains(docid)).map_or(NEVER, |(cost, _)| *cost)
                    };
                    prop_assert_eq!(costs, &uncut.iter().map(least).collect::<Vec<_>>());
                }
            }
        }
    }
}
