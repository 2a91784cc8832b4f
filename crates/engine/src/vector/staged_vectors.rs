//! What becomes of vectors in a batch? Nothing of the index is changed before it is written.
//!
//! 1. What a document says of a configured embedder is taken out of it and kept apart.
//! 2. Vectors that are never made anew survive whatever else happens to their document.
//! 3. An embedder that goes writes those back into the documents; one that comes finds them there.
//! 4. Vectors that no client sent are made by the server before the batch is committed, see [`Want`].
//!
//! Source: vectors §2.6, §2.7, §2.10, §4.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use roaring::RoaringBitmap;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::embedder::{Embedder, embedders_of};
use super::flags::Flags;
use super::graphs::lineage_of;
use super::log::{LogWriter, Record, Shape};
use super::missing_vectors::MissingVectors;
use super::pending_embeddings::{Asked, NO_FRAGMENT, VectorPage, Want};
use super::readback::entry;
use super::sent::{DocumentVectors, Sent, read_sent, stored_entry, vectors_in};
use super::vector_index::VectorIndex;
use super::vector_set::VectorSet;
use super::vectors::{DIRECTORY, EmbedderVectors, LOG_SUFFIX, Vectors};
use crate::error::{Error, Result};
use crate::settings::Settings;

/// Vectors of one document by embedder; only those that change.
pub type ChangedVectors = BTreeMap<String, DocumentVectors>;

/// What a document says of vectors.
#[derive(Default)]
pub struct Reading {
    /// Vectors that change.
    pub staged: ChangedVectors,
    /// What it asks of embedders, by their place among all.
    pub asked: Vec<(u8, Asked)>,
}

/// What the client has said so far of a document's vectors.
#[derive(Debug, Clone, Copy)]
pub struct CurrentVectors {
    /// They are never made anew.
    pub skip_regenerate: bool,
}

/// How a document stands with an embedder, by its name; None: it has no vectors of it.
pub type CurrentVectorsOf<'a> = &'a dyn Fn(&str) -> Option<CurrentVectors>;

impl From<&DocumentVectors> for CurrentVectors {
    fn from(vectors: &DocumentVectors) -> Self {
        Self { skip_regenerate: vectors.skip_regenerate }
    }
}

/// Embedders and vectors as the batch leaves them.
#[derive(Clone, Default)]
pub struct StagedVectors {
    base: Arc<Vectors>,
    embedders: BTreeMap<String, StagedEmbedder>,
}

#[derive(Clone)]
struct StagedEmbedder {
    embedder: Embedder,
    /// None: it starts from nothing.
    base: Option<VectorIndex>,
    /// None: the document has nothing any more.
    changes: BTreeMap<u32, Option<DocumentVectors>>,
    wants: BTreeMap<u32, Want>,
}

impl StagedEmbedder {
    fn new(embedder: Embedder, base: Option<VectorIndex>) -> Self {
        Self { embedder, base, changes: BTreeMap::new(), wants: BTreeMap::new() }
    }

    fn base(&self) -> Option<&VectorSet> {
        self.base.as_ref().map(VectorIndex::set)
    }

    fn state(&self, docid: u32) -> Option<DocumentVectors> {
        match self.changes.get(&docid) {
            Some(changed) => changed.clone(),
            None => self.base()?.get(docid),
        }
    }

    fn flags(&self) -> Flags {
        let mut flags = self.base().map(|base| base.flags().clone()).unwrap_or_default();
        for (docid, state) in &self.changes {
            let state = state.as_ref();
            let is = |test: fn(&DocumentVectors) -> bool| state.is_some_and(test);
            flags.put(
                *docid,
                is(|state| !state.rows.is_empty()),
                is(|state| state.user_provided),
                is(|state| state.skip_regenerate),
            );
            flags.put_fragments(*docid, state.and_then(|state| state.fragments.as_deref()));
        }
        flags
    }

    fn skips(&self, docid: u32) -> bool {
        match self.changes.get(&docid) {
            Some(changed) => changed.as_ref().is_some_and(|state| state.skip_regenerate),
            None => self.base().is_some_and(|base| base.flags().skip_regenerate.contains(docid)),
        }
    }

