//! The header and records of a CSV body.

use serde_json::{Map, Number, Value};

use super::payload::{Format, malformed};
use crate::error::{Error, Result};

/// The format of a CSV body, and the columns of its header.
pub struct CsvBody {
    delimiter: u8,
    columns: Vec<(String, CellType)>,
}

/// The type of a column's values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CellType {
    String,
    Number,
    Boolean,
}

/// Makes the error for a record that the CSV reader refuses.
pub fn malformed_csv(error: &csv::Error) -> Error {
    let reason = match (error.kind(), error.position()) {
        (csv::ErrorKind::UnequalLengths { expected_len, len, .. }, Some(position)) => format!(
            "record {} has {len} cells instead of {expected_len} at line {} (byte {})",
            position.record(),
            position.line(),
            position.byte()
        ),
        _ => error.to_string(),
    };
    malformed(Format::Csv, &reason)
}

impl CsvBody {
    /// Reads the header of a body.
    ///
    /// # Errors
    /// `malformed_payload`, if it does not parse.
    pub fn open(body: &[u8], delimiter: u8) -> Result<Self> {
        let mut csv = Self { delimiter, columns: Vec::new() };
        let mut reader = csv.reader(body, true);
        let header = reader.headers().map_err(|error| malformed_csv(&error))?;
        csv.columns = header.iter().map(column).collect();
        Ok(csv)
    }

    /// Creates a reader of a body, or of a single record without a `header`.
    pub fn reader<'b>(&self, body: &'b [u8], header: bool) -> csv::Reader<&'b [u8]> {
        csv::ReaderBuilder::new().delimiter(self.delimiter).has_headers(header).from_reader(body)
    }

    /// Returns the document of a record.
    ///
    /// # Errors
    /// `malformed_payload`, if a cell is not of its column's type.
    pub fn document(&self, record: &[u8]) -> Result<Map<String, Value>> {
        let mut reader = self.reader(record, false);
        let mut cells = csv::ByteRecord::new();
        reader.read_byte_record(&mut cells).map_err(|error| malformed_csv(&error))?;
        let mut document = Map::new();
        self.cells(&cells, 0, |name, value| {
            document.insert(name.to_owned(), value);
        })?;
        Ok(document)
    }

    /// Calls `take` with the name of each column and the value of its cell. `number` counts records from 1, for
    /// messages.
    ///
    /// # Errors
    /// `malformed_payload`, if a cell is not of its column's type.
    pub fn cells(
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

/// Parses the name and type of a header cell `name:type`. Any other suffix belongs to the name.
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
                // An infinite number has no JSON form and becomes null.
                Err(_) => {
                    trimmed.parse().ok().map(|n| Number::from_f64(n).map_or(Value::Null, Value::Number))
                }
            },
            Self::Boolean => trimmed.parse().ok().map(Value::Bool),
        }
    }
}
