//! Here is an uploaded body, give me its documents.
//!
//! A large body is mapped, never held: a document is named by where it lies and read again when it is needed.

use std::fs::File;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};

use memmap2::Mmap;
#[cfg(unix)]
use memmap2::UncheckedAdvice;
use serde::de::{Deserializer as _, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use super::document_scanner;
use super::json::Object;
use crate::error::{Context, Error, Result};

/// An uploaded body: a file in the spool or, if it is small, its text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Payload {
    /// Absolute; not looked at if there is a text.
    #[serde(default)]
    pub path: PathBuf,
    /// The body itself.
    #[serde(default)]
    pub text: Option<String>,
    /// How it is written.
    pub format: Format,
    /// One ASCII character; CSV only, default `,`.
    pub csv_delimiter: Option<String>,
}

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// One object, or an array of them.
    Json,
    /// Objects between white space.
    Ndjson,
    /// A header and records.
    Csv,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Ndjson => "ndjson",
            Self::Csv => "csv",
        }
    }
}

/// What `inspect` found. With `error`, `documents` counts what came before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PayloadReport {
    /// Documents in the body.
    pub documents: usize,
    /// `missing_payload` or `malformed_payload`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<crate::error::UserError>,
}

/// Where a document lies in its body, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    start: u64,
    length: u64,
}

impl Slice {
    /// Its first byte.
    pub fn start(self) -> u64 {
        self.start
    }

    /// Its length.
    pub fn bytes(self) -> u64 {
        self.length
    }
}

/// A body, opened.
pub struct Spool {
    format: Format,
    body: Body,
    csv: Option<Csv>,
}

enum Body {
    Mapped(Mmap),
    Held(Box<str>),
}

impl Deref for Body {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Held(text) => text.as_bytes(),
        }
    }
}

struct Csv {
    delimiter: u8,
    columns: Vec<(String, CellType)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CellType {
    String,
    Number,
    Boolean,
}

/// Counts the documents of a body and finds its first error.
///
/// # Errors
/// Only if the file cannot be read: what is wrong with its content is in the report.
pub fn inspect(payload: &Payload) -> Result<PayloadReport> {
    let mut documents = 0;
    let outcome = Spool::open(payload).and_then(|spool| {
        spool.each(&mut |slice| {
            spool.check(slice)?;
            documents += 1;
            Ok(())
        })
    });
    match outcome {
        Ok(()) => Ok(PayloadReport { documents, error: None }),
        Err(Error::User(error)) => Ok(PayloadReport { documents, error: Some(error) }),
        Err(error) => Err(error),
    }
}

impl Spool {
    /// Maps a body and reads its header.
    ///
    /// # Errors
    /// `missing_payload` if it is empty, `malformed_payload` for a CSV header that does not parse.
    pub fn open(payload: &Payload) -> Result<Self> {
        let body = match &payload.text {
            Some(text) => (!text.is_empty()).then(|| Body::Held(text.as_str().into())),
            None => map(&payload.path)?.map(Body::Mapped),
        };
        let Some(body) = body else {
            let message = format!("A {} payload is missing.", payload.format.name());
            return Err(Error::user("missing_payload", message));
        };
        let csv = match payload.format {
            Format::Csv => {
                let delimiter = payload.csv_delimiter.as_ref().and_then(|text| text.bytes().next());
                Some(Csv::open(&body, delimiter.unwrap_or(b','))?)
            }
            Format::Json | Format::Ndjson => None,
        };
        Ok(Self { format: payload.format, body, csv })
    }

    fn body(&self) -> &[u8] {
        &self.body
    }

    /// Hands over the place of every document, in order. Stops at the first error, its own or `take`'s.
    pub fn each(&self, take: &mut dyn FnMut(Slice) -> Result<()>) -> Result<()> {
        match self.format {
            Format::Json => self.each_of_json(take),
            Format::Ndjson => self.each_of_ndjson(take),
            Format::Csv => self.each_of_csv(take),
        }
    }

    /// The document lying there; of keys that come twice, the last one.
    pub fn document(&self, slice: Slice) -> Result<Map<String, Value>> {
        let bytes = self.bytes(slice)?;
        match &self.csv {
            Some(csv) => csv.document(bytes),
            None if bytes.first() != Some(&b'{') => {
                let (line, column) = self.place(slice.start);
                let reason = format!("a document must be an object at line {line} column {}", column + 1);
                Err(malformed(self.format, &reason))
            }
            None => serde_json::from_slice(bytes).map_err(|error| self.malformed(slice.start, &error)),
        }
    }

    /// The same, borrowing from the body; None if it is not written as JSON.
    pub fn object(&self, slice: Slice) -> Result<Option<Object<'_>>> {
        let Some(bytes) = self.json(slice)? else { return Ok(None) };
        serde_json::from_slice(bytes).map(Some).map_err(|error| self.malformed(slice.start, &error))
    }

    /// Refuses what [`Spool::document`] would refuse, without building anything.
    fn check(&self, slice: Slice) -> Result<()> {
        let bytes = self.bytes(slice)?;
        if self.csv.is_some() || bytes.first() != Some(&b'{') {
            return self.document(slice).map(|_| ());
        }
        document_scanner::check(bytes).map_err(|error| self.malformed(slice.start, &error))
    }

