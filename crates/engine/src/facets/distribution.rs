//! Values of a field, counted over the documents of a result.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use roaring::RoaringBitmap;

use super::columns::{Columns, FieldColumns};
use super::groups::{Strings, each_ord, each_row};
use crate::error::Result;
use crate::settings::FacetOrder;

/// Up to so many candidates, numbers listed by value are in order of their decimal text.
/// Source: search-semantics.md §13.
const DECIMAL_ORDER_MAX: u64 = 3000;

/// Values that the reference keeps together on each level above the values themselves, and how many such
/// groups a level has at least. Source: search-semantics.md §13, order by count.
const LEVEL_GROUP_BITS: u32 = 2;
const LEVEL_GROUPS_MIN: usize = 5;

/// Values of a field among some documents.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    /// Value as shown and number of documents, in the order asked for.
    pub values: Vec<(String, u64)>,
    /// None without numbers.
    pub stats: Option<Stats>,
}

/// Least and greatest number of a field among some documents.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stats {
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

/// Counts per value: each document once.
pub(super) struct Tallies {
    tallies: Vec<[u32; 5]>,
    /// Values with a count, in no order.
    pub seen: Vec<u32>,
}

// Places in a tally. A docid is kept plus one, so that zeroed memory means none.
const COUNT: usize = 0;
const LAST_DOCID: usize = 1;
const FIRST_DOCID: usize = 2;
const SEGMENT: usize = 3;
const ORD: usize = 4;

impl Tallies {
    fn new(len: usize) -> Self {
        Self { tallies: vec![[0; 5]; len], seen: Vec::new() }
    }

    /// Counts a value of a document. The spelling that is shown is the last one in the document with
    /// the lowest docid.
    fn see(&mut self, value: u32, docid: u32, segment: u32, ord: u32) {
        let tally = &mut self.tallies[value as usize];
        let document = docid + 1;
        if tally[LAST_DOCID] != document {
            if tally[COUNT] == 0 {
                self.seen.push(value);
            }
            tally[COUNT] += 1;
            tally[LAST_DOCID] = document;
        }
        if tally[FIRST_DOCID] == 0 || document <= tally[FIRST_DOCID] {
            tally[FIRST_DOCID] = document;
            tally[SEGMENT] = segment;
            tally[ORD] = ord;
        }
    }

    pub fn count(&self, value: u32) -> u32 {
        self.tallies[value as usize][COUNT]
    }

    /// The values seen that come first, ascending.
    pub fn least(&mut self, max: usize) -> &[u32] {
        if self.seen.len() > max {
            self.seen.select_nth_unstable(max);
        }
        let least = max.min(self.seen.len());
        self.seen[..least].sort_unstable();
        &self.seen[..least]
    }

    /// Segment and ordinal of the spelling shown for a value.
    fn spelling(&self, value: u32) -> (usize, u64) {
        let tally = &self.tallies[value as usize];
        (tally[SEGMENT] as usize, u64::from(tally[ORD]))
    }
}

/// Counts per group of four values, of sixteen, and so on: each document once.
struct Levels {
    /// Count and last document plus one, by level from one on.
    levels: Vec<Vec<[u32; 2]>>,
}

impl Levels {
    /// None if there are too few values for a level.
    fn new(mut len: usize) -> Option<Self> {
        let mut levels = Vec::new();
        while len >> LEVEL_GROUP_BITS >= LEVEL_GROUPS_MIN {
            len = len.div_ceil(1 << LEVEL_GROUP_BITS);
            levels.push(vec![[0; 2]; len]);
        }
        Some(Self { levels }).filter(|levels| !levels.levels.is_empty())
    }

    fn see(&mut self, mut value: u32, docid: u32) {
        for level in &mut self.levels {
            value >>= LEVEL_GROUP_BITS;
            let [count, last] = &mut level[value as usize];
            if *last == docid + 1 {
                return;
            }
            *count += 1;
            *last = docid + 1;
        }
    }

