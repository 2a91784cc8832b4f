//! Here is a docid: where are its vectors?

use std::sync::Arc;

use super::codes::fetch;

/// Entries of a page, which is what a commit copies to change one of them.
const PAGE_ENTRIES: usize = 4096;

/// Where the vectors of a document lie in their log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    /// First byte of the first vector.
    pub offset: u64,
    /// Sequence number of the record, 56 bits, above the number of vectors in it.
    packed: u64,
    /// Where the code of the first vector is; those of the others follow.
    pub code: u32,
}

impl Place {
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

type Page = Box<[Place; PAGE_ENTRIES]>;

/// Places by docid. Cheap to clone; pages are shared until one of them changes.
#[derive(Debug, Clone, Default)]
pub struct Table {
    pages: Vec<Option<Arc<Page>>>,
}

impl Table {
    /// Nowhere, without vectors, for documents never put.
    pub fn get(&self, docid: u32) -> Place {
        let at = docid as usize;
        let page = self.pages.get(at / PAGE_ENTRIES).and_then(Option::as_ref);
        page.map_or_else(Place::default, |page| page[at % PAGE_ENTRIES])
    }

    /// Has memory fetch what [`Table::get`] reads.
    pub fn fetch(&self, docid: u32) {
        let at = docid as usize;
        if let Some(page) = self.pages.get(at / PAGE_ENTRIES).and_then(Option::as_ref) {
            fetch(&page[at % PAGE_ENTRIES..][..1]);
        }
    }

    /// Changes one entry.
    pub fn put(&mut self, docid: u32, place: Place) {
        let at = docid as usize;
        let page = at / PAGE_ENTRIES;
        if page >= self.pages.len() {
            self.pages.resize(page + 1, None);
        }
        let page =
            self.pages[page].get_or_insert_with(|| Arc::new(Box::new([Place::default(); PAGE_ENTRIES])));
        Arc::make_mut(page)[at % PAGE_ENTRIES] = place;
    }
}
