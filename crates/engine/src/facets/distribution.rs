//! Counts the values of a field in the documents of a result.

use std::collections::HashMap;

use roaring::RoaringBitmap;
use tantivy::DocId;
use tantivy::columnar::{Cardinality, ColumnIndex};

use super::column_rows::{AllOrSome, EachValue};
use super::column_term::split;
use super::columns::Columns;
use super::commonest::{GroupCounts, commonest};
use super::field_columns::FieldColumns;
use super::number_column::NumberColumn;
use super::ranks::Ranks;
use super::searched_fields::FieldUse;
use super::segment_column::SegmentColumn;
use super::string_column::{Groups, StringColumn};
use crate::error::Result;
use crate::settings::FacetOrder;
use crate::store::{DELETED, SegmentView};

/// Up to this many candidates, numbers listed by value are in order of their decimal text.
/// Source: search §13.
const DECIMAL_ORDER_MAX: u64 = 3000;

/// Values of a field in a set of documents.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    /// Displayed values with their numbers of documents, in the requested order.
    pub values: Vec<(String, u64)>,
    /// Minimum and maximum; `None` if the documents have no numbers.
    pub stats: Option<Stats>,
}

/// Minimum and maximum of a field in a set of documents.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stats {
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
}

/// Rank → number of documents. Also counts groups of values if values are ordered by count.
pub(super) struct Counts {
    pub counts: Vec<u32>,
    groups: Option<GroupCounts>,
}

impl Counts {
    fn new(len: usize, with_groups: bool) -> Self {
        Self { counts: vec![0; len], groups: if with_groups { GroupCounts::new(len) } else { None } }
    }

    /// Returns the ranks with at least one document, ascending.
    pub fn seen(&self) -> impl DoubleEndedIterator<Item = u32> + '_ {
        (0..self.counts.len() as u32).filter(|&rank| self.counts[rank as usize] > 0)
    }

    fn commonest(&self, max: usize) -> Vec<u32> {
        match &self.groups {
            Some(groups) => groups.commonest(&self.counts, max),
            None => commonest(&self.counts, max),
        }
    }

    /// Returns the first `max` ranks in the given order.
    pub fn first(&self, order: FacetOrder, max: usize) -> Vec<u32> {
        match order {
            FacetOrder::Alpha => self.seen().take(max).collect(),
            FacetOrder::Count => self.commonest(max),
        }
    }
}

/// A column of strings whose values are groups of ordinals.
struct ByGroup<'a> {
    column: &'a StringColumn,
    groups: &'a Groups,
}

impl EachValue for ByGroup<'_> {
    fn each(&self, docs: AllOrSome<'_>, mut visit: impl FnMut(DocId, u32)) {
        self.column.each(docs, |doc, ord| visit(doc, self.groups.of(ord)));
    }
}

/// Displayed numbers with their numbers of documents, and minimum and maximum.
type Numbers = (Vec<(String, u64)>, Option<Stats>);

/// A column to count by value; values are below `len`.
struct Counted<'a, V> {
    part: usize,
    segment: &'a SegmentView,
    index: &'a ColumnIndex,
    len: usize,
    /// Value → number of documents, including deleted ones; `None` if unknown.
    total: Option<&'a dyn Fn(u32) -> u32>,
    values: &'a V,
}

