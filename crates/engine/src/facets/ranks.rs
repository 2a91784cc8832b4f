//! Numbers values in order across the columns of a commit.

use std::collections::BTreeMap;
use std::sync::Arc;

use roaring::RoaringBitmap;
use tantivy::columnar::TermOrdHit;

use super::column_term::group_key;
use super::merged_values::{MergedStrings, MergedValues};
use super::number_column::{NumberColumn, ordered};
use super::segment_column::SegmentColumn;
use super::string_column::{Groups, StringColumn};
use crate::cache::cached;
use crate::error::Result;
use crate::store::bitmap_bytes;

cached! {
    // Key: owner ids of the field's columns.
    pub(super) FieldRanks: Box<[u64]> => Ranks, |columns, ranks| 8 * columns.len() + ranks.bytes();
}

/// A column with fewer than this share of the largest column's values is not merged: its values are looked up in the
/// merged ones. Finding a term takes about as long as reading this many terms in sequence.
const LOOKED_UP_SHARE: usize = 512;

/// Numbers the values of a field in ascending order. Large columns are merged. Values of small columns are looked up in
/// the merged values; values that occur only in small columns are placed between them.
pub(super) struct Ranks {
    merged: Arc<MergedValues>,
    /// By column of the field: how its values map to ranks.
    sources: Vec<Source>,
    /// Values that occur only in small columns, ascending.
    unmerged: Vec<Unmerged>,
    /// Ranks of values with several spellings.
    varied: RoaringBitmap,
    /// Number of ranks.
    pub len: usize,
}

enum Source {
    /// A large column: its index in [`MergedValues`].
    Merged(usize),
    /// A small column: value → rank.
    Own(Vec<u32>),
}

/// A value that occurs only in small columns.
struct Unmerged {
    /// Number of merged values before it.
    before: u32,
    /// A column with it, and its number in that column.
    part: usize,
    value: u32,
}

/// Hash of a term. Different spellings almost certainly have different hashes.
fn spelling_of(term: &[u8]) -> u64 {
    use std::hash::BuildHasher as _;
    rustc_hash::FxBuildHasher.hash_one(term)
}

