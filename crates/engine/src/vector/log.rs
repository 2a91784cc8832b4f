//! A vector log, and its vectors up to the end in a commit.
//!
//! A log holds the vectors of an embedder and is append-only. Bytes after the end in the commit do not belong to it;
//! the next append overwrites them.
//!
//! ```text
//! log    = header record*
//! header = "SIFTVEC1" dimensions:u32 scalar:u32            scalar: 0 floats, 1 bits padded to words of 64
//! record = bytes:u32 docid:u32 sequence:u64 flags:u8 count:u8 0:u16 vectors fragments? crc32:u32
//! vector = length:f32 component:f32*, or bits
//! flags  = 1 came from the client | 2 never regenerated | 4 deleted: neither vectors nor flags | 8 fragments
//! fragments = number:u8 of the fragment of each vector
//! ```
//!
//! Numbers are little endian. `bytes` is the length of the complete record; the checksum covers all bytes before it.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::Mmap;

use super::distance::{bits_of, floats, norm};
use super::sent::DocumentVectors;
use crate::error::{Context, Error, Result};
use crate::store::{FileIdentity, sync_directory};

/// Suffix of the names of logs.
pub const LOG_SUFFIX: &str = ".log";

const MAGIC: &[u8; 8] = b"SIFTVEC1";
pub(super) const HEADER_BYTES: u64 = 16;
const HEAD_BYTES: usize = 20;
const CRC_BYTES: usize = 4;

const USER_PROVIDED: u8 = 1;
const SKIP_REGENERATE: u8 = 2;
const GONE: u8 = 4;
const FRAGMENTS: u8 = 8;

/// The format of the vectors of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Number of components of a vector.
    pub dimensions: usize,
    /// True if a component is a bit.
    pub binary: bool,
}

impl Shape {
    /// Returns the bytes of a vector.
    pub fn bytes(self) -> usize {
        if self.binary { self.dimensions.div_ceil(64) * 8 } else { 4 + self.dimensions * 4 }
    }

    /// Returns the components of a stored vector. Bits become zeros and ones.
    pub fn components(self, stored: &[u8]) -> Vec<f32> {
        if !self.binary {
            return floats(stored)[1..].to_vec();
        }
        let bit = |at: usize| f32::from(stored[at / 8] >> (at % 8) & 1);
        (0..self.dimensions).map(bit).collect()
    }
}

/// A record, without its vectors.
#[derive(Debug, Clone, Copy)]
pub struct Record {
    /// The document.
    pub docid: u32,
    /// Sequence number of the record.
    pub sequence: u64,
    /// True if the client has set the vectors.
    pub user_provided: bool,
    /// True if the vectors are never regenerated.
    pub skip_regenerate: bool,
    /// True if the document no longer has vectors or flags.
    pub gone: bool,
    /// Number of vectors.
    pub count: u8,
    /// True if it contains the fragments of the vectors.
    pub fragmented: bool,
    /// Offset of the first vector in the file.
    pub offset: u64,
    /// Bytes of the complete record.
    pub bytes: u64,
}

impl Record {
    /// Returns the bytes of a record of `count` vectors that were not made from fragments.
    pub fn bytes_of(shape: Shape, count: usize) -> u64 {
        (HEAD_BYTES + count * shape.bytes() + CRC_BYTES) as u64
    }
}

/// A log as a commit sees it.
#[derive(Debug, Clone)]
pub struct Log {
    path: PathBuf,
    shape: Shape,
    end: u64,
    identity: Option<FileIdentity>,
    map: Arc<Mmap>,
}

impl Log {
    /// Opens a log up to `end`.
    ///
    /// # Errors
    /// Internal, naming the file, if it is too short or not a log.
    pub fn open(path: &Path, end: u64) -> Result<Self> {
        let context = || format!("{} could not be read", path.display());
        let file = File::open(path).context(context())?;
        let metadata = file.metadata().context(context())?;
        let length = metadata.len();
        if length < end || end < HEADER_BYTES {
            return Err(Error::internal(context(), format!("it has {length} bytes, its commit {end}")));
        }
        // SAFETY: bytes before the end of a commit never change; the file is only appended to.
        let map = unsafe { memmap2::MmapOptions::new().len(end as usize).map(&file) }.context(context())?;
        let number = |at: usize| u32_at(&map, at);
        if map[..8] != *MAGIC || number(12) > 1 {
            return Err(Error::internal(context(), "it does not begin with the signature of a vector log"));
        }
        let shape = Shape { dimensions: number(8) as usize, binary: number(12) == 1 };
        let identity = FileIdentity::of(&metadata);
        Ok(Self { path: path.to_owned(), shape, end, identity, map: Arc::new(map) })
    }

    /// Returns true if it begins with the content of `earlier`, in the same file.
    pub fn continues(&self, earlier: &Self) -> bool {
        (&self.path, self.shape, self.identity) == (&earlier.path, earlier.shape, earlier.identity)
            && self.end >= earlier.end
    }