    fn want(&mut self, docid: u32, want: Want) {
        let earlier = self.wants.remove(&docid);
        self.wants.insert(docid, Want::and(earlier, want));
    }

    fn shape(&self) -> Shape {
        Shape { dimensions: self.embedder.dimensions.unwrap_or(0), binary: self.embedder.binary }
    }
}

impl StagedVectors {
    /// Nothing changed yet.
    pub fn new(settings: &Settings, base: Arc<Vectors>) -> Result<Self> {
        let mut embedders = BTreeMap::new();
        for (name, embedder) in embedders_of(settings) {
            let index = base.index(&name)?;
            embedders.insert(name, StagedEmbedder::new(embedder, index));
        }
        Ok(Self { base, embedders })
    }

    /// Whether there is any embedder.
    pub fn is_needed(&self) -> bool {
        !self.embedders.is_empty()
    }

    /// What is known of a document under an embedder.
    pub fn current(&self, name: &str, docid: u32) -> Option<CurrentVectors> {
        let staged = self.embedders.get(name)?;
        match staged.changes.get(&docid) {
            Some(changed) => changed.as_ref().map(CurrentVectors::from),
            None => {
                let flags = staged.base()?.flags();
                let skip_regenerate = flags.skip_regenerate.contains(docid);
                flags.knows(docid).then_some(CurrentVectors { skip_regenerate })
            }
        }
    }

    /// Changes a document's vectors.
    pub fn put(&mut self, docid: u32, staged: ChangedVectors) {
        for (name, state) in staged {
            if let Some(staged) = self.embedders.get_mut(&name) {
                staged.changes.insert(docid, Some(state));
            }
        }
    }

    /// Notes what a document asks of embedders; `made_of` gives what its vectors were made of.
    pub fn ask(
        &mut self,
        docid: u32,
        asked: &[(u8, Asked)],
        settings: &Arc<Settings>,
        mut made_of: impl FnMut() -> Option<u32>,
    ) {
        let mut of = None;
        for (at, staged) in self.embedders.values_mut().enumerate() {
            let Some((_, asked)) = asked.iter().find(|(index, _)| usize::from(*index) == at) else {
                continue;
            };
            match asked {
                Asked::Nothing => drop(staged.wants.remove(&docid)),
                Asked::Anew => staged.want(docid, Want::Anew),
                Asked::Compared if staged.wants.contains_key(&docid) => {}
                Asked::Compared => {
                    let of = *of.get_or_insert_with(&mut made_of);
                    staged.want(docid, Want::Compared { settings: Arc::clone(settings), of });
                }
            }
        }
    }

    /// Documents that the server has to embed before the batch can be committed, once for each embedder.
    pub fn pending_count(&self) -> u64 {
        self.embedders.values().map(|staged| staged.wants.len() as u64).sum()
    }

    /// What is wanted of the embedder at a place among all, from a docid on; None after the last embedder.
    pub fn wants(&self, at: usize, from: u32) -> Option<(&str, impl Iterator<Item = (u32, &Want)>)> {
        let (name, staged) = self.embedders.iter().nth(at)?;
        Some((name, staged.wants.range(from..).map(|(docid, want)| (*docid, want))))
    }

    /// Whether a document has vectors that were made from fragments.
    pub fn is_fragmented(&self, name: &str, docid: u32) -> bool {
        let Some(staged) = self.embedders.get(name) else { return false };
        match staged.changes.get(&docid) {
            Some(changed) => changed.as_ref().is_some_and(|state| state.fragments.is_some()),
            None => staged.base().is_some_and(|base| base.flags().is_fragmented(docid)),
        }
    }

