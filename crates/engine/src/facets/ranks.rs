//! Values numbered in order across the columns of a commit.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::{Arc, PoisonError, Weak};

use roaring::RoaringBitmap;
use tantivy::columnar::TermOrdHit;

use super::columns::{FieldColumns, Part};
use super::numbers::NumberColumn;
use super::strings::{Groups, StringColumn, group_key};
use crate::error::Result;

/// A column with so many times fewer values than the largest one has them looked up one by one: finding a
/// term takes about as long as reading so many in a row.
const LOOKED_UP_SHARE: usize = 512;

/// The values of the large columns in one order, each value once. Stays as long as those columns do.
pub(super) struct Merged {
    /// What was merged. Columns that are gone leave their address taken.
    columns: Vec<Weak<StringColumn>>,
    /// By column: its value → place in the order. None if they are the same.
    places: Vec<Option<Vec<u32>>>,
    /// Place → a column that has it, and its value there; None if the first has all.
    owners: Option<Vec<(u32, u32)>>,
    /// Places of values that are spelled in several ways.
    varied: RoaringBitmap,
    len: usize,
}

/// A number for every value of a field, ascending with the values.
pub(super) struct Ranks {
    merged: Arc<Merged>,
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
    /// A place in [`Merged::columns`].
    Merged(usize),
    /// Value → rank.
    Own(Vec<u32>),
}

struct Extra {
    before: u32,
    part: usize,
    value: u32,
}

impl Merged {
    fn empty() -> Self {
        Self { columns: Vec::new(), places: Vec::new(), owners: None, varied: RoaringBitmap::new(), len: 0 }
    }

    fn place(&self, column: usize, value: u32) -> u32 {
        self.places[column].as_ref().map_or(value, |places| places[value as usize])
    }

    fn value_at(&self, column: usize, place: u32) -> Option<u32> {
        match &self.places[column] {
            Some(places) => places.binary_search(&place).ok().map(|value| value as u32),
            None => Some(place),
        }
    }

    fn owner(&self, place: u32) -> (usize, u32) {
        match &self.owners {
            Some(owners) => (owners[place as usize].0 as usize, owners[place as usize].1),
            None => (0, place),
        }
    }

    fn is_of(&self, columns: &[&Arc<StringColumn>]) -> bool {
        let same = |(known, column): (&Weak<StringColumn>, &&Arc<StringColumn>)| {
            std::ptr::eq(known.as_ptr(), Arc::as_ptr(column))
        };
        self.columns.len() == columns.len() && self.columns.iter().zip(columns).all(same)
    }

    /// Merges sorted lists of distinct keys. `next` gives the next key of a list and whether it is one
    /// more spelling of the key before.
    fn merge<K: Ord + Clone>(
        lists: usize,
        mut next: impl FnMut(usize) -> Result<Option<(K, u64)>>,
    ) -> Result<Self> {
        let mut heads = BinaryHeap::new();
        for list in 0..lists {
            heads.extend(next(list)?.map(|(key, spelling)| Head { key, spelling, list }));
        }
        let mut merged = Self { places: vec![Some(Vec::new()); lists], ..Self::empty() };
        let mut owners = Vec::new();
        let mut current: Option<(K, u64)> = None;
        while let Some(Head { key, spelling, list }) = heads.pop() {
            let places = merged.places[list].as_mut().expect("made above");
            let known = current.as_ref().filter(|(last, _)| *last == key);
            if let Some((_, first_spelling)) = known {
                if *first_spelling != spelling {
                    merged.varied.insert(owners.len() as u32 - 1);
                }
            } else {
                owners.push((list as u32, places.len() as u32));
                current = Some((key.clone(), spelling));
            }
            let place = owners.len() as u32 - 1;
            // A spelling of a value that this list just gave is no value of its own.
            if places.last() != Some(&place) {
                places.push(place);
            }
            heads.extend(next(list)?.map(|(key, spelling)| Head { key, spelling, list }));
        }
        merged.len = owners.len();
        for places in &mut merged.places {
            if places.as_ref().is_some_and(|places| places.len() == merged.len) {
                *places = None;
            }
        }
        merged.owners = (lists > 1).then_some(owners);
        Ok(merged)
    }
}

