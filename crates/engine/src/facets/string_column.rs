use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tantivy::DocId;
use tantivy::columnar::{Column, Dictionary, StrColumn};

use super::by_document::ByDocument;
use super::by_value::{ByValue, Totals};
use super::column_rows::{AllOrSome, EachValue, account, each_ord};
use super::column_term::{group_key, split};
use super::merged_values::MergedValues;
use super::segment_column::{SegmentColumn, build_in_parallel};
use crate::error::{Error, Result};

/// The strings of a field in a segment: row → ordinal, and ordinal → term (normalised ‖ 0 ‖ original), with the tables
/// that are built from them when they are first needed.
pub(super) struct StringColumn {
    pub ords: Column<u64>,
    pub dictionary: Arc<Dictionary>,
    docs: u32,
    groups: Mutex<Option<Arc<Groups>>>,
    totals: OnceLock<Totals>,
    by_ord: OnceLock<ByValue>,
    by_document: OnceLock<ByDocument>,
    /// The groups of this column and of other large columns in one order; cached in the largest of them.
    pub merged: Mutex<Option<Arc<MergedValues>>>,
    /// Bytes of all tables of the segment.
    bytes: Arc<AtomicUsize>,
}

/// Groups of ordinals: the spellings of one value each.
pub(super) struct Groups {
    /// Ordinal → group; `None` if every group has one ordinal.
    of_ord: Option<Vec<u32>>,
    /// Group → its first ordinal; the last entry is the number of ordinals. `None` if every group has one ordinal.
    first: Option<Vec<u32>>,
    /// The number of groups.
    pub len: usize,
}

impl Groups {
    /// The group of an ordinal.
    pub fn of(&self, ord: u32) -> u32 {
        self.of_ord.as_ref().map_or(ord, |groups| groups[ord as usize])
    }

    /// The ordinals of a group.
    pub fn ords(&self, group: u32) -> std::ops::Range<u32> {
        match &self.first {
            Some(first) => first[group as usize]..first[group as usize + 1],
            None => group..group + 1,
        }
    }

    /// Whether some value has several spellings.
    pub fn vary(&self) -> bool {
        self.of_ord.is_some()
    }
}

impl StringColumn {
    pub fn new(column: StrColumn, docs: u32, bytes: &Arc<AtomicUsize>) -> Self {
        let (dictionary, ords) = column.into_parts();
        Self {
            ords,
            dictionary,
            docs,
            groups: Mutex::default(),
            totals: OnceLock::new(),
            by_ord: OnceLock::new(),
            by_document: OnceLock::new(),
            merged: Mutex::default(),
            bytes: Arc::clone(bytes),
        }
    }

    /// The number of terms.
    pub fn len(&self) -> usize {
        self.dictionary.num_terms()
    }

    /// The groups of the column, which are read from its dictionary once.
    pub fn groups(&self) -> Result<Arc<Groups>> {
        let mut cached = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(groups) = &*cached {
            return Ok(Arc::clone(groups));
        }
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
        let groups = Groups { of_ord: vary.then_some(of_ord), first: vary.then_some(first), len };
        account(&self.bytes, if vary { 8 * self.len() } else { 0 });
        Ok(Arc::clone(cached.insert(Arc::new(groups))))
    }

    /// Has several threads build [`StringColumn::by_ord`].
    pub fn sort_all(parts: &[SegmentColumn<Self>]) {
        let columns = parts.iter().map(|part| &*part.column);
        let missing = |column: &&Self| column.by_ord.get().is_none().then_some(column.docs);
        build_in_parallel(columns, missing, |column| {
            column.by_ord();
        });
    }

    /// Has several threads build [`StringColumn::totals`].
    pub fn count_all(parts: &[SegmentColumn<Self>]) {
        let columns = parts.iter().map(|part| &*part.column);
        let missing = |column: &&Self| column.totals.get().is_none().then_some(column.docs);
        build_in_parallel(columns, missing, |column| {
            column.totals();
        });
    }

    /// Ordinal → number of documents.
    pub fn totals(&self) -> &Totals {
        self.totals.get_or_init(|| {
            let value_of = |rows: &[u32], values: &mut Vec<u32>| self.ords_of(rows, values);
            let totals = Totals::new(&self.ords.index, self.docs, self.len(), &value_of);
            account(&self.bytes, totals.bytes());
            totals
        })
    }

    /// Ordinal → documents.
    pub fn by_ord(&self) -> &ByValue {
        self.by_ord.get_or_init(|| {
            let value_of = |rows: &[u32], values: &mut Vec<u32>| self.ords_of(rows, values);
            let by_ord = ByValue::new(self.totals(), &self.ords.index, self.docs, &value_of);
            account(&self.bytes, by_ord.bytes());
            by_ord
        })
    }

    fn ords_of(&self, rows: &[u32], values: &mut Vec<u32>) {
        let mut ords = vec![0; rows.len()];
        self.ords.values.get_vals(rows, &mut ords);
        values.extend(ords.iter().map(|&ord| ord as u32));
    }

    /// The table of ordinals by document, if it is built or reading `asked` pays for building it.
    fn by_document(&self, asked: AllOrSome<'_>) -> Option<&ByDocument> {
        if ByDocument::is_worth(self.docs, asked) {
            self.by_document.get_or_init(|| {
                let all = AllOrSome::All(self.docs);
                let table = ByDocument::new(self.docs, |visit| each_ord(&self.ords, all, visit));
                account(&self.bytes, table.bytes());
                table
            });
        }
        self.by_document.get()
    }

    /// Normalised and original form of an ordinal of this column.
    pub fn text(&self, ord: u32) -> Result<(String, String)> {
        let mut term = Vec::new();
        self.term(ord, &mut term)?;
        split(&term)
    }

    /// The term of an ordinal.
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
        match (docs, self.by_document(docs)) {
            (AllOrSome::Some(docs), Some(table)) => table.each(docs, visit),
            _ => each_ord(&self.ords, docs, visit),
        }
    }
}
