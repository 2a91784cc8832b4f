//! Exports the readable documents of an index that may be damaged.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use crate::error::{Context, Result};
use crate::search;
use crate::store::Salvage;
use crate::vector;

/// The readable part of an index.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rescued {
    /// Number of documents written.
    pub documents: u64,
    /// Descriptions of lost and doubtful parts, a line each; none if the newest commit was read completely.
    pub losses: Vec<String>,
    /// Settings as JSON text; `None` if none were ever set or if they are not readable.
    pub settings: Option<String>,
    /// The primary key; `None` until known.
    pub primary_key: Option<String>,
    /// The report of the newest readable commit.
    pub report: Option<Value>,
}

/// Writes the readable documents of the index in `path` to `target`, a new file: NDJSON with vectors, ascending by
/// docid. Does not change the index, which need not be open.
///
/// # Errors
/// Internal, if the directory cannot be listed or the file cannot be written.
pub fn rescue(path: &Path, target: &Path) -> Result<Rescued> {
    let mut salvage = Salvage::read(path)?;
    let record = salvage.record.clone();
    let logs = record.as_ref().map(|record| record.vectors.clone()).unwrap_or_default();
    let (sets, lost_vectors) = vector::rescued(path, &logs);
    let settings = salvage.settings.clone();
    let context = || format!("{} could not be written", target.display());
    let mut file = BufWriter::new(private(target).context(context())?);
    let (mut documents, mut line, mut malformed) = (0, Vec::new(), 0);
    salvage.each(|docid, source| {
        line.clear();
        let vectors = |raw: Option<&str>| vector::shown_in(&sets, &settings, docid, raw);
        if search::write_whole(source, vectors, &mut line).is_err() {
            malformed += 1;
            return Ok(());
        }
        line.push(b'\n');
        documents += 1;
        file.write_all(&line).context(context())
    })?;
    file.flush().and_then(|()| file.get_ref().sync_all()).context(context())?;
    let mut losses = salvage.losses;
    losses.extend(lost_vectors);
    if malformed > 0 {
        losses.push(format!(
            "{}: the vectors of {malformed} documents do not parse, which are lost",
            path.display()
        ));
    }
    Ok(Rescued {
        documents,
        losses,
        settings: Some(settings.raw).filter(|raw| !raw.is_empty()),
        primary_key: record.as_ref().and_then(|record| record.primary_key.clone()),
        report: record.map(|record| record.report),
    })
}

/// Creates a file that other users cannot read.
fn private(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
