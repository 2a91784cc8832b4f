//! Writes the changes of a batch to the vectors of an embedder: at the end of its log, or into a new log.

use std::path::Path;

use super::graphs::{GraphFiles, lineage_of};
use super::log::{LOG_SUFFIX, LogWriter, Record};
use super::staged_embedder::StagedEmbedder;
use super::vector_index::VectorIndex;
use super::vector_set::VectorSet;
use crate::background_fault::FaultReporter;
use crate::error::Result;

/// Appends to the existing log or creates one. `None` if there is nothing to write. Faults of graphs of a new lineage
/// are reported to `faults`.
pub(super) fn write_embedder(
    staged: &StagedEmbedder,
    directory: &Path,
    faults: &FaultReporter,
) -> Result<Option<VectorIndex>> {
    let shape = staged.shape();
    let changes = || staged.changes.iter().filter_map(|(docid, state)| Some((*docid, state.as_ref()?)));
    let base = match &staged.base {
        None if changes().next().is_none() => return Ok(None),
        base => base.as_ref(),
    };
    let Some(index) = base else {
        let mut writer = LogWriter::create(&directory.join(first_name()), shape, 0)?;
        let records: Vec<Record> =
            changes().map(|(docid, state)| writer.write(docid, Some(state))).collect::<Result<_>>()?;
        let (log, sequence) = writer.finish()?;
        let set = VectorSet::new(log, sequence).with(records);
        return Ok(Some(VectorIndex::new(set, faults, GraphFiles::Own)));
    };
    let base = index.set();
    if base.shape() == shape && !base.is_mostly_dead() {
        let mut writer = LogWriter::append(base.log(), base.sequence())?;
        let records: Vec<Record> = staged
            .changes
            .iter()
            .map(|(docid, state)| writer.write(*docid, state.as_ref()))
            .collect::<Result<_>>()?;
        let (log, sequence) = writer.finish()?;
        return Ok(Some(index.followed_by(base.continued(log, sequence).with(records))));
    }
    let mut records = Vec::new();
    let rewritten = base.shape() == shape;
    let name = if rewritten { next_name(base.log().path()) } else { first_name() };
    let mut writer = LogWriter::create(&directory.join(name), shape, base.sequence())?;
    if rewritten {
        for record in base.records()?.iter().filter(|record| !staged.changes.contains_key(&record.docid)) {
            records.push(writer.copy(base.log(), record)?);
        }
    } else {
        for docid in base.flags().known() {
            if !staged.changes.contains_key(&docid) {
                records.push(writer.write(docid, base.get(docid).as_ref())?);
            }
        }
    }
    for (docid, state) in changes() {
        records.push(writer.write(docid, Some(state))?);
    }
    let (log, sequence) = writer.finish()?;
    let set = VectorSet::new(log, sequence).with(records);
    // Rewriting preserves sequence numbers, so the graphs remain valid.
    Ok(Some(if rewritten { index.followed_by(set) } else { VectorIndex::new(set, faults, GraphFiles::Own) }))
}

/// Rewrites the log of an embedder without replaced records.
pub(super) fn rewrite(index: &VectorIndex, directory: &Path) -> Result<VectorIndex> {
    let set = index.set();
    let path = directory.join(next_name(set.log().path()));
    let mut writer = LogWriter::create(&path, set.shape(), set.sequence())?;
    let records: Vec<Record> =
        set.records()?.iter().map(|record| writer.copy(set.log(), record)).collect::<Result<_>>()?;
    let (log, sequence) = writer.finish()?;
    Ok(index.followed_by(VectorSet::new(log, sequence).with(records)))
}

/// Returns a name for a log of a new lineage.
fn first_name() -> String {
    format!("{}.0{LOG_SUFFIX}", crate::store::unique_name())
}

/// Returns the name of the log that `log` is rewritten to.
fn next_name(log: &Path) -> String {
    let serial = log.file_stem().and_then(|stem| stem.to_str()?.rsplit_once('.')?.1.parse::<u64>().ok());
    format!("{}.{}{LOG_SUFFIX}", lineage_of(log), serial.unwrap_or(0) + 1)
}
