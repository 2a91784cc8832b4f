//! Which documents have vectors of an embedder, and from whom?

use std::collections::BTreeMap;

use roaring::RoaringBitmap;

/// Which documents have what, under one embedder.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// At least one vector.
    pub embedded: RoaringBitmap,
    /// What they have, or have not, was said by the client.
    pub user_provided: RoaringBitmap,
    /// Nothing is made anew.
    pub skip_regenerate: RoaringBitmap,
    /// Documents with a vector made from the fragment of that number.
    pub fragments: BTreeMap<u8, RoaringBitmap>,
}

impl Flags {
    /// Notes what is known of a document from here on.
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

    /// Notes which fragments a document's vectors are made from, after [`Flags::put`].
    pub fn put_fragments(&mut self, docid: u32, fragments: Option<&[u8]>) {
        for documents in self.fragments.values_mut() {
            documents.remove(docid);
        }
        for fragment in fragments.unwrap_or_default() {
            self.fragments.entry(*fragment).or_default().insert(docid);
        }
    }

    /// Whether a document's vectors are made from fragments.
    pub fn is_fragmented(&self, docid: u32) -> bool {
        self.fragments.values().any(|documents| documents.contains(docid))
    }

    /// Whether anything is known of a document.
    pub fn knows(&self, docid: u32) -> bool {
        self.embedded.contains(docid)
            || self.user_provided.contains(docid)
            || self.skip_regenerate.contains(docid)
    }

    /// Documents of which anything is known.
    pub fn known(&self) -> RoaringBitmap {
        &self.embedded | &self.user_provided | &self.skip_regenerate
    }
}
