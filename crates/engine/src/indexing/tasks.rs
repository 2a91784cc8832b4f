//! Carries out the tasks of a batch.

use std::sync::Arc;

use serde_json::Value;

use super::batch::{Batch, Failure, Method, Operation, Outcome};
use super::docids::DocidAllocator;
use super::preview::preview;
use super::primary_key;
use super::staged_batch::{StagedBatch, id_in};
use crate::error::{Error, Result, UserError};
use crate::filter::{self, Features, Scope};
use crate::settings::Settings;

impl StagedBatch {
    /// Carries out the tasks of a batch, one after another. A failed task changes nothing.
    ///
    /// # Errors
    /// Internal, also if the batch was stopped. User errors are in the outcomes.
    pub fn apply(&mut self, batch: Batch) -> Result<()> {
        for task in batch.operations {
            let nothing = nothing_done(&task.operation);
            let outcome = match self.operation(task.operation) {
                Ok(outcome) => outcome,
                Err(Error::User(error)) => Outcome { error: Some(self.failure_of(&error)), ..nothing },
                Err(error) => return Err(error),
            };
            self.outcomes.push(Outcome { task_uid: task.task_uid, ..outcome });
        }
        Ok(())
    }

    /// Names the index in messages, except in those about the body alone.
    fn failure_of(&self, error: &UserError) -> Failure {
        let is_of_body = matches!(error.code, "missing_payload" | "malformed_payload");
        let index = if is_of_body { String::new() } else { format!("index `{}`: ", self.index_uid) };
        Failure { code: error.code.to_owned(), message: format!("{index}{}", error.message) }
    }

    fn operation(&mut self, operation: Operation) -> Result<Outcome> {
        match operation {
            Operation::Documents { method, payload, primary_key, skip_creation, .. } => {
                self.put(&payload, method, primary_key.as_deref(), skip_creation)
            }
            Operation::DeleteByIds { ids } => {
                let mut removed = 0;
                for id in ids {
                    removed += u64::from(self.remove(&id)?);
                }
                Ok(deleted(removed))
            }
            Operation::DeleteByFilter { filter } => {
                let ids = self.ids_matching(&filter)?;
                self.monitor.progress.expect(ids.len() as u64);
                let mut removed = 0;
                for id in ids {
                    removed += u64::from(self.remove(&id)?);
                }
                Ok(deleted(removed))
            }
            Operation::Edit { payload, deleted, edited_documents } => {
                if let Some(payload) = payload {
                    self.put(&payload, Method::Replace, None, false)?;
                }
                for id in deleted {
                    self.remove(&id)?;
                }
                Ok(Outcome { edited_documents: Some(edited_documents), touched: true, ..Outcome::default() })
            }
            Operation::Clear => {
                let removed = self.documents();
                self.cleared = true;
                self.entries.clear();
                self.docids = DocidAllocator::default();
                self.vectors.clear();
                Ok(Outcome { deleted_documents: Some(removed), touched: true, ..Outcome::default() })
            }
            Operation::Settings { settings, remakes, reanalyses } => {
                let settings = Settings::parse(&settings)?;
                self.check_documents(&settings)?;
                self.change_embedders(&settings, &remakes)?;
                self.settings = Arc::new(settings);
                self.reanalyses |= reanalyses;
                Ok(Outcome { touched: true, ..Outcome::default() })
            }
            Operation::PrimaryKey { primary_key } => self.declare_primary_key(primary_key),
        }
    }

    fn declare_primary_key(&mut self, wanted: Option<String>) -> Result<Outcome> {
        let Some(wanted) = wanted else { return Ok(Outcome::default()) };
        if let Some(stored) = &self.primary_key
            && self.documents() > 0
            && *stored != wanted
        {
            return Err(primary_key::already_exists(stored));
        }
        self.primary_key = Some(wanted);
        Ok(Outcome { touched: true, ..Outcome::default() })
    }

    /// Returns the ids of the documents that match a filter after the changes of earlier tasks.
    fn ids_matching(&self, filter: &Value) -> Result<Vec<String>> {
        // The route has already refused filters with disabled features.
        let features =
            Features { contains_filter: true, legacy_search: false, multimodal: true, foreign_keys: true };
        let (code, index_uid) = ("invalid_document_filter", None);
        let stop = Some(self.monitor.call_stop.as_deref().unwrap_or(&self.monitor.stop));
        let scope = Scope { code, index_uid, features, stop, until: None, foreign: None };
        let Some(expression) = filter::parse(filter, &scope)? else { return Ok(Vec::new()) };
        let preview = preview(self)?;
        let mut ids = Vec::new();
        if let Some(base) = &preview.base {
            for docid in filter::select(base, &expression, &scope)?.iter() {
                let id = id_in(base, docid)?;
                // Documents with an entry are matched in the preview of changed documents.
                if !self.entries.contains(&id) {
                    ids.push(id);
                }
            }
        }
        if let Some(changed) = &preview.changed {
            for docid in filter::select(changed, &expression, &scope)?.iter() {
                ids.push(id_in(changed, docid)?);
            }
        }
        Ok(ids)
    }
}

/// Returns the outcome of a failed task, without its error.
fn nothing_done(operation: &Operation) -> Outcome {
    match operation {
        Operation::Documents { .. } => Outcome { indexed_documents: Some(0), ..Outcome::default() },
        Operation::DeleteByIds { .. } | Operation::DeleteByFilter { .. } | Operation::Clear => deleted(0),
        Operation::Edit { .. } | Operation::Settings { .. } | Operation::PrimaryKey { .. } => {
            Outcome::default()
        }
    }
}

fn deleted(removed: u64) -> Outcome {
    Outcome { deleted_documents: Some(removed), touched: removed > 0, ..Outcome::default() }
}