    /// Returns the format of its vectors.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Returns its length in the commit, in bytes.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Returns its content, from the header to the end in the commit.
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a stored vector of a record.
    pub fn vector(&self, offset: u64, slot: usize) -> &[u8] {
        let start = offset as usize + slot * self.shape.bytes();
        &self.map[start..start + self.shape.bytes()]
    }

    /// Returns the numbers of the fragments from which the vectors of a record were made; `None` if they were not made
    /// from fragments.
    pub fn fragments(&self, record: &Record) -> Option<&[u8]> {
        record.fragmented.then(|| self.fragments_at(record.offset, usize::from(record.count)))
    }

    /// Returns the numbers of fragments after `count` vectors that begin at `offset`.
    pub fn fragments_at(&self, offset: u64, count: usize) -> &[u8] {
        let start = offset as usize + count * self.shape.bytes();
        &self.map[start..start + count]
    }

    /// Calls `take` with all records from byte `from` on.
    ///
    /// # Errors
    /// Internal, naming the file and the offset, if a record does not match its checksum.
    pub fn each(&self, from: u64, mut take: impl FnMut(Record)) -> Result<()> {
        let mut at = from.max(HEADER_BYTES) as usize;
        while at < self.end as usize {
            let record = self.record_at(at).map_err(|reason| {
                let context = format!("{} is damaged", self.path.display());
                Error::internal(context, format!("the record at byte {at} {reason}"))
            })?;
            take(record);
            at += record.bytes as usize;
        }
        Ok(())
    }

    /// Returns the record at byte `at`, or the reason why it is not one.
    fn record_at(&self, at: usize) -> std::result::Result<Record, &'static str> {
        let rest = &self.map[at..];
        if rest.len() < HEAD_BYTES + CRC_BYTES {
            return Err("is cut short");
        }
        let bytes = u32_at(rest, 0) as usize;
        let (flags, count) = (rest[16], rest[17]);
        let expected = HEAD_BYTES + stored_bytes(self.shape, flags, count) + CRC_BYTES;
        if bytes != expected || bytes > rest.len() {
            return Err("has an impossible length");
        }
        let (content, crc) = rest[..bytes].split_at(bytes - CRC_BYTES);
        if crc32fast::hash(content) != u32_at(crc, 0) {
            return Err("does not match its checksum");
        }
        Ok(Record {
            docid: u32_at(rest, 4),
            sequence: u64::from(u32_at(rest, 8)) | u64::from(u32_at(rest, 12)) << 32,
            user_provided: flags & USER_PROVIDED != 0,
            skip_regenerate: flags & SKIP_REGENERATE != 0,
            gone: flags & GONE != 0,
            fragmented: flags & FRAGMENTS != 0,
            count,
            offset: (at + HEAD_BYTES) as u64,
            bytes: bytes as u64,
        })
    }

    /// Opens the existing part of a damaged log, up to `end`. Accepts any signature.
    ///
    /// # Errors
    /// Internal, naming the file, if it has no header.
    pub fn open_damaged(path: &Path, end: u64) -> Result<Self> {
        let context = || format!("{} could not be read", path.display());
        let file = File::open(path).context(context())?;
        let metadata = file.metadata().context(context())?;
        let end = end.min(metadata.len());
        if end < HEADER_BYTES {
            return Err(Error::internal(context(), format!("it has {end} bytes")));
        }
        // SAFETY: bytes before the end of a commit never change; the file is only appended to.
        let map = unsafe { memmap2::MmapOptions::new().len(end as usize).map(&file) }.context(context())?;
        let shape = Shape { dimensions: u32_at(&map, 8) as usize, binary: u32_at(&map, 12) == 1 };
        let identity = FileIdentity::of(&metadata);
        Ok(Self { path: path.to_owned(), shape, end, identity, map: Arc::new(map) })
    }

    /// Returns the records that match their checksums, and the number of bytes outside of them.
    pub fn readable(&self) -> (Vec<Record>, usize) {
        let (mut records, mut skipped) = (Vec::new(), 0);
        let mut at = HEADER_BYTES as usize;
        while at < self.end as usize {
            match self.record_at(at) {
                Ok(record) => {
                    records.push(record);
                    at += record.bytes as usize;
                }
                Err(_) => {
                    skipped += 1;
                    at += 1;
                }
            }
        }
        (records, skipped)
    }
}

/// Returns the bytes between the head of a record and its checksum.
fn stored_bytes(shape: Shape, flags: u8, count: u8) -> usize {
    let fragments = if flags & FRAGMENTS != 0 { usize::from(count) } else { 0 };
    usize::from(count) * shape.bytes() + fragments
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes were taken"))
}

/// Appends to a log. Readers see the records only when a commit contains the new end.
pub struct LogWriter {
    path: PathBuf,
    shape: Shape,
    file: BufWriter<File>,
    end: u64,
    sequence: u64,
    /// True if the file is new, so that its name is not synced yet.
    created: bool,
}

