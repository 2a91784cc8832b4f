//! Reads vectors from logs that may be damaged.

use std::collections::BTreeMap;
use std::path::Path;

use super::log::Log;
use super::vector_set::VectorSet;
use super::vectors::DIRECTORY;
use crate::error::Result;
use crate::store::VectorLog;

/// Returns the vectors by embedder of a commit in `directory`, and descriptions of losses, a line each.
pub fn rescued(
    directory: &Path,
    logs: &BTreeMap<String, VectorLog>,
) -> (BTreeMap<String, VectorSet>, Vec<String>) {
    let (mut sets, mut losses) = (BTreeMap::new(), Vec::new());
    for (name, reference) in logs {
        let path = directory.join(DIRECTORY).join(&reference.file);
        match read(&path, reference) {
            Ok((set, None)) => {
                sets.insert(name.clone(), set);
            }
            Ok((set, Some(loss))) => {
                sets.insert(name.clone(), set);
                losses.push(format!("{}: {loss}", path.display()));
            }
            Err(error) => losses.push(format!("{}: its vectors are lost ({error})", path.display())),
        }
    }
    (sets, losses)
}

fn read(path: &Path, reference: &VectorLog) -> Result<(VectorSet, Option<String>)> {
    let whole = Log::open(path, reference.bytes).and_then(|log| VectorSet::read(log, reference.sequence));
    let Err(error) = whole else { return whole.map(|set| (set, None)) };
    let log = Log::open_damaged(path, reference.bytes)?;
    let missing = reference.bytes - log.end();
    let (records, skipped) = log.readable();
    let lost = missing + skipped as u64;
    let loss = format!("vectors in {lost} of its {} bytes are lost or outdated ({error})", reference.bytes);
    // If only the header is damaged, every record is readable.
    Ok((VectorSet::new(log, reference.sequence).with(records), (lost > 0).then_some(loss)))
}
