//! The first letters of one attribute of a document: kinds, positions, and distances to other words.

use super::codes::{GAP, OTHER, ShortPrefix};

/// First letters of the words of one attribute of a document.
#[derive(Debug, Clone, Copy)]
pub struct Words<'a> {
    codes: &'a [u8],
}

/// Kinds of words with a given prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WordKinds {
    /// True if words other than numbers have it.
    pub words: bool,
    /// True if numbers have it.
    pub numbers: bool,
}

impl<'a> Words<'a> {
    /// Wraps codes as stored in the file.
    pub(super) fn new(codes: &'a [u8]) -> Self {
        Self { codes }
    }

    /// Calls `take` with the positions and codes of words, in order.
    pub(super) fn each(self, mut take: impl FnMut(u32, u8)) {
        let mut position = 0;
        for &code in self.codes {
            if code < GAP {
                take(position, code);
            }
            position += u32::from(code.saturating_sub(GAP)) + 1;
        }
    }

    /// Returns the kinds of words with the prefix `prefix`.
    pub fn kinds(self, prefix: ShortPrefix) -> WordKinds {
        let numbers = prefix.number != prefix.word && self.codes.contains(&prefix.number);
        WordKinds { words: self.codes.contains(&prefix.word), numbers }
    }

    /// Replaces `positions` by the ascending positions of words with the prefix `prefix`, up to the first position that
    /// is at least `enough`.
    pub fn positions(self, prefix: ShortPrefix, enough: u32, positions: &mut Vec<u32>) {
        positions.clear();
        let mut first = 0;
        let (eights, rest) = self.codes.as_chunks::<8>();
        let mut last = [OTHER; 8];
        last[..rest.len()].copy_from_slice(rest);
        for codes in eights.iter().chain([&last]) {
            let eight = u64::from_le_bytes(*codes);
            let wanted = prefix.among(eight);
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

    /// Returns the least distance, up to `most` (at most 8), from one of `positions` to a word with the prefix `prefix`
    /// on its side `side`. `positions` are ascending positions of words.
    pub fn distance(self, prefix: ShortPrefix, positions: &[u32], side: WordSide, most: u32) -> Option<u32> {
        let (mut at, mut passed) = (0, 0);
        let mut least = None;
        for &position in positions {
            at = self.advance(at, &mut passed, position as usize);
            let (before, after) = self.codes.split_at(at);
            let nearest_first = match side {
                WordSide::After => eight(after.get(1..).unwrap_or_default()),
                WordSide::Before => last_eight(before),
            };
            let within = least.map_or(most, |least: u32| least - 1);
            least = distance(nearest_first, prefix, within).or(least);
            if least == Some(1) {
                break;
            }
        }
        least
    }

    /// Returns the index of the code of the word at `position`, searched from the index `at` on; the number of codes if
    /// there is no such word. `passed` is the number of positions that the gaps before `at` skip in addition to their
    /// own index.
    fn advance(self, mut at: usize, passed: &mut usize, position: usize) -> usize {
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

/// Returns the first eight codes, padded with [`OTHER`].
fn eight(codes: &[u8]) -> u64 {
    if let Some(eight) = codes.first_chunk() {
        return u64::from_le_bytes(*eight);
    }
    codes.iter().rev().fold(u64::from(OTHER), |eight, &code| eight << 8 | u64::from(code))
}

/// Returns the last eight codes in reverse order, padded with [`OTHER`].
fn last_eight(codes: &[u8]) -> u64 {
    if let Some(eight) = codes.last_chunk() {
        return u64::from_be_bytes(*eight);
    }
    codes.iter().fold(u64::from(OTHER), |eight, &code| eight << 8 | u64::from(code))
}

/// Returns the distance from a word to the first of the eight adjacent codes that matches `prefix`; `None` if it
/// exceeds `within`.
fn distance(eight: u64, prefix: ShortPrefix, within: u32) -> Option<u32> {
    let wanted = prefix.among(eight);
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

impl ShortPrefix {
    /// Returns the highest bit of each byte of `eight` that is a code of this prefix.
    fn among(self, eight: u64) -> u64 {
        let is = |code: u8| zero_bytes(eight ^ (EACH_BYTE * u64::from(code)));
        is(self.word) | is(self.number)
    }
}

/// A side of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordSide {
    /// Words before it in reading order.
    Before,
    /// Words after it.
    After,
}

/// A one in each byte.
const EACH_BYTE: u64 = 0x0101_0101_0101_0101;

/// Returns the highest bit of every byte that is zero.
fn zero_bytes(eight: u64) -> u64 {
    let low = EACH_BYTE * 0x7f;
    !(((eight & low) + low) | eight | low)
}

/// Returns the highest bit of every code that is a gap.
fn gaps(eight: u64) -> u64 {
    zero_bytes(!eight & (EACH_BYTE * u64::from(GAP)))
}
