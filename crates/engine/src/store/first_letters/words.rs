//! The initials of the words of one attribute of a document: which are there, where, and how near to a word?

use super::codes::{GAP, Initial, OTHER};

/// Initials of the words of one attribute of a document.
#[derive(Debug, Clone, Copy)]
pub struct Words<'a> {
    codes: &'a [u8],
}

/// What begins with an initial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Have {
    /// Words that are more than a number.
    pub words: bool,
    /// Numbers.
    pub numbers: bool,
}

impl<'a> Words<'a> {
    /// `codes` as they lie in the file.
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

    /// What begins so.
    pub fn have(self, initial: Initial) -> Have {
        let numbers = initial.number != initial.word && self.codes.contains(&initial.number);
        Have { words: self.codes.contains(&initial.word), numbers }
    }

    /// Puts the ascending positions of words that begin so in the place of `positions`, up to the first that is not
    /// below `enough`.
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

    /// The least distance, up to `most`, which is 8 at most, from one of `positions`, which hold words and ascend, to a
    /// word that begins so on that side of it.
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

    /// Where the code of the word at `position` lies, looked for from the code `at` on, before which gaps `passed` over
    /// so many positions more than there are codes. The end if there is none.
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

/// The first eight codes, or all of them and then [`OTHER`].
fn eight(codes: &[u8]) -> u64 {
    if let Some(eight) = codes.first_chunk() {
        return u64::from_le_bytes(*eight);
    }
    codes.iter().rev().fold(u64::from(OTHER), |eight, &code| eight << 8 | u64::from(code))
}

/// The last eight codes, or all of them and then [`OTHER`], the last one first.
fn last_eight(codes: &[u8]) -> u64 {
    if let Some(eight) = codes.last_chunk() {
        return u64::from_be_bytes(*eight);
    }
    codes.iter().fold(u64::from(OTHER), |eight, &code| eight << 8 | u64::from(code))
}

/// How far the first of eight codes that is an initial lies from the word they stand beside, if `within` so many positions.
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
    /// The highest bit of each of eight codes that is this initial.
    fn among(self, eight: u64) -> u64 {
        let is = |code: u8| zero_bytes(eight ^ (EACH_BYTE * u64::from(code)));
        is(self.word) | is(self.number)
    }
}

/// On which side of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// Where words come that are read before it.
    Before,
    /// Where words follow.
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
