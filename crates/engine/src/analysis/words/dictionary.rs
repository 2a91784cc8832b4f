//! Reads the file of a word dictionary. Its grammar: docs/words-format.md.

use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::path::Path;

use memmap2::Mmap;
use serde::Deserialize;

use crate::error::{Error, Result};

const MAGIC: &[u8] = b"siftdwrd";
const FORMAT: u32 = 1;
const HEAD_BYTES: usize = 16;
const COUNTS: usize = 11;
/// Left class, right class, cost, inner boundaries: 16 bits each.
const TOKEN_BYTES: usize = 8;
const UNITS: usize = 1 << 16;

/// A word that may stand in a text, in one of its uses.
#[derive(Debug, Clone, Copy)]
pub(super) struct WordToken {
    pub left: u16,
    pub right: u16,
    pub cost: i16,
    /// Bit n: the word is cut again after n + 1 UTF-16 units.
    pub cuts: u16,
}

/// A mapped dictionary. All its numbers were checked: each refers to an existing entry.
pub struct Dictionary {
    map: Mmap,
    language: String,
    id: String,
    parts: Parts,
    /// Kind of each UTF-16 unit.
    kind_of: Box<[u8]>,
    kinds: Box<[u32]>,
    /// Category → token list of its unknown words.
    unknown: Box<[u32]>,
    /// UTF-16 unit → node below the root; 0 if there is none.
    roots: Box<[u32]>,
    /// Number of right classes.
    rights: usize,
    /// Left class of the end of a text.
    pub(super) end: u16,
    /// Right class of the start of a text.
    pub(super) start: u16,
}

/// Sections that are read where they are mapped, as bytes of the file.
struct Parts {
    labels: Range<usize>,
    children: Range<usize>,
    words: Range<usize>,
    lists: Range<usize>,
    tokens: Range<usize>,
    costs: Range<usize>,
}

#[derive(Deserialize)]
struct Info {
    language: String,
    name: String,
    version: String,
}

impl Dictionary {
    /// Maps a file and checks it.
    ///
    /// # Errors
    /// Internal, naming the path, if the file cannot be read or is damaged.
    pub fn open(path: &Path) -> Result<Self> {
        let context = || format!("the word dictionary {} cannot be used", path.display());
        let file = File::open(path).map_err(|error| Error::internal(context(), error))?;
        let found = checksum(&file).map_err(|error| Error::internal(context(), error))?;
        // SAFETY: the file belongs to an installed package; package managers replace files and do not change them.
        let map = unsafe { Mmap::map(&file) }.map_err(|error| Error::internal(context(), error))?;
        Self::parse(map, found).map_err(|what| Error::internal(context(), what))
    }

    /// Three-letter code.
    pub fn language(&self) -> &str {
        &self.language
    }

    /// Name, version and checksum. Two dictionaries with the same id cut all texts alike.
    pub fn id(&self) -> &str {
        &self.id
    }

