//! Words of a segment by their stems.

use crate::analysis::Stemmer;

/// Words of a segment by their stems. Words that are their own stems are left out: the term dictionary finds them.
pub(crate) struct Stems {
    stemmer: Stemmer,
    /// Length in bytes, little endian, then the word; for each word.
    words: Vec<u8>,
    /// Checksum of a stem and offset in `words`, ascending.
    by_stem: Vec<(u32, u32)>,
}

impl Stems {
    pub(super) fn new(stemmer: Stemmer) -> Self {
        Self { stemmer, words: Vec::new(), by_stem: Vec::new() }
    }

    pub(super) fn add(&mut self, word: &str) {
        let (Ok(offset), Ok(length)) = (u32::try_from(self.words.len()), u16::try_from(word.len())) else {
            return;
        };
        if let Some(stem) = self.stemmer.stem(word).filter(|stem| stem != word) {
            self.by_stem.push((crc32fast::hash(stem.as_bytes()), offset));
            self.words.extend_from_slice(&length.to_le_bytes());
            self.words.extend_from_slice(word.as_bytes());
        }
    }

    pub(super) fn finish(mut self) -> Self {
        self.by_stem.sort_unstable();
        self.by_stem.shrink_to_fit();
        self.words.shrink_to_fit();
        self
    }

    /// Returns the words with a stem, except the stem itself. Some may occur only in deleted documents.
    pub(crate) fn words<'s>(&'s self, stem: &'s str) -> impl Iterator<Item = &'s str> {
        let sum = crc32fast::hash(stem.as_bytes());
        let first = self.by_stem.partition_point(|(other, _)| *other < sum);
        let same_sum = self.by_stem[first..].iter().take_while(move |(other, _)| *other == sum);
        same_sum
            .filter_map(|&(_, offset)| self.word(offset as usize))
            .filter(move |word| self.stemmer.stem(word).is_some_and(|other| other == stem))
    }

    fn word(&self, offset: usize) -> Option<&str> {
        let (length, rest) = self.words.get(offset..)?.split_first_chunk()?;
        std::str::from_utf8(rest.get(..usize::from(u16::from_le_bytes(*length)))?).ok()
    }

    /// Memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.words.len() + size_of_val(&*self.by_stem)
    }
}
