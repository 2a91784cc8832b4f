//! Locations of vectors by docid.

use std::ops::Range;
use std::sync::Arc;

/// Entries of a page. A commit copies a page to change an entry.
const PAGE_ENTRIES: usize = 4096;

/// Location of the vectors of a document in their log, and of their codes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VectorLocation {
    /// Offset of the first vector.
    pub offset: u64,
    /// Sequence number of the record, 56 bits, above the number of its vectors.
    packed: u64,
    /// Index of the code of the first vector; codes of further vectors follow.
    pub code: u32,
}

impl VectorLocation {
    /// Creates the location of `count` vectors of the record `sequence`, with codes from the index `code` on.
    pub fn new(offset: u64, sequence: u64, count: u8, code: u32) -> Self {
        Self { offset, packed: sequence << 8 | u64::from(count), code }
    }

    /// Returns the number of vectors.
    pub fn count(self) -> usize {
        (self.packed & 0xff) as usize
    }

    /// Returns the sequence number of the record.
    pub fn sequence(self) -> u64 {
        self.packed >> 8
    }
}

/// Locations by column, because a scan reads only the codes of many documents.
#[derive(Debug, Clone)]
struct Page {
    offsets: [u64; PAGE_ENTRIES],
    packed: [u64; PAGE_ENTRIES],
    codes: [u32; PAGE_ENTRIES],
    counts: [u8; PAGE_ENTRIES],
}

/// Locations by docid. Cheap to clone: pages are shared until they change.
#[derive(Debug, Clone, Default)]
pub struct VectorLocations {
    pages: Vec<Option<Arc<Page>>>,
}

impl VectorLocations {
    /// Returns the location of a document; the default one, without vectors, if it was never put.
    pub fn get(&self, docid: u32) -> VectorLocation {
        let (page, at) = self.page(docid);
        page.map_or_else(VectorLocation::default, |page| VectorLocation {
            offset: page.offsets[at],
            packed: page.packed[at],
            code: page.codes[at],
        })
    }

    /// Returns the indexes of the codes of a document; empty if it was never put.
    pub fn codes(&self, docid: u32) -> Range<u32> {
        let (page, at) = self.page(docid);
        page.map_or(0..0, |page| page.codes[at]..page.codes[at] + u32::from(page.counts[at]))
    }

    fn page(&self, docid: u32) -> (Option<&Page>, usize) {
        let at = docid as usize;
        (self.pages.get(at / PAGE_ENTRIES).and_then(Option::as_deref), at % PAGE_ENTRIES)
    }

    /// Sets the location of a document.
    pub fn put(&mut self, docid: u32, location: VectorLocation) {
        let at = docid as usize;
        let page = at / PAGE_ENTRIES;
        if page >= self.pages.len() {
            self.pages.resize(page + 1, None);
        }
        let page = Arc::make_mut(self.pages[page].get_or_insert_with(|| Arc::new(Page::default())));
        let at = at % PAGE_ENTRIES;
        page.offsets[at] = location.offset;
        page.packed[at] = location.packed;
        page.codes[at] = location.code;
        page.counts[at] = location.count() as u8;
    }
}

impl Default for Page {
    fn default() -> Self {
        Self {
            offsets: [0; PAGE_ENTRIES],
            packed: [0; PAGE_ENTRIES],
            codes: [0; PAGE_ENTRIES],
            counts: [0; PAGE_ENTRIES],
        }
    }
}
