//! Which documents cost the same at every step?
//!
//! Many documents are split by set algebra, a column at a time; few, or those that fall into very many
//! classes, are laid out as rows. Both give the same classes.

use std::borrow::Cow;
use std::sync::Arc;

use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;

use super::costs::NEVER;
use super::limits::{CELLS_MAX, CLASSES_MAX, LAZY_DOCUMENTS_MIN, ROWS_MAX};
use crate::postings::Budget;
use crate::store;

/// Documents by what a step costs them, cheapest first. A document counts with the first level it is in.
pub(super) type Levels = Vec<(u32, Arc<RoaringBitmap>)>;

/// Documents with the same costs.
pub(super) struct Class {
    /// By column; [`NEVER`] where no level holds the documents.
    pub(super) costs: Vec<u32>,
    pub(super) docs: RoaringBitmap,
}

/// The documents of `universe` by their costs in `columns`, counting levels up to `limit`. A class may come
/// in several parts. Some are missing if `budget` runs out.
pub(super) fn classes(
    universe: &RoaringBitmap,
    columns: &[Levels],
    limit: u32,
    budget: &Budget,
) -> Vec<Class> {
    let columns: Vec<&[(u32, Arc<RoaringBitmap>)]> =
        columns.iter().map(|levels| &levels[..levels.partition_point(|(cost, _)| *cost <= limit)]).collect();
    let by_sets = (universe.len() >= LAZY_DOCUMENTS_MIN).then(|| by_sets(universe, &columns)).flatten();
    by_sets.unwrap_or_else(|| by_rows(universe, &columns, budget))
}

/// None if there are very many classes.
fn by_sets(universe: &RoaringBitmap, columns: &[&[(u32, Arc<RoaringBitmap>)]]) -> Option<Vec<Class>> {
    let mut classes = vec![Class { costs: Vec::new(), docs: universe.clone() }];
    for levels in columns {
        let mut split = Vec::with_capacity(classes.len());
        for Class { costs, mut docs } in classes {
            let with = |cost| costs.iter().copied().chain([cost]).collect();
            for (cost, level) in *levels {
                let whole = is_dense(&docs) && docs.is_subset(level);
                let here = if whole { RoaringBitmap::new() } else { &docs & &**level };
                if whole || here.len() == docs.len() {
                    split.push(Class { costs: with(*cost), docs: std::mem::take(&mut docs) });
                    break;
                }
                if !here.is_empty() {
                    docs -= &here;
                    split.push(Class { costs: with(*cost), docs: here });
                }
            }
            if !docs.is_empty() {
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
    let docids = store::ascending(universe);
    if docids.len() <= rows_max {
        return rows_of(&Rows { docids: &docids, set: Cow::Borrowed(universe) }, columns);
    }
    let mut found = Vec::new();
    for docids in docids.chunks(rows_max) {
        if budget.is_spent() {
            break;
        }
        found.extend(rows_of(&Rows { docids, set: Cow::Owned(set_of(docids.iter().copied())) }, columns));
    }
    found
}

/// Distinct rows, with their documents.
fn rows_of(rows: &Rows<'_>, columns: &[&[(u32, Arc<RoaringBitmap>)]]) -> Vec<Class> {
    let columns: Vec<Vec<u32>> = columns.iter().map(|levels| rows.column(levels)).collect();
    // Rows equal in the columns so far share a class; a column splits classes by its costs.
    let mut classes = vec![0u32; rows.docids.len()];
    let mut examples = vec![0usize];
    let mut split: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    for column in columns.iter().filter(|column| column.iter().any(|cost| *cost != column[0])) {
        split.clear();
        examples.clear();
        for (row, (class, &cost)) in classes.iter_mut().zip(column).enumerate() {
            *class = *split.entry((*class, cost)).or_insert_with(|| {
                examples.push(row);
                examples.len() as u32 - 1
            });
        }
    }
    let costs_of = |&row: &usize| columns.iter().map(|column| column[row]).collect();
    if let [only] = examples.as_slice() {
        return vec![Class { costs: costs_of(only), docs: rows.set.clone().into_owned() }];
    }
    let mut docids: Vec<Vec<u32>> = vec![Vec::new(); examples.len()];
    for (&class, &docid) in classes.iter().zip(rows.docids) {
        docids[class as usize].push(docid);
    }
    let class = |(row, docids): (&usize, Vec<u32>)| Class { costs: costs_of(row), docs: set_of(docids) };
    examples.iter().zip(docids).map(class).collect()
}

fn set_of(docids: impl IntoIterator<Item = u32>) -> RoaringBitmap {
    RoaringBitmap::from_sorted_iter(docids).expect("docids ascend")
}

/// Documents laid out one by one, ascending.
struct Rows<'a> {
    docids: &'a [u32],
    /// The same.
    set: Cow<'a, RoaringBitmap>,
}

impl Rows<'_> {
    /// What each row costs.
    fn column(&self, levels: &[(u32, Arc<RoaringBitmap>)]) -> Vec<u32> {
        if let [(cost, only)] = levels
            && self.set.is_subset(only)
        {
            return vec![*cost; self.docids.len()];
        }
        let mut column = vec![NEVER; self.docids.len()];
        // Dearest first, so that the cheapest level of a document is the one that stays.
        for (cost, level) in levels.iter().rev() {
            let mut row = 0;
            for docid in store::ascending(&(&**level & &*self.set)) {
                if self.docids[row] != docid {
                    row += self.docids[row..].partition_point(|before| *before < docid);
                }
                column[row] = *cost;
                row += 1;
            }
        }
        column
    }
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
            *table.entry(costs).or_default() |= docs;
        }
        table
    }

    proptest! {
        #[test]
        fn sets_and_rows_give_the_same_classes(
            universe in proptest::collection::btree_set(0u32..300, 1..80),
            columns in proptest::collection::vec(
                proptest::collection::btree_map(0u32..6, proptest::collection::btree_set(0u32..300, 0..120), 0..4),
                1..4,
            ),
        ) {
            let universe: RoaringBitmap = universe.into_iter().collect();
            let columns: Vec<Levels> = columns
                .into_iter()
                .map(|levels| levels.into_iter().map(|(cost, docs)| (cost, Arc::new(docs.into_iter().collect()))).collect())
                .collect();
            let columns: Vec<&[(u32, Arc<RoaringBitmap>)]> = columns.iter().map(Vec::as_slice).collect();
            let budget = Budget::until(Instant::now() + Duration::from_secs(60));
            let sets = merged(by_sets(&universe, &columns).expect("there are few"));
            prop_assert_eq!(&sets, &merged(by_rows(&universe, &columns, &budget)));
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
