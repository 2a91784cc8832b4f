//! Documents with vectors of an embedder, and the origin of these vectors.

use std::collections::BTreeMap;

use roaring::RoaringBitmap;

/// Sets of documents under one embedder.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// Documents with at least one vector.
    pub embedded: RoaringBitmap,
    /// Documents with vectors, or lack of vectors, set by the client.
    pub user_provided: RoaringBitmap,
    /// Documents with vectors that are never regenerated.
    pub skip_regenerate: RoaringBitmap,
    /// Documents with a vector made from a fragment, by number of the fragment.
    pub fragments: BTreeMap<u8, RoaringBitmap>,
}

impl Flags {
    /// Sets the flags of a document.
    pub fn put(&mut self, docid: u32, embedded: bool, user_provided: bool, skip_regenerate: bool) {
        let set = |bitmap: &mut RoaringBitmap, on: bool| {
            if on {
                bitmap.insert(docid)
            } else {
                bitmap.remove(docid)
            };
        };
        set(&mut self.embedded, embedded);
        set(&mut self.user_provided, user_provided);
        set(&mut self.skip_regenerate, skip_regenerate);
    }

    /// Sets the fragments from which the vectors of a document are made. Call it after [`Flags::put`].
    pub fn put_fragments(&mut self, docid: u32, fragments: Option<&[u8]>) {
        for documents in self.fragments.values_mut() {
            documents.remove(docid);
        }
        for fragment in fragments.unwrap_or_default() {
            self.fragments.entry(*fragment).or_default().insert(docid);
        }
    }

    /// Returns true if the vectors of a document are made from fragments.
    pub fn is_fragmented(&self, docid: u32) -> bool {
        self.fragments.values().any(|documents| documents.contains(docid))
    }

    /// Returns true if a document has vectors or flags.
    pub fn knows(&self, docid: u32) -> bool {
        self.embedded.contains(docid)
            || self.user_provided.contains(docid)
            || self.skip_regenerate.contains(docid)
    }

    /// Returns the documents that have vectors or flags.
    pub fn known(&self) -> RoaringBitmap {
        &self.embedded | &self.user_provided | &self.skip_regenerate
    }
}