    fn parse(map: Mmap, found: u32) -> std::result::Result<Self, &'static str> {
        if map.len() < HEAD_BYTES || !map.starts_with(MAGIC) {
            return Err("it is not a word dictionary");
        }
        if u32_at(&map, 8) != FORMAT {
            return Err("its format is not known");
        }
        let checksum = u32_at(&map, 12);
        if checksum != found {
            return Err("its checksum does not match");
        }
        let mut at = HEAD_BYTES;
        let mut take = |count: usize, size: usize| {
            let bytes = count.checked_mul(size).ok_or("it is too short")?;
            let section = at..at.checked_add(bytes).ok_or("it is too short")?;
            at = section.end.next_multiple_of(4);
            if at > map.len() { Err("it is too short") } else { Ok(section) }
        };
        let counts = u32s(&map, take(COUNTS, 4)?);
        let [info, ranges, kinds, categories, nodes, lists, tokens, lefts, rights, end, start] = counts[..]
        else {
            return Err("it is too short");
        };
        let count = |count: u32| count as usize;
        let info = take(count(info), 1)?;
        let ranges = take(count(ranges), 4)?;
        let kinds = take(count(kinds), 4)?;
        let unknown = take(count(categories), 4)?;
        let parts = Parts {
            labels: take(count(nodes), 2)?,
            children: take(count(nodes) + 1, 4)?,
            words: take(count(nodes), 4)?,
            lists: take(count(lists) + 1, 4)?,
            tokens: take(count(tokens), TOKEN_BYTES)?,
            costs: take(count(lefts).checked_mul(count(rights)).ok_or("it is too short")?, 2)?,
        };
        if at != map.len() {
            return Err("its length is damaged");
        }
        let info: Info = serde_json::from_slice(&map[info]).map_err(|_| "its name is damaged")?;
        let (kinds, unknown) = (u32s(&map, kinds), u32s(&map, unknown));
        let checked = Checked { map: &map, parts: &parts };
        let kind_of = checked.kinds_by_unit(ranges, &kinds, unknown.len())?;
        checked.token_lists(&unknown)?;
        let roots = checked.trie()?;
        checked.tokens((lefts, rights), (end, start))?;
        Ok(Self {
            language: info.language,
            id: format!("{}-{}-{checksum:08x}", info.name, info.version),
            kind_of,
            kinds,
            unknown,
            roots,
            rights: count(rights),
            end: end as u16,
            start: start as u16,
            parts,
            map,
        })
    }

    /// Kind of a UTF-16 unit. Bits 0–17: categories; 18–25: default category; 26–29: most characters; 30: grouped;
    /// 31: always added.
    pub(super) fn kind(&self, unit: u16) -> u32 {
        self.kinds[usize::from(self.kind_of[usize::from(unit)])]
    }

    /// Token list of the unknown words of a kind.
    pub(super) fn unknown(&self, kind: u32) -> usize {
        self.unknown[(kind >> 18 & 0xff) as usize] as usize
    }

    /// Node of a word's first unit; 0 if there is none.
    pub(super) fn root(&self, unit: u16) -> usize {
        self.roots[usize::from(unit)] as usize
    }

    /// Node after another one; 0 if there is none.
    pub(super) fn child(&self, node: usize, unit: u16) -> usize {
        let labels = &self.map[self.parts.labels.clone()];
        let children = &self.map[self.parts.children.clone()];
        let end = u32_at(children, 4 * (node + 1)) as usize;
        let (mut low, mut high) = (u32_at(children, 4 * node) as usize, end);
        while low < high {
            let middle = low.midpoint(high);
            if u16_at(labels, 2 * middle) < unit { low = middle + 1 } else { high = middle }
        }
        if low < end && u16_at(labels, 2 * low) == unit { low } else { 0 }
    }

    /// Token list of the word that ends at a node.
    pub(super) fn word(&self, node: usize) -> Option<usize> {
        let list = u32_at(&self.map[self.parts.words.clone()], 4 * node) as usize;
        list.checked_sub(1)
    }

    /// Tokens of a list.
    pub(super) fn tokens(&self, list: usize) -> impl DoubleEndedIterator<Item = WordToken> {
        let lists = &self.map[self.parts.lists.clone()];
        let range = u32_at(lists, 4 * list) as usize..u32_at(lists, 4 * (list + 1)) as usize;
        let tokens = &self.map[self.parts.tokens.clone()];
        tokens[TOKEN_BYTES * range.start..TOKEN_BYTES * range.end].chunks_exact(TOKEN_BYTES).map(|bytes| {
            WordToken {
                left: u16_at(bytes, 0),
                right: u16_at(bytes, 2),
                cost: u16_at(bytes, 4).cast_signed(),
                cuts: u16_at(bytes, 6),
            }
        })
    }

    /// Connection costs of words of class `left`, two bytes for each right class before it.
    pub(super) fn costs(&self, left: u16) -> &[u8] {
        let row = 2 * self.rights;
        &self.map[self.parts.costs.clone()][row * usize::from(left)..][..row]
    }
}

/// A file being checked.
struct Checked<'a> {
    map: &'a [u8],
    parts: &'a Parts,
}

type Check<T> = std::result::Result<T, &'static str>;

