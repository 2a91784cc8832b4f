//! Selects documents by a condition on a field.

use std::ops::{Bound, Range};
use std::sync::Arc;

use roaring::RoaringBitmap;
use tantivy::DocId;
use tantivy::columnar::{Column, TermOrdHit};

use super::column_rows::{AllOrSome, EachValue, each_ord};
use super::column_term::group_key;
use super::columns::Columns;
use super::field_columns::FieldColumns;
use super::geo::COORDINATES;
use super::selection::{Selection, Selections};
use super::string_column::StringColumn;
use crate::analysis::normalize_facet;
use crate::error::Result;
use crate::store::schema::Presence;

/// Up to this many texts are looked up one by one; more take a single pass over the column.
const PASSES_MAX: usize = 4;

impl Columns {
    /// Returns the live documents of a selection. `find` returns the documents of a segment.
    pub(super) fn selected(
        &self,
        selection: &Selection<&str>,
        mut find: impl FnMut(usize) -> Result<Vec<DocId>>,
    ) -> Result<RoaringBitmap> {
        let mut found = RoaringBitmap::new();
        for (position, segment) in self.snapshot.segments().iter().enumerate() {
            if let Some(docids) = segment.cache().get::<Selections>(selection) {
                found |= &*docids & &*segment.live;
                continue;
            }
            let mut docs = find(position)?;
            if !docs.is_sorted() {
                docs.sort_unstable();
            }
            match segment.all_docids(&docs) {
                Some(docids) => {
                    let docids = Arc::new(docids);
                    segment.cache().insert::<Selections>(selection.to_owned(), &docids);
                    found |= &*docids & &*segment.live;
                }
                None => found |= segment.to_docids(docs),
            }
        }
        Ok(found)
    }

    /// Live documents with the field `path`, including null, empty values and objects.
    pub fn exists(&self, path: &str) -> Result<RoaringBitmap> {
        if COORDINATES.contains(&path) {
            return self.number_range(path, Bound::Unbounded, Bound::Unbounded);
        }
        self.presence(Presence::Exists, path)
    }

    /// Live documents with null at `path`.
    pub fn null(&self, path: &str) -> Result<RoaringBitmap> {
        self.presence(Presence::Null, path)
    }

    /// Live documents with `""`, `[]` or `{}` at `path`.
    pub fn empty(&self, path: &str) -> Result<RoaringBitmap> {
        self.presence(Presence::Empty, path)
    }

    /// Live documents with a malformed reserved field `path`.
    pub fn malformed(&self, path: &str) -> Result<RoaringBitmap> {
        self.presence(Presence::Malformed, path)
    }

    fn presence(&self, kind: Presence, path: &str) -> Result<RoaringBitmap> {
        let schema = self.snapshot.schema();
        self.selected(&Selection::Presence(kind, path), |segment| {
            self.segment(segment).presence_docs(schema, kind, path)
        })
    }

    /// Live documents with a string at `path` that equals `text` after normalising both, or with the number spelled by
    /// `text`.
    pub fn equal(&self, path: &str, text: &str) -> Result<RoaringBitmap> {
        let field = self.field(path)?;
        let normalised = normalize_facet(text);
        let mut found =
            self.string_range(&field, path, Bound::Included(&normalised), Bound::Included(&normalised))?;
        if let Some(number) = finite(text) {
            found |= self.number_range_in(&field, path, Bound::Included(number), Bound::Included(number))?;
        }
        Ok(found)
    }

