//! Codes of the lengths of attributes, for the ranking rule `relevance`. A length takes one byte: exact up to 128 words, above that rounded down by at most
//! an eighth.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

/// Longest length that is exact.
const EXACT_MAX: u32 = 128;
const WORDS_MAX: u32 = 65_536;

/// The length that each code stands for.
pub static LENGTHS: LazyLock<Vec<u32>> = LazyLock::new(|| {
    let mut lengths: Vec<u32> = (0..=EXACT_MAX).collect();
    let mut words = EXACT_MAX;
    while words < WORDS_MAX {
        words += words >> 3;
        lengths.push(words);
    }
    lengths
});

/// Returns the code of a length: the largest that stands for at most this many words.
pub(super) fn length_code(words: u32) -> u8 {
    (LENGTHS.partition_point(|&length| length <= words) - 1) as u8
}

/// Codes of lengths by document.
pub(super) enum Codes {
    /// By document; 0 without words.
    Dense(Vec<u8>),
    /// One code for each document that has words in the field.
    Sparse(FxHashMap<u32, u8>),
}

/// Counts words by document. Few documents are counted in a map, more in an array.
pub(super) struct WordCounts {
    counts: Counts,
    documents: usize,
}

enum Counts {
    Dense(Vec<u32>),
    Sparse(FxHashMap<u32, u32>),
}

/// A map is used for up to this part (1/8) of all documents.
const SPARSE_SHARE: usize = 8;

impl WordCounts {
    /// `documents` is the exclusive upper bound of documents.
    pub(super) fn new(documents: usize) -> Self {
        Self { counts: Counts::Sparse(FxHashMap::default()), documents }
    }

    pub(super) fn add(&mut self, document: u32, words: u32) {
        match &mut self.counts {
            Counts::Dense(counts) => counts[document as usize] += words,
            Counts::Sparse(counts) => {
                *counts.entry(document).or_default() += words;
                if counts.len() > self.documents / SPARSE_SHARE {
                    let mut dense = vec![0; self.documents];
                    counts.iter().for_each(|(&document, &words)| dense[document as usize] = words);
                    self.counts = Counts::Dense(dense);
                }
            }
        }
    }

    pub(super) fn finish(self) -> Codes {
        match self.counts {
            Counts::Dense(counts) => Codes::Dense(counts.into_iter().map(length_code).collect()),
            Counts::Sparse(counts) => Codes::Sparse(
                counts.into_iter().map(|(document, words)| (document, length_code(words))).collect(),
            ),
        }
    }
}

impl Codes {
    fn code(&self, document: u32) -> u8 {
        match self {
            Self::Dense(codes) => codes.get(document as usize).copied().unwrap_or(0),
            Self::Sparse(codes) => codes.get(&document).copied().unwrap_or(0),
        }
    }

    /// Calls `take` with each document that has words, and its code, in no particular order.
    pub(super) fn each(&self, mut take: impl FnMut(u32, u8)) {
        match self {
            Self::Dense(codes) => {
                (0..)
                    .zip(codes)
                    .filter(|(_, code)| **code > 0)
                    .for_each(|(document, &code)| take(document, code));
            }
            Self::Sparse(codes) => codes.iter().for_each(|(&document, &code)| take(document, code)),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Dense(codes) => codes.len(),
            Self::Sparse(codes) => codes.capacity() * 8,
        }
    }
}

/// The lengths of one field in live documents.
pub struct FieldLengths {
    codes: Codes,
    /// Mean length in the documents that have the field.
    pub average: f64,
    /// Code of the shortest length in them.
    pub shortest: u8,
}

impl FieldLengths {
    pub(super) fn new(codes: Codes) -> Self {
        let mut documents_by_code = [0u64; 1 << u8::BITS];
        codes.each(|_, code| documents_by_code[usize::from(code)] += 1);
        let documents: u64 = documents_by_code.iter().sum();
        let words: u64 = documents_by_code
            .iter()
            .zip(&*LENGTHS)
            .map(|(documents, &length)| documents * u64::from(length))
            .sum();
        let shortest = documents_by_code.iter().position(|&documents| documents > 0).unwrap_or(0);
        let average = if documents == 0 { 1.0 } else { words as f64 / documents as f64 };
        Self { codes, average, shortest: shortest as u8 }
    }

    /// Returns the code of the length of this field in a document; 0 without words.
    pub fn code(&self, docid: u32) -> u8 {
        self.codes.code(docid)
    }

    pub(super) fn bytes(&self) -> usize {
        self.codes.bytes() + size_of::<Self>()
    }
}

/// Merges codes of segments.
pub(super) struct CodesBuilder(Codes, usize);

impl CodesBuilder {
    pub(super) fn new(documents: usize) -> Self {
        Self(Codes::Sparse(FxHashMap::default()), documents)
    }

    pub(super) fn finish(self) -> Codes {
        self.0
    }

    pub(super) fn set(&mut self, docid: u32, code: u8) {
        match &mut self.0 {
            Codes::Dense(codes) => codes[docid as usize] = code,
            Codes::Sparse(codes) => {
                codes.insert(docid, code);
                if codes.len() > self.1 / SPARSE_SHARE {
                    let mut dense = vec![0; self.1];
                    codes.iter().for_each(|(&docid, &code)| dense[docid as usize] = code);
                    self.0 = Codes::Dense(dense);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_stands_for_a_length_at_most_an_eighth_shorter() {
        for words in 0..=WORDS_MAX {
            let length = LENGTHS[usize::from(length_code(words))];
            assert!(length <= words && words - length <= words / 8, "{words}: {length}");
            assert!(words > EXACT_MAX || length == words);
        }
    }
}
