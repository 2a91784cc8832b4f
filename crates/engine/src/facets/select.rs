//! Documents that hold a value.

use std::ops::{Bound, Range};

use roaring::RoaringBitmap;
use tantivy::columnar::{Column, TermOrdHit};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, TERMINATED, Term};

use super::columns::{Columns, FieldColumns, StringColumn, group_key};
use crate::analysis::normalize_facet;
use crate::error::Result;
use crate::store::schema::{Presence, presence_term};

/// Texts that are looked up one after another.
const PASSES_MAX: usize = 4;

impl Columns {
    /// Live documents where something is at `path`, be it null, empty or an object.
    pub fn exists(&self, path: &str) -> Result<RoaringBitmap> {
        self.presence(Presence::Exists, path)
    }

    /// Live documents whose value at `path` is null itself.
    pub fn null(&self, path: &str) -> Result<RoaringBitmap> {
        self.presence(Presence::Null, path)
    }

    /// Live documents whose value at `path` is `""`, `[]` or `{}`.
    pub fn empty(&self, path: &str) -> Result<RoaringBitmap> {
        self.presence(Presence::Empty, path)
    }

    /// Live documents whose reserved field `path` holds what makes no sense.
    pub fn malformed(&self, path: &str) -> Result<RoaringBitmap> {
        self.presence(Presence::Malformed, path)
    }

    fn presence(&self, kind: Presence, path: &str) -> Result<RoaringBitmap> {
        let field = self.snapshot.schema().presence;
        let term = Term::from_field_text(field, &presence_term(kind, path));
        let mut found = RoaringBitmap::new();
        for segment in self.snapshot.segments() {
            let index = segment.reader.inverted_index(field)?;
            let Some(mut postings) = index.read_postings(&term, IndexRecordOption::Basic)? else { continue };
            let mut docs = Vec::with_capacity(postings.size_hint() as usize);
            while postings.doc() != TERMINATED {
                docs.push(postings.doc());
                postings.advance();
            }
            found |= segment.to_docids(docs);
        }
        Ok(found)
    }

    /// Live documents with a string at `path` that equals `text` once both are normalised, or the number
    /// that `text` writes.
    pub fn equal(&self, path: &str, text: &str) -> Result<RoaringBitmap> {
        let field = self.field(path)?;
        let normalised = normalize_facet(text);
        let mut found =
            self.string_range(&field, Bound::Included(&normalised), Bound::Included(&normalised))?;
        if let Some(number) = finite(text) {
            found |= self.number_range_in(&field, Bound::Included(number), Bound::Included(number));
        }
        Ok(found)
    }

