//! Here is a docid: where are its vectors?

use std::ops::Range;
use std::sync::Arc;

/// Entries of a page, which is what a commit copies to change one of them.
const PAGE_ENTRIES: usize = 4096;

/// Where the vectors of a document lie in their log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VectorLocation {
    /// First byte of the first vector.
    pub offset: u64,
    /// Sequence number of the record, 56 bits, above the number of vectors in it.
    packed: u64,
    /// Where the code of the first vector is; those of the others follow.
    pub code: u32,
}

impl VectorLocation {
    /// Of `count` vectors written as record `sequence`, with codes from `code` on.
    pub fn new(offset: u64, sequence: u64, count: u8, code: u32) -> Self {
        Self { offset, packed: sequence << 8 | u64::from(count), code }
    }

    /// Vectors there.
    pub fn count(self) -> usize {
        (self.packed & 0xff) as usize
    }

    /// Of the record.
    pub fn sequence(self) -> u64 {
        self.packed >> 8
    }
}

/// The parts of places, each side by side: a scan asks many documents for their codes, and for nothing else.
#[derive(Debug, Clone)]
struct Page {
    offsets: [u64; PAGE_ENTRIES],
    packed: [u64; PAGE_ENTRIES],
    codes: [u32; PAGE_ENTRIES],
    counts: [u8; PAGE_ENTRIES],
}

/// Places by docid. Cheap to clone; pages are shared until one of them changes.
#[derive(Debug, Clone, Default)]
pub struct VectorLocations {
    pages: Vec<Option<Arc<Page>>>,
}

impl VectorLocations {
    /// Nowhere, without vectors, for documents never put.
    pub fn get(&self, docid: u32) -> VectorLocation {
        let (page, at) = self.page(docid);
        page.map_or_else(VectorLocation::default, |page| VectorLocation {
            offset: page.offsets[at],
            packed: page.packed[at],
            code: page.codes[at],
        })
    }

    /// Where the codes of a document's vectors are; nowhere for documents never put.
    pub fn codes(&self, docid: u32) -> Range<u32> {
        let (page, at) = self.page(docid);
        page.map_or(0..0, |page| page.codes[at]..page.codes[at] + u32::from(page.counts[at]))
    }

    fn page(&self, docid: u32) -> (Option<&Page>, usize) {
        let at = docid as usize;
        (self.pages.get(at / PAGE_ENTRIES).and_then(Option::as_deref), at % PAGE_ENTRIES)
    }

    /// Changes one entry.
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
