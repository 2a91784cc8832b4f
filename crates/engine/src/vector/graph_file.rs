//! A graph as a file, written whole, synced, and never changed.
//!
//! ```text
//! file = "SIFTGRF3" dimensions:u32 entry:u32 from:u64 to:u64 keys:u64 upper:u64 key:u64* link:u32* code* crc32:u32
//! ```
//!
//! Links are those of level 0, 32 a node; then, for each node, where the others begin; then those, `upper` in all. The
//! checksum covers all before it. A file that does not check out is made anew.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

use super::codes::{Codes, code_bytes};
use super::graph::{Graph, Key};
use super::links::Links;
use crate::error::{Context, Error, Result};

const MAGIC: &[u8; 8] = b"SIFTGRF3";
const HEADER_BYTES: usize = 48;
const CRC_BYTES: u64 = 4;

/// Numbers that are written or read at a time.
const NUMBERS: usize = 4096;

impl Graph {
    /// Writes and syncs it under a name of its own, then renames it to `path`.
    ///
    /// # Errors
    /// Internal, naming the file.
    pub fn save(&self, path: &Path) -> Result<()> {
        let context = || format!("{} could not be written", path.display());
        let temporary = path.with_extension("new");
        let file = self.write(&temporary).context(context())?;
        file.sync_all().and_then(|()| fs::rename(&temporary, path)).context(context())
    }

    fn write(&self, path: &Path) -> std::io::Result<File> {
        let mut out = Checked { inner: BufWriter::new(File::create(path)?), crc: crc32fast::Hasher::new() };
        let parts = self.links.parts();
        out.write_all(MAGIC)?;
        out.write_all(&(self.dimensions as u32).to_le_bytes())?;
        out.write_all(&self.entry.to_le_bytes())?;
        for number in [self.covers.start, self.covers.end, self.keys(), parts[2].len() as u64] {
            out.write_all(&number.to_le_bytes())?;
        }
        for keys in self.keys.chunks(NUMBERS) {
            out.write_all(&keys.iter().flat_map(|key| key.0.to_le_bytes()).collect::<Vec<u8>>())?;
        }
        for links in parts.into_iter().flat_map(|part| part.chunks(NUMBERS)) {
            out.write_all(&links.iter().flat_map(|link| link.to_le_bytes()).collect::<Vec<u8>>())?;
        }
        for node in 0..self.keys() as u32 {
            let code: Vec<u8> = self.code(node).iter().map(|byte| *byte as u8).collect();
            out.write_all(&code)?;
        }
        let crc = out.crc.finalize();
        out.inner.write_all(&crc.to_le_bytes())?;
        Ok(out.inner.into_inner()?)
    }

    /// Reads what [`Graph::save`] wrote.
    ///
    /// # Errors
    /// Internal, naming the file, if it is of another kind or damaged: it is to be made anew.
    pub fn load(path: &Path, dimensions: usize) -> Result<Self> {
        let context = || format!("{} could not be read", path.display());
        let wrong = |reason: &str| Error::internal(context(), reason.to_owned());
        let file = File::open(path).context(context())?;
        let length = file.metadata().context(context())?.len();
        let mut from = Checked { inner: BufReader::new(file), crc: crc32fast::Hasher::new() };
        let mut header = [0u8; HEADER_BYTES];
        from.read_exact(&mut header).context(context())?;
        let long = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("eight bytes"));
        let short = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
        if header[..8] != *MAGIC {
            return Err(wrong("it is no graph of vectors"));
        }
        if short(8) as usize != dimensions {
            return Err(wrong("its vectors are of another length"));
        }
        // Before memory is taken for what it says there is.
        let (keys, upper) = (long(32), long(40));
        let lowest = keys.saturating_mul(Links::most(0) as u64);
        let bytes_of_key = 8 + 4 + code_bytes(dimensions) as u64;
        let expected =
            keys.saturating_mul(bytes_of_key).saturating_add(lowest.saturating_add(upper).saturating_mul(4));
        if expected.saturating_add(HEADER_BYTES as u64 + CRC_BYTES) != length {
            return Err(wrong("it does not match its checksum: it is of another length"));
        }
        let (entry, covers) = (short(12), long(16)..long(24));
        let keys = from.numbers(keys, |bytes| Key(u64::from_le_bytes(bytes))).context(context())?;
        let mut links = |count: u64| from.numbers(count, u32::from_le_bytes).context(context());
        let parts = [links(lowest)?, links(keys.len() as u64)?, links(upper)?];
        let mut codes = Codes::default();
        let mut code = vec![0u8; code_bytes(dimensions)];
        for _ in &keys {
            from.read_exact(&mut code).context(context())?;
            codes.push_code(&code.iter().map(|byte| *byte as i8).collect::<Vec<i8>>());
        }
        let found = from.crc.clone().finalize();
        let mut crc = [0u8; CRC_BYTES as usize];
        from.inner.read_exact(&mut crc).context(context())?;
        if u32::from_le_bytes(crc) != found {
            return Err(wrong("it does not match its checksum"));
        }
        let links = Links::of_parts(keys.len(), parts)?;
        Ok(Self { dimensions, covers, keys, codes, links, entry })
    }
}

/// Sums up what goes through.
struct Checked<T> {
    inner: T,
    crc: crc32fast::Hasher,
}

impl<W: Write> Checked<W> {
    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.crc.update(bytes);
        self.inner.write_all(bytes)
    }
}

impl<R: Read> Checked<R> {
    fn read_exact(&mut self, bytes: &mut [u8]) -> std::io::Result<()> {
        self.inner.read_exact(bytes)?;
        self.crc.update(bytes);
        Ok(())
    }

    fn numbers<T, const N: usize>(
        &mut self,
        count: u64,
        number: impl Fn([u8; N]) -> T,
    ) -> std::io::Result<Vec<T>> {
        let mut numbers = Vec::with_capacity(count as usize);
        let mut bytes = vec![0u8; NUMBERS * N];
        let mut left = count as usize;
        while left > 0 {
            let some = &mut bytes[..left.min(NUMBERS) * N];
            self.read_exact(some)?;
            numbers.extend(
                some.chunks_exact(N).map(|bytes| number(bytes.try_into().expect("chunks are of N bytes"))),
            );
            left -= left.min(NUMBERS);
        }
        Ok(numbers)
    }
}