    /// The commonest values as the reference finds them: it opens the fullest group or shows the
    /// commonest value, whichever counts more, a value before a group that counts the same, later ones
    /// before earlier ones.
    fn commonest(&self, tallies: &Tallies, max: usize) -> Vec<u32> {
        let mut heap = BinaryHeap::new();
        let count = |level: usize, group: u32| match level.checked_sub(1) {
            Some(above) => self.levels[above][group as usize][0],
            None => tallies.count(group),
        };
        let len = |level: usize| match level.checked_sub(1) {
            Some(above) => self.levels[above].len(),
            None => tallies.tallies.len(),
        };
        let top = self.levels.len();
        for group in 0..len(top) as u32 {
            if count(top, group) > 0 {
                heap.push((count(top, group), Reverse(top), group));
            }
        }
        let mut values = Vec::new();
        while let Some((_, Reverse(level), group)) = heap.pop() {
            if level == 0 {
                values.push(group);
                if values.len() == max {
                    break;
                }
                continue;
            }
            let first = group << LEVEL_GROUP_BITS;
            let end = (first + (1 << LEVEL_GROUP_BITS)).min(len(level - 1) as u32);
            for below in first..end {
                if count(level - 1, below) > 0 {
                    heap.push((count(level - 1, below), Reverse(level - 1), below));
                }
            }
        }
        values
    }
}

/// Values by count, ties from the last to the first.
pub(super) fn commonest(tallies: &mut Tallies, max: usize) -> Vec<u32> {
    let mut seen = std::mem::take(&mut tallies.seen);
    let key = |value: &u32| Reverse((tallies.count(*value), *value));
    if max > 0 && seen.len() > max {
        seen.select_nth_unstable_by_key(max - 1, key);
    }
    seen.truncate(max);
    seen.sort_unstable_by_key(key);
    seen
}

