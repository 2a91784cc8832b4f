//! The batch that is prepared for the next commit.

use serde_json::Value;

use crate::error::{Error, Result};
use crate::indexing::StagedBatch;

/// The prepared batch of an index with its ticket, if there is one.
#[derive(Default)]
pub(super) struct PreparedSlot {
    pub prepared: Option<(u32, Prepared)>,
    /// Last ticket.
    pub tickets: u32,
}

impl PreparedSlot {
    /// Returns the prepared batch.
    ///
    /// # Errors
    /// Internal, if another batch or no batch is prepared.
    pub fn get(&mut self, ticket: u32) -> Result<&mut Prepared> {
        match &mut self.prepared {
            Some((prepared, what)) if *prepared == ticket => Ok(what),
            _ => Err(Error::internal("the batch cannot be continued", "it is not the prepared batch")),
        }
    }
}

/// A batch that can be committed.
pub(super) enum Prepared {
    StagedBatch(Box<StagedBatch>),
    /// A batch that was committed before a crash and is the newest commit already: its report.
    Committed(Value),
}