    /// Live documents that are [`Columns::equal`] to at least one of `texts`. A long list costs a single pass over the
    /// column, not one per text.
    pub fn equal_any<'t>(
        &self,
        path: &str,
        texts: impl ExactSizeIterator<Item = &'t str>,
    ) -> Result<RoaringBitmap> {
        if texts.len() <= PASSES_MAX {
            let mut found = RoaringBitmap::new();
            for text in texts {
                found |= self.equal(path, text)?;
            }
            return Ok(found);
        }
        let field = self.field(path)?;
        let texts: Box<[&str]> = texts.collect();
        let mut edges: Vec<_> = texts.iter().map(|text| normalize_facet(text).into_bytes()).collect();
        let mut wanted: Vec<f64> = texts.iter().filter_map(|text| Some(finite(text)? + 0.0)).collect();
        wanted.sort_unstable_by(f64::total_cmp);
        self.selected(&Selection::OneOf(path, texts), |segment| {
            let every = AllOrSome::All(self.segment(segment).reader.max_doc());
            let mut hits = Vec::new();
            for part in field.strings.iter().filter(|part| part.segment == segment) {
                let strings = &*part.column;
                let mut ords = RoaringBitmap::new();
                for edge in &mut edges {
                    edge.push(0);
                    let start = strings.first_from(edge)?;
                    *edge.last_mut().expect("just pushed") = 1;
                    ords.insert_range(start as u32..strings.first_from(edge)? as u32);
                    edge.pop();
                }
                each_ord(&strings.ords, every, |doc, ord| {
                    if hits.last() != Some(&doc) && ords.contains(ord) {
                        hits.push(doc);
                    }
                });
            }
            for part in field.numbers.iter().filter(|part| part.segment == segment && !wanted.is_empty()) {
                let values = part.column.values();
                part.column.each(every, |doc, value| {
                    // Adding zero turns minus zero into zero.
                    let number = values[value as usize] + 0.0;
                    let is_wanted = || wanted.binary_search_by(|value| value.total_cmp(&number)).is_ok();
                    if hits.last() != Some(&doc) && is_wanted() {
                        hits.push(doc);
                    }
                });
            }
            Ok(hits)
        })
    }

    /// Live documents with a number or a string between two bounds. If a bound is not a number, only strings are
    /// compared.
    pub fn between(&self, path: &str, from: Bound<&str>, to: Bound<&str>) -> Result<RoaringBitmap> {
        let field = self.field(path)?;
        let (low, high) = (from.map(normalize_facet), to.map(normalize_facet));
        let mut found = self.string_range(&field, path, as_str(&low), as_str(&high))?;
        if let (Some(from), Some(to)) = (number_bound(from), number_bound(to)) {
            found |= self.number_range_in(&field, path, from, to)?;
        }
        Ok(found)
    }

    /// Live documents with a number at `path` between two bounds.
    pub fn number_range(&self, path: &str, from: Bound<f64>, to: Bound<f64>) -> Result<RoaringBitmap> {
        self.number_range_in(&*self.field(path)?, path, from, to)
    }

    /// Live documents with a string at `path` that contains `text`, both normalised.
    pub fn contains(&self, path: &str, text: &str) -> Result<RoaringBitmap> {
        let field = self.field(path)?;
        let wanted = normalize_facet(text);
        self.selected(&Selection::Contains(path, &wanted), |segment| {
            let mut hits = Vec::new();
            for part in field.strings.iter().filter(|part| part.segment == segment) {
                let strings = &*part.column;
                let mut matching = RoaringBitmap::new();
                let mut terms = strings.dictionary.stream()?;
                while terms.advance() {
                    let key = std::str::from_utf8(group_key(terms.key())).unwrap_or_default();
                    if key.contains(&wanted) {
                        matching.insert(terms.term_ord() as u32);
                    }
                }
                if matching.is_empty() {
                    continue;
                }
                each_ord(
                    &strings.ords,
                    AllOrSome::All(self.segment(segment).reader.max_doc()),
                    |doc, ord| {
                        if hits.last() != Some(&doc) && matching.contains(ord) {
                            hits.push(doc);
                        }
                    },
                );
            }
            Ok(hits)
        })
    }

    /// Live documents with a string at `path` that begins with `text`, both normalised. An empty `text` selects
    /// documents with the field.
    pub fn starts_with(&self, path: &str, text: &str) -> Result<RoaringBitmap> {
        let prefix = normalize_facet(text);
        if prefix.is_empty() {
            return self.exists(path);
        }
        let field = self.field(path)?;
        self.ord_ranges(&field, &Selection::StartsWith(path, &prefix), |strings| {
            let end = after_prefix(prefix.as_bytes());
            let end = end.map_or(Ok(strings.dictionary.num_terms() as u64), |end| strings.first_from(&end));
            Ok(strings.first_from(prefix.as_bytes())?..end?)
        })
    }

    fn string_range(
        &self,
        field: &FieldColumns,
        path: &str,
        from: Bound<&str>,
        to: Bound<&str>,
    ) -> Result<RoaringBitmap> {
        // The terms of all spellings of a normalised text are between `text ‖ 0` and `text ‖ 1`.
        let edge = |text: &str, last: u8| [text.as_bytes(), &[last]].concat();
        self.ord_ranges(field, &Selection::Strings(path, from, to), |strings| {
            let start = match from {
                Bound::Included(text) => strings.first_from(&edge(text, 0))?,
                Bound::Excluded(text) => strings.first_from(&edge(text, 1))?,
                Bound::Unbounded => 0,
            };
            let end = match to {
                Bound::Included(text) => strings.first_from(&edge(text, 1))?,
                Bound::Excluded(text) => strings.first_from(&edge(text, 0))?,
                Bound::Unbounded => strings.dictionary.num_terms() as u64,
            };
            Ok(start..end)
        })
    }

    fn ord_ranges(
        &self,
        field: &FieldColumns,
        selection: &Selection<&str>,
        range: impl Fn(&StringColumn) -> Result<Range<u64>>,
    ) -> Result<RoaringBitmap> {
        if field.strings.is_empty() {
            return Ok(RoaringBitmap::new());
        }
        self.selected(selection, |segment| {
            let mut docs = Vec::new();
            for part in field.strings.iter().filter(|part| part.segment == segment) {
                let ords = range(&part.column)?;
                if !ords.is_empty() {
                    docs.append(&mut docs_within(&part.column.ords, ords.start, ords.end - 1));
                }
            }
            Ok(docs)
        })
    }

    fn number_range_in(
        &self,
        field: &FieldColumns,
        path: &str,
        from: Bound<f64>,
        to: Bound<f64>,
    ) -> Result<RoaringBitmap> {
        // Columns order minus zero before zero, but filters treat them as equal: a bound of zero includes both or
        // neither.
        let low = match from {
            Bound::Included(number) => signed_zero(number, -0.0),
            Bound::Excluded(number) => signed_zero(number, 0.0).next_up(),
            Bound::Unbounded => f64::NEG_INFINITY,
        };
        let high = match to {
            Bound::Included(number) => signed_zero(number, 0.0),
            Bound::Excluded(number) => signed_zero(number, -0.0).next_down(),
            Bound::Unbounded => f64::INFINITY,
        };
        if low > high || field.numbers.is_empty() {
            return Ok(RoaringBitmap::new());
        }
        let numbers = Selection::Numbers(path, low.to_bits(), high.to_bits());
        self.selected(&numbers, |segment| {
            let of_segment = field.numbers.iter().filter(|part| part.segment == segment);
            Ok(of_segment.flat_map(|part| docs_within(&part.column.column, low, high)).collect())
        })
    }
}

