//! Readings of Chinese characters in Hanyu Pinyin without tones.
//!
//! ```text
//! word     = syllable+
//! syllable = "a" | "ai" | … | "zuo"        as in the table; ü is v or u
//! ```

use std::sync::LazyLock;

/// Letters of the shortest text that is read. Words of one letter are frequent in other languages.
const LETTERS_MIN: usize = 2;

/// Letters of the longest text that is read: one bit of [`Reached`] for each, and one for the end.
const LETTERS_MAX: usize = 30;

/// Made by `scripts/pinyin.mjs` from the npm package pinyin-pro; the fallback has the same.
static TABLE: LazyLock<Table> = LazyLock::new(Table::read);

struct Table {
    /// In byte order.
    syllables: Vec<&'static str>,
    /// Characters with the numbers of their syllables, ascending. Characters with several readings are repeated.
    readings: Vec<(char, u16)>,
}

impl Table {
    fn read() -> Self {
        let lines = include_str!("pinyin.txt").lines().filter_map(|line| line.split_once(' '));
        let (mut syllables, mut readings) = (Vec::new(), Vec::new());
        for (number, (syllable, characters)) in (0..).zip(lines) {
            syllables.push(syllable);
            readings.extend(characters.chars().map(|character| (character, number)));
        }
        readings.sort_unstable();
        readings.shrink_to_fit();
        Self { syllables, readings }
    }

    fn readings(&self, character: char) -> impl Iterator<Item = &'static str> {
        let first = self.readings.partition_point(|(other, _)| *other < character);
        let same = self.readings[first..].iter().take_while(move |(other, _)| *other == character);
        same.map(|(_, number)| self.syllables[usize::from(*number)])
    }
}

/// A query word that may be the pinyin of Chinese words.
#[derive(Debug, Clone, Copy)]
pub struct Pinyin<'q> {
    text: &'q str,
    unfinished: bool,
}

/// The ends of all readings of the first characters of a word, as a set of offsets in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reached(u32);

/// Set if the text ended within a syllable, or before the last one. Then any characters may follow.
const OPEN: u32 = 1 << 31;

/// How a word is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reads {
    /// As the text.
    Complete,
    /// As a word that begins with the text.
    Beginning,
}

impl<'q> Pinyin<'q> {
    /// Returns `None` if an analysed text is not a sequence of syllables. With `unfinished`, the last one may be incomplete.
    pub fn of(text: &'q str, unfinished: bool) -> Option<Self> {
        let is_latin = text.bytes().all(|byte| byte.is_ascii_lowercase());
        let read = Self { text, unfinished };
        (is_latin && (LETTERS_MIN..=LETTERS_MAX).contains(&text.len()) && read.has_syllables())
            .then_some(read)
    }

    fn has_syllables(self) -> bool {
        let mut reached = self.start();
        for at in 0..self.text.len() {
            if reached.0 & (1_u32 << at) != 0 {
                let rest = &self.text[at..];
                // Syllables with the same first letter are neighbours in the list.
                let first = TABLE.syllables.partition_point(|syllable| *syllable < &rest[..1]);
                let alike = TABLE.syllables[first..].iter().take_while(|other| other[..1] == rest[..1]);
                alike.for_each(|syllable| reached.0 |= self.after(at, syllable));
            }
        }
        self.reads(reached).is_some()
    }

    /// The state before the first character of a word.
    pub fn start(self) -> Reached {
        Reached(1)
    }

    /// Reads one more character of a word. `None` if no reading of the characters so far agrees with the text.
    pub fn next(self, reached: Reached, character: char) -> Option<Reached> {
        let mut after = reached.0 & OPEN;
        let end = self.text.len();
        if self.unfinished && reached.0 & (1_u32 << end) != 0 {
            after |= OPEN;
        }
        if reached.0 & !OPEN & !(1_u32 << end) != 0 {
            for syllable in TABLE.readings(character) {
                for at in (0..end).filter(|at| reached.0 & (1_u32 << at) != 0) {
                    after |= self.after(at, syllable);
                }
            }
        }
        (after != 0).then_some(Reached(after))
    }

    /// Returns how a word is read after its last character; `None` if the text is longer than the reading.
    pub fn reads(self, reached: Reached) -> Option<Reads> {
        if reached.0 & (1_u32 << self.text.len()) != 0 {
            Some(Reads::Complete)
        } else {
            (reached.0 & OPEN != 0).then_some(Reads::Beginning)
        }
    }

    /// Returns how a word is read; `None` if otherwise than the text.
    pub fn reads_word(self, word: &str) -> Option<Reads> {
        let reached = word.chars().try_fold(self.start(), |reached, character| self.next(reached, character));
        self.reads(reached?)
    }

    /// Returns the bit of the offset after a syllable at `at`.
    fn after(self, at: usize, syllable: &str) -> u32 {
        let rest = &self.text[at..];
        if rest.starts_with(syllable) {
            1 << (at + syllable.len())
        } else if self.unfinished && syllable.starts_with(rest) {
            OPEN
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_reads_words_by_their_syllables() {
        let (complete, beginning) = (Some(Reads::Complete), Some(Reads::Beginning));
        for (text, unfinished, word, expected) in [
            ("beijing", false, "北京", complete),
            ("beijing", true, "北京", complete),
            ("beijing", true, "北京人", beginning),
            ("beijing", false, "北京人", None),
            ("beij", true, "北京", beginning),
            ("beij", false, "北京", None),
            ("bei", true, "北京", beginning),
            ("bei", false, "北", complete),
            ("chongqing", false, "重慶", complete),
            ("zhongqing", false, "重庆", complete),
            ("nv", false, "女", complete),
            ("nu", false, "女", complete),
            ("xian", false, "西安", complete),
            ("xian", false, "先", complete),
            ("beijing", true, "beijing", None),
            ("beijing", true, "ぺきん", None),
            ("bj", false, "北京", None),
        ] {
            let reads = Pinyin::of(text, unfinished).and_then(|read| read.reads_word(word));
            assert_eq!(reads, expected, "{text} {word}");
        }
    }

    #[test]
    fn other_texts_are_not_pinyin() {
        for (text, unfinished, expected) in [
            ("women", false, true),
            ("keyb", true, false),
            ("bei", false, true),
            ("be", false, false),
            ("be", true, true),
            ("a", true, false),
            ("", true, false),
            ("bei3", false, false),
            ("北京", false, false),
            ("é", true, false),
            (&"a".repeat(30), false, true),
            (&"a".repeat(31), false, false),
        ] {
            assert_eq!(Pinyin::of(text, unfinished).is_some(), expected, "{text}");
        }
    }
}
