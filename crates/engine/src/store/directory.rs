//! One index on disk: tantivy's files, side files, and the commit that says which of them count.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tantivy::directory::Directory as _;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::store::{Compressor, ZstdCompressor};
use tantivy::{Index, IndexReader, IndexSettings, IndexWriter, ReloadPolicy};

use super::document::WrittenDocument;
use super::packed::PackedTokenizer;
use super::schema::{self, FORMAT_VERSION, Fields, PACKED_TOKENIZER};
use super::side_file;
use super::snapshot::{Snapshot, SnapshotParts};
use crate::error::{Context, Error, Result};
use crate::fields::{FieldId, FieldMap};
use crate::settings::Settings;

/// Writes documents of one index.
pub type Writer = IndexWriter<WrittenDocument>;

const META: &str = "meta.json";
const MANAGED: &str = ".managed.json";

/// What a commit carries beside segments. The only point of truth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitRecord {
    /// [`FORMAT_VERSION`] of whoever wrote it.
    pub format: u32,
    /// Outcome of the batch, as `indexing` wrote it.
    pub report: Value,
    /// None until known.
    pub primary_key: Option<String>,
    /// Side file; None: never set.
    pub settings: Option<String>,
    /// Side file with the names of all fields in id order; None: there are none.
    pub fields: Option<String>,
    /// See [`SnapshotParts::long`].
    pub long: BTreeSet<FieldId>,
    /// Logs of vectors by embedder.
    #[serde(default)]
    pub vectors: BTreeMap<String, VectorLog>,
}

/// A log of vectors as far as it counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VectorLog {
    /// Its name.
    pub file: String,
    /// Bytes that count.
    pub bytes: u64,
    /// Number of the next record.
    pub sequence: u64,
}

/// What writing may use.
#[derive(Debug, Clone, Copy)]
pub struct WriterLimits {
    /// Memory for segments being built, in bytes.
    pub memory_bytes: usize,
    /// Threads that build segments.
    pub threads: usize,
}

/// The directory of one index, open.
pub struct IndexDirectory {
    path: PathBuf,
    index: Index,
    reader: IndexReader,
    fields: Fields,
}

impl IndexDirectory {
    /// Whether there is an index in `path`, with or without a commit of ours.
    pub fn exists(path: &Path) -> bool {
        path.join(META).is_file()
    }

    /// Creates the directory and an index without documents in it.
    pub fn create(path: &Path) -> Result<Self> {
        let context = || format!("{} could not be created", path.display());
        fs::create_dir_all(path).context(context())?;
        let (schema, _) = schema::build();
        let settings = IndexSettings {
            docstore_compression: Compressor::Zstd(ZstdCompressor::default()),
            ..IndexSettings::default()
        };
        let index =
            Index::builder().schema(schema).settings(settings).create_in_dir(path).context(context())?;
        if let Some(parent) = path.parent() {
            sync_directory(parent)?;
        }
        Self::with_index(path, index)
    }

    /// Opens what [`IndexDirectory::create`] created.
    ///
    /// # Errors
    /// Internal, naming the path, if something is damaged or written by a newer version.
    pub fn open(path: &Path) -> Result<Self> {
        let context = || format!("{} could not be opened", path.display());
        let index = Index::open_in_dir(path).context(context())?;
        let (schema, _) = schema::build();
        let metas = index.load_metas().context(context())?;
        if let Some(payload) = &metas.payload {
            check_format(path, payload)?;
        }
        if index.schema() != schema {
            return Err(Error::internal(context(), "its schema is not the one of this version"));
        }
        Self::with_index(path, index)
    }

