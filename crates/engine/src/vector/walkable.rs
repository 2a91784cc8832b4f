//! Offsets of codes, keys and neighbours in the bytes of a graph.
//!
//! ```text
//! bytes = rows:u32 columns:u32 code* head graph        head: 64 bytes, unused here
//! graph = nodes:u64 links:u64 links0:u64 top:u64 entry:u64 level* node*        level: 2 bytes per node
//! node  = key:u64 level:u16 neighbours0 neighbours*        one `neighbours` for each level above the lowest
//! neighbours0 = count:u32 slot:u32*                    capacity of links0 slots; `neighbours` of links
//! ```
//!
//! Numbers are little endian. Slots number codes and nodes, which are in the same order. Source: `index.hpp` and
//! `index_dense.hpp` of usearch 2.26, which is the pinned version.

use crate::error::{Error, Result};

pub(super) const SHAPE_BYTES: usize = 8;
const HEAD_BYTES: usize = 64;
const GRAPH_HEADER_BYTES: usize = 40;
const LEVEL_BYTES: usize = 2;
const KEY_BYTES: usize = 8;
const COUNT_BYTES: usize = 4;
const SLOT_BYTES: usize = 4;

/// The layout of a graph in its bytes.
pub(super) struct Walkable {
    pub(super) code_bytes: usize,
    pub(super) nodes: u32,
    pub(super) links: usize,
    pub(super) base_links: usize,
    pub(super) top: usize,
    pub(super) entry: u32,
    /// Offset of each node.
    starts: Vec<u32>,
    /// Key of each node. Keys are separate from the nodes because a walk reads the keys of more nodes than it visits.
    keys: Vec<u64>,
}

impl Walkable {
    /// Reads the layout of `bytes`, which contain codes of `code_bytes`.
    ///
    /// # Errors
    /// Internal, if they are not such a graph.
    pub(super) fn of(bytes: &[u8], code_bytes: usize) -> Result<Self> {
        let nodes = u32_at(bytes, 0)?;
        let codes_end = SHAPE_BYTES + nodes as usize * code_bytes;
        if u32_at(bytes, 4)? as usize != code_bytes && nodes > 0 {
            return Err(damaged());
        }
        let header = codes_end + HEAD_BYTES;
        let number = |at: usize| {
            let bytes = bytes.get(header + 8 * at..).and_then(|rest| rest.first_chunk());
            usize::try_from(u64::from_le_bytes(*bytes.ok_or_else(damaged)?)).map_err(|_| damaged())
        };
        let links =
            |at: usize| number(at).ok().filter(|links| (1..=1 << 16).contains(links)).ok_or_else(damaged);
        let mut walkable = Self {
            code_bytes,
            nodes,
            links: links(1)?,
            base_links: links(2)?,
            top: number(3)?,
            entry: u32::try_from(number(4)?).map_err(|_| damaged())?,
            starts: Vec::with_capacity(nodes as usize),
            keys: Vec::with_capacity(nodes as usize),
        };
        let mut start = header + GRAPH_HEADER_BYTES + nodes as usize * LEVEL_BYTES;
        let levels = bytes.get(header + GRAPH_HEADER_BYTES..start).ok_or_else(damaged)?;
        let mut highest = 0;
        for level in levels.as_chunks::<LEVEL_BYTES>().0 {
            let level = usize::from(u16::from_le_bytes(*level));
            highest = highest.max(level);
            let key = bytes.get(start..).and_then(|rest| rest.first_chunk()).ok_or_else(damaged)?;
            walkable.keys.push(u64::from_le_bytes(*key));
            walkable.starts.push(u32::try_from(start).map_err(|_| damaged())?);
            start += walkable.neighbours_at(level + 1);
            if start > bytes.len() {
                return Err(damaged());
            }
        }
        let is_whole = number(0)? == nodes as usize && start == bytes.len();
        let is_sound = nodes == 0 || (walkable.entry < nodes && walkable.top <= highest);
        if is_whole && is_sound { Ok(walkable) } else { Err(damaged()) }
    }

    /// Returns the bytes in memory, without those of the graph.
    pub(super) fn memory_bytes(&self) -> usize {
        self.starts.capacity() * size_of::<u32>() + self.keys.capacity() * size_of::<u64>()
    }

    /// Returns the offset in a node of the neighbours of a level. The offset for the level above the highest is the end
    /// of the node.
    pub(super) fn neighbours_at(&self, level: usize) -> usize {
        let links = match level {
            0 => return KEY_BYTES + LEVEL_BYTES,
            _ => self.base_links + (level - 1) * self.links,
        };
        KEY_BYTES + LEVEL_BYTES + level * COUNT_BYTES + links * SLOT_BYTES
    }

    #[inline]
    pub(super) fn code<'b>(&self, bytes: &'b [u8], slot: u32) -> Result<&'b [i8]> {
        let start = SHAPE_BYTES + slot as usize * self.code_bytes;
        let code = bytes.get(start..start + self.code_bytes).filter(|_| slot < self.nodes);
        code.map(as_signed).ok_or_else(damaged)
    }

    #[inline]
    pub(super) fn key(&self, slot: u32) -> Result<u64> {
        self.keys.get(slot as usize).copied().ok_or_else(damaged)
    }

    #[inline]
    pub(super) fn node<'b>(&self, bytes: &'b [u8], slot: u32) -> Result<&'b [u8]> {
        let start = self.starts.get(slot as usize).ok_or_else(damaged)?;
        bytes.get(*start as usize..).ok_or_else(damaged)
    }

    /// Returns the slots of the neighbours of a node on a level. The level must not exceed that of the node.
    #[inline]
    pub(super) fn neighbours<'b>(
        &self,
        bytes: &'b [u8],
        slot: u32,
        level: usize,
    ) -> Result<impl Iterator<Item = u32> + use<'b>> {
        let rest = self.node(bytes, slot)?.get(self.neighbours_at(level)..).ok_or_else(damaged)?;
        let count = u32_at(rest, 0)? as usize;
        let most = if level == 0 { self.base_links } else { self.links };
        let slots =
            rest[COUNT_BYTES..].get(..count * SLOT_BYTES).filter(|_| count <= most).ok_or_else(damaged)?;
        Ok(slots.as_chunks().0.iter().map(|slot| u32::from_le_bytes(*slot)))
    }
}

/// Converts bytes to signed components.
fn as_signed(bytes: &[u8]) -> &[i8] {
    // SAFETY: `u8` and `i8` have the same size and alignment, and every bit pattern is valid for both.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) }
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32> {
    let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk()).ok_or_else(damaged)?;
    Ok(u32::from_le_bytes(*bytes))
}

pub(super) fn damaged() -> Error {
    Error::internal("a graph of vectors is damaged", "it refers to a missing node")
}
