use std::ops::Deref;
use std::sync::Arc;

use tantivy::DocId;

use super::by_value::{ByValue, DocumentsByValue, Totals, ValueCounts};
use super::column_rows::{AllOrSome, EachValue, each_ord};
use super::column_term::{group_key, split};
use super::segment_column::{SegmentColumn, build_in_parallel};
use super::segment_fields::OpenStrings;
use super::table::Table;
use crate::cache::cached;
use crate::error::{Error, Result};

cached! {
    StringGroups: () => Groups, |_, groups| groups.bytes();
}

/// The strings of a field in a segment: row → ordinal, and ordinal → term (normalised ‖ 0 ‖ original), with the tables
/// that a search uses.
pub(super) struct StringColumn {
    open: Arc<OpenStrings>,
    groups: Table<StringGroups>,
    totals: Table<ValueCounts>,
    by_ord: Table<DocumentsByValue>,
}

impl Deref for StringColumn {
    type Target = OpenStrings;

    fn deref(&self) -> &OpenStrings {
        &self.open
    }
}

/// Groups of ordinals. The ordinals of a group are the spellings of a value.
pub(super) struct Groups {
    /// Ordinal → group; `None` if every group has a single ordinal.
    of_ord: Option<Vec<u32>>,
    /// Group → its first ordinal; the last entry is the number of ordinals. `None` if every group has a single ordinal.
    first: Option<Vec<u32>>,
    /// Number of groups.
    pub len: usize,
}

impl Groups {
    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        let bytes = |table: &Option<Vec<u32>>| table.as_ref().map_or(0, |table| 4 * table.len());
        bytes(&self.of_ord) + bytes(&self.first)
    }

    /// Returns the group of an ordinal.
    pub fn of(&self, ord: u32) -> u32 {
        self.of_ord.as_ref().map_or(ord, |groups| groups[ord as usize])
    }

    /// Returns the ordinals of a group.
    pub fn ords(&self, group: u32) -> std::ops::Range<u32> {
        match &self.first {
            Some(first) => first[group as usize]..first[group as usize + 1],
            None => group..group + 1,
        }
    }

    /// Returns true if a value has several spellings.
    pub fn vary(&self) -> bool {
        self.of_ord.is_some()
    }
}

impl StringColumn {
    pub fn new(open: Arc<OpenStrings>) -> Self {
        Self { open, groups: Table::default(), totals: Table::default(), by_ord: Table::default() }
    }

    /// Number of terms.
    pub fn len(&self) -> usize {
        self.dictionary.num_terms()
    }

    /// Returns the groups of the column, read from its dictionary once.
    pub fn groups(&self) -> Result<&Groups> {
        self.groups.get_or_fail(&self.cache, || {
            let (mut of_ord, mut first) = (Vec::with_capacity(self.len()), Vec::new());
            let mut current: Vec<u8> = Vec::new();
            let mut terms = self.dictionary.stream()?;
            while terms.advance() {
                let key = group_key(terms.key());
                if first.is_empty() || key != current {
                    first.push(of_ord.len() as u32);
                    current.clear();
                    current.extend_from_slice(key);
                }
                of_ord.push(first.len() as u32 - 1);
            }
            let len = first.len();
            first.push(of_ord.len() as u32);
            let vary = len < of_ord.len();
            Ok(Groups { of_ord: vary.then_some(of_ord), first: vary.then_some(first), len })
        })
    }

    /// Builds [`StringColumn::by_ord`] of several columns on several threads.
    pub fn sort_all(parts: &[SegmentColumn<Self>]) {
        let columns = parts.iter().map(|part| &*part.column);
        let missing = |column: &&Self| column.by_ord.known(&column.cache).is_none().then_some(column.docs);
        build_in_parallel(columns, missing, |column| {
            column.by_ord();
        });
    }

    /// Builds [`StringColumn::totals`] of several columns on several threads.
    pub fn count_all(parts: &[SegmentColumn<Self>]) {
        let columns = parts.iter().map(|part| &*part.column);
        let missing = |column: &&Self| column.totals.known(&column.cache).is_none().then_some(column.docs);
        build_in_parallel(columns, missing, |column| {
            column.totals();
        });
    }

    /// Ordinal → number of documents.
    pub fn totals(&self) -> &Totals {
        self.totals.get(&self.cache, || {
            let value_of = |rows: &[u32], values: &mut Vec<u32>| self.ords_of(rows, values);
            Totals::new(&self.ords.index, self.docs, self.len(), &value_of)
        })
    }

    /// Ordinal → documents.
    pub fn by_ord(&self) -> &ByValue {
        self.by_ord.get(&self.cache, || {
            let value_of = |rows: &[u32], values: &mut Vec<u32>| self.ords_of(rows, values);
            ByValue::new(self.totals(), &self.ords.index, self.docs, &value_of)
        })
    }

    fn ords_of(&self, rows: &[u32], values: &mut Vec<u32>) {
        let mut ords = vec![0; rows.len()];
        self.ords.values.get_vals(rows, &mut ords);
        values.extend(ords.iter().map(|&ord| ord as u32));
    }

    /// Returns normalised and original form of an ordinal of this column.
    pub fn text(&self, ord: u32) -> Result<(String, String)> {
        let mut term = Vec::new();
        self.term(ord, &mut term)?;
        split(&term)
    }

    /// Reads the term of an ordinal.
    pub fn term(&self, ord: u32, term: &mut Vec<u8>) -> Result<()> {
        term.clear();
        if !self.dictionary.ord_to_term(u64::from(ord), term)? {
            return Err(Error::internal("a column is damaged", format!("it has no ordinal {ord}")));
        }
        Ok(())
    }
}

/// Values are ordinals.
impl EachValue for StringColumn {
    fn each(&self, docs: AllOrSome<'_>, visit: impl FnMut(DocId, u32)) {
        each_ord(&self.ords, docs, visit);
    }
}
