//! Where a rule tells what documents cost.

use std::sync::Arc;

use roaring::RoaringBitmap;

/// Takes down what documents cost; of several costs of one document the least counts.
pub(in crate::ranking) trait CostSink {
    /// One document costs `cost`.
    fn one(&mut self, docid: u32, cost: u32);

    /// Each of these documents costs `cost`. Telling cheap ones first saves work.
    fn all(&mut self, docs: &RoaringBitmap, cost: u32);

    /// The same for a set that is shared and need not be copied.
    fn all_shared(&mut self, docs: &Arc<RoaringBitmap>, cost: u32) {
        self.all(docs, cost);
    }
}
