//! The columns of one field in all segments of a commit.

use std::sync::{Arc, OnceLock};

use super::number_column::NumberColumn;
use super::ranks::Ranks;
use super::segment_column::SegmentColumn;
use super::string_column::StringColumn;
use crate::error::Result;

/// The columns of one field in all segments of a commit. A segment has none, one or several columns of a kind.
#[derive(Default)]
pub(super) struct FieldColumns {
    pub numbers: Vec<SegmentColumn<NumberColumn>>,
    pub strings: Vec<SegmentColumn<StringColumn>>,
    number_ranks: OnceLock<Arc<Ranks>>,
    string_ranks: OnceLock<Arc<Ranks>>,
}

impl FieldColumns {
    /// Ranks of the field's strings, computed once per commit; merged values of large columns come from their cache.
    pub fn string_ranks(&self) -> Result<Arc<Ranks>> {
        if let Some(ranks) = self.string_ranks.get() {
            return Ok(Arc::clone(ranks));
        }
        let ranks = Arc::new(Ranks::of_strings(&self.strings)?);
        Ok(Arc::clone(self.string_ranks.get_or_init(|| ranks)))
    }

    /// Ranks of the field's numbers, computed once per commit.
    pub fn number_ranks(&self) -> Result<Arc<Ranks>> {
        if let Some(ranks) = self.number_ranks.get() {
            return Ok(Arc::clone(ranks));
        }
        NumberColumn::rank_all(&self.numbers);
        let ranks = Arc::new(Ranks::of_numbers(&self.numbers)?);
        Ok(Arc::clone(self.number_ranks.get_or_init(|| ranks)))
    }

    /// The number that has a rank.
    pub fn number(&self, ranks: &Ranks, rank: u32) -> f64 {
        let (part, value) = ranks.owner(rank);
        self.numbers[part].column.values()[value as usize]
    }
}