impl Checked<'_> {
    fn kinds_by_unit(&self, ranges: Range<usize>, kinds: &[u32], categories: usize) -> Check<Box<[u8]>> {
        const DAMAGED: &str = "its character table is damaged";
        let mut kind_of = vec![0_u8; UNITS];
        let ranges: Vec<(u16, u16)> =
            self.map[ranges].chunks_exact(4).map(|bytes| (u16_at(bytes, 0), u16_at(bytes, 2))).collect();
        let ascends = ranges.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if !ascends || ranges.first().is_none_or(|(first, _)| *first != 0) || kinds.len() > 256 {
            return Err(DAMAGED);
        }
        for (at, &(first, kind)) in ranges.iter().enumerate() {
            if usize::from(kind) >= kinds.len() {
                return Err(DAMAGED);
            }
            let end = ranges.get(at + 1).map_or(UNITS, |(next, _)| usize::from(*next));
            kind_of[usize::from(first)..end].fill(kind as u8);
        }
        if kinds.iter().any(|kind| (kind >> 18 & 0xff) as usize >= categories) {
            return Err(DAMAGED);
        }
        Ok(kind_of.into())
    }

    fn token_lists(&self, unknown: &[u32]) -> Check<()> {
        let lists = u32s(self.map, self.parts.lists.clone());
        let tokens = (self.parts.tokens.len() / TOKEN_BYTES) as u32;
        let ascends = lists.windows(2).all(|pair| pair[0] <= pair[1]);
        let is_list = |list: u32| {
            let bounds = lists.get(list as usize..).and_then(|rest| rest.get(..2));
            bounds.is_some_and(|bounds| bounds[0] < bounds[1])
        };
        if lists[0] != 0 || lists.last() != Some(&tokens) || !ascends {
            return Err("its token lists are damaged");
        }
        if unknown.iter().any(|&list| !is_list(list)) {
            return Err("its list of unknown words is damaged");
        }
        Ok(())
    }

    /// Checks that nodes are in breadth-first order, so that no circle is possible. Returns the nodes below the root by
    /// unit.
    fn trie(&self) -> Check<Box<[u32]>> {
        const DAMAGED: &str = "its trie is damaged";
        let [labels, children, words, lists] =
            [&self.parts.labels, &self.parts.children, &self.parts.words, &self.parts.lists]
                .map(|part| &self.map[part.clone()]);
        let (nodes, lists) = (labels.len() / 2, lists.len() / 4 - 1);
        let child = |node: usize| u32_at(children, 4 * node) as usize;
        if nodes == 0 || child(0) != 1 || child(nodes) != nodes || u32_at(words, 0) != 0 {
            return Err(DAMAGED);
        }
        for node in 0..nodes {
            let (first, last) = (child(node), child(node + 1));
            let is_in_order = node < first && first <= last && last <= nodes;
            if !is_in_order || u32_at(words, 4 * node) as usize > lists {
                return Err(DAMAGED);
            }
            if (first + 1..last).any(|at| u16_at(labels, 2 * (at - 1)) >= u16_at(labels, 2 * at)) {
                return Err(DAMAGED);
            }
        }
        let mut roots = vec![0; UNITS];
        for node in child(0)..child(1) {
            roots[usize::from(u16_at(labels, 2 * node))] = node as u32;
        }
        Ok(roots.into())
    }

    fn tokens(&self, (lefts, rights): (u32, u32), (end, start): (u32, u32)) -> Check<()> {
        let limit = u32::from(u16::MAX) + 1;
        if end >= lefts || start >= rights || lefts > limit || rights > limit {
            return Err("its matrix is damaged");
        }
        let mut tokens = self.map[self.parts.tokens.clone()].chunks_exact(TOKEN_BYTES);
        let is_sound =
            |token: &[u8]| u32::from(u16_at(token, 0)) < lefts && u32::from(u16_at(token, 2)) < rights;
        if tokens.all(is_sound) { Ok(()) } else { Err("its tokens are damaged") }
    }
}

/// Returns the CRC-32 of the bytes after the head. Reads the file instead of its mapping, so that pages for the check
/// alone take no memory of the process.
fn checksum(mut file: &File) -> std::io::Result<u32> {
    let mut buffer = vec![0; 1 << 20];
    let mut checksum = crc32fast::Hasher::new();
    let mut skipped = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(checksum.finalize());
        }
        let skip = (HEAD_BYTES - skipped).min(read);
        skipped += skip;
        checksum.update(&buffer[skip..read]);
    }
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u32s(bytes: &[u8], section: Range<usize>) -> Box<[u32]> {
    bytes[section].chunks_exact(4).map(|bytes| u32_at(bytes, 0)).collect()
}