impl Columns {
    /// Counts the values at `path` over the live documents of `candidates`: numbers, then strings, at
    /// most `max` in all. Shared spellings of numbers and strings show once, with the string's count.
    pub fn distribution(
        &self,
        path: &str,
        candidates: &RoaringBitmap,
        order: FacetOrder,
        max: usize,
    ) -> Result<Distribution> {
        let field = self.field(path)?;
        let (mut values, stats) = self.numbers(&field, candidates, order, max);
        let number_at: HashMap<String, usize> =
            values.iter().enumerate().map(|(at, (value, _))| (value.clone(), at)).collect();
        let room = max - values.len();
        // A string that reads like a number takes no room of its own, so some more may be needed.
        for (value, count) in self.strings(&field, candidates, order, room + values.len())? {
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
    ) -> (Vec<(String, u64)>, Option<Stats>) {
        if field.segments.iter().all(|columns| columns.numbers.is_none()) {
            return (Vec::new(), None);
        }
        let numbers = field.numbers();
        let mut tallies = Tallies::new(numbers.values.len());
        let mut levels = if order == FacetOrder::Count { Levels::new(numbers.values.len()) } else { None };
        for (position, (segment, columns)) in self.segments(field).enumerate() {
            let Some(column) = &columns.numbers else { continue };
            let rows = numbers.rows(position);
            each_row(column, &segment.segment_docids(candidates), |doc, row| {
                let (value, docid) = (rows[row as usize], segment.docids[doc as usize]);
                tallies.see(value, docid, 0, 0);
                if let Some(levels) = &mut levels {
                    levels.see(value, docid);
                }
            });
        }
        let number = |value: u32| numbers.values[value as usize];
        let (min, most) = (tallies.seen.iter().min(), tallies.seen.iter().max());
        let stats = min.zip(most).map(|(&min, &max)| Stats { min: number(min), max: number(max) });
        // Display of f64 never writes an exponent, nor a fraction of zero.
        let shown =
            |tallies: &Tallies, value: u32| (number(value).to_string(), u64::from(tallies.count(value)));
        let values = match order {
            FacetOrder::Alpha if self.live(candidates).len() <= DECIMAL_ORDER_MAX => {
                let mut all: Vec<_> = tallies.seen.iter().map(|&value| shown(&tallies, value)).collect();
                all.sort_unstable();
                all.truncate(max);
                all
            }
            FacetOrder::Alpha => {
                let least = tallies.least(max).to_vec();
                least.into_iter().map(|value| shown(&tallies, value)).collect()
            }
            FacetOrder::Count => {
                let commonest = match levels {
                    Some(levels) => levels.commonest(&tallies, max),
                    None => commonest(&mut tallies, max),
                };
                commonest.into_iter().map(|value| shown(&tallies, value)).collect()
            }
        };
        (values, stats)
    }

    fn strings(
        &self,
        field: &FieldColumns,
        candidates: &RoaringBitmap,
        order: FacetOrder,
        max: usize,
    ) -> Result<Vec<(String, u64)>> {
        if max == 0 || field.segments.iter().all(|columns| columns.strings.is_none()) {
            return Ok(Vec::new());
        }
        let strings = field.strings()?;
        let mut levels = if order == FacetOrder::Count { Levels::new(strings.len) } else { None };
        let mut tallies = self.string_tallies(field, &strings, candidates, |group, docid| {
            if let Some(levels) = &mut levels {
                levels.see(group, docid);
            }
        });
        let groups = match (order, levels) {
            (FacetOrder::Alpha, _) => tallies.least(max).to_vec(),
            (FacetOrder::Count, Some(levels)) => levels.commonest(&tallies, max),
            (FacetOrder::Count, None) => commonest(&mut tallies, max),
        };
        let texts = field.shown(&tallies, &groups)?;
        let counts = groups.iter().map(|&group| u64::from(tallies.count(group)));
        Ok(texts.into_iter().map(|(_, original)| original).zip(counts).collect())
    }

    pub(super) fn string_tallies(
        &self,
        field: &FieldColumns,
        strings: &Strings,
        candidates: &RoaringBitmap,
        mut visit: impl FnMut(u32, u32),
    ) -> Tallies {
        let mut tallies = Tallies::new(strings.len);
        for (position, (segment, columns)) in self.segments(field).enumerate() {
            let Some(column) = &columns.strings else { continue };
            each_ord(&column.ords, &segment.segment_docids(candidates), |doc, ord| {
                let (group, docid) = (strings.group(position, ord), segment.docids[doc as usize]);
                tallies.see(group, docid, position as u32, ord as u32);
                visit(group, docid);
            });
        }
        tallies
    }
}

impl FieldColumns {
    /// Normalised form and shown spelling of `groups`, in their order. Terms are read in the order they
    /// lie in, each block once.
    pub(super) fn shown(&self, tallies: &Tallies, groups: &[u32]) -> Result<Vec<(String, String)>> {
        let mut wanted: Vec<(usize, u64, usize)> = groups
            .iter()
            .enumerate()
            .map(|(place, &group)| {
                let (segment, ord) = tallies.spelling(group);
                (segment, ord, place)
            })
            .collect();
        wanted.sort_unstable();
        let mut texts = vec![Default::default(); groups.len()];
        for of_segment in wanted.chunk_by(|a, b| a.0 == b.0) {
            let Some(column) = &self.segments[of_segment[0].0].strings else { continue };
            let ords: Vec<u64> = of_segment.iter().map(|(_, ord, _)| *ord).collect();
            let mut places = of_segment.iter().map(|(_, _, place)| *place);
            let mut damage = None;
            column.dictionary.sorted_ords_to_term_cb(&ords, |term| {
                if let Some(place) = places.next() {
                    match super::columns::split(term) {
                        Ok(text) => texts[place] = text,
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
}