    /// Live documents that are [`Columns::equal`] to some of `texts`. Long lists cost one pass over the
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
        let (mut edges, mut wanted) = (Vec::new(), Vec::new());
        for text in texts {
            edges.push(normalize_facet(text).into_bytes());
            wanted.extend(finite(text).map(|number| number + 0.0));
        }
        wanted.sort_unstable_by(f64::total_cmp);
        let mut found = RoaringBitmap::new();
        for (segment, columns) in self.segments(&field) {
            let docs: Vec<u32> = (0..segment.reader.max_doc()).collect();
            let mut hits = Vec::new();
            if let Some(strings) = &columns.strings {
                let mut ords = RoaringBitmap::new();
                for edge in &mut edges {
                    edge.push(0);
                    let start = strings.first_from(edge)?;
                    *edge.last_mut().expect("just pushed") = 1;
                    ords.insert_range(start as u32..strings.first_from(edge)? as u32);
                    edge.pop();
                }
                super::groups::each_ord(&strings.ords, &docs, |doc, ord| {
                    if hits.last() != Some(&doc) && ords.contains(ord as u32) {
                        hits.push(doc);
                    }
                });
                found |= segment.to_docids(std::mem::take(&mut hits));
            }
            if let Some(numbers) = columns.numbers.as_ref().filter(|_| !wanted.is_empty()) {
                super::groups::each_row(numbers, &docs, |doc, row| {
                    // Adding zero takes the sign off it.
                    let number = numbers.values.get_val(row) + 0.0;
                    let is_wanted = || wanted.binary_search_by(|value| value.total_cmp(&number)).is_ok();
                    if hits.last() != Some(&doc) && is_wanted() {
                        hits.push(doc);
                    }
                });
                found |= segment.to_docids(hits);
            }
        }
        Ok(found)
    }

    /// Live documents with a number or a string between two bounds. A bound that writes no number bounds
    /// strings alone, and so does the other one then.
    pub fn between(&self, path: &str, from: Bound<&str>, to: Bound<&str>) -> Result<RoaringBitmap> {
        let field = self.field(path)?;
        let (low, high) = (from.map(normalize_facet), to.map(normalize_facet));
        let mut found = self.string_range(&field, as_str(&low), as_str(&high))?;
        if let (Some(from), Some(to)) = (number_bound(from), number_bound(to)) {
            found |= self.number_range_in(&field, from, to);
        }
        Ok(found)
    }

    /// Live documents with a number at `path` between two bounds.
    pub fn number_range(&self, path: &str, from: Bound<f64>, to: Bound<f64>) -> Result<RoaringBitmap> {
        Ok(self.number_range_in(&*self.field(path)?, from, to))
    }

    /// Live documents with a string at `path` that holds `text`, both normalised.
    pub fn contains(&self, path: &str, text: &str) -> Result<RoaringBitmap> {
        let field = self.field(path)?;
        let wanted = normalize_facet(text);
        let mut found = RoaringBitmap::new();
        for (segment, columns) in self.segments(&field) {
            let Some(strings) = &columns.strings else { continue };
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
            let docs: Vec<u32> = (0..segment.reader.max_doc()).collect();
            let mut hits = Vec::new();
            super::groups::each_ord(&strings.ords, &docs, |doc, ord| {
                if hits.last() != Some(&doc) && matching.contains(ord as u32) {
                    hits.push(doc);
                }
            });
            found |= segment.to_docids(hits);
        }
        Ok(found)
    }

    /// Live documents with a string at `path` that begins with `text`, both normalised. With an empty
    /// `text`: those where something is at `path`.
    pub fn starts_with(&self, path: &str, text: &str) -> Result<RoaringBitmap> {
        let prefix = normalize_facet(text);
        if prefix.is_empty() {
            return self.exists(path);
        }
        let field = self.field(path)?;
        self.ord_ranges(&field, |strings| {
            let end = after_prefix(prefix.as_bytes());
            let end = end.map_or(Ok(strings.dictionary.num_terms() as u64), |end| strings.first_from(&end));
            Ok(strings.first_from(prefix.as_bytes())?..end?)
        })
    }

    /// Live documents that share a value at `path` with `docid`, itself among them if it has one.
    pub fn same_value(&self, path: &str, docid: u32) -> Result<RoaringBitmap> {
        let field = self.field(path)?;
        let mut found = RoaringBitmap::new();
        for value in self.values(path, docid)? {
            found |= match value {
                super::Value::Number(number) => {
                    self.number_range_in(&field, Bound::Included(number), Bound::Included(number))
                }
                super::Value::String { normalised, .. } => {
                    self.string_range(&field, Bound::Included(&normalised), Bound::Included(&normalised))?
                }
            };
        }
        Ok(found)
    }

    fn string_range(
        &self,
        field: &FieldColumns,
        from: Bound<&str>,
        to: Bound<&str>,
    ) -> Result<RoaringBitmap> {
        // All spellings of a normalised text lie between `text ‖ 0` and `text ‖ 1`.
        let edge = |text: &str, last: u8| [text.as_bytes(), &[last]].concat();
        self.ord_ranges(field, |strings| {
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
        range: impl Fn(&StringColumn) -> Result<Range<u64>>,
    ) -> Result<RoaringBitmap> {
        let mut found = RoaringBitmap::new();
        for (segment, columns) in self.segments(field) {
            let Some(strings) = &columns.strings else { continue };
            let ords = range(strings)?;
            if ords.is_empty() {
                continue;
            }
            found |= segment.to_docids(docs_within(&strings.ords, ords.start, ords.end - 1));
        }
        Ok(found)
    }

    fn number_range_in(&self, field: &FieldColumns, from: Bound<f64>, to: Bound<f64>) -> RoaringBitmap {
        let mut found = RoaringBitmap::new();
        // Zero has two signs that are equal, so a bound there stands on the side that takes in both.
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
        if low > high {
            return found;
        }
        for (segment, columns) in self.segments(field) {
            let Some(numbers) = &columns.numbers else { continue };
            found |= segment.to_docids(docs_within(numbers, low, high));
        }
        found
    }
}

impl StringColumn {
    /// The first ordinal whose term is not before `term`; the number of terms if there is none.
    fn first_from(&self, term: &[u8]) -> Result<u64> {
        let (TermOrdHit::Exact(ord) | TermOrdHit::Next(ord)) = self.dictionary.term_ord_or_next(term)?;
        Ok(ord.min(self.dictionary.num_terms() as u64))
    }
}

/// Segment docids with a value between two, ascending.
fn docs_within<T: PartialOrd + Copy + std::fmt::Debug + Send + Sync + 'static>(
    column: &Column<T>,
    low: T,
    high: T,
) -> Vec<u32> {
    let mut docs = Vec::new();
    // The column takes a range below its least value for one that begins with it.
    if high >= column.min_value() && low <= column.max_value() {
        column.get_docids_for_value_range(low..=high, 0..column.num_docs(), &mut docs);
    }
    docs
}

/// The least byte string after all that begin with `prefix`; None if there is none.
fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte < u8::MAX)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

fn signed_zero(number: f64, zero: f64) -> f64 {
    if number == 0.0 { zero } else { number }
}

fn finite(text: &str) -> Option<f64> {
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
