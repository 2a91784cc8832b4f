//! Documents that hold a value.

use std::collections::HashMap;
use std::ops::{Bound, Range};
use std::sync::{Arc, Mutex, PoisonError};

use roaring::RoaringBitmap;
use tantivy::DocId;
use tantivy::columnar::{Column, TermOrdHit};

use super::column_rows::{AllOrSome, EachValue, each_ord};
use super::column_term::group_key;
use super::columns::Columns;
use super::field_columns::FieldColumns;
use super::string_column::StringColumn;
use crate::analysis::normalize_facet;
use crate::error::Result;
use crate::store::schema::Presence;

/// Texts that are looked up one after another.
const PASSES_MAX: usize = 4;

/// Selections kept per segment, bytes of bitmaps among them, and bytes of what a selection says.
const KEPT_MAX: usize = 256;
const KEPT_BYTES_PER_DOCUMENT: usize = 4;
const KEPT_BYTES_MIN: usize = 1 << 20;
const KEY_BYTES_MAX: usize = 1024;

/// Documents of a segment, deleted ones among them, by what selected them. They outlive commits.
#[derive(Default)]
struct Kept(Mutex<(HashMap<String, Arc<RoaringBitmap>>, usize)>);

impl Kept {
    fn get(&self, key: &str) -> Option<Arc<RoaringBitmap>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0.get(key).cloned()
    }

    fn keep(&self, key: &str, docids: &Arc<RoaringBitmap>, documents: usize) {
        let bytes = docids.serialized_size() + key.len();
        let bytes_max = KEPT_BYTES_MIN.max(documents * KEPT_BYTES_PER_DOCUMENT);
        if key.len() > KEY_BYTES_MAX || bytes > bytes_max / 4 {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.0.len() == KEPT_MAX || kept.1 + bytes > bytes_max {
            *kept = Default::default();
        }
        if kept.0.insert(key.to_owned(), Arc::clone(docids)).is_none() {
            kept.1 += bytes;
        }
    }
}

impl Columns {
    /// Live documents that `find` selects, segment by segment; `key` says all that it depends on.
    pub(super) fn selected(
        &self,
        key: &str,
        mut find: impl FnMut(usize) -> Result<Vec<DocId>>,
    ) -> Result<RoaringBitmap> {
        let mut found = RoaringBitmap::new();
        for (position, segment) in self.snapshot.segments().iter().enumerate() {
            let kept = segment.attachments().get::<Kept>();
            if let Some(docids) = kept.get(key) {
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
                    kept.keep(key, &docids, segment.docids.len());
                    found |= &*docids & &*segment.live;
                }
                None => found |= segment.to_docids(docs),
            }
        }
        Ok(found)
    }

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
        let schema = self.snapshot.schema();
        self.selected(&format!("{kind:?} {path}"), |segment| {
            self.segment(segment).presence_docs(schema, kind, path)
        })
    }

    /// Live documents with a string at `path` that equals `text` once both are normalised, or the number
    /// that `text` writes.
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
        let (mut edges, mut wanted, mut key) = (Vec::new(), Vec::new(), format!("any {path}"));
        for text in texts {
            edges.push(normalize_facet(text).into_bytes());
            wanted.extend(finite(text).map(|number| number + 0.0));
            if key.len() <= KEY_BYTES_MAX {
                // Texts follow their lengths, so that no two lists read the same.
                key.push_str(&format!(" {} {text}", text.len()));
            }
        }
        wanted.sort_unstable_by(f64::total_cmp);
        self.selected(&key, |segment| {
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
                    // Adding zero takes the sign off it.
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

    /// Live documents with a number or a string between two bounds. A bound that writes no number bounds
    /// strings alone, and so does the other one then.
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

    /// Live documents with a string at `path` that holds `text`, both normalised.
    pub fn contains(&self, path: &str, text: &str) -> Result<RoaringBitmap> {
        let field = self.field(path)?;
        let wanted = normalize_facet(text);
        self.selected(&format!("contains {path} {wanted}"), |segment| {
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

    /// Live documents with a string at `path` that begins with `text`, both normalised. With an empty
    /// `text`: those where something is at `path`.
    pub fn starts_with(&self, path: &str, text: &str) -> Result<RoaringBitmap> {
        let prefix = normalize_facet(text);
        if prefix.is_empty() {
            return self.exists(path);
        }
        let field = self.field(path)?;
        self.ord_ranges(&field, &format!("starts {path} {prefix}"), |strings| {
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
        // All spellings of a normalised text lie between `text ‖ 0` and `text ‖ 1`.
        let edge = |text: &str, last: u8| [text.as_bytes(), &[last]].concat();
        self.ord_ranges(field, &format!("strings {path} {from:?} {to:?}"), |strings| {
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
        key: &str,
        range: impl Fn(&StringColumn) -> Result<Range<u64>>,
    ) -> Result<RoaringBitmap> {
        if field.strings.is_empty() {
            return Ok(RoaringBitmap::new());
        }
        self.selected(key, |segment| {
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
        if low > high || field.numbers.is_empty() {
            return Ok(RoaringBitmap::new());
        }
        self.selected(&format!("numbers {path} {low:?} {high:?}"), |segment| {
            let of_segment = field.numbers.iter().filter(|part| part.segment == segment);
            Ok(of_segment.flat_map(|part| docs_within(&part.column.column, low, high)).collect())
        })
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
