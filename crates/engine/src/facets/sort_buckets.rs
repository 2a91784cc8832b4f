//! Sorts documents by the value of a field.

use std::collections::VecDeque;
use std::sync::Arc;

use roaring::RoaringBitmap;
use tantivy::columnar::Cardinality;

use super::by_value::ByValue;
use super::column_rows::{AllOrSome, EachValue};
use super::column_term::{group_key, split};
use super::columns::Columns;
use super::field_columns::FieldColumns;
use super::number_column::{NumberColumn, ordered};
use super::searched_fields::FieldUse;
use super::string_column::StringColumn;
use crate::error::Result;
use crate::store::SegmentView;

/// Minimum number of documents that are sorted together.
const CHUNK: usize = 256;

/// Documents that a page typically needs.
const PAGE: usize = 20;

/// After reading this many documents per document of the universe, a walk over a column ends and the universe is listed
/// instead.
const WALKED_PER_DOCUMENT: usize = 4;

/// The common value of a bucket's documents.
#[derive(Debug, Clone, PartialEq)]
pub enum SortValue {
    /// The best number of each document.
    Number(f64),
    /// The best string of each document, normalised. The documents have no numbers.
    String(String),
    /// The documents have neither numbers nor strings.
    None,
}

/// Documents of a universe by their best value at a path: numbers, then strings, then documents without a value. The
/// best value is the minimum when ascending, the maximum when descending.
///
/// Every column of the field returns its documents value by value, in the same order. A bucket takes the documents of
/// the best value from each column. For a large universe a column is walked in the order of its values, so that a page
/// costs little. The documents of a small universe are listed and sorted.
pub struct SortBuckets {
    columns: Columns,
    field: Arc<FieldColumns>,
    ascending: bool,
    /// Documents that are not in a bucket yet.
    left: RoaringBitmap,
    kind: Kind,
    runs: Vec<Run>,
    /// Runs without a head: new ones, and those whose best value was taken. Their next value is found on the next call,
    /// because most pages need a single bucket.
    stale: Vec<usize>,
    /// Documents that the page lacks.
    at_most: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Numbers,
    Strings,
    Without,
}

/// A column that returns its documents value by value.
struct Run {
    part: usize,
    segment: usize,
    source: Source,
    head: Option<Head>,
}

enum Source {
    /// Walks the column in order of values: values passed, documents read, and maximum to read.
    Walk { passed: usize, seen: usize, seen_max: usize },
    /// Documents with the position of their best value in the requested order. `ready` holds sorted documents by value.
    Listed { documents: Vec<(u32, u32)>, taken: usize, ready: VecDeque<(u32, RoaringBitmap)> },
}

/// The best remaining value of a run, and documents that have it.
struct Head {
    key: Key,
    docs: RoaringBitmap,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// A number converted by [`ordered`].
    Number(u64),
    Normalised(Vec<u8>),
}

impl Columns {
    /// Returns the buckets of `universe` by its values at `path`, best first. Every live document of `universe` is in
    /// exactly one bucket.
    pub fn sort_buckets(&self, path: &str, ascending: bool, universe: &RoaringBitmap) -> Result<SortBuckets> {
        self.note(FieldUse::Sort, path);
        let mut buckets = SortBuckets {
            columns: self.clone(),
            field: self.field(path)?,
            ascending,
            left: self.live(universe),
            kind: Kind::Numbers,
            runs: Vec::new(),
            stale: Vec::new(),
            at_most: usize::MAX,
        };
        buckets.start()?;
        Ok(buckets)
    }
}

impl SortBuckets {
    /// Returns the next bucket; None after the last.
    pub fn next_bucket(&mut self) -> Result<Option<(SortValue, RoaringBitmap)>> {
        self.first_of_bucket(usize::MAX)
    }

    /// Returns the next bucket for a page that lacks `at_most` documents; None after the last. The bucket may lack
    /// documents after its first `at_most`. `at_most` shrinks by the documents of each bucket, and a bucket that fills
    /// the page must be the last.
    pub fn first_of_bucket(&mut self, at_most: usize) -> Result<Option<(SortValue, RoaringBitmap)>> {
        self.at_most = at_most;
        loop {
            if self.left.is_empty() {
                return Ok(None);
            }
            if self.kind == Kind::Without {
                return Ok(Some((SortValue::None, std::mem::take(&mut self.left))));
            }
            for run in std::mem::take(&mut self.stale) {
                self.advance(run)?;
            }
            let Some(best) = self.best() else {
                self.kind = if self.kind == Kind::Numbers { Kind::Strings } else { Kind::Without };
                self.start()?;
                continue;
            };
            let key = self.runs[best].head.as_ref().map(|head| head.key.clone());
            let value = self.value(best)?;
            let mut bucket = RoaringBitmap::new();
            for run in 0..self.runs.len() {
                while self.runs[run].head.as_ref().map(|head| &head.key) == key.as_ref() {
                    bucket |= self.runs[run].head.take().map(|head| head.docs).unwrap_or_default();
                    if self.kind == Kind::Numbers {
                        self.stale.push(run);
                        break;
                    }
                    // A run returns each spelling of a string separately.
                    self.advance(run)?;
                }
            }
            // A document with several values was already in the bucket of its best value.
            bucket &= &self.left;
            if !bucket.is_empty() {
                self.left -= &bucket;
                return Ok(Some((value, bucket)));
            }
        }
    }