    fn with_index(path: &Path, index: Index) -> Result<Self> {
        let context = || format!("{} could not be opened", path.display());
        index.tokenizers().register(PACKED_TOKENIZER, PackedTokenizer::default());
        let reader: IndexReader =
            index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into().context(context())?;
        let (_, fields) = schema::build();
        Ok(Self { path: path.to_owned(), index, reader, fields })
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// tantivy's fields.
    pub fn fields(&self) -> Fields {
        self.fields
    }

    /// A writer; at most one at a time.
    pub fn writer(&self, limits: WriterLimits) -> Result<Writer> {
        let threads = limits.threads.max(1);
        let per_thread = (limits.memory_bytes / threads).clamp(WRITER_BYTES_MIN, WRITER_BYTES_MAX);
        let options = IndexWriterOptions::builder()
            .memory_budget_per_thread(per_thread)
            .num_worker_threads(threads)
            .num_merge_threads(1)
            .build();
        let context = || format!("{} could not be opened for writing", self.path.display());
        let writer: Writer = self.index.writer_with_options(options).context(context())?;
        writer.set_merge_policy(Box::new(LogMergePolicy::default()));
        Ok(writer)
    }

    /// What the newest commit carries; None if there is no commit of ours.
    pub fn record(&self) -> Result<Option<CommitRecord>> {
        let context = || format!("{} is damaged", self.path.join(META).display());
        let metas = self.index.load_metas().context(context())?;
        let Some(payload) = metas.payload else { return Ok(None) };
        check_format(&self.path, &payload)?;
        serde_json::from_str(&payload).context(context()).map(Some)
    }

    /// Reads fields and settings a record refers to.
    pub fn parts(&self, record: &CommitRecord) -> Result<SnapshotParts> {
        let settings = match &record.settings {
            Some(name) => Settings::parse(&side_file::read(&self.path, name)?)?,
            None => Settings::default(),
        };
        let fields = match &record.fields {
            Some(name) => {
                let context = || format!("{} is damaged", self.path.join(name).display());
                let names: Vec<String> =
                    serde_json::from_str(&side_file::read(&self.path, name)?).context(context())?;
                FieldMap::from_names(names)?
            }
            None => FieldMap::default(),
        };
        Ok(SnapshotParts {
            fields: Arc::new(fields),
            settings: Arc::new(settings),
            primary_key: record.primary_key.clone(),
            long: Arc::new(record.long.clone()),
        })
    }

    /// The newest commit's documents; `previous` spares reading what has not changed.
    pub fn snapshot(&self, parts: SnapshotParts, previous: Option<&Snapshot>) -> Result<Snapshot> {
        self.reader.reload().context(format!("{} could not be read", self.path.display()))?;
        let known = |reader: &tantivy::SegmentReader| previous?.known_docids(reader);
        Snapshot::new(self.reader.searcher(), parts, known)
    }

    /// Writes the side files that `record` lacks, so that a commit can refer to them.
    pub fn write_parts(&self, record: &mut CommitRecord, parts: &SnapshotParts) -> Result<()> {
        if record.settings.is_none() && !parts.settings.raw.is_empty() {
            record.settings = Some(side_file::write(&self.path, "settings", parts.settings.raw.as_bytes())?);
        }
        if record.fields.is_none() && !parts.fields.is_empty() {
            let names: Vec<&str> = parts.fields.names().collect();
            let json = serde_json::to_vec(&names).context("field names cannot be written as JSON")?;
            record.fields = Some(side_file::write(&self.path, "fields", &json)?);
        }
        Ok(())
    }

    /// Commits what `writer` holds, with `record`. Once it returns, a crash does not undo it.
    pub fn commit(&self, writer: &mut Writer, record: &CommitRecord) -> Result<()> {
        let context = || format!("{} could not be committed", self.path.display());
        let payload = serde_json::to_string(record).context(context())?;
        let mut prepared = writer.prepare_commit().context(context())?;
        prepared.set_payload(&payload);
        prepared.commit().context(context())?;
        // tantivy syncs what the new meta file refers to, and the meta file before it is renamed; the
        // rename itself is ours to sync.
        self.index.directory().sync_directory().context(context())?;
        self.remove_stale_side_files(record);
        Ok(())
    }

    /// Removes side files that `record` does not refer to.
    pub fn remove_stale_side_files(&self, record: &CommitRecord) {
        let keep: Vec<&str> = record.settings.iter().chain(&record.fields).map(String::as_str).collect();
        side_file::remove_others(&self.path, &keep);
    }

    /// Copies the newest commit to `target`, which must not exist.
    pub fn copy_to(&self, target: &Path) -> Result<()> {
        let context = |path: &Path| format!("{} could not be copied", path.display());
        // Segments named by metas of this index are not collected while we hold them.
        let metas = self.index.load_metas().context(context(&self.path))?;
        fs::create_dir(target).context(format!("{} could not be created", target.display()))?;
        let mut files: HashSet<PathBuf> = metas.list_segment_files();
        files.retain(|file| self.path.join(file).exists());
        let mut side_files = Vec::new();
        if let Some(payload) = &metas.payload {
            let record: CommitRecord = serde_json::from_str(payload).context(context(&self.path))?;
            side_files.extend(record.settings.into_iter().chain(record.fields).map(PathBuf::from));
        }
        for file in files.iter().chain(&side_files) {
            let (from, to) = (self.path.join(file), target.join(file));
            fs::copy(&from, &to).context(context(&from))?;
            File::open(&to).and_then(|copy| copy.sync_all()).context(context(&to))?;
        }
        let mut managed: Vec<&PathBuf> = files.iter().collect();
        let meta = PathBuf::from(META);
        managed.push(&meta);
        let json = |value: serde_json::Result<Vec<u8>>| value.context(context(&self.path));
        write_synced(&target.join(MANAGED), &json(serde_json::to_vec(&managed))?)?;
        write_synced(&target.join(META), &json(serde_json::to_vec_pretty(&metas))?)?;
        sync_directory(target)
    }

    /// Files whose content is not what was written.
    pub fn damaged_files(&self) -> Result<Vec<PathBuf>> {
        let damaged = self.index.validate_checksum().context("checksums could not be computed")?;
        Ok(damaged.into_iter().map(|file| self.path.join(file)).collect())
    }

    /// Bytes of the directory, and of the stored documents in it.
    pub fn sizes(&self) -> Result<(u64, u64)> {
        let (mut all, mut stored) = (0, 0);
        for entry in fs::read_dir(&self.path).context("the index directory cannot be listed")?.flatten() {
            let bytes = entry.metadata().map_or(0, |metadata| metadata.len());
            all += bytes;
            if entry.path().extension().is_some_and(|extension| extension == "store") {
                stored += bytes;
            }
        }
        Ok((all, stored))
    }
}

/// tantivy's own minimum, and a bound below its maximum.
const WRITER_BYTES_MIN: usize = 15_000_000;
const WRITER_BYTES_MAX: usize = 2_000_000_000;

/// An index that lives and dies in memory, filled by `fill`.
pub fn in_memory(parts: SnapshotParts, fill: impl FnOnce(&Writer, Fields) -> Result<()>) -> Result<Snapshot> {
    let (schema, fields) = schema::build();
    let index = Index::create_in_ram(schema);
    index.tokenizers().register(PACKED_TOKENIZER, PackedTokenizer::default());
    let mut writer: Writer = index.writer_with_num_threads(1, WRITER_BYTES_MIN)?;
    fill(&writer, fields)?;
    writer.commit()?;
    writer.wait_merging_threads()?;
    let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
    Snapshot::new(IndexReader::searcher(&reader), parts, |_| None)
}

/// A newer format may look readable and mean something else.
fn check_format(path: &Path, payload: &str) -> Result<()> {
    #[derive(Deserialize)]
    struct Head {
        format: u32,
    }
    let context = || format!("{} is damaged", path.join(META).display());
    let head: Head = serde_json::from_str(payload).context(context())?;
    if head.format > FORMAT_VERSION {
        let reason = format!(
            "it was written in format {}, this version reads up to {FORMAT_VERSION}: use a newer one",
            head.format
        );
        return Err(Error::internal(format!("{} cannot be opened", path.display()), reason));
    }
    Ok(())
}

fn write_synced(path: &Path, content: &[u8]) -> Result<()> {
    let context = || format!("{} could not be written", path.display());
    fs::write(path, content).context(context())?;
    File::open(path).and_then(|file| file.sync_all()).context(context())
}

/// Makes renames and new names in a directory survive a crash. Elsewhere than on Unix, directories cannot
/// be opened and the file system sees to it.
fn sync_directory(path: &Path) -> Result<()> {
    if cfg!(unix) {
        let context = || format!("{} could not be synced", path.display());
        File::open(path).and_then(|directory| directory.sync_all()).context(context())?;
    }
    Ok(())
}