impl<V: EachValue> Counted<'_, V> {
    /// Counts the documents of `candidates`. If these are most of the segment, counts the other documents instead and
    /// subtracts them from the totals.
    fn count(&self, candidates: &RoaringBitmap, ranks: &Ranks, into: &mut Counts) {
        let several = self.index.get_cardinality() == Cardinality::Multivalued;
        if several && into.groups.is_some() {
            return self.count_each(candidates, ranks, into);
        }
        let others = &*self.segment.live - candidates;
        let total = self.total.filter(|_| others.len() * 2 < self.segment.live.len());
        let docs = match total {
            Some(_) => self.all_but(&others),
            None => self.segment.segment_docids(candidates),
        };
        let mut counts = vec![0u32; self.len];
        if several {
            let mut last = vec![DocId::MAX; self.len];
            self.values.each(AllOrSome::Some(&docs), |doc, value| {
                counts[value as usize] += u32::from(std::mem::replace(&mut last[value as usize], doc) != doc);
            });
        } else {
            self.values.each(AllOrSome::Some(&docs), |_, value| counts[value as usize] += 1);
        }
        for (value, counted) in (0..).zip(counts) {
            let documents = total.map_or(counted, |total| total(value) - counted);
            if documents > 0 {
                let rank = ranks.rank(self.part, value);
                into.counts[rank as usize] += documents;
                if let Some(groups) = &mut into.groups {
                    groups.add(rank, documents);
                }
            }
        }
    }

    /// Visits every document with all its values. A document with several values of a group counts once for the group,
    /// which totals cannot tell.
    fn count_each(&self, candidates: &RoaringBitmap, ranks: &Ranks, into: &mut Counts) {
        let docs = self.segment.segment_docids(candidates);
        let mut last = vec![DocId::MAX; self.len];
        self.values.each(AllOrSome::Some(&docs), |doc, value| {
            if std::mem::replace(&mut last[value as usize], doc) != doc {
                let rank = ranks.rank(self.part, value);
                into.counts[rank as usize] += 1;
                if let Some(groups) = &mut into.groups {
                    groups.see(rank, self.segment.docids[doc as usize]);
                }
            }
        });
    }

    /// Returns the documents of the segment that are in `others` or deleted.
    fn all_but(&self, others: &RoaringBitmap) -> Vec<DocId> {
        let mut docs = self.segment.segment_docids(others);
        if self.segment.has_deletes() {
            let deleted = self.segment.docids.iter().zip(0..).filter(|(docid, _)| **docid == DELETED);
            docs.extend(deleted.map(|(_, doc)| doc));
        }
        docs
    }
}

impl Columns {
    /// Counts the values at `path` over the live documents of `candidates`: numbers, then strings, at most `max` in
    /// total. A string spelled like a number is listed once, with the count of the string.
    pub fn distribution(
        &self,
        path: &str,
        candidates: &RoaringBitmap,
        order: FacetOrder,
        max: usize,
    ) -> Result<Distribution> {
        self.note(FieldUse::Count, path);
        let field = self.field(path)?;
        let (mut values, stats) = self.numbers(&field, candidates, order, max)?;
        let number_at: HashMap<String, usize> =
            values.iter().enumerate().map(|(at, (value, _))| (value.clone(), at)).collect();
        // A string spelled like a number replaces it, so up to `max` strings may be needed in addition to the numbers.
        for (value, count) in self.strings(&field, candidates, order, max)? {
            match number_at.get(&value) {
                Some(&at) => values[at].1 = count,
                None if values.len() < max => values.push((value, count)),
                None => break,
            }
        }
        Ok(Distribution { values, stats })
    }

    fn numbers(
        &self,
        field: &FieldColumns,
        candidates: &RoaringBitmap,
        order: FacetOrder,
        max: usize,
    ) -> Result<Numbers> {
        if field.numbers.is_empty() {
            return Ok((Vec::new(), None));
        }
        let ranks = field.number_ranks()?;
        let mut counts = Counts::new(ranks.len, order == FacetOrder::Count);
        if self.are_most(candidates) {
            NumberColumn::count_all(&field.numbers);
        }
        for (part, SegmentColumn { segment, column }) in field.numbers.iter().enumerate() {
            let total = |value: u32| column.totals().count(value as usize);
            let counted = Counted {
                part,
                segment: self.segment(*segment),
                index: &column.column.index,
                len: column.values().len(),
                total: Some(&total),
                values: &**column,
            };
            counted.count(candidates, &ranks, &mut counts);
        }
        let number = |rank: u32| field.number(&ranks, rank);
        let (min, most) = (counts.seen().next(), counts.seen().next_back());
        let stats = min.zip(most).map(|(min, max)| Stats { min: number(min), max: number(max) });
        // `Display` of f64 never writes an exponent or a zero fraction.
        let shown = |rank: u32| (number(rank).to_string(), u64::from(counts.counts[rank as usize]));
        let by_text = order == FacetOrder::Alpha && self.live(candidates).len() <= DECIMAL_ORDER_MAX;
        let values = if by_text {
            let mut all: Vec<_> = counts.seen().map(shown).collect();
            all.sort_unstable();
            all.truncate(max);
            all
        } else {
            counts.first(order, max).into_iter().map(shown).collect()
        };
        Ok((values, stats))
    }

    fn strings(
        &self,
        field: &FieldColumns,
        candidates: &RoaringBitmap,
        order: FacetOrder,
        max: usize,
    ) -> Result<Vec<(String, u64)>> {
        if max == 0 || field.strings.is_empty() {
            return Ok(Vec::new());
        }
        let ranks = field.string_ranks()?;
        let counts = self.string_counts(field, candidates, order)?;
        let first = counts.first(order, max);
        let texts = self.shown(field, &ranks, &first, candidates)?;
        let counted = first.iter().map(|&rank| u64::from(counts.counts[rank as usize]));
        Ok(texts.into_iter().map(|(_, original)| original).zip(counted).collect())
    }

