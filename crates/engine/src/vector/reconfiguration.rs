//! Changes of the vectors of a batch when the settings of embedders change.

use std::collections::BTreeMap;
use std::sync::Arc;

use roaring::RoaringBitmap;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::embedder::{Embedder, embedders_of};
use super::missing_vectors::MissingVectors;
use super::pending_embeddings::Want;
use super::readback::entry;
use super::sent::{DocumentVectors, read_stored, vectors_in};
use super::staged_embedder::StagedEmbedder;
use super::staged_vectors::StagedVectors;
use super::state_after::{After, state_after};
use super::vectors::Vectors;
use crate::error::{Error, Result};
use crate::settings::Settings;

/// Documents for which an embedder has to check or make vectors. Shape: `Remake` in `ts/settings/remakes.ts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Remake {
    /// All documents.
    All,
    /// Documents that the embedder sees differently with the new settings.
    Changed,
}

/// A change of embedders in progress, which may have to visit every document.
pub struct Reconfiguration {
    base: Arc<Vectors>,
    after: BTreeMap<String, StagedEmbedder>,
    fresh: Vec<String>,
    /// Embedders that no longer make vectors.
    abandoned: Vec<String>,
    remakes: BTreeMap<String, Remake>,
    gone: Vec<(String, StagedEmbedder)>,
    missing: MissingVectors,
}

impl Reconfiguration {
    /// Returns true if [`Reconfiguration::visit`] has to be called for every document.
    pub fn concerns_all(&self) -> bool {
        !self.fresh.is_empty() || !self.abandoned.is_empty()
    }

    /// Returns the documents that get vectors of removed embedders back into their `_vectors`.
    pub fn returning(&self) -> RoaringBitmap {
        self.gone.iter().fold(RoaringBitmap::new(), |all, (_, staged)| all | staged.flags().skip_regenerate)
    }

    /// Visits a stored document. Returns true if vectors are moved out of it, so that it has to be rewritten.
    ///
    /// # Errors
    /// As [`StagedVectors::read`].
    pub fn visit(&mut self, docid: u32, id: &str, document: &Map<String, Value>) -> Result<bool> {
        let vectors = vectors_in(document, id)?;
        let mut taken = false;
        for name in &self.fresh {
            let Some(staged) = self.after.get_mut(name) else { continue };
            let sent = vectors.and_then(|vectors| vectors.get(name));
            taken |= sent.is_some();
            let sent = sent.map(|value| read_stored(id, &staged.embedder, value)).transpose()?;
            match state_after(None, sent, &staged.embedder) {
                After::MissingVectors => self.missing.note(id, &staged.embedder, document),
                After::Same => {}
                After::Always | After::IfTextChanged => staged.want(docid, Want::Always),
                After::Changed(state) => {
                    staged.changes.insert(docid, Some(state));
                }
            }
        }
        for staged in self.abandoned.iter().filter_map(|name| self.after.get(name)) {
            if !staged.skips(docid) {
                self.missing.note(id, &staged.embedder, document);
            }
        }
        Ok(taken)
    }

    /// Returns true if [`Reconfiguration::remake`] has to be called for every document.
    pub fn remakes(&self) -> bool {
        !self.remakes.is_empty()
    }

    /// Notes that embedders have to check or make the vectors of a document. `settings` are those before the change,
    /// `of` is as in [`Want`].
    pub fn remake(&mut self, docid: u32, settings: &Arc<Settings>, of: Option<u32>) {
        for (name, remake) in &self.remakes {
            let Some(staged) = self.after.get_mut(name).filter(|staged| !staged.skips(docid)) else {
                continue;
            };
            staged.want(
                docid,
                match remake {
                    Remake::All => Want::Always,
                    Remake::Changed => Want::IfTextChanged { settings: Arc::clone(settings), of },
                },
            );
        }
    }

