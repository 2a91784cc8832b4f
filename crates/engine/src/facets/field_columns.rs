//! The columns of a field in all segments of a commit.

use std::sync::{Arc, OnceLock};

use super::number_column::NumberColumn;
use super::ranks::{FieldRanks, Ranks};
use super::segment_column::SegmentColumn;
use super::segment_fields::{OpenNumbers, OpenStrings};
use super::string_column::StringColumn;
use crate::error::Result;
use crate::store::Snapshot;

/// Open columns of a field in all segments of a commit. A segment has any number of columns of a kind.
#[derive(Default)]
pub(super) struct OpenField {
    /// Positions of segments in the commit, with their columns.
    pub numbers: Vec<(usize, Arc<OpenNumbers>)>,
    pub strings: Vec<(usize, Arc<OpenStrings>)>,
}

/// The columns of a field in all segments of a commit, with the tables that a search uses.
pub(super) struct FieldColumns {
    snapshot: Snapshot,
    pub numbers: Vec<SegmentColumn<NumberColumn>>,
    pub strings: Vec<SegmentColumn<StringColumn>>,
    number_ranks: OnceLock<Arc<Ranks>>,
    string_ranks: OnceLock<Arc<Ranks>>,
}

impl FieldColumns {
    pub fn new(snapshot: &Snapshot, open: &OpenField) -> Self {
        let numbers = open.numbers.iter().map(|(segment, open)| SegmentColumn {
            segment: *segment,
            column: Arc::new(NumberColumn::new(Arc::clone(open))),
        });
        let strings = open.strings.iter().map(|(segment, open)| SegmentColumn {
            segment: *segment,
            column: Arc::new(StringColumn::new(Arc::clone(open))),
        });
        Self {
            snapshot: snapshot.clone(),
            numbers: numbers.collect(),
            strings: strings.collect(),
            number_ranks: OnceLock::new(),
            string_ranks: OnceLock::new(),
        }
    }

    /// Ranks of the field's strings, cached with the commit. Merged values of large columns are cached with those
    /// columns.
    pub fn string_ranks(&self) -> Result<Arc<Ranks>> {
        let columns = self.strings.iter().map(|part| part.column.cache.id()).collect();
        self.ranks(&self.string_ranks, columns, || Ranks::of_strings(&self.strings))
    }

    /// Ranks of the field's numbers, cached with the commit.
    pub fn number_ranks(&self) -> Result<Arc<Ranks>> {
        let columns = self.numbers.iter().map(|part| part.column.cache.id()).collect();
        self.ranks(&self.number_ranks, columns, || {
            NumberColumn::rank_all(&self.numbers);
            Ranks::of_numbers(&self.numbers)
        })
    }

    fn ranks(
        &self,
        used: &OnceLock<Arc<Ranks>>,
        columns: Box<[u64]>,
        make: impl FnOnce() -> Result<Ranks>,
    ) -> Result<Arc<Ranks>> {
        if let Some(ranks) = used.get() {
            return Ok(Arc::clone(ranks));
        }
        let ranks = match self.snapshot.cache().get::<FieldRanks>(&*columns) {
            Some(ranks) => ranks,
            None => {
                let ranks = Arc::new(make()?);
                self.snapshot.cache().insert::<FieldRanks>(columns, &ranks);
                ranks
            }
        };
        Ok(Arc::clone(used.get_or_init(|| ranks)))
    }

    /// Returns the number of a rank.
    pub fn number(&self, ranks: &Ranks, rank: u32) -> f64 {
        let (part, value) = ranks.owner(rank);
        self.numbers[part].column.values()[value as usize]
    }
}
