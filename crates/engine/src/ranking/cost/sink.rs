//! Receives the costs of documents from a rule.

use std::sync::Arc;

use roaring::RoaringBitmap;

/// Collects the costs of documents. If a document gets several costs, the least one counts.
pub(in crate::ranking) trait CostSink {
    /// Records that one document costs `cost`.
    fn one(&mut self, docid: u32, cost: u32);

    /// Records that each of `docs` costs `cost`. Passing low costs first saves work.
    fn all(&mut self, docs: &RoaringBitmap, cost: u32);

    /// Like [`all`](Self::all), for a shared set that need not be copied.
    fn all_shared(&mut self, docs: &Arc<RoaringBitmap>, cost: u32) {
        self.all(docs, cost);
    }
}
