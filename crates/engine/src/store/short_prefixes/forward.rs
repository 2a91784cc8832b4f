//! Forward lists: the first letters of a document, attribute by attribute.
//!
//! ```text
//! file      = document* start*                documents in the order of the segment
//! document  = length attribute*               length: bytes of the attributes
//! attribute = field length code*              by ascending field; empty ones are left out
//! start     = 8 bytes                         offset of every 16th document
//! code      = one byte: a first letter at this position, which advances by one,
//!             or above 0xdf a gap of (byte − 0xdf) positions
//! ```
//!
//! Lengths and fields are numbers of seven bits per byte, lowest first; the eighth bit marks the last byte. `start` is
//! little endian. An empty file means that the segment has no lists, because it goes back to a version without them.

use tantivy::directory::OwnedBytes;
use tantivy::{DocId, SegmentReader};

use super::files::read_file;
use super::words::Words;
use crate::error::{Error, Result};
use crate::fields::FieldId;

/// Extension of the file.
pub(super) const EXTENSION: &str = "initials";

/// Number of documents between two starts.
pub(super) const STRIDE: DocId = 16;

const START_BYTES: usize = 8;

/// Reads the forward lists of a segment, document by document.
#[derive(Debug, Clone)]
pub struct ForwardLists {
    documents: OwnedBytes,
    starts: OwnedBytes,
    count: DocId,
}

impl ForwardLists {
    /// Opens the forward lists of a segment; `None` if it has none.
    ///
    /// # Errors
    /// Internal, if the file cannot be read.
    pub(crate) fn open(reader: &SegmentReader) -> Result<Option<Self>> {
        let Some(bytes) = read_file(reader, EXTENSION)? else { return Ok(None) };
        let count = reader.max_doc();
        let starts = count.div_ceil(STRIDE) as usize * START_BYTES;
        let split = bytes.len().checked_sub(starts).ok_or_else(damaged)?;
        let (documents, starts) = bytes.split(split);
        Ok(Some(Self { documents, starts, count }))
    }

    /// Returns a reader of single documents.
    pub fn cursor(&self) -> Cursor<'_> {
        Cursor { lists: self, doc: 0, rest: &self.documents }
    }

    /// Calls `take` with every attribute of all documents.
    ///
    /// # Errors
    /// Internal, if the file is damaged.
    pub fn each(&self, mut take: impl FnMut(DocId, FieldId, Words<'_>)) -> Result<()> {
        let mut rest = &self.documents[..];
        for doc in 0..self.count {
            each_attribute(part(&mut rest)?, |field, words| take(doc, field, words))?;
        }
        Ok(())
    }

    /// Returns the bytes from the document `stride * STRIDE` on.
    fn from(&self, stride: DocId) -> Result<&[u8]> {
        let at = stride as usize * START_BYTES;
        let start = self.starts.get(at..at + START_BYTES).and_then(|bytes| bytes.try_into().ok());
        let start = usize::try_from(u64::from_le_bytes(start.ok_or_else(damaged)?)).map_err(|_| damaged())?;
        self.documents.get(start..).ok_or_else(damaged)
    }
}

/// Reads single documents in any order; ascending order is fastest.
pub struct Cursor<'a> {
    lists: &'a ForwardLists,
    /// The document at the beginning of `rest`.
    doc: DocId,
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// Calls `take` with the attributes of a document.
    ///
    /// # Errors
    /// Internal, if the file is damaged.
    pub fn each(&mut self, doc: DocId, take: impl FnMut(FieldId, Words<'a>)) -> Result<()> {
        each_attribute(self.go_to(doc)?, take)
    }

    /// Returns the first letters of one attribute of a document; `None` if it has no words.
    ///
    /// # Errors
    /// Internal, if the file is damaged.
    pub fn attribute(&mut self, doc: DocId, field: FieldId) -> Result<Option<Words<'a>>> {
        let mut document = self.go_to(doc)?;
        while let Some((found, words)) = next_attribute(&mut document)? {
            if found >= field {
                return Ok((found == field).then_some(words));
            }
        }
        Ok(None)
    }

    /// Returns a document in the encoding of [`DocumentEncoder::write`](super::forward_writer::DocumentEncoder::write).
    pub(super) fn written(&mut self, doc: DocId) -> Result<&'a [u8]> {
        self.pass_to(doc)?;
        self.doc += 1;
        next_written(&mut self.rest)
    }

    #[inline(always)]
    fn go_to(&mut self, doc: DocId) -> Result<&'a [u8]> {
        self.pass_to(doc)?;
        self.doc += 1;
        part(&mut self.rest)
    }

    #[inline(always)]
    fn pass_to(&mut self, doc: DocId) -> Result<()> {
        if doc < self.doc || doc / STRIDE > self.doc / STRIDE {
            self.rest = self.lists.from(doc / STRIDE)?;
            self.doc = doc / STRIDE * STRIDE;
        }
        while self.doc < doc {
            part(&mut self.rest)?;
            self.doc += 1;
        }
        Ok(())
    }
}

#[cold]
pub(super) fn damaged() -> Error {
    Error::internal("short-prefix lists are damaged", "a length is impossible")
}

#[inline(always)]
fn number(rest: &mut &[u8]) -> Result<usize> {
    // Most numbers are below 128 and take one byte.
    if let [byte @ 0x80..=0xff, others @ ..] = *rest {
        *rest = others;
        return Ok(usize::from(byte & 0x7f));
    }
    long_number(rest)
}

#[cold]
fn long_number(rest: &mut &[u8]) -> Result<usize> {
    let (mut number, mut shift) = (0, 0);
    while let Some((&byte, others)) = rest.split_first() {
        *rest = others;
        number |= usize::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 != 0 {
            return Ok(number);
        }
        if shift > NUMBER_BITS_MAX {
            break;
        }
    }
    Err(damaged())
}

/// Bits of the greatest accepted length; no document is longer.
const NUMBER_BITS_MAX: u32 = 28;

/// Splits off a part, which begins with its length.
#[inline(always)]
fn part<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = number(rest)?;
    let (part, others) = rest.split_at_checked(length).ok_or_else(damaged)?;
    *rest = others;
    Ok(part)
}

/// Splits off the next document, its length included.
pub(super) fn next_written<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8]> {
    let all = *rest;
    part(rest)?;
    Ok(&all[..all.len() - rest.len()])
}

/// Calls `take` with the attributes of a document in the encoding of
/// [`DocumentEncoder::write`](super::forward_writer::DocumentEncoder::write).
pub(super) fn each_written(mut document: &[u8], take: impl FnMut(FieldId, Words<'_>)) -> Result<()> {
    each_attribute(part(&mut document)?, take)
}

fn each_attribute<'a>(mut document: &'a [u8], mut take: impl FnMut(FieldId, Words<'a>)) -> Result<()> {
    while let Some((field, words)) = next_attribute(&mut document)? {
        take(field, words);
    }
    Ok(())
}

#[inline(always)]
fn next_attribute<'a>(document: &mut &'a [u8]) -> Result<Option<(FieldId, Words<'a>)>> {
    if document.is_empty() {
        return Ok(None);
    }
    let field = FieldId::try_from(number(document)?).map_err(|_| damaged())?;
    Ok(Some((field, Words::new(part(document)?))))
}