impl StringColumn {
    /// Returns the first ordinal whose term is not before `term`; the number of terms if all terms are before it.
    fn first_from(&self, term: &[u8]) -> Result<u64> {
        let (TermOrdHit::Exact(ord) | TermOrdHit::Next(ord)) = self.dictionary.term_ord_or_next(term)?;
        Ok(ord.min(self.dictionary.num_terms() as u64))
    }
}

/// Returns segment docids with a value from `low` to `high`, ascending.
fn docs_within<T: PartialOrd + Copy + std::fmt::Debug + Send + Sync + 'static>(
    column: &Column<T>,
    low: T,
    high: T,
) -> Vec<u32> {
    let mut docs = Vec::new();
    // tantivy treats a range below the minimum of a column as if it began with the minimum.
    if high >= column.min_value() && low <= column.max_value() {
        column.get_docids_for_value_range(low..=high, 0..column.num_docs(), &mut docs);
    }
    docs
}

/// Returns the smallest byte string after all strings with `prefix`; `None` if no string comes after them.
fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte < u8::MAX)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

fn signed_zero(number: f64, zero: f64) -> f64 {
    if number == 0.0 { zero } else { number }
}

/// Returns the number spelled by a filter operand, if it is finite.
pub fn finite(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

fn number_bound(bound: Bound<&str>) -> Option<Bound<f64>> {
    Some(match bound {
        Bound::Included(text) => Bound::Included(finite(text)?),
        Bound::Excluded(text) => Bound::Excluded(finite(text)?),
        Bound::Unbounded => Bound::Unbounded,
    })
}

fn as_str(bound: &Bound<String>) -> Bound<&str> {
    bound.as_ref().map(String::as_str)
}
