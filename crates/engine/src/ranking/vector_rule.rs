//! Documents come by the distance of their vectors; those without any come last.

use std::sync::Arc;
use std::time::Instant;

use roaring::RoaringBitmap;

use super::score::ScoreDetail;
use crate::error::Result;
use crate::vector::{Nearest, Neighbours};

/// Hands over documents by distance, equal ones as one bucket. Source: vectors §6.5, §6.6.
pub(super) struct VectorRule {
    neighbours: Neighbours,
}

impl VectorRule {
    /// Orders `universe`, of which `wanted` documents are likely to be asked for. Past `deadline` it has
    /// nothing in order; who asks has given up by then.
    pub(super) fn new(
        nearest: &Nearest,
        universe: &RoaringBitmap,
        wanted: usize,
        deadline: Instant,
    ) -> Result<Self> {
        Ok(Self { neighbours: nearest.among(universe, wanted, deadline)? })
    }

    /// The next documents of `universe`, which may have lost some since the start.
    pub(super) fn next(
        &mut self,
        universe: &Arc<RoaringBitmap>,
    ) -> Result<Option<(Arc<RoaringBitmap>, ScoreDetail)>> {
        while let Some((docs, similarity)) = self.neighbours.next_bucket(universe)? {
            let docs = docs & &**universe;
            if !docs.is_empty() {
                return Ok(Some((Arc::new(docs), ScoreDetail::Vector { similarity: Some(similarity) })));
            }
        }
        let rest = (!universe.is_empty()).then(|| Arc::clone(universe));
        Ok(rest.map(|docs| (docs, ScoreDetail::Vector { similarity: None })))
    }
}
