//! Values numbered in order across the columns of a commit.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use roaring::RoaringBitmap;
use tantivy::columnar::TermOrdHit;

use super::column_term::group_key;
use super::merged_values::MergedValues;
use super::number_column::{NumberColumn, ordered};
use super::segment_column::SegmentColumn;
use super::string_column::{Groups, StringColumn};
use crate::error::Result;

/// A column with so many times fewer values than the largest one has them looked up one by one: finding a
/// term takes about as long as reading so many in a row.
const LOOKED_UP_SHARE: usize = 512;

/// A number for every value of a field, ascending with the values.
pub(super) struct Ranks {
    merged: Arc<MergedValues>,
    /// By part: where its numbers come from.
    parts: Vec<Source>,
    /// Values of small columns alone, ascending: how many merged ones come before each, and who has it.
    extras: Vec<Extra>,
    /// Ranks of values that are spelled in several ways.
    varied: RoaringBitmap,
    /// All ranks are below it.
    pub len: usize,
}

enum Source {
    /// A place in the columns of [`MergedValues`].
    Merged(usize),
    /// Value → rank.
    Own(Vec<u32>),
}

struct Extra {
    before: u32,
    part: usize,
    value: u32,
}

/// Hashes the spelling of a term: equal spellings have equal hashes.
fn spelling_of(term: &[u8]) -> u64 {
    use std::hash::BuildHasher as _;
    rustc_hash::FxBuildHasher.hash_one(term)
}

impl Ranks {
    /// Ranks of the distinct numbers of columns.
    pub fn of_numbers(parts: &[SegmentColumn<NumberColumn>]) -> Result<Self> {
        let mut at = vec![0; parts.len()];
        let merged = MergedValues::merge(parts.len(), |list| {
            let number = parts[list].column.values().get(at[list]);
            at[list] += 1;
            Ok(number.map(|number| (ordered(*number), 0)))
        })?;
        Ok(Self {
            len: merged.len,
            merged: Arc::new(merged),
            parts: (0..parts.len()).map(Source::Merged).collect(),
            extras: Vec::new(),
            varied: RoaringBitmap::new(),
        })
    }

    /// Ranks of the groups of strings of columns.
    pub fn of_strings(parts: &[SegmentColumn<StringColumn>]) -> Result<Self> {
        let Some(base) =
            (0..parts.len()).max_by_key(|&part| (parts[part].column.len(), std::cmp::Reverse(part)))
        else {
            let merged = Arc::new(MergedValues::empty());
            return Ok(Self { merged, parts: vec![], extras: vec![], varied: RoaringBitmap::new(), len: 0 });
        };
        let largest = parts[base].column.len();
        let is_large = |part: usize| parts[part].column.len() * LOOKED_UP_SHARE >= largest;
        let large: Vec<usize> = (0..parts.len()).filter(|&part| is_large(part)).collect();
        let columns: Vec<&Arc<StringColumn>> = large.iter().map(|&part| &parts[part].column).collect();
        let merged = merged_strings(&parts[base].column, &columns)?;
        let groups: Vec<Arc<Groups>> = columns.iter().map(|column| column.groups()).collect::<Result<_>>()?;

        // What the large ones do not have: key → how many of theirs come before, and who has it.
        let mut extras: BTreeMap<Vec<u8>, (Extra, u64)> = BTreeMap::new();
        let mut varied = merged.varied.clone();
        let mut varied_extras: Vec<Vec<u8>> = Vec::new();
        let mut found: Vec<Option<Vec<Found>>> = Vec::new();
        for (part, SegmentColumn { column, .. }) in parts.iter().enumerate() {
            if is_large(part) {
                found.push(None);
                continue;
            }
            let own = column.groups()?;
            let mut of_part = Vec::with_capacity(own.len);
            let mut term = Vec::new();
            for value in 0..own.len as u32 {
                let ords = own.ords(value);
                column.term(ords.start, &mut term)?;
                let spelling = spelling_of(&term);
                let place = look_up(&merged, &columns, &groups, group_key(&term))?;
                of_part.push(match place {
                    Place::At { place, spelling: known } => {
                        if ords.len() > 1 || known != spelling {
                            varied.insert(place);
                        }
                        Found::Merged(place)
                    }
                    Place::Before(before) => {
                        let key = group_key(&term).to_vec();
                        let entry = extras.entry(key.clone());
                        let (_, first) = entry.or_insert((Extra { before, part, value }, spelling));
                        if ords.len() > 1 || *first != spelling {
                            varied_extras.push(key.clone());
                        }
                        Found::Extra(key)
                    }
                });
            }
            found.push(Some(of_part));
        }
        let rank_of_extra: BTreeMap<&[u8], u32> = extras
            .iter()
            .zip(0..)
            .map(|((key, (extra, _)), number)| (key.as_slice(), extra.before + number))
            .collect();
        let befores: Vec<u32> = extras.values().map(|(extra, _)| extra.before).collect();
        let shift = |place: u32| place + befores.partition_point(|&before| before <= place) as u32;
        let mut varied: RoaringBitmap = varied.iter().map(shift).collect();
        varied.extend(varied_extras.iter().map(|key| rank_of_extra[key.as_slice()]));
        let mut position = 0;
        let sources = found.into_iter().map(|found| match found {
            None => {
                position += 1;
                Source::Merged(position - 1)
            }
            Some(found) => Source::Own(
                found
                    .iter()
                    .map(|found| match found {
                        Found::Merged(place) => shift(*place),
                        Found::Extra(key) => rank_of_extra[key.as_slice()],
                    })
                    .collect(),
            ),
        });
        let parts = sources.collect();
        let len = merged.len + extras.len();
        let extras = extras.into_values().map(|(extra, _)| extra).collect();
        Ok(Self { merged, parts, extras, varied, len })
    }

