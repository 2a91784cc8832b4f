//! Reads the documents of an uploaded body.
//!
//! A large body is mapped, never read into memory completely. A document is identified by its range of bytes in the
//! body, and read again when it is needed.

use std::fs::File;
use std::ops::{Deref, Range};
use std::path::Path;

use memmap2::Mmap;
#[cfg(unix)]
use memmap2::UncheckedAdvice;
use serde::Deserialize;
use serde::de::{Deserializer as _, Error as _, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::csv_body::{CsvBody, malformed_csv};
use super::document_scanner;
use super::json::Object;
use super::payload::{Format, Payload, malformed};
use crate::error::{Context, Error, Result};

/// The range of a document in its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    start: u64,
    length: u64,
}

impl Slice {
    /// Returns the offset of the first byte.
    pub fn start(self) -> u64 {
        self.start
    }

    /// Returns the length in bytes.
    pub fn bytes(self) -> u64 {
        self.length
    }
}

/// An open body.
pub struct Spool {
    format: Format,
    body: Body,
    /// Header, for a CSV body.
    csv: Option<CsvBody>,
}

enum Body {
    Mapped(Mmap),
    Text(Box<str>),
}

impl Deref for Body {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Text(text) => text.as_bytes(),
        }
    }
}

impl Spool {
    /// Maps a body and reads its header.
    ///
    /// # Errors
    /// `missing_payload` if it is empty, `malformed_payload` for a CSV header that does not parse.
    pub fn open(payload: &Payload) -> Result<Self> {
        let body = match &payload.text {
            Some(text) => (!text.is_empty()).then(|| Body::Text(text.as_str().into())),
            None => map(&payload.path)?.map(Body::Mapped),
        };
        let Some(body) = body else {
            let message = format!("a `{}` payload is missing: the body is empty", payload.format.name());
            return Err(Error::user("missing_payload", message));
        };
        let csv = match payload.format {
            Format::Csv => {
                let delimiter = payload.csv_delimiter.as_ref().and_then(|text| text.bytes().next());
                Some(CsvBody::open(&body, delimiter.unwrap_or(b','))?)
            }
            Format::Json | Format::Ndjson => None,
        };
        Ok(Self { format: payload.format, body, csv })
    }

    fn body(&self) -> &[u8] {
        &self.body
    }

    /// Calls `take` with the slice of every document, in order. Stops at the first error of the body or of `take`.
    pub fn each(&self, take: &mut dyn FnMut(Slice) -> Result<()>) -> Result<()> {
        match self.format {
            Format::Json => self.each_of_json(take),
            Format::Ndjson => self.each_of_ndjson(take),
            Format::Csv => self.each_of_csv(take),
        }
    }

    /// Returns the document of a slice. The last value of a repeated key counts.
    pub fn document(&self, slice: Slice) -> Result<Map<String, Value>> {
        let bytes = self.bytes(slice)?;
        match &self.csv {
            Some(csv) => csv.document(bytes),
            None if bytes.first() != Some(&b'{') => {
                let (line, column) = self.line_and_column(slice.start);
                let kind = kind_of(bytes);
                let reason = format!("expected an object, found {kind} at line {line} column {}", column + 1);
                Err(malformed(self.format, &reason))
            }
            None => serde_json::from_slice(bytes).map_err(|error| self.malformed(slice.start, &error)),
        }
    }

