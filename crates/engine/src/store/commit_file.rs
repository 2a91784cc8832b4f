//! The file of a commit. It is written completely, synced, and then renamed to its final name.
//!
//! ```text
//! file     = magic format blob* manifest trailer
//! magic    = "siftd\0\r\n"
//! format   = 4 bytes, little endian: the version of everything in the index
//! blob     = bytes that some commit's manifest refers to by file, offset and length
//! manifest = JSON
//! trailer  = offset length checksum magic     offset, length and CRC-32 of the manifest
//! offset   = 8 bytes, length = 8 bytes, checksum = 4 bytes, all little endian
//! ```
//!
//! A file with the final name was synced before the rename. If it cannot be read, it is damaged, not unfinished. Magic
//! and format keep their place in all future versions.

use std::io::{self, Write};
use std::sync::Arc;

use tantivy::HasLen;
use tantivy::directory::FileSlice;

use super::disk::{Disk, DiskFile};
use super::manifest::{Blob, Manifest};
use super::schema::{FORMAT_VERSION, FORMAT_VERSION_MIN};
use crate::error::{Context, Error, Result};

const MAGIC: &[u8; 8] = b"siftd\0\r\n";
const HEADER_BYTES: usize = MAGIC.len() + 4;
const TRAILER_BYTES: usize = 8 + 8 + 4 + MAGIC.len();

/// Prefix of the names of commit files; a number of 20 digits follows.
const PREFIX: &str = "commit-";

/// Suffix of the names of commit files that are being written.
const UNFINISHED: &str = ".tmp";

/// Returns the file name of a commit.
pub fn name_of(number: u64) -> String {
    format!("{PREFIX}{number:020}")
}

/// Parses the number of a commit file; `None` for any other file.
pub fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix(PREFIX)?;
    digits.parse().ok().filter(|&number| name_of(number) == name)
}

/// Returns true if `name` is the name of a commit file, finished or not.
pub fn is_commit_file(name: &str) -> bool {
    number_of(name.strip_suffix(UNFINISHED).unwrap_or(name)).is_some()
}

/// Returns true if `name` is the name of an unfinished commit file.
pub fn is_unfinished(name: &str) -> bool {
    is_commit_file(name) && name.ends_with(UNFINISHED)
}

/// Writes a commit's file.
pub struct CommitWriter {
    disk: Arc<dyn Disk>,
    name: String,
    file: io::BufWriter<Box<dyn DiskFile>>,
    offset: u64,
    finished: bool,
}

impl CommitWriter {
    /// Creates the commit file with this number.
    pub fn create(disk: &Arc<dyn Disk>, number: u64) -> io::Result<Self> {
        let name = name_of(number);
        let file = disk.create(&format!("{name}{UNFINISHED}"))?;
        let file = io::BufWriter::with_capacity(BUFFER_BYTES, file);
        let mut writer = Self { disk: Arc::clone(disk), name, file, offset: 0, finished: false };
        writer.write(MAGIC)?;
        writer.write(&FORMAT_VERSION.to_le_bytes())?;
        Ok(writer)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.offset += bytes.len() as u64;
        self.file.write_all(bytes)
    }

    /// Appends bytes for the manifest to refer to.
    pub fn blob(&mut self, bytes: &[u8]) -> io::Result<Blob> {
        let (offset, length, checksum) = (self.offset, bytes.len() as u64, crc32fast::hash(bytes));
        self.write(bytes)?;
        Ok(Blob { file: self.name.clone(), offset, length, checksum })
    }

    /// Completes the file and renames it, which makes it the newest commit. Returns its name; the caller has to sync
    /// names.
    ///
    /// # Errors
    /// The I/O error if writing fails; the file is then not the newest commit.
    pub fn finish(mut self, manifest: &Manifest) -> io::Result<String> {
        let json = serde_json::to_vec(manifest)?;
        let offset = self.offset;
        self.write(&json)?;
        self.write(&offset.to_le_bytes())?;
        self.write(&(json.len() as u64).to_le_bytes())?;
        self.write(&crc32fast::hash(&json).to_le_bytes())?;
        self.write(MAGIC)?;
        self.file.flush()?;
        self.file.get_mut().sync()?;
        self.disk.rename(&format!("{}{UNFINISHED}", self.name), &self.name)?;
        self.finished = true;
        Ok(self.name.clone())
    }
}