    /// The rank of a value of a part: of a group, or of an index into its numbers.
    pub fn rank(&self, part: usize, value: u32) -> u32 {
        match &self.parts[part] {
            Source::Own(ranks) => ranks[value as usize],
            Source::Merged(column) => {
                let place = self.merged.position(*column, value);
                match self.extras.as_slice() {
                    [] => place,
                    extras => place + extras.partition_point(|extra| extra.before <= place) as u32,
                }
            }
        }
    }

    /// The value of that rank in a part; None if it has none.
    pub fn value_in(&self, part: usize, rank: u32) -> Option<u32> {
        match &self.parts[part] {
            Source::Own(ranks) => ranks.binary_search(&rank).ok().map(|value| value as u32),
            Source::Merged(column) => self.merged.value_at(*column, self.split(rank).ok()?),
        }
    }

    /// A part that has the value of a rank, and the value there.
    pub fn owner(&self, rank: u32) -> (usize, u32) {
        match self.split(rank) {
            Err(extra) => (self.extras[extra].part, self.extras[extra].value),
            Ok(place) => {
                let (column, value) = self.merged.owner(place);
                let is_it = |source: &Source| matches!(source, Source::Merged(known) if *known == column);
                (self.parts.iter().position(is_it).unwrap_or_default(), value)
            }
        }
    }

    /// Whether the value of a rank is spelled in several ways.
    pub fn varies(&self, rank: u32) -> bool {
        self.varied.contains(rank)
    }

    /// A place among the merged values, or else an extra.
    fn split(&self, rank: u32) -> std::result::Result<u32, usize> {
        let rank_of = |number: usize| self.extras[number].before + number as u32;
        let (mut low, mut high) = (0, self.extras.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if rank_of(middle) < rank { low = middle + 1 } else { high = middle }
        }
        if low < self.extras.len() && rank_of(low) == rank { Err(low) } else { Ok(rank - low as u32) }
    }
}

enum Found {
    Merged(u32),
    Extra(Vec<u8>),
}

enum Place {
    At { place: u32, spelling: u64 },
    Before(u32),
}

fn merged_strings(base: &StringColumn, columns: &[&Arc<StringColumn>]) -> Result<Arc<MergedValues>> {
    let dictionaries = || columns.iter().map(|column| &column.dictionary);
    let mut kept = base.merged.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(merged) = kept.as_ref().filter(|merged| merged.is_of(dictionaries())) {
        return Ok(Arc::clone(merged));
    }
    let merged = if let [column] = columns {
        // The order of one column is its own; only what is spelled in several ways has to be found.
        let groups = column.groups()?;
        let of_several = (0..groups.len as u32).filter(|&group| groups.ords(group).len() > 1);
        let varied = if groups.vary() { of_several.collect() } else { RoaringBitmap::new() };
        MergedValues::of_one(groups.len, varied)
    } else {
        let mut streams =
            columns.iter().map(|column| column.dictionary.stream()).collect::<std::io::Result<Vec<_>>>()?;
        MergedValues::merge(columns.len(), |list| {
            let terms = &mut streams[list];
            Ok(terms.advance().then(|| (group_key(terms.key()).to_vec(), spelling_of(terms.key()))))
        })?
    };
    Ok(Arc::clone(kept.insert(Arc::new(merged.of_dictionaries(dictionaries())))))
}

/// Where a key stands among the values of large columns.
fn look_up(
    merged: &MergedValues,
    columns: &[&Arc<StringColumn>],
    groups: &[Arc<Groups>],
    key: &[u8],
) -> Result<Place> {
    let least = [key, &[0]].concat();
    let mut before = merged.len as u32;
    let mut term = Vec::new();
    for (number, (column, groups)) in columns.iter().zip(groups).enumerate() {
        let (TermOrdHit::Exact(ord) | TermOrdHit::Next(ord)) = column.dictionary.term_ord_or_next(&least)?;
        if ord >= column.len() as u64 {
            continue;
        }
        let place = merged.position(number, groups.of(ord as u32));
        column.term(ord as u32, &mut term)?;
        if group_key(&term) == key {
            return Ok(Place::At { place, spelling: spelling_of(&term) });
        }
        before = before.min(place);
    }
    Ok(Place::Before(before))
}
