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

use std::io::{self, Write};

use tantivy::directory::OwnedBytes;
use tantivy::{DocId, SegmentReader};

use super::codes::{CODES, Initial, OTHER};
use super::files::read_file;
use super::word_initial::WordInitial;
use crate::error::{Error, Result};
use crate::fields::FieldId;

/// Ending of the file.
pub(super) const EXTENSION: &str = "initials";

/// Documents from one that is known where it begins to the next.
const STRIDE: DocId = 16;

const START_BYTES: usize = 8;

/// Codes from here on pass over positions without a word: the first over one.
const GAP: u8 = CODES;

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

impl Words<'_> {
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

/// The initials of a segment.
#[derive(Debug, Clone)]
pub struct Initials {
    documents: OwnedBytes,
    starts: OwnedBytes,
    count: DocId,
}

impl Initials {
    /// Those of a segment; None if it has none.
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

    /// Reads documents one by one.
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

    /// Documents from a multiple of [`STRIDE`] on.
    fn from(&self, stride: DocId) -> Result<&[u8]> {
        let at = stride as usize * START_BYTES;
        let start = self.starts.get(at..at + START_BYTES).and_then(|bytes| bytes.try_into().ok());
        let start = usize::try_from(u64::from_le_bytes(start.ok_or_else(damaged)?)).map_err(|_| damaged())?;
        self.documents.get(start..).ok_or_else(damaged)
    }
}

/// Reads documents in any order; quicker if they ascend.
pub struct Cursor<'a> {
    initials: &'a Initials,
    /// What `rest` begins with.
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

    /// One attribute of a document; None if it has no words.
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

    /// A document as [`InitialsEncoder::write`] gave it.
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
    // Most are below 128, which is one byte.
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

/// No document takes more bytes than such a number says.
const NUMBER_BITS_MAX: u32 = 28;

/// Cuts off what a length goes before.
#[inline(always)]
fn part<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = number(rest)?;
    let (part, others) = rest.split_at_checked(length).ok_or_else(damaged)?;
    *rest = others;
    Ok(part)
}

/// Cuts off the next document, its length included.
pub(super) fn next_written<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8]> {
    let all = *rest;
    part(rest)?;
    Ok(&all[..all.len() - rest.len()])
}

/// Calls `take` with the attributes of a document as [`InitialsEncoder::write`] gives it.
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
    Ok(Some((field, Words { codes: part(document)? })))
}

/// Puts a file together.
#[derive(Default)]
pub(super) struct Writer {
    starts: Vec<u8>,
    count: DocId,
    written: u64,
}

impl Writer {
    /// Adds a document as [`InitialsEncoder::write`] gives it.
    pub(super) fn add(&mut self, document: &[u8], file: &mut impl Write) -> io::Result<()> {
        if self.count.is_multiple_of(STRIDE) {
            self.starts.extend_from_slice(&self.written.to_le_bytes());
        }
        self.count += 1;
        self.written += document.len() as u64;
        file.write_all(document)
    }

    /// Writes what follows the documents.
    pub(super) fn finish(self, file: &mut impl Write) -> io::Result<()> {
        file.write_all(&self.starts)
    }
}

/// Encodes the initials of documents as they lie in the file.
#[derive(Default)]
pub(super) struct InitialsEncoder {
    /// Words of the document being written, where they have to be sorted.
    words: Vec<WordInitial>,
    /// Codes of an attribute; all attributes of a document.
    attribute: Vec<u8>,
    document: Vec<u8>,
}

impl InitialsEncoder {
    /// Appends a document with its length.
    pub(super) fn write(&mut self, words: &[WordInitial], written: &mut Vec<u8>) {
        // Words come as they lie in the document, in which a field of objects in an array comes again and again.
        let words = if words.is_sorted() {
            words
        } else {
            self.words.clear();
            self.words.extend_from_slice(words);
            // Stable because that is quick with stretches that are in order.
            self.words.sort();
            &self.words
        };
        self.document.clear();
        for words in words.chunk_by(|a, b| a.field() == b.field()) {
            self.attribute.clear();
            let mut next = 0;
            for word in words {
                debug_assert!(word.position() >= next, "two words at one place");
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