    pub(super) fn string_counts(
        &self,
        field: &FieldColumns,
        candidates: &RoaringBitmap,
        order: FacetOrder,
    ) -> Result<Counts> {
        let ranks = field.string_ranks()?;
        let mut counts = Counts::new(ranks.len, order == FacetOrder::Count);
        if self.are_most(candidates) {
            StringColumn::count_all(&field.strings);
        }
        for (part, SegmentColumn { segment, column }) in field.strings.iter().enumerate() {
            let groups = column.groups()?;
            let total = |group: u32| -> u32 {
                groups.ords(group).map(|ord| column.totals().count(ord as usize)).sum()
            };
            let several = column.ords.index.get_cardinality() == Cardinality::Multivalued;
            let counted = Counted {
                part,
                segment: self.segment(*segment),
                index: &column.ords.index,
                len: groups.len,
                // Totals of ordinals count a document with two spellings of a value twice.
                total: if several && groups.vary() { None } else { Some(&total) },
                values: &ByGroup { column, groups },
            };
            counted.count(candidates, &ranks, &mut counts);
        }
        Ok(counts)
    }

    /// Returns normalised form and displayed spelling of the values of `wanted`, in this order. The displayed spelling
    /// is the last one in the candidate with the lowest docid. Terms are read in dictionary order, each block once.
    pub(super) fn shown(
        &self,
        field: &FieldColumns,
        ranks: &Ranks,
        wanted: &[u32],
        candidates: &RoaringBitmap,
    ) -> Result<Vec<(String, String)>> {
        let mut terms: Vec<(usize, u64, usize)> = Vec::with_capacity(wanted.len());
        for (at, &rank) in wanted.iter().enumerate() {
            let (part, ord) = match ranks.varies(rank) {
                true => self.spelling(field, ranks, rank, candidates)?,
                false => {
                    let (part, group) = ranks.owner(rank);
                    (part, field.strings[part].column.groups()?.ords(group).start)
                }
            };
            terms.push((part, u64::from(ord), at));
        }
        terms.sort_unstable();
        let mut texts = vec![Default::default(); wanted.len()];
        for of_part in terms.chunk_by(|a, b| a.0 == b.0) {
            let column = &field.strings[of_part[0].0].column;
            let ords: Vec<u64> = of_part.iter().map(|(_, ord, _)| *ord).collect();
            let mut slots = of_part.iter().map(|(_, _, at)| *at);
            let mut damage = None;
            column.dictionary.sorted_ords_to_term_cb(&ords, |term| {
                if let Some(slot) = slots.next() {
                    match split(term) {
                        Ok(text) => texts[slot] = text,
                        Err(error) => damage = Some(error),
                    }
                }
            })?;
            if let Some(error) = damage {
                return Err(error);
            }
        }
        Ok(texts)
    }

    /// Returns column and ordinal of the displayed spelling, for a value with several spellings.
    fn spelling(
        &self,
        field: &FieldColumns,
        ranks: &Ranks,
        rank: u32,
        candidates: &RoaringBitmap,
    ) -> Result<(usize, u32)> {
        let mut first: Option<(u32, usize, DocId)> = None;
        let mut shown = ranks.owner(rank);
        for (part, SegmentColumn { segment, column }) in field.strings.iter().enumerate() {
            let Some(group) = ranks.value_in(part, rank) else { continue };
            let view = self.segment(*segment);
            let mut spelled = column.groups()?.ords(group);
            for ord in spelled.clone() {
                for &doc in column.by_ord().docs(ord as usize) {
                    let docid = view.docids[doc as usize];
                    let is_first = first.is_none_or(|(known, ..)| docid < known);
                    if docid != DELETED && is_first && candidates.contains(docid) {
                        first = Some((docid, part, doc));
                    }
                }
            }
            if let Some((_, _, doc)) = first.filter(|(_, of, _)| *of == part) {
                let last =
                    column.ords.values_for_doc(doc).filter(|&ord| spelled.contains(&(ord as u32))).last();
                shown = (part, last.map_or(spelled.start, |ord| ord as u32));
            } else if first.is_none() {
                shown = (part, spelled.next().unwrap_or_default());
            }
        }
        Ok(shown)
    }
}