impl LogWriter {
    /// Creates a log; the file must not exist.
    pub fn create(path: &Path, shape: Shape, sequence: u64) -> Result<Self> {
        let context = || format!("{} could not be created", path.display());
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory).context(context())?;
        }
        let mut file = BufWriter::new(File::create_new(path).context(context())?);
        let mut header = MAGIC.to_vec();
        header.extend_from_slice(&(shape.dimensions as u32).to_le_bytes());
        header.extend_from_slice(&u32::from(shape.binary).to_le_bytes());
        file.write_all(&header).context(context())?;
        Ok(Self { path: path.to_owned(), shape, file, end: HEADER_BYTES, sequence, created: true })
    }

    /// Continues a log at its end in a commit. Overwrites bytes after it.
    pub fn append(log: &Log, sequence: u64) -> Result<Self> {
        let context = || format!("{} could not be opened for writing", log.path.display());
        let mut file = OpenOptions::new().write(true).open(&log.path).context(context())?;
        file.set_len(log.end).context(context())?;
        file.seek(SeekFrom::Start(log.end)).context(context())?;
        let (path, shape) = (log.path.clone(), log.shape);
        Ok(Self { path, shape, file: BufWriter::new(file), end: log.end, sequence, created: false })
    }

    /// Writes the vectors and flags of a document; with `None`, notes that it has none any more.
    pub fn write(&mut self, docid: u32, vectors: Option<&DocumentVectors>) -> Result<Record> {
        let gone = vectors.is_none();
        let empty = DocumentVectors::default();
        let DocumentVectors { user_provided, skip_regenerate, rows, fragments } = vectors.unwrap_or(&empty);
        let (user_provided, skip_regenerate) = (*user_provided, *skip_regenerate);
        let mut stored = Vec::with_capacity(rows.len() * 4);
        let mut count = 0;
        for row in rows.chunks_exact(self.shape.dimensions.max(1)) {
            count += 1;
            if self.shape.binary {
                stored.extend_from_slice(&bits_of(row));
            } else {
                let with_length = std::iter::once(norm(row)).chain(row.iter().copied());
                with_length.for_each(|number| stored.extend_from_slice(&number.to_le_bytes()));
            }
        }
        stored.extend_from_slice(fragments.as_deref().unwrap_or_default());
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        let flags = flag(user_provided, USER_PROVIDED)
            | flag(skip_regenerate, SKIP_REGENERATE)
            | flag(gone, GONE)
            | flag(fragments.is_some(), FRAGMENTS);
        let sequence = self.sequence;
        self.sequence += 1;
        self.write_stored(docid, sequence, flags, count, &stored)
    }

    /// Copies a record of another log of the same format, including its sequence number.
    pub fn copy(&mut self, from: &Log, record: &Record) -> Result<Record> {
        let start = record.offset as usize;
        let flags = from.map[start - 4];
        let stored = &from.map[start..start + stored_bytes(self.shape, flags, record.count)];
        self.write_stored(record.docid, record.sequence, flags, record.count, stored)
    }

    fn write_stored(
        &mut self,
        docid: u32,
        sequence: u64,
        flags: u8,
        count: u8,
        stored: &[u8],
    ) -> Result<Record> {
        let bytes = HEAD_BYTES + stored.len() + CRC_BYTES;
        let mut head = Vec::with_capacity(HEAD_BYTES);
        head.extend_from_slice(&(bytes as u32).to_le_bytes());
        head.extend_from_slice(&docid.to_le_bytes());
        head.extend_from_slice(&sequence.to_le_bytes());
        head.extend_from_slice(&[flags, count, 0, 0]);
        let mut crc = crc32fast::Hasher::new();
        crc.update(&head);
        crc.update(stored);
        let crc = crc.finalize().to_le_bytes();
        let context = || format!("{} could not be written", self.path.display());
        for part in [&head[..], stored, &crc[..]] {
            self.file.write_all(part).context(context())?;
        }
        let offset = self.end + HEAD_BYTES as u64;
        self.end += bytes as u64;
        Ok(Record {
            docid,
            sequence,
            user_provided: flags & USER_PROVIDED != 0,
            skip_regenerate: flags & SKIP_REGENERATE != 0,
            gone: flags & GONE != 0,
            fragmented: flags & FRAGMENTS != 0,
            count,
            offset,
            bytes: bytes as u64,
        })
    }

    /// Syncs the file and opens the log. Returns the next sequence number too.
    pub fn finish(mut self) -> Result<(Log, u64)> {
        let context = || format!("{} could not be synced", self.path.display());
        self.file.flush().context(context())?;
        self.file.get_ref().sync_data().context(context())?;
        if self.created {
            // Syncs the names of the file and of its directory, which may be new as well.
            let directories = self.path.ancestors().skip(1).take(2);
            directories.into_iter().try_for_each(sync_directory).context(context())?;
        }
        Ok((Log::open(&self.path, self.end)?, self.sequence))
    }
}
