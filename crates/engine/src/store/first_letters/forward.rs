//! The initials of a document, attribute by attribute.
//!
//! ```text
//! file      = document* start*                documents in the order of the segment
//! document  = length attribute*               length: bytes of what follows
//! attribute = field length code*              by ascending field; those without words are left out
//! start     = 8 bytes                         where every 16th document begins
//! code      = one byte: an initial at this position, which moves on to the next,
//!             or as many positions to pass over as it is above 0xdf
//! ```
//!
//! Lengths and fields are numbers of seven bits a byte, the least first, the last byte with its eighth bit set;
//! `start` is little endian. An empty file says that nothing is known: it is what becomes of segments written before
//! there was such a file.

use tantivy::directory::OwnedBytes;
use tantivy::{DocId, SegmentReader};

use super::files::read_file;
use super::words::Words;
use crate::error::{Error, Result};
use crate::fields::FieldId;

/// Extension of the file.
pub(super) const EXTENSION: &str = "initials";

/// Number of documents from one known start to the next.
pub(super) const STRIDE: DocId = 16;

const START_BYTES: usize = 8;

/// Reads the initials of a segment, document by document.
#[derive(Debug, Clone)]
pub struct Initials {
    documents: OwnedBytes,
    starts: OwnedBytes,
    count: DocId,
}

impl Initials {
    /// The initials of a segment; `None` if it has none.
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

    /// A reader of single documents.
    pub fn cursor(&self) -> Cursor<'_> {
        Cursor { initials: self, doc: 0, rest: &self.documents }
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

    /// The bytes from the document `stride * STRIDE` on.
    fn from(&self, stride: DocId) -> Result<&[u8]> {
        let at = stride as usize * START_BYTES;
        let start = self.starts.get(at..at + START_BYTES).and_then(|bytes| bytes.try_into().ok());
        let start = usize::try_from(u64::from_le_bytes(start.ok_or_else(damaged)?)).map_err(|_| damaged())?;
        self.documents.get(start..).ok_or_else(damaged)
    }
}

/// Reads single documents in any order; ascending order is fastest.
pub struct Cursor<'a> {
    initials: &'a Initials,
    /// The document that `rest` begins with.
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

    /// The initials of one attribute of a document; `None` if it has no words.
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

    /// A document as [`InitialsEncoder::write`](super::forward_writer::InitialsEncoder::write) encoded it.
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
            self.rest = self.initials.from(doc / STRIDE)?;
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
    Error::internal("initials are damaged", "what they say of lengths is not so")
}

#[inline(always)]
fn number(rest: &mut &[u8]) -> Result<usize> {
    // Most numbers are below 128, which take one byte.
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

/// Bits of the greatest length that is accepted; no document is longer.
const NUMBER_BITS_MAX: u32 = 28;

/// Splits off a part and the length before it.
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

/// Calls `take` with the attributes of a document that
/// [`InitialsEncoder::write`](super::forward_writer::InitialsEncoder::write) encoded.
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