    /// Returns the entries that a document gets back into its `_vectors`; `None` if there are none.
    pub fn give_back(&self, docid: u32) -> Option<Map<String, Value>> {
        let entries = self.gone.iter().filter_map(|(name, staged)| {
            let state = staged.state(docid).filter(|state| state.skip_regenerate)?;
            Some((name.clone(), entry(&state, staged.shape().dimensions)))
        });
        let entries: Map<String, Value> = entries.collect();
        (!entries.is_empty()).then_some(entries)
    }

    /// Returns the staged vectors for the new embedders, after every document was visited.
    ///
    /// # Errors
    /// `vector_embedding_error` if documents lack vectors that only the user can provide.
    pub fn finish(self) -> Result<StagedVectors> {
        self.missing.check(|_, _| false)?;
        Ok(StagedVectors { base: self.base, embedders: self.after })
    }
}

impl StagedVectors {
    /// Begins a change to the embedders of `settings`. `remakes` contains those that have to check or make vectors.
    ///
    /// # Errors
    /// `invalid_settings_embedders` if vectors with other dimensions are stored and the embedder remakes none.
    pub fn reconfigure(
        &self,
        settings: &Settings,
        remakes: &BTreeMap<String, Remake>,
    ) -> Result<Reconfiguration> {
        let mut after = BTreeMap::new();
        let (mut fresh, mut abandoned) = (Vec::new(), Vec::new());
        for (name, embedder) in embedders_of(settings) {
            let staged = match self.embedders.get(&name) {
                None => {
                    fresh.push(name.clone());
                    StagedEmbedder::new(embedder, None)
                }
                Some(old) => {
                    if embedder.is_user_provided() && old.embedder.source != embedder.source {
                        abandoned.push(name.clone());
                    }
                    changed(old, embedder, remakes.get(&name) == Some(&Remake::All))?
                }
            };
            after.insert(name, staged);
        }
        let gone = self.embedders.iter().filter(|(name, _)| !after.contains_key(*name));
        let gone = gone.map(|(name, staged)| (name.clone(), staged.clone())).collect();
        let base = Arc::clone(&self.base);
        let remakes = remakes.clone();
        Ok(Reconfiguration {
            base,
            after,
            fresh,
            abandoned,
            remakes,
            gone,
            missing: MissingVectors::default(),
        })
    }
}

/// Changes the settings of an embedder. With `remade`, vectors are regenerated unless excluded from that. Excluded ones
/// are dropped if they have other dimensions.
fn changed(old: &StagedEmbedder, embedder: Embedder, remade: bool) -> Result<StagedEmbedder> {
    if old.embedder.dimensions != embedder.dimensions {
        return with_other_dimensions(old, embedder, remade);
    }
    let mut staged = StagedEmbedder { embedder, ..old.clone() };
    if staged.embedder.binary && !old.embedder.binary {
        for state in staged.changes.values_mut().flatten() {
            state.rows.iter_mut().for_each(|component| *component = f32::from(u8::from(*component > 0.0)));
        }
    }
    Ok(staged)
}

fn with_other_dimensions(old: &StagedEmbedder, embedder: Embedder, remade: bool) -> Result<StagedEmbedder> {
    let flags = old.flags();
    if !remade && !flags.embedded.is_empty() {
        let length = |dimensions: Option<usize>| dimensions.map_or("unknown".to_owned(), |it| it.to_string());
        let message = format!(
            "`.embedders.{}.dimensions`: vectors of {} dimensions are stored; remove them before changing to {}",
            embedder.name,
            length(old.embedder.dimensions),
            length(embedder.dimensions)
        );
        return Err(Error::user("invalid_settings_embedders", message));
    }
    // Drops vectors with the old dimensions; keeps the flags of documents.
    let flags_only = |docid| DocumentVectors {
        user_provided: flags.user_provided.contains(docid),
        skip_regenerate: flags.skip_regenerate.contains(docid),
        ..DocumentVectors::default()
    };
    let changes = flags.known().into_iter().map(|docid| (docid, Some(flags_only(docid)))).collect();
    Ok(StagedEmbedder { embedder, base: None, changes, wants: old.wants.clone() })
}