/// The next key of a list; the smallest is the greatest, as a heap gives the greatest first.
struct Head<K> {
    key: K,
    /// Differs if the spelling does.
    spelling: u64,
    list: usize,
}

impl<K: Ord> Ord for Head<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key).then(other.list.cmp(&self.list))
    }
}

impl<K: Ord> PartialOrd for Head<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: Ord> PartialEq for Head<K> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<K: Ord> Eq for Head<K> {}

/// A float as an integer of the same order.
pub(super) fn ordered(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// Hashes the spelling of a term: equal spellings have equal hashes.
fn spelling_of(term: &[u8]) -> u64 {
    use std::hash::BuildHasher as _;
    rustc_hash::FxBuildHasher.hash_one(term)
}

impl Ranks {
    fn of_numbers(parts: &[Part<NumberColumn>]) -> Result<Self> {
        let mut at = vec![0; parts.len()];
        let merged = Merged::merge(parts.len(), |list| {
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

    fn of_strings(parts: &[Part<StringColumn>]) -> Result<Self> {
        let Some(base) =
            (0..parts.len()).max_by_key(|&part| (parts[part].column.len(), std::cmp::Reverse(part)))
        else {
            let merged = Arc::new(Merged::empty());
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
        for (part, Part { column, .. }) in parts.iter().enumerate() {
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
                let place = self.merged.place(*column, value);
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

fn merged_strings(base: &StringColumn, columns: &[&Arc<StringColumn>]) -> Result<Arc<Merged>> {
    let mut kept = base.merged.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(merged) = kept.as_ref().filter(|merged| merged.is_of(columns)) {
        return Ok(Arc::clone(merged));
    }
    let merged = if let [column] = columns {
        // The order of one column is its own; only what is spelled in several ways has to be found.
        let groups = column.groups()?;
        let of_several = (0..groups.len as u32).filter(|&group| groups.ords(group).len() > 1);
        let varied = if groups.vary() { of_several.collect() } else { RoaringBitmap::new() };
        Merged { places: vec![None], varied, len: groups.len, ..Merged::empty() }
    } else {
        let mut streams =
            columns.iter().map(|column| column.dictionary.stream()).collect::<std::io::Result<Vec<_>>>()?;
        Merged::merge(columns.len(), |list| {
            let terms = &mut streams[list];
            Ok(terms.advance().then(|| (group_key(terms.key()).to_vec(), spelling_of(terms.key()))))
        })?
    };
    let merged = Merged { columns: columns.iter().map(|column| Arc::downgrade(column)).collect(), ..merged };
    Ok(Arc::clone(kept.insert(Arc::new(merged))))
}

/// Where a key stands among the values of large columns.
fn look_up(
    merged: &Merged,
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
        let place = merged.place(number, groups.of(ord as u32));
        column.term(ord as u32, &mut term)?;
        if group_key(&term) == key {
            return Ok(Place::At { place, spelling: spelling_of(&term) });
        }
        before = before.min(place);
    }
    Ok(Place::Before(before))
}

impl FieldColumns {
    /// Ranks of the field's strings, worked out once per commit; little of it if few values are new.
    pub fn string_ranks(&self) -> Result<Arc<Ranks>> {
        if let Some(ranks) = self.string_ranks.get() {
            return Ok(Arc::clone(ranks));
        }
        let ranks = Arc::new(Ranks::of_strings(&self.strings)?);
        Ok(Arc::clone(self.string_ranks.get_or_init(|| ranks)))
    }

    /// Ranks of the field's numbers, worked out once per commit.
    pub fn number_ranks(&self) -> Result<Arc<Ranks>> {
        if let Some(ranks) = self.number_ranks.get() {
            return Ok(Arc::clone(ranks));
        }
        NumberColumn::rank_all(&self.numbers);
        let ranks = Arc::new(Ranks::of_numbers(&self.numbers)?);
        Ok(Arc::clone(self.number_ranks.get_or_init(|| ranks)))
    }

    /// The number of a rank.
    pub fn number(&self, ranks: &Ranks, rank: u32) -> f64 {
        let (part, value) = ranks.owner(rank);
        self.numbers[part].column.values()[value as usize]
    }
}
