//! The initials of one attribute of a document: which ones, at which positions, and how near to a word?

use super::codes::{GAP, Initial, OTHER};

/// Initials of the words of one attribute of a document.
#[derive(Debug, Clone, Copy)]
pub struct Words<'a> {
    codes: &'a [u8],
}

/// Kinds of words that begin with an initial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Have {
    /// Whether words other than numbers begin with it.
    pub words: bool,
    /// Whether numbers begin with it.
    pub numbers: bool,
}

impl<'a> Words<'a> {
    /// `codes` as the file holds them.
    pub(super) fn new(codes: &'a [u8]) -> Self {
        Self { codes }
    }

    /// Calls `take` with positions and codes of words, in order.
    pub(super) fn each(self, mut take: impl FnMut(u32, u8)) {
        let mut position = 0;
        for &code in self.codes {
            if code < GAP {
                take(position, code);
            }
            position += u32::from(code.saturating_sub(GAP)) + 1;
        }
    }

    /// Kinds of words that begin with `initial`.
    pub fn have(self, initial: Initial) -> Have {
        let numbers = initial.number != initial.word && self.codes.contains(&initial.number);
        Have { words: self.codes.contains(&initial.word), numbers }
    }

    /// Replaces `positions` by the ascending positions of words that begin with `initial`, up to the first
    /// one that is at least `enough`.
    pub fn positions(self, initial: Initial, enough: u32, positions: &mut Vec<u32>) {
        positions.clear();
        let mut first = 0;
        let (eights, rest) = self.codes.as_chunks::<8>();
        let mut last = [OTHER; 8];
        last[..rest.len()].copy_from_slice(rest);
        for codes in eights.iter().chain([&last]) {
            let eight = u64::from_le_bytes(*codes);
            let wanted = initial.among(eight);
            let mut marks = wanted | gaps(eight);
            while marks != 0 {
                let at = marks.trailing_zeros() / 8;
                if wanted & marks & marks.wrapping_neg() != 0 {
                    positions.push(first + at);
                    if first + at >= enough {
                        return;
                    }
                } else {
                    first += u32::from(codes[at as usize] - GAP);
                }
                marks &= marks - 1;
            }
            first += 8;
        }
    }

    /// The least distance, up to `most` (at most 8), from one of `positions` to a word that begins with
    /// `initial` on the side `beside` of it. `positions` ascend and are positions of words.
    pub fn distance(self, initial: Initial, positions: &[u32], beside: Beside, most: u32) -> Option<u32> {
        let (mut at, mut passed) = (0, 0);
        let mut least = None;
        for &position in positions {
            at = self.go_on(at, &mut passed, position as usize);
            let (before, after) = self.codes.split_at(at);
            let nearest_first = match beside {
                Beside::After => eight(after.get(1..).unwrap_or_default()),
                Beside::Before => last_eight(before),
            };
            let within = least.map_or(most, |least: u32| least - 1);
            least = distance(nearest_first, initial, within).or(least);
            if least == Some(1) {
                break;
            }
        }
        least
    }

    /// The index of the code of the word at `position`, searched from the index `at` on; the number of codes
    /// if there is none. `passed` is the number of positions that gaps before `at` skip beyond their own
    /// index.
    fn go_on(self, mut at: usize, passed: &mut usize, position: usize) -> usize {
        while at < self.codes.len() {
            let mut gaps = gaps(eight(&self.codes[at..]));
            while gaps != 0 {
                let gap = at + gaps.trailing_zeros() as usize / 8;
                if position <= gap + *passed {
                    break;
                }
                *passed += usize::from(self.codes[gap] - GAP);
                gaps &= gaps - 1;
            }
            if gaps != 0 || position < at + 8 + *passed {
                return position.saturating_sub(*passed).clamp(at, self.codes.len());
            }
            at += 8;
        }
        self.codes.len()
    }
}

/// The first eight codes; fewer are filled up with [`OTHER`].
fn eight(codes: &[u8]) -> u64 {
    if let Some(eight) = codes.first_chunk() {
        return u64::from_le_bytes(*eight);
    }
    codes.iter().rev().fold(u64::from(OTHER), |eight, &code| eight << 8 | u64::from(code))
}

/// The last eight codes in reverse order; fewer are filled up with [`OTHER`].
fn last_eight(codes: &[u8]) -> u64 {
    if let Some(eight) = codes.last_chunk() {
        return u64::from_be_bytes(*eight);
    }
    codes.iter().fold(u64::from(OTHER), |eight, &code| eight << 8 | u64::from(code))
}

/// The distance from a word to the first of the eight codes beside it that is `initial`; `None` if it exceeds
/// `within`.
fn distance(eight: u64, initial: Initial, within: u32) -> Option<u32> {
    let wanted = initial.among(eight);
    let (mut marks, mut distance) = (wanted | gaps(eight), 1);
    while marks != 0 {
        let bit = marks.trailing_zeros();
        if distance + bit / 8 > within {
            break;
        }
        if wanted >> bit & 1 == 1 {
            return Some(distance + bit / 8);
        }
        distance += (eight >> (bit / 8 * 8)) as u32 % 0x100 - u32::from(GAP);
        marks &= marks - 1;
    }
    None
}

impl Initial {
    /// The highest bit of each byte of `eight` that is a code of this initial.
    fn among(self, eight: u64) -> u64 {
        let is = |code: u8| zero_bytes(eight ^ (EACH_BYTE * u64::from(code)));
        is(self.word) | is(self.number)
    }
}

/// A side of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// The side of the words that are read before it.
    Before,
    /// The side of the words that follow.
    After,
}

/// A one in each byte.
const EACH_BYTE: u64 = 0x0101_0101_0101_0101;

/// The highest bit of every byte that is zero.
fn zero_bytes(eight: u64) -> u64 {
    let low = EACH_BYTE * 0x7f;
    !(((eight & low) + low) | eight | low)
}

/// The highest bit of every code that is a gap.
fn gaps(eight: u64) -> u64 {
    zero_bytes(!eight & (EACH_BYTE * u64::from(GAP)))
}
