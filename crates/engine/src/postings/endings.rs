//! Words of a segment by their ends.

use std::cmp::Ordering;

/// Bytes of the shortest word that is listed: the shortest compound.
const WORD_BYTES_MIN: usize = 7;

/// The long words of a segment, ordered by their last bytes.
#[derive(Default)]
pub(crate) struct Endings {
    /// Length in bytes, little endian, then the word; for each word.
    words: Vec<u8>,
    /// Offsets in `words`, in the order of the reversed words.
    order: Vec<u32>,
}

impl Endings {
    pub(super) fn add(&mut self, word: &str) {
        let (Ok(offset), Ok(length)) = (u32::try_from(self.words.len()), u16::try_from(word.len())) else {
            return;
        };
        if word.len() >= WORD_BYTES_MIN && !word.bytes().any(|byte| byte.is_ascii_digit()) {
            self.order.push(offset);
            self.words.extend_from_slice(&length.to_le_bytes());
            self.words.extend_from_slice(word.as_bytes());
        }
    }

    pub(super) fn finish(mut self) -> Self {
        let mut order = std::mem::take(&mut self.order);
        order.sort_unstable_by(|&a, &b| reversed_order(self.word(a), self.word(b)));
        order.shrink_to_fit();
        self.words.shrink_to_fit();
        Self { order, ..self }
    }

    /// Returns the words that end with `end`. Some may occur only in deleted documents.
    pub(crate) fn words<'s>(&'s self, end: &'s str) -> impl Iterator<Item = &'s str> {
        let first =
            self.order.partition_point(|&word| reversed_order(self.word(word), end) == Ordering::Less);
        self.order[first..].iter().map(|&word| self.word(word)).take_while(move |word| word.ends_with(end))
    }

    fn word(&self, offset: u32) -> &str {
        let read = || {
            let (length, rest) = self.words.get(offset as usize..)?.split_first_chunk()?;
            std::str::from_utf8(rest.get(..usize::from(u16::from_le_bytes(*length)))?).ok()
        };
        read().unwrap_or_default()
    }

    /// Memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.words.len() + size_of_val(&*self.order)
    }
}

fn reversed_order(a: &str, b: &str) -> Ordering {
    a.bytes().rev().cmp(b.bytes().rev())
}