    /// Starts runs over the columns of the current kind.
    fn start(&mut self) -> Result<()> {
        let is_for_most = self.columns.are_most(&self.left);
        match self.kind {
            Kind::Numbers if is_for_most => NumberColumn::sort_all(&self.field.numbers),
            Kind::Numbers => NumberColumn::rank_all(&self.field.numbers),
            Kind::Strings if is_for_most => StringColumn::sort_all(&self.field.strings),
            Kind::Strings | Kind::Without => {}
        }
        let parts: Vec<(usize, usize)> = match self.kind {
            Kind::Numbers => self.field.numbers.iter().map(|part| part.segment).enumerate().collect(),
            Kind::Strings => self.field.strings.iter().map(|part| part.segment).enumerate().collect(),
            Kind::Without => Vec::new(),
        };
        self.runs.clear();
        self.stale.clear();
        for (part, segment) in parts {
            let wanted = self.left.intersection_len(&self.columns.segment(segment).live) as usize;
            if wanted == 0 {
                continue;
            }
            let (rows, values) = self.size(part);
            let walked = (rows / values.max(1)).max(PAGE * rows / wanted);
            let source = if walked * 2 < wanted {
                Source::Walk { passed: 0, seen: 0, seen_max: wanted * WALKED_PER_DOCUMENT }
            } else {
                self.listed(part, segment)
            };
            self.stale.push(self.runs.len());
            self.runs.push(Run { part, segment, source, head: None });
        }
        Ok(())
    }

    /// Returns the number of a column's rows, and the maximum number of its values.
    fn size(&self, part: usize) -> (usize, usize) {
        match self.kind {
            Kind::Numbers => {
                let column = &self.field.numbers[part].column;
                (column.column.values.num_vals() as usize, column.values().len())
            }
            _ => {
                let column = &self.field.strings[part].column;
                (column.ords.values.num_vals() as usize, column.len())
            }
        }
    }

    /// Returns true if a head holds no document of the bucket before it. The next string of a run is found before the
    /// documents of the last one are taken, so documents must not have several strings.
    fn has_disjoint_values(&self, part: usize) -> bool {
        let strings = &self.field.strings;
        self.kind == Kind::Numbers
            || (strings[part].column.ords.index.get_cardinality() != Cardinality::Multivalued
                && strings.iter().filter(|other| other.segment == strings[part].segment).count() == 1)
    }

    fn by_value(&self, part: usize) -> &ByValue {
        match self.kind {
            Kind::Numbers => self.field.numbers[part].column.by_value(),
            _ => self.field.strings[part].column.by_ord(),
        }
    }

    /// Returns the remaining documents of a segment, with their best values in a column.
    fn listed(&self, part: usize, segment: usize) -> Source {
        let view = self.columns.segment(segment);
        let docs = view.segment_docids(&self.left);
        let values = self.size(part).1 as u32;
        let mut documents: Vec<(u32, u32)> = Vec::with_capacity(docs.len());
        let mut last = None;
        let see = |doc: u32, value: u32| {
            let position = if self.ascending { value } else { values - 1 - value };
            match documents.last_mut() {
                Some((best, _)) if last == Some(doc) => *best = position.min(*best),
                _ => documents.push((position, view.docids[doc as usize])),
            }
            last = Some(doc);
        };
        match self.kind {
            Kind::Numbers => self.field.numbers[part].column.each(AllOrSome::Some(&docs), see),
            _ => self.field.strings[part].column.each(AllOrSome::Some(&docs), see),
        }
        Source::Listed { documents, taken: 0, ready: VecDeque::new() }
    }

    /// Returns the run with the best value of all.
    fn best(&self) -> Option<usize> {
        let heads = self.runs.iter().enumerate().filter_map(|(run, it)| Some((&it.head.as_ref()?.key, run)));
        if self.ascending { heads.min().map(|(_, run)| run) } else { heads.max().map(|(_, run)| run) }
    }