    /// Takes in vectors that were made.
    ///
    /// # Errors
    /// Internal, if a page contradicts itself or the embedder.
    pub fn add_page(&mut self, page: &VectorPage) -> Result<()> {
        let Some(staged) = self.embedders.get_mut(&page.embedder) else { return Ok(()) };
        let dimensions = staged.embedder.dimensions.unwrap_or(0);
        let wrong = || Error::internal("vectors cannot be taken in", "their numbers do not match");
        let (mut rows, mut slot) = (page.rows.chunks_exact(dimensions.max(1)), 0);
        for (docid, count) in page.docids.iter().zip(&page.counts) {
            let slots = slot..slot + usize::from(*count);
            slot = slots.end;
            let numbers = page.fragments.get(slots.clone()).ok_or_else(wrong)?;
            let reused = page.kept.get(slots).ok_or_else(wrong)?;
            let before = staged.state(*docid).unwrap_or_default();
            let mut made = Vec::with_capacity(numbers.len() * dimensions);
            for (number, reused) in numbers.iter().zip(reused) {
                let row = if *reused == 1 {
                    let known = before.fragments.as_deref().unwrap_or_default();
                    let at = known.iter().position(|known| known == number).ok_or_else(wrong)?;
                    before.rows.chunks_exact(dimensions.max(1)).nth(at)
                } else {
                    rows.next()
                };
                made.extend_from_slice(row.filter(|_| dimensions > 0).ok_or_else(wrong)?);
            }
            if staged.embedder.binary {
                made.iter_mut().for_each(|component| *component = f32::from(u8::from(*component > 0.0)));
            }
            let fragmented = staged.embedder.fragments.is_some() && !numbers.contains(&NO_FRAGMENT);
            let fragments = fragmented.then(|| numbers.to_vec());
            let state = DocumentVectors { rows: made, fragments, ..DocumentVectors::default() };
            staged.changes.insert(*docid, Some(state));
        }
        match rows.next() {
            Some(_) => Err(wrong()),
            None => Ok(()),
        }
    }

    /// A document goes, and its vectors with it.
    pub fn remove(&mut self, docid: u32) {
        for staged in self.embedders.values_mut() {
            staged.wants.remove(&docid);
            match staged.base().is_some_and(|base| base.flags().knows(docid)) {
                true => staged.changes.insert(docid, None),
                false => staged.changes.remove(&docid),
            };
        }
    }

    /// All documents go.
    pub fn clear(&mut self) {
        for staged in self.embedders.values_mut() {
            staged.base = None;
            staged.changes.clear();
            staged.wants.clear();
        }
    }

    /// Reads what `document` says of vectors. `before` knows those the document has; None: it is new.
    /// Embedders that get none although they cannot do without are noted in `lacking`.
    ///
    /// # Errors
    /// `invalid_vectors_type`, `invalid_vector_dimensions`, `too_many_vectors`, `vector_embedding_error`.
    pub fn read(
        &self,
        document: &Map<String, Value>,
        id: &str,
        before: Option<CurrentVectorsOf<'_>>,
        missing: &mut MissingVectors,
    ) -> Result<Reading> {
        let vectors = vectors_in(document, id)?;
        let mut reading = Reading::default();
        for (index, (name, staged)) in (0..=u8::MAX).zip(&self.embedders) {
            let sent = vectors.and_then(|vectors| vectors.get(name));
            let sent = sent.map(|value| read_sent(id, &staged.embedder, value)).transpose()?;
            match state_after(before.map(|before| before(name)), sent, &staged.embedder) {
                After::MissingVectors => missing.note(id, &staged.embedder),
                After::Same => {}
                After::Anew => reading.asked.push((index, Asked::Anew)),
                After::Compared => reading.asked.push((index, Asked::Compared)),
                After::Changed(state) => {
                    reading.asked.push((index, Asked::Nothing));
                    reading.staged.insert(name.clone(), state);
                }
            }
        }
        for (name, value) in vectors.into_iter().flatten() {
            if !self.embedders.contains_key(name) {
                stored_entry(id, name, value)?;
            }
        }
        Ok(reading)
    }

    /// Takes what was read out of a document, which is stored without it.
    pub fn strip(&self, document: &mut Map<String, Value>) {
        let Some(Value::Object(vectors)) = document.get_mut("_vectors") else { return };
        vectors.retain(|name, _| !self.embedders.contains_key(name));
        for (name, value) in vectors.iter_mut() {
            if let Ok(stored) = stored_entry("", name, value) {
                *value = stored;
            }
        }
        if vectors.is_empty() {
            document.shift_remove("_vectors");
        }
    }