    /// Releases the mapped memory of a stretch of the body; another read takes it from the file again.
    /// Else a body counts towards the memory of the process as long as the staged batch lives.
    pub fn let_go(&self, stretch: Range<u64>) {
        #[cfg(unix)]
        if let Body::Mapped(map) = &self.body {
            let (start, end) = (stretch.start as usize, (stretch.end as usize).min(map.len()));
            // SAFETY: the mapping is shared and never written to, so its pages come back from the file as they were.
            let advised = unsafe {
                map.unchecked_advise_range(UncheckedAdvice::DontNeed, start, end.saturating_sub(start))
            };
            // It was only advice.
            drop(advised);
        }
        #[cfg(not(unix))]
        drop(stretch);
    }

    /// The JSON text of a document; None if it is written otherwise.
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
        // Read now, so that the first record starts behind the header.
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

    /// Line from 1, and bytes of it before `start`.
    fn place(&self, start: u64) -> (usize, usize) {
        let before = &self.body()[..start as usize];
        let lines = before.iter().filter(|&&byte| byte == b'\n').count();
        (lines + 1, before.iter().rev().take_while(|&&byte| byte != b'\n').count())
    }

    fn malformed(&self, start: u64, error: &serde_json::Error) -> Error {
        let (line, column) = self.place(start);
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

fn map(path: &Path) -> Result<Option<Mmap>> {
    let context = || format!("{} could not be read", path.display());
    let file = File::open(path).context(context())?;
    if file.metadata().context(context())?.len() == 0 {
        return Ok(None);
    }
    // SAFETY: a spooled body is written once, before its task exists, and deleted only after the task
    // has ended; the caller of the engine upholds that it is not truncated in between.
    unsafe { Mmap::map(&file) }.map(Some).context(context())
}

/// A raw value borrowed from `body` lies where its bytes lie.
fn slice_of(body: &[u8], document: &RawValue) -> Slice {
    let text = document.get();
    Slice { start: (text.as_ptr() as usize - body.as_ptr() as usize) as u64, length: text.len() as u64 }
}

struct Elements<'a, 'b> {
    body: &'a [u8],
    take: &'b mut dyn FnMut(Slice) -> Result<()>,
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

fn malformed(format: Format, reason: &str) -> Error {
    let message = format!("The `{}` payload provided is malformed. `{reason}`.", format.name());
    Error::user("malformed_payload", message)
}

fn malformed_csv(error: &csv::Error) -> Error {
    let reason = match (error.kind(), error.position()) {
        (csv::ErrorKind::UnequalLengths { expected_len, len, .. }, Some(place)) => format!(
            "record {} has {len} cells instead of {expected_len} at line {} (byte {})",
            place.record(),
            place.line(),
            place.byte()
        ),
        _ => error.to_string(),
    };
    malformed(Format::Csv, &reason)
}

impl Csv {
    fn open(body: &[u8], delimiter: u8) -> Result<Self> {
        let mut csv = Self { delimiter, columns: Vec::new() };
        let mut reader = csv.reader(body, true);
        let header = reader.headers().map_err(|error| malformed_csv(&error))?;
        csv.columns = header.iter().map(column).collect();
        Ok(csv)
    }

    fn reader<'b>(&self, body: &'b [u8], header: bool) -> csv::Reader<&'b [u8]> {
        csv::ReaderBuilder::new().delimiter(self.delimiter).has_headers(header).from_reader(body)
    }

    fn document(&self, record: &[u8]) -> Result<Map<String, Value>> {
        let mut reader = self.reader(record, false);
        let mut cells = csv::ByteRecord::new();
        reader.read_byte_record(&mut cells).map_err(|error| malformed_csv(&error))?;
        let mut document = Map::new();
        self.cells(&cells, 0, |name, value| {
            document.insert(name.to_owned(), value);
        })?;
        Ok(document)
    }

    /// Cells with the names of their columns; `number` counts records from 1, for messages.
    fn cells(
        &self,
        record: &csv::ByteRecord,
        number: usize,
        mut take: impl FnMut(&str, Value),
    ) -> Result<()> {
        for ((name, cell_type), cell) in self.columns.iter().zip(record) {
            let text = std::str::from_utf8(cell).map_err(|error| {
                malformed(Format::Csv, &format!("record {number}: column `{name}` is not UTF-8: {error}"))
            })?;
            let value = cell_type.value(text).ok_or_else(|| {
                let kind = if *cell_type == CellType::Number { "number" } else { "boolean" };
                malformed(Format::Csv, &format!("Error parsing {kind} \"{text}\" at line {number}"))
            })?;
            take(name, value);
        }
        Ok(())
    }
}

/// `name:type`; a suffix that is no type belongs to the name.
fn column(cell: &str) -> (String, CellType) {
    let typed = cell.rsplit_once(':').and_then(|(name, suffix)| {
        let cell_type = match suffix {
            "string" => CellType::String,
            "number" => CellType::Number,
            "boolean" => CellType::Boolean,
            _ => return None,
        };
        Some((name.to_owned(), cell_type))
    });
    typed.unwrap_or_else(|| (cell.to_owned(), CellType::String))
}

impl CellType {
    fn value(self, cell: &str) -> Option<Value> {
        let trimmed = cell.trim();
        match self {
            Self::String if cell.is_empty() => Some(Value::Null),
            Self::String => Some(Value::String(cell.to_owned())),
            Self::Number | Self::Boolean if trimmed.is_empty() => Some(Value::Null),
            Self::Number => match trimmed.parse::<i64>() {
                Ok(number) => Some(Value::Number(number.into())),
                // What JSON cannot say becomes null.
                Err(_) => {
                    trimmed.parse().ok().map(|n| Number::from_f64(n).map_or(Value::Null, Value::Number))
                }
            },
            Self::Boolean => trimmed.parse().ok().map(Value::Bool),
        }
    }
}