    fn value(&self, run: usize) -> Result<SortValue> {
        Ok(match self.runs[run].head.as_ref().map(|head| &head.key) {
            Some(Key::Number(key)) => {
                let bits = if key >> 63 == 1 { key & !(1 << 63) } else { !key };
                SortValue::Number(f64::from_bits(bits))
            }
            Some(Key::Normalised(key)) => SortValue::String(split(key)?.0),
            None => SortValue::None,
        })
    }

    /// Advances a run to its next value with a remaining document.
    fn advance(&mut self, run: usize) -> Result<()> {
        let (part, segment) = (self.runs[run].part, self.runs[run].segment);
        let is_spent =
            matches!(self.runs[run].source, Source::Walk { seen, seen_max, .. } if seen > seen_max);
        if is_spent {
            self.runs[run].source = self.listed(part, segment);
        }
        let mut source =
            std::mem::replace(&mut self.runs[run].source, Source::Walk { passed: 0, seen: 0, seen_max: 0 });
        let found = match &mut source {
            Source::Walk { passed, seen, seen_max } => {
                let at_most = if self.has_disjoint_values(part) { self.at_most } else { usize::MAX };
                let by_value = self.by_value(part);
                let view = self.columns.segment(segment);
                let mut found = None;
                while *passed < by_value.len() && found.is_none() && *seen <= *seen_max {
                    let value = if self.ascending { *passed } else { by_value.len() - 1 - *passed };
                    let docs = by_value.docs(value);
                    *passed += 1;
                    *seen += docs.len() + 1;
                    let docs = left_of(view, docs, &self.left, at_most);
                    found = (!docs.is_empty()).then_some((value as u32, docs));
                }
                if found.is_none() && *passed < by_value.len() {
                    self.runs[run].source = source;
                    return self.advance(run);
                }
                found
            }
            Source::Listed { documents, taken, ready } => {
                if ready.is_empty() && !documents.is_empty() {
                    // Each step doubles the number of sorted documents: a page costs little, and sorting all takes few
                    // steps.
                    let best = take_best(documents, CHUNK.max(*taken));
                    *taken += best.len();
                    for bucket in best.chunk_by(|a, b| a.0 == b.0) {
                        ready.push_back((bucket[0].0, bucket.iter().map(|(_, docid)| *docid).collect()));
                    }
                }
                let values = self.size(part).1 as u32;
                let value = |position: u32| if self.ascending { position } else { values - 1 - position };
                ready.pop_front().map(|(position, docs)| (value(position), docs))
            }
        };
        self.runs[run].source = source;
        self.runs[run].head = match found {
            None => None,
            Some((value, docs)) => Some(Head { key: self.key(part, value)?, docs }),
        };
        Ok(())
    }

    fn key(&self, part: usize, value: u32) -> Result<Key> {
        Ok(match self.kind {
            Kind::Numbers => Key::Number(ordered(self.field.numbers[part].column.values()[value as usize])),
            _ => {
                let mut term = Vec::new();
                self.field.strings[part].column.term(value, &mut term)?;
                Key::Normalised(group_key(&term).to_vec())
            }
        })
    }
}

/// Returns docids of ascending `docs` that are in `left`; at least the first `at_most`.
fn left_of(segment: &SegmentView, docs: &[u32], left: &RoaringBitmap, at_most: usize) -> RoaringBitmap {
    if docs.len() > CHUNK {
        if at_most < CHUNK && segment.is_in_order() {
            let first = docs[..CHUNK].iter().map(|&doc| segment.docids[doc as usize]);
            let first: RoaringBitmap = first.filter(|&docid| left.contains(docid)).take(at_most).collect();
            if first.len() as usize == at_most {
                return first;
            }
        }
        return segment.to_docids(docs.iter().copied()) & left;
    }
    let docids = docs.iter().map(|&doc| segment.docids[doc as usize]);
    docids.filter(|&docid| left.contains(docid)).collect()
}

/// Removes the best `at_least` documents, and those with the same value as the last of them. Returns them in order.
fn take_best(documents: &mut Vec<(u32, u32)>, at_least: usize) -> Vec<(u32, u32)> {
    if documents.len() <= at_least {
        let mut all = std::mem::take(documents);
        all.sort_unstable();
        return all;
    }
    let (_, &mut (bound, _), _) = documents.select_nth_unstable(at_least - 1);
    let mut best = Vec::with_capacity(at_least);
    documents.retain(|document| {
        let wanted = document.0 <= bound;
        if wanted {
            best.push(*document);
        }
        !wanted
    });
    best.sort_unstable();
    best
}

impl Iterator for SortBuckets {
    type Item = Result<(SortValue, RoaringBitmap)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_bucket().transpose()
    }
}