    /// As filters see them before the batch is written.
    pub fn preview(&self) -> Vectors {
        Vectors::preview(self.embedders.iter().map(|(name, staged)| (name.clone(), staged.flags())).collect())
    }

    /// Begins to move to the embedders of `settings`; `remakes` names those that have to look at their
    /// documents again.
    ///
    /// # Errors
    /// `invalid_settings_embedders` if vectors of another length are stored.
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

    /// Writes and syncs what changes below `directory`; the commit that names the logs makes it count.
    pub fn write(&self, directory: &Path) -> Result<Vectors> {
        let mut embedders = BTreeMap::new();
        for (name, staged) in &self.embedders {
            let unchanged = staged.changes.is_empty();
            let same_base = staged.base().filter(|base| base.shape() == staged.shape());
            if let (true, Some(_), Some(known)) = (unchanged, same_base, self.base.of_embedder(name)) {
                embedders.insert(name.clone(), Arc::clone(known));
            } else if let Some(index) = write_embedder(staged, &directory.join(DIRECTORY))? {
                embedders.insert(name.clone(), Arc::new(EmbedderVectors::written(index)));
            }
        }
        Ok(Vectors::written(embedders))
    }
}

/// Appends to the log there is, or begins one. None if there is nothing to write.
fn write_embedder(staged: &StagedEmbedder, directory: &Path) -> Result<Option<VectorIndex>> {
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
        return Ok(Some(VectorIndex::new(VectorSet::new(log, sequence).with(records))));
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
    // Rewriting keeps sequence numbers, and with them the graphs.
    Ok(Some(if rewritten { index.followed_by(set) } else { VectorIndex::new(set) }))
}

/// A log that none came before.
fn first_name() -> String {
    format!("{}.0{LOG_SUFFIX}", crate::store::unique_name())
}

/// The log that one is rewritten to.
fn next_name(log: &Path) -> String {
    let serial = log.file_stem().and_then(|stem| stem.to_str()?.rsplit_once('.')?.1.parse::<u64>().ok());
    format!("{}.{}{LOG_SUFFIX}", lineage_of(log), serial.unwrap_or(0) + 1)
}

enum After {
    Same,
    Changed(DocumentVectors),
    /// The server makes them, whatever the document was before.
    Anew,
    /// The server makes them if the embedder would see another text than before.
    Compared,
    /// Only the user can provide them.
    MissingVectors,
}

/// What a document has after it was sent. `before`: None for a new document.
fn state_after(before: Option<Option<CurrentVectors>>, sent: Option<Sent>, embedder: &Embedder) -> After {
    let (is_new, known) = (before.is_none(), before.flatten());
    let skips = known.is_some_and(|current| current.skip_regenerate);
    match sent {
        // What the client once gave stays for an embedder that makes nothing itself.
        None if skips || (known.is_some() && embedder.is_user_provided()) => After::Same,
        Some(Sent { regenerate, rows: Some(rows) }) => After::Changed(DocumentVectors {
            user_provided: true,
            skip_regenerate: !regenerate,
            rows,
            fragments: None,
        }),
        None | Some(Sent { regenerate: true, rows: None }) if embedder.is_user_provided() => {
            After::MissingVectors
        }
        None | Some(Sent { regenerate: true, rows: None }) if is_new || skips => After::Anew,
        None | Some(Sent { regenerate: true, rows: None }) => After::Compared,
        Some(Sent { regenerate: false, rows: None }) if known.is_some() => After::Same,
        Some(Sent { regenerate: false, rows: None }) => {
            After::Changed(DocumentVectors { skip_regenerate: true, ..DocumentVectors::default() })
        }
    }
}

