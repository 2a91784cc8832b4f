//! Writes the first letters of documents, attribute by attribute; see [`super::forward`].

use std::io::{self, Write};

use tantivy::DocId;

use super::codes::GAP;
use super::forward::STRIDE;
use super::word_code::WordCode;

/// Writes the forward lists of a segment.
#[derive(Default)]
pub(super) struct ForwardWriter {
    starts: Vec<u8>,
    count: DocId,
    written: u64,
}

impl ForwardWriter {
    /// Adds a document encoded by [`DocumentEncoder::write`].
    pub(super) fn add(&mut self, document: &[u8], file: &mut impl Write) -> io::Result<()> {
        if self.count.is_multiple_of(STRIDE) {
            self.starts.extend_from_slice(&self.written.to_le_bytes());
        }
        self.count += 1;
        self.written += document.len() as u64;
        file.write_all(document)
    }

    /// Writes the starts, after the documents.
    pub(super) fn finish(self, file: &mut impl Write) -> io::Result<()> {
        file.write_all(&self.starts)
    }
}

/// Encodes the first letters of documents, in the format of [`super::forward`].
#[derive(Default)]
pub(super) struct DocumentEncoder {
    /// Buffer for sorting the words of a document.
    words: Vec<WordCode>,
    /// Buffer for the codes of an attribute.
    attribute: Vec<u8>,
    /// Buffer for all attributes of a document.
    document: Vec<u8>,
}

impl DocumentEncoder {
    /// Appends a document with its length.
    pub(super) fn write(&mut self, words: &[WordCode], written: &mut Vec<u8>) {
        // Words have the order of the document, in which a field can occur several times: once per object of an array.
        let words = if words.is_sorted() {
            words
        } else {
            self.words.clear();
            self.words.extend_from_slice(words);
            // A stable sort is fast on sorted runs.
            self.words.sort();
            &self.words
        };
        self.document.clear();
        for words in words.chunk_by(|a, b| a.field() == b.field()) {
            self.attribute.clear();
            let mut next = 0;
            for word in words {
                debug_assert!(word.position() >= next, "two words at one position");
                push_gap(&mut self.attribute, word.position().saturating_sub(next));
                self.attribute.push(word.code());
                next = word.position() + 1;
            }
            push_number(&mut self.document, usize::from(words[0].field()));
            push_number(&mut self.document, self.attribute.len());
            self.document.extend_from_slice(&self.attribute);
        }
        push_number(written, self.document.len());
        written.extend_from_slice(&self.document);
    }
}

fn push_number(bytes: &mut Vec<u8>, mut number: usize) {
    while number > 0x7f {
        bytes.push((number & 0x7f) as u8);
        number >>= 7;
    }
    bytes.push(number as u8 | 0x80);
}

fn push_gap(codes: &mut Vec<u8>, mut positions: u32) {
    let longest = u32::from(u8::MAX - GAP) + 1;
    while positions > 0 {
        let here = positions.min(longest);
        codes.push(GAP + (here - 1) as u8);
        positions -= here;
    }
}
