//! Documents by the value of a field.

use std::collections::VecDeque;

use roaring::RoaringBitmap;

use super::columns::Columns;
use super::groups::{each_ord, each_row};
use crate::error::Result;

/// Documents whose buckets are worked out in one go, at least.
const CHUNK: usize = 256;

/// What the documents of a bucket have in common.
#[derive(Debug, Clone, PartialEq)]
pub enum SortValue {
    /// Their best number.
    Number(f64),
    /// They have no number; their best string, normalised.
    String(String),
    /// They have neither.
    None,
}

/// Documents of a universe by their best value at a path: numbers, then strings, then those without.
/// Best is the least when ascending, the greatest when descending.
pub struct SortBuckets {
    columns: Columns,
    path: String,
    /// Rank of the best value and docid, unordered; ranks ascend in the order asked for.
    numbers: Ranked,
    strings: Ranked,
    rest: RoaringBitmap,
    ascending: bool,
    /// Documents put in order so far.
    taken: usize,
    ready: VecDeque<(SortValue, RoaringBitmap)>,
}

/// Documents yet to be put in order.
#[derive(Default)]
struct Ranked {
    documents: Vec<(u32, u32)>,
}

impl Ranked {
    /// Takes out the best `at_least` documents and those equal to the last of them, in order.
    fn take_best(&mut self, at_least: usize) -> Vec<(u32, u32)> {
        if self.documents.len() <= at_least {
            let mut all = std::mem::take(&mut self.documents);
            all.sort_unstable();
            return all;
        }
        let (_, &mut (bound, _), _) = self.documents.select_nth_unstable(at_least - 1);
        let mut best = Vec::with_capacity(at_least);
        self.documents.retain(|document| {
            let wanted = document.0 <= bound;
            if wanted {
                best.push(*document);
            }
            !wanted
        });
        best.sort_unstable();
        best
    }
}

impl Columns {
    /// The buckets of `universe` by its values at `path`, best first. All documents of `universe` come
    /// once; those that are deleted do not come.
    pub fn sort_buckets(&self, path: &str, ascending: bool, universe: &RoaringBitmap) -> Result<SortBuckets> {
        let field = self.field(path)?;
        let (numbers, strings) = (field.numbers(), field.strings()?);
        let mut buckets = SortBuckets {
            columns: self.clone(),
            path: path.to_owned(),
            numbers: Ranked::default(),
            strings: Ranked::default(),
            rest: RoaringBitmap::new(),
            ascending,
            taken: 0,
            ready: VecDeque::new(),
        };
        let rank = |index: u32, len: usize| if ascending { index } else { len as u32 - 1 - index };
        for (position, (segment, columns)) in self.segments(&field).enumerate() {
            let docs = segment.segment_docids(universe);
            if let Some(column) = &columns.numbers {
                let rows = numbers.rows(position);
                let mut best = Best::default();
                each_row(column, &docs, |doc, row| {
                    best.see(doc, rank(rows[row as usize], numbers.values.len()));
                });
                buckets.numbers.documents.extend(best.found(&segment.docids));
            }
            if let Some(column) = &columns.strings {
                let mut best = Best::default();
                each_ord(&column.ords, &docs, |doc, ord| {
                    best.see(doc, rank(strings.group(position, ord), strings.len));
                });
                buckets.strings.documents.extend(best.found(&segment.docids));
            }
        }
        let mut rest = self.live(universe);
        let with_number: RoaringBitmap = docids(&buckets.numbers.documents);
        if !with_number.is_empty() {
            buckets.strings.documents.retain(|(_, docid)| !with_number.contains(*docid));
            rest -= with_number;
        }
        rest -= docids(&buckets.strings.documents);
        buckets.rest = rest;
        Ok(buckets)
    }
}

fn docids(documents: &[(u32, u32)]) -> RoaringBitmap {
    documents.iter().map(|(_, docid)| *docid).collect()
}

/// The least rank of each document, as long as the values of a document come together.
#[derive(Default)]
struct Best {
    documents: Vec<(u32, u32)>,
}

impl Best {
    fn see(&mut self, doc: u32, rank: u32) {
        match self.documents.last_mut() {
            Some((best, last)) if *last == doc => *best = rank.min(*best),
            _ => self.documents.push((rank, doc)),
        }
    }

    fn found(self, docids: &[u32]) -> impl Iterator<Item = (u32, u32)> {
        self.documents.into_iter().map(|(rank, doc)| (rank, docids[doc as usize]))
    }
}

impl SortBuckets {
    /// The next bucket; None after the last.
    pub fn next_bucket(&mut self) -> Result<Option<(SortValue, RoaringBitmap)>> {
        if self.ready.is_empty() {
            self.fill()?;
        }
        Ok(self.ready.pop_front())
    }

    fn fill(&mut self) -> Result<()> {
        let field = self.columns.field(&self.path)?;
        let of_numbers = !self.numbers.documents.is_empty();
        let ranked = if of_numbers { &mut self.numbers } else { &mut self.strings };
        if ranked.documents.is_empty() {
            if !self.rest.is_empty() {
                self.ready.push_back((SortValue::None, std::mem::take(&mut self.rest)));
            }
            return Ok(());
        }
        // As many again each time: few passes for who reads all, little work for who reads a page.
        let best = ranked.take_best(CHUNK.max(self.taken));
        self.taken += best.len();
        for bucket in best.chunk_by(|a, b| a.0 == b.0) {
            let rank = bucket[0].0;
            let value = if of_numbers {
                let values = &field.numbers().values;
                let index = if self.ascending { rank as usize } else { values.len() - 1 - rank as usize };
                SortValue::Number(values[index])
            } else {
                let strings = field.strings()?;
                let group = if self.ascending { rank } else { strings.len as u32 - 1 - rank };
                SortValue::String(strings.text(&field, group)?.0)
            };
            self.ready.push_back((value, docids(bucket)));
        }
        Ok(())
    }
}

impl Iterator for SortBuckets {
    type Item = Result<(SortValue, RoaringBitmap)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_bucket().transpose()
    }
}