/// An embedder whose settings changed. `remade`: its vectors are made anew, but those that never are.
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
    let stays = if remade { &flags.embedded & &flags.skip_regenerate } else { flags.embedded.clone() };
    if !stays.is_empty() {
        let length = |dimensions: Option<usize>| dimensions.map_or("unknown".to_owned(), |it| it.to_string());
        let message = format!(
            "`.embedders.{}.dimensions`: vectors of {} dimensions are stored; remove them before changing to {}",
            embedder.name,
            length(old.embedder.dimensions),
            length(embedder.dimensions)
        );
        return Err(Error::user("invalid_settings_embedders", message));
    }
    // Vectors of the old length go; what was said of documents stays.
    let said = |docid| DocumentVectors {
        user_provided: flags.user_provided.contains(docid),
        skip_regenerate: flags.skip_regenerate.contains(docid),
        ..DocumentVectors::default()
    };
    let changes = flags.known().into_iter().map(|docid| (docid, Some(said(docid)))).collect();
    Ok(StagedEmbedder { embedder, base: None, changes, wants: old.wants.clone() })
}

/// Which documents an embedder has to look at again; `Remake` in `ts/settings/remakes.ts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Remake {
    /// Every one.
    All,
    /// Those that look otherwise under the new settings.
    Changed,
}

/// A change of embedders under way: every document may have something to say about it.
pub struct Reconfiguration {
    base: Arc<Vectors>,
    after: BTreeMap<String, StagedEmbedder>,
    fresh: Vec<String>,
    /// Their vectors are not made any more.
    abandoned: Vec<String>,
    remakes: BTreeMap<String, Remake>,
    gone: Vec<(String, StagedEmbedder)>,
    missing: MissingVectors,
}

impl Reconfiguration {
    /// Whether [`Reconfiguration::visit`] has to see every document.
    pub fn concerns_all(&self) -> bool {
        !self.fresh.is_empty() || !self.abandoned.is_empty()
    }

    /// Documents that get vectors back.
    pub fn returning(&self) -> RoaringBitmap {
        self.gone.iter().fold(RoaringBitmap::new(), |all, (_, staged)| all | staged.flags().skip_regenerate)
    }

    /// Looks at a document as it is stored. Whether something of it is taken, so that it has to be written.
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
            let sent = sent.map(|value| read_sent(id, &staged.embedder, value)).transpose()?;
            match state_after(None, sent, &staged.embedder) {
                After::MissingVectors => self.missing.note(id, &staged.embedder),
                After::Same => {}
                After::Anew | After::Compared => staged.want(docid, Want::Anew),
                After::Changed(state) => {
                    staged.changes.insert(docid, Some(state));
                }
            }
        }
        for staged in self.abandoned.iter().filter_map(|name| self.after.get(name)) {
            if !staged.skips(docid) {
                self.missing.note(id, &staged.embedder);
            }
        }
        Ok(taken)
    }

    /// Whether [`Reconfiguration::remake`] has to be told of every document.
    pub fn remakes(&self) -> bool {
        !self.remakes.is_empty()
    }

    /// Has embedders look at a document again. `settings` are those so far, `of` as in [`Want`].
    pub fn remake(&mut self, docid: u32, settings: &Arc<Settings>, of: Option<u32>) {
        for (name, remake) in &self.remakes {
            let Some(staged) = self.after.get_mut(name).filter(|staged| !staged.skips(docid)) else {
                continue;
            };
            staged.want(
                docid,
                match remake {
                    Remake::All => Want::Anew,
                    Remake::Changed => Want::Compared { settings: Arc::clone(settings), of },
                },
            );
        }
    }

    /// What a document gets back under `_vectors`; None: nothing.
    pub fn give_back(&self, docid: u32) -> Option<Map<String, Value>> {
        let entries = self.gone.iter().filter_map(|(name, staged)| {
            let state = staged.state(docid).filter(|state| state.skip_regenerate)?;
            Some((name.clone(), entry(&state, staged.shape().dimensions)))
        });
        let entries: Map<String, Value> = entries.collect();
        (!entries.is_empty()).then_some(entries)
    }

    /// The staged batch under the new embedders, once every document was seen.
    ///
    /// # Errors
    /// `vector_embedding_error` if documents lack vectors which only their user can provide.
    pub fn finish(self) -> Result<StagedVectors> {
        self.missing.check()?;
        Ok(StagedVectors { base: self.base, embedders: self.after })
    }
}