    /// Returns the document of a slice, borrowed from the body; `None` if the body is not JSON.
    pub fn object(&self, slice: Slice) -> Result<Option<Object<'_>>> {
        let Some(bytes) = self.json(slice)? else { return Ok(None) };
        serde_json::from_slice(bytes).map(Some).map_err(|error| self.malformed(slice.start, &error))
    }

    /// Makes the checks of [`Spool::document`] without building the document.
    ///
    /// # Errors
    /// See [`Spool::document`].
    pub fn check(&self, slice: Slice) -> Result<()> {
        let bytes = self.bytes(slice)?;
        if self.csv.is_some() || bytes.first() != Some(&b'{') {
            return self.document(slice).map(|_| ());
        }
        document_scanner::check(bytes).map_err(|error| self.malformed(slice.start, &error))
    }

    /// Releases the mapped memory of a range of the body. Later reads load it from the file again. Without this, a body
    /// that was read counts as memory of the process until its batch is dropped.
    pub fn release(&self, range: Range<u64>) {
        #[cfg(unix)]
        if let Body::Mapped(map) = &self.body {
            let (start, end) = (range.start as usize, (range.end as usize).min(map.len()));
            // SAFETY: the mapping is shared and never written to, so its pages are unchanged when they are loaded
            // again.
            let advised = unsafe {
                map.unchecked_advise_range(UncheckedAdvice::DontNeed, start, end.saturating_sub(start))
            };
            // The range stays readable if the system ignores the advice.
            drop(advised);
        }
        #[cfg(not(unix))]
        drop(range);
    }

    /// Returns the JSON text of a document; `None` if the body is CSV.
    pub fn json(&self, slice: Slice) -> Result<Option<&[u8]>> {
        if self.csv.is_some() { Ok(None) } else { self.bytes(slice).map(Some) }
    }

    fn bytes(&self, slice: Slice) -> Result<&[u8]> {
        let range = slice.start as usize..(slice.start + slice.length) as usize;
        self.body().get(range).context_missing("a spooled body has shrunk")
    }

    fn each_of_json(&self, take: &mut dyn FnMut(Slice) -> Result<()>) -> Result<()> {
        let body = self.body();
        let mut json = serde_json::Deserializer::from_slice(body);
        let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
        if first == Some(&b'[') {
            let mut stopped = None;
            let elements = Elements { body, take, stopped: &mut stopped };
            let outcome = json.deserialize_seq(elements);
            if let Some(error) = stopped {
                return Err(error);
            }
            outcome.map_err(|error| self.malformed(0, &error))?;
        } else {
            let document = <&RawValue>::deserialize(&mut json).map_err(|error| self.malformed(0, &error))?;
            take(slice_of(body, document))?;
        }
        json.end().map_err(|error| self.malformed(0, &error))
    }

    fn each_of_ndjson(&self, take: &mut dyn FnMut(Slice) -> Result<()>) -> Result<()> {
        let body = self.body();
        for document in serde_json::Deserializer::from_slice(body).into_iter::<&RawValue>() {
            take(slice_of(body, document.map_err(|error| self.malformed(0, &error))?))?;
        }
        Ok(())
    }

    fn each_of_csv(&self, take: &mut dyn FnMut(Slice) -> Result<()>) -> Result<()> {
        let Some(csv) = &self.csv else { return Ok(()) };
        let mut reader = csv.reader(self.body(), true);
        // Reads the header first, so that the position of the first record is known.
        reader.byte_headers().map_err(|error| malformed_csv(&error))?;
        let mut record = csv::ByteRecord::new();
        let mut number = 0;
        loop {
            let start = reader.position().byte();
            if !reader.read_byte_record(&mut record).map_err(|error| malformed_csv(&error))? {
                return Ok(());
            }
            number += 1;
            csv.cells(&record, number, |_, _| {})?;
            take(Slice { start, length: reader.position().byte() - start })?;
        }
    }

    /// Returns the line of an offset, counted from 1, and the number of bytes before it in that line.
    fn line_and_column(&self, start: u64) -> (usize, usize) {
        let before = &self.body()[..start as usize];
        let lines = before.iter().filter(|&&byte| byte == b'\n').count();
        (lines + 1, before.iter().rev().take_while(|&&byte| byte != b'\n').count())
    }

    fn malformed(&self, start: u64, error: &serde_json::Error) -> Error {
        let (line, column) = self.line_and_column(start);
        let position = format!(" at line {} column {}", error.line(), error.column());
        let text = error.to_string();
        let reason = text.strip_suffix(&position).unwrap_or(&text);
        let column = if error.line() <= 1 { column + error.column() } else { error.column() };
        let line = line + error.line().saturating_sub(1);
        malformed(self.format, &format!("{reason} at line {line} column {column}"))
    }
}

trait OrMissing<T> {
    fn context_missing(self, context: &str) -> Result<T>;
}

impl<T> OrMissing<T> for Option<T> {
    fn context_missing(self, context: &str) -> Result<T> {
        self.ok_or_else(|| Error::internal(context, "unexpected end of file"))
    }
}

/// Names the kind of a JSON value that is not an object.
fn kind_of(json: &[u8]) -> &'static str {
    match json.first() {
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

fn map(path: &Path) -> Result<Option<Mmap>> {
    let context = || format!("{} could not be read", path.display());
    let file = File::open(path).context(context())?;
    if file.metadata().context(context())?.len() == 0 {
        return Ok(None);
    }
    // SAFETY: a spooled body is written once, before its task exists, and deleted only after the task has ended. The
    // caller of the engine ensures that it is not truncated in between.
    unsafe { Mmap::map(&file) }.map(Some).context(context())
}

/// Returns the slice of a raw value that is borrowed from `body`.
fn slice_of(body: &[u8], document: &RawValue) -> Slice {
    let text = document.get();
    Slice { start: (text.as_ptr() as usize - body.as_ptr() as usize) as u64, length: text.len() as u64 }
}

/// Visits the elements of a JSON array.
struct Elements<'a, 'b> {
    body: &'a [u8],
    take: &'b mut dyn FnMut(Slice) -> Result<()>,
    /// Error of `take`, because serde passes errors on only as text.
    stopped: &'b mut Option<Error>,
}

impl<'de> Visitor<'de> for Elements<'de, '_> {
    type Value = ();

    fn expecting(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        text.write_str("an array of documents")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> std::result::Result<(), A::Error> {
        while let Some(document) = elements.next_element::<&RawValue>()? {
            if let Err(error) = (self.take)(slice_of(self.body, document)) {
                *self.stopped = Some(error);
                return Err(A::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}