impl Drop for CommitWriter {
    fn drop(&mut self) {
        if !self.finished {
            self.disk.discard(&format!("{}{UNFINISHED}", self.name));
        }
    }
}

const BUFFER_BYTES: usize = 64 * 1024;

/// Reads the manifest of a commit file. `path` is used in messages.
///
/// # Errors
/// Internal, naming `path`, if the file is damaged or of a newer format.
pub fn read_manifest(path: &str, file: &FileSlice) -> Result<Manifest> {
    let damaged = |reason: &str| Error::internal(format!("{path} is damaged"), reason.to_owned());
    let bytes = file.read_bytes().context(format!("{path} could not be read"))?;
    let header = bytes.get(..HEADER_BYTES).ok_or_else(|| damaged("it is too short"))?;
    let (magic, format) = header.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err(damaged("it does not begin with the signature of a commit"));
    }
    let format = number(format) as u32;
    if !(FORMAT_VERSION_MIN..=FORMAT_VERSION).contains(&format) {
        let reason = format!(
            "it was written in format {format}, this version reads formats up to {FORMAT_VERSION}: use another one"
        );
        return Err(Error::internal(format!("{path} cannot be opened"), reason));
    }
    let split = bytes.len().checked_sub(TRAILER_BYTES).filter(|&at| at >= HEADER_BYTES);
    let trailer = &bytes[split.ok_or_else(|| damaged("it is too short"))?..];
    if &trailer[20..] != MAGIC {
        return Err(damaged("it does not end with the signature of a commit"));
    }
    let (offset, length) = (number(&trailer[..8]), number(&trailer[8..16]));
    let end = offset.checked_add(length).filter(|&end| end <= bytes.len() as u64);
    let end = end.ok_or_else(|| damaged("its manifest is outside of it"))?;
    let json = &bytes[offset as usize..end as usize];
    if u64::from(crc32fast::hash(json)) != number(&trailer[16..20]) {
        return Err(damaged("the checksum of its manifest does not match"));
    }
    serde_json::from_slice(json).context(format!("{path} is damaged"))
}

/// Searches a damaged commit file for a manifest that parses, at any offset. Its blobs have separate checksums.
///
/// # Errors
/// Internal, if no manifest parses.
pub fn find_manifest(file: &FileSlice) -> Result<Manifest> {
    let bytes = file.read_bytes().context("a commit file could not be read")?;
    let mut starts = bytes.windows(MANIFEST_START.len()).enumerate().rev();
    let parse = |(at, window): (usize, &[u8])| {
        let json = (window == MANIFEST_START).then(|| &bytes[at..])?;
        serde_json::Deserializer::from_slice(json).into_iter::<Manifest>().next()?.ok()
    };
    starts.find_map(parse).ok_or_else(|| Error::internal("a commit file is damaged", "no manifest parses"))
}

/// The first bytes of every manifest.
const MANIFEST_START: &[u8] = br#"{"report":"#;

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Returns true if the bytes of a blob match its checksum.
pub fn is_intact(blob: &Blob, file: &FileSlice) -> io::Result<bool> {
    Ok(crc32fast::hash(&slice_of(blob, file)?.read_bytes()?) == blob.checksum)
}

/// Returns the bytes of a blob in its file.
pub fn slice_of(blob: &Blob, file: &FileSlice) -> io::Result<FileSlice> {
    let end = blob.offset.checked_add(blob.length).filter(|&end| end <= file.len() as u64);
    let end = end.ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::UnexpectedEof,
            format!("it has {} bytes, {} at {} were expected", file.len(), blob.length, blob.offset),
        )
    })?;
    Ok(file.slice(blob.offset as usize..end as usize))
}