impl Ranks {
    /// Ranks the distinct numbers of columns.
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
            sources: (0..parts.len()).map(Source::Merged).collect(),
            unmerged: Vec::new(),
            varied: RoaringBitmap::new(),
        })
    }

    /// Ranks the groups of strings of columns.
    pub fn of_strings(parts: &[SegmentColumn<StringColumn>]) -> Result<Self> {
        let Some(base) =
            (0..parts.len()).max_by_key(|&part| (parts[part].column.len(), std::cmp::Reverse(part)))
        else {
            let merged = Arc::new(MergedValues::empty());
            return Ok(Self {
                merged,
                sources: vec![],
                unmerged: vec![],
                varied: RoaringBitmap::new(),
                len: 0,
            });
        };
        let largest = parts[base].column.len();
        let is_large = |part: usize| parts[part].column.len() * LOOKED_UP_SHARE >= largest;
        let large: Vec<usize> = (0..parts.len()).filter(|&part| is_large(part)).collect();
        let columns: Vec<&Arc<StringColumn>> = large.iter().map(|&part| &parts[part].column).collect();
        let merged = merged_strings(&parts[base].column, &columns)?;
        let groups: Vec<&Groups> = columns.iter().map(|column| column.groups()).collect::<Result<_>>()?;

        // Key → a value missing in all large columns, and a hash of its first spelling.
        let mut unmerged: BTreeMap<Vec<u8>, (Unmerged, u64)> = BTreeMap::new();
        let mut varied = merged.varied.clone();
        let mut varied_unmerged: Vec<Vec<u8>> = Vec::new();
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
                let position = look_up(&merged, &columns, &groups, group_key(&term))?;
                of_part.push(match position {
                    Position::At { position, spelling: known } => {
                        if ords.len() > 1 || known != spelling {
                            varied.insert(position);
                        }
                        Found::Merged(position)
                    }
                    Position::Before(before) => {
                        let key = group_key(&term).to_vec();
                        let entry = unmerged.entry(key.clone());
                        let (_, first) = entry.or_insert((Unmerged { before, part, value }, spelling));
                        if ords.len() > 1 || *first != spelling {
                            varied_unmerged.push(key.clone());
                        }
                        Found::Unmerged(key)
                    }
                });
            }
            found.push(Some(of_part));
        }
        let rank_of_unmerged: BTreeMap<&[u8], u32> = unmerged
            .iter()
            .zip(0..)
            .map(|((key, (value, _)), number)| (key.as_slice(), value.before + number))
            .collect();
        let befores: Vec<u32> = unmerged.values().map(|(value, _)| value.before).collect();
        let rank_of = |position: u32| position + befores.partition_point(|&before| before <= position) as u32;
        let mut varied: RoaringBitmap = varied.iter().map(rank_of).collect();
        varied.extend(varied_unmerged.iter().map(|key| rank_of_unmerged[key.as_slice()]));
        let mut column = 0;
        let sources = found.into_iter().map(|found| match found {
            None => {
                column += 1;
                Source::Merged(column - 1)
            }
            Some(found) => Source::Own(
                found
                    .iter()
                    .map(|found| match found {
                        Found::Merged(position) => rank_of(*position),
                        Found::Unmerged(key) => rank_of_unmerged[key.as_slice()],
                    })
                    .collect(),
            ),
        });
        let sources = sources.collect();
        let len = merged.len + unmerged.len();
        let unmerged = unmerged.into_values().map(|(value, _)| value).collect();
        Ok(Self { merged, sources, unmerged, varied, len })
    }

    /// Memory in bytes. Includes the merged values, which live as long as this.
    fn bytes(&self) -> usize {
        let own = self.sources.iter().map(|source| match source {
            Source::Merged(_) => size_of::<Source>(),
            Source::Own(ranks) => size_of::<Source>() + 4 * ranks.len(),
        });
        own.sum::<usize>()
            + size_of::<Unmerged>() * self.unmerged.len()
            + bitmap_bytes(&self.varied)
            + self.merged.bytes()
    }

    /// Returns the rank of a column's value: a group of strings or an index into distinct numbers.
    pub fn rank(&self, part: usize, value: u32) -> u32 {
        match &self.sources[part] {
            Source::Own(ranks) => ranks[value as usize],
            Source::Merged(column) => {
                let position = self.merged.position(*column, value);
                match self.unmerged.as_slice() {
                    [] => position,
                    unmerged => position + unmerged.partition_point(|value| value.before <= position) as u32,
                }
            }
        }
    }

    /// Returns a column's number of the value with a rank; `None` if the column lacks the value.
    pub fn value_in(&self, part: usize, rank: u32) -> Option<u32> {
        match &self.sources[part] {
            Source::Own(ranks) => ranks.binary_search(&rank).ok().map(|value| value as u32),
            Source::Merged(column) => self.merged.value_at(*column, self.split(rank).ok()?),
        }
    }

    /// Returns a column with the value of a rank, and its number in that column.
    pub fn owner(&self, rank: u32) -> (usize, u32) {
        match self.split(rank) {
            Err(unmerged) => (self.unmerged[unmerged].part, self.unmerged[unmerged].value),
            Ok(position) => {
                let (column, value) = self.merged.owner(position);
                let is_it = |source: &Source| matches!(source, Source::Merged(known) if *known == column);
                (self.sources.iter().position(is_it).unwrap_or_default(), value)
            }
        }
    }

    /// Returns true if the value of a rank has several spellings.
    pub fn varies(&self, rank: u32) -> bool {
        self.varied.contains(rank)
    }

    /// Returns the position of a rank in the merged values, or its index in the unmerged values as an error.
    fn split(&self, rank: u32) -> std::result::Result<u32, usize> {
        let rank_of = |number: usize| self.unmerged[number].before + number as u32;
        let (mut low, mut high) = (0, self.unmerged.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if rank_of(middle) < rank { low = middle + 1 } else { high = middle }
        }
        if low < self.unmerged.len() && rank_of(low) == rank { Err(low) } else { Ok(rank - low as u32) }
    }
}

/// A value of a small column: a position in the merged values, or the key of an unmerged value.
enum Found {
    Merged(u32),
    Unmerged(Vec<u8>),
}

/// Result of looking up a key in the merged values: its position, or the position it would be inserted at.
enum Position {
    At { position: u32, spelling: u64 },
    Before(u32),
}

/// Merges the large columns into one order, cached in the largest of them, `base`.
fn merged_strings(base: &StringColumn, columns: &[&Arc<StringColumn>]) -> Result<Arc<MergedValues>> {
    let ids: Box<[u64]> = columns.iter().map(|column| column.cache.id()).collect();
    if let Some(merged) = base.cache.get::<MergedStrings>(&*ids) {
        return Ok(merged);
    }
    let merged = if let [column] = columns {
        // A single column is in order already; only values with several spellings must be found.
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
    let merged = Arc::new(merged);
    base.cache.insert::<MergedStrings>(ids, &merged);
    Ok(merged)
}

/// Returns the position of a key in the values of large columns.
fn look_up(
    merged: &MergedValues,
    columns: &[&Arc<StringColumn>],
    groups: &[&Groups],
    key: &[u8],
) -> Result<Position> {
    let least = [key, &[0]].concat();
    let mut before = merged.len as u32;
    let mut term = Vec::new();
    for (number, (column, groups)) in columns.iter().zip(groups).enumerate() {
        let (TermOrdHit::Exact(ord) | TermOrdHit::Next(ord)) = column.dictionary.term_ord_or_next(&least)?;
        if ord >= column.len() as u64 {
            continue;
        }
        let position = merged.position(number, groups.of(ord as u32));
        column.term(ord as u32, &mut term)?;
        if group_key(&term) == key {
            return Ok(Position::At { position, spelling: spelling_of(&term) });
        }
        before = before.min(position);
    }
    Ok(Position::Before(before))
}
