//! Finds Chinese words by their pinyin.

use std::cmp::Reverse;
use std::ops::{ControlFlow, Range};

use tantivy_fst::Automaton;

use super::budget::Budget;
use super::field_docs::Reading;
use super::reader::Postings;
use super::word::Word;
use crate::analysis::{Pinyin, Reached};
use crate::error::Result;

/// Limits of a search for words by their pinyin.
#[derive(Debug, Clone, Copy)]
pub struct PinyinLimits {
    /// Words that are found.
    pub words_max: usize,
    /// Words that are examined, the first ones in byte order.
    pub candidates_max: usize,
    /// Words for the first half of a text.
    pub first_halves_max: usize,
    /// Pairs of words whose neighbours are counted, for each text.
    pub pairs_max: usize,
}

/// Two words that may be neighbours.
struct Pair {
    /// Number of documents with the rarer one.
    most: u64,
    order: usize,
    left: Word,
    right: Word,
}

impl Postings {
    /// Returns the words that are read as `pinyin`: complete ones first, then shorter ones, then by bytes.
    pub fn read_as(&self, pinyin: Pinyin<'_>, limits: PinyinLimits) -> Result<Vec<Word>> {
        let mut found = Vec::new();
        let automaton = Readings { pinyin, budget: &self.budget };
        self.matching(&automaton, CHINESE, |word| {
            if let Some(reads) = pinyin.reads_word(&word.text) {
                found.push((reads, word.text.chars().count(), word));
            }
            let full = found.len() == limits.candidates_max;
            Ok(if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        // The order by bytes stays.
        found.sort_by_key(|(reads, length, _)| (*reads, *length));
        found.truncate(limits.words_max);
        Ok(found.into_iter().map(|(.., word)| word).collect())
    }

    /// Returns the two words that are read as the two halves of `text` and are adjacent in the most documents; on a tie those with
    /// the shortest first half. The last one may be completed if `unfinished`.
    pub fn halves_read_as(
        &self,
        text: &str,
        unfinished: bool,
        limits: PinyinLimits,
    ) -> Result<Option<(String, String)>> {
        let mut pairs = Vec::new();
        for at in 1..text.len() {
            let halves = (Pinyin::of(&text[..at], false), Pinyin::of(&text[at..], unfinished));
            let (Some(left), Some(right)) = halves else { continue };
            let lefts = self.read_as(left, PinyinLimits { words_max: limits.first_halves_max, ..limits })?;
            if lefts.is_empty() {
                continue;
            }
            let rights = self.with_counts(self.read_as(right, limits)?)?;
            for (left, left_count) in self.with_counts(lefts)? {
                for (right, count) in &rights {
                    let most = left_count.min(*count);
                    pairs.push(Pair { most, order: pairs.len(), left: left.clone(), right: right.clone() });
                }
            }
        }
        pairs.sort_by_key(|pair| (Reverse(pair.most), pair.order));
        pairs.truncate(limits.pairs_max);
        let mut best: Option<(u64, Pair)> = None;
        for pair in pairs {
            if best.as_ref().is_some_and(|(count, _)| pair.most < *count) {
                break;
            }
            let count = self.count_neighbours(&pair.left, &pair.right)?;
            let better = best
                .as_ref()
                .is_none_or(|(most, first)| count > *most || (count == *most && pair.order < first.order));
            if count > 0 && better {
                best = Some((count, pair));
            }
        }
        Ok(best.map(|(_, Pair { left, right, .. })| (left.text.to_string(), right.text.to_string())))
    }

    fn with_counts(&self, words: Vec<Word>) -> Result<Vec<(Word, u64)>> {
        let counted = |word: Word| {
            let docs = self.word_docs(&word)?;
            let count = docs.matching(Reading::default(), self.searchable()).len();
            Ok((word, count))
        };
        words.into_iter().map(counted).collect()
    }
}

/// Bytes of words that may begin with a Chinese character.
const CHINESE: Range<&[u8]> = Range { start: &[0xe3], end: &[0xff] };

/// Accepts the terms of words that are read as pinyin.
struct Readings<'a> {
    pinyin: Pinyin<'a>,
    budget: &'a Budget,
}

/// Position of the automaton in a term (`token ‖ 0 ‖ attribute`).
#[derive(Clone, Copy)]
enum State {
    /// Within the word: what its complete characters reached, and the bits and missing bytes of the next one.
    Word {
        reached: Reached,
        bits: u32,
        missing: u8,
    },
    /// Past a word that matches.
    Suffix,
    Dead,
}

impl Automaton for Readings<'_> {
    type State = State;

    fn start(&self) -> State {
        State::Word { reached: self.pinyin.start(), bits: 0, missing: 0 }
    }

    fn is_match(&self, state: &State) -> bool {
        matches!(state, State::Suffix)
    }

    fn can_match(&self, state: &State) -> bool {
        !matches!(state, State::Dead) && !self.budget.stops()
    }

    fn accept(&self, state: &State, byte: u8) -> State {
        let State::Word { reached, bits, missing } = *state else { return *state };
        let (bits, missing) = match (missing, byte) {
            (0, 0) if self.pinyin.reads(reached).is_some() => return State::Suffix,
            (0, 0) => return State::Dead,
            (0, 0x01..=0x7f) => (u32::from(byte), 0),
            (0, 0xc0..=0xdf) => (u32::from(byte & 0x1f), 1),
            (0, 0xe0..=0xef) => (u32::from(byte & 0x0f), 2),
            (0, _) => (u32::from(byte & 0x07), 3),
            (missing, _) => (bits << 6 | u32::from(byte & 0x3f), missing - 1),
        };
        if missing > 0 {
            return State::Word { reached, bits, missing };
        }
        let next = char::from_u32(bits).and_then(|character| self.pinyin.next(reached, character));
        next.map_or(State::Dead, |reached| State::Word { reached, bits: 0, missing: 0 })
    }
}
