//! Finds and sorts documents by their distance from a point, and finds documents in a box.

use std::collections::VecDeque;
use std::ops::Bound;

use roaring::RoaringBitmap;

use super::columns::Columns;
use super::geo_point::{GeoPoint, distance};
use super::searched_fields::{FieldUse, POINT};
use super::selection::Selection;
use crate::error::Result;

/// Maximum difference in metres between the distance of a bucket's first document and the others. Source: search §9,
/// also for the two constants below.
const BUCKET_WIDTH: f64 = 1.0;

/// Maximum number of documents in a bucket.
const BUCKET_MAX: usize = 1000;

/// From this number of documents on, they are ordered by exact distance; fewer by full metres.
const EXACT_FROM: usize = 1000;

/// Columns of the coordinates of `_geo`. They are facets, although they are not fields of the index.
pub const COORDINATES: [&str; 2] = ["_geo.lat", "_geo.lng"];

/// Documents at about the same distance from a point.
#[derive(Debug, Clone, PartialEq)]
pub struct GeoBucket {
    /// Point of the bucket's first document, and its distance in metres. `None` for documents without a point.
    pub reference: Option<(GeoPoint, f64)>,
    /// Docids.
    pub documents: RoaringBitmap,
}

/// Documents of a universe by distance from a point. Documents without a point are in the last bucket.
pub struct GeoBuckets {
    ascending: bool,
    /// Documents not sorted yet, with their points and distances in metres.
    left: Vec<(u32, GeoPoint, f64)>,
    /// Number of documents sorted so far.
    taken: usize,
    /// Sorted documents that are not in a bucket yet.
    sorted: VecDeque<(u32, GeoPoint, f64)>,
    without_point: Option<RoaringBitmap>,
}

impl Columns {
    /// Returns the points of the documents of `universe`, by ascending docid.
    pub fn points(&self, universe: &RoaringBitmap) -> Result<Vec<(u32, GeoPoint)>> {
        self.note(FieldUse::Sort, POINT);
        self.build_geo_cells();
        let mut points = Vec::new();
        for (position, segment) in self.snapshot.segments().iter().enumerate() {
            if segment.live.is_disjoint(universe) {
                continue;
            }
            let cells = self.geo_cells(position)?;
            let Some(cells) = &*cells else { continue };
            for doc in segment.segment_docids(universe) {
                points.extend(cells.point(doc).map(|point| (segment.docids[doc as usize], point)));
            }
        }
        if !points.is_sorted_by_key(|(docid, _)| *docid) {
            points.sort_unstable_by_key(|(docid, _)| *docid);
        }
        Ok(points)
    }

    /// Returns live documents within `metres` of `center`.
    pub fn within_radius(&self, center: GeoPoint, metres: f64) -> Result<RoaringBitmap> {
        self.note(FieldUse::Sort, POINT);
        self.build_geo_cells();
        let circle = Selection::Radius([center.lat, center.lng, metres].map(f64::to_bits));
        self.selected(&circle, |segment| {
            let cells = self.geo_cells(segment)?;
            Ok(cells.as_ref().as_ref().map(|cells| cells.within_radius(center, metres)).unwrap_or_default())
        })
    }

    /// Returns live documents in a box, including its borders. A box whose right side is west of its left side crosses
    /// the antimeridian.
    pub fn within_box(&self, top_right: GeoPoint, bottom_left: GeoPoint) -> Result<RoaringBitmap> {
        let (south, north) = (Bound::Included(bottom_left.lat), Bound::Included(top_right.lat));
        let (west, east) = (Bound::Included(bottom_left.lng), Bound::Included(top_right.lng));
        let band = self.number_range("_geo.lat", south, north)?;
        let strip = if top_right.lng < bottom_left.lng {
            self.number_range("_geo.lng", west, Bound::Unbounded)?
                | self.number_range("_geo.lng", Bound::Unbounded, east)?
        } else {
            self.number_range("_geo.lng", west, east)?
        };
        Ok(band & strip)
    }

    /// Returns the buckets of `universe` by distance from `point`.
    pub fn geo_buckets(
        &self,
        point: GeoPoint,
        ascending: bool,
        universe: &RoaringBitmap,
    ) -> Result<GeoBuckets> {
        let measured = |(docid, other)| (docid, other, distance(point, other));
        let left: Vec<_> = self.points(universe)?.into_iter().map(measured).collect();
        let mut without_point = self.live(universe);
        without_point -= left.iter().map(|(docid, ..)| *docid).collect::<RoaringBitmap>();
        let without_point = Some(without_point).filter(|documents| !documents.is_empty());
        Ok(GeoBuckets { ascending, taken: 0, left, sorted: VecDeque::new(), without_point })
    }
}

impl GeoBuckets {
    /// Sorts the next documents.
    fn refill(&mut self) {
        let mut all = std::mem::take(&mut self.left);
        if all.len() < EXACT_FROM {
            // Documents of the same full metre are in docid order.
            all.sort_by_key(|(docid, _, metres)| (*metres as u64, *docid));
            if !self.ascending {
                all.reverse();
            }
            self.sorted = all.into();
            return;
        }
        let by_distance = |a: &(u32, GeoPoint, f64), b: &(u32, GeoPoint, f64)| {
            let order = a.2.total_cmp(&b.2);
            (if self.ascending { order } else { order.reverse() }).then(a.0.cmp(&b.0))
        };
        // Each step doubles the number of sorted documents: a page costs little, and sorting all takes few steps. A
        // rest of fewer than a thousand is ordered by full metres.
        let wanted = EXACT_FROM.max(self.taken).min(all.len() / EXACT_FROM * EXACT_FROM);
        self.taken += wanted;
        all.select_nth_unstable_by(wanted - 1, by_distance);
        self.left = all.split_off(wanted);
        all.sort_unstable_by(by_distance);
        self.sorted = all.into();
    }
}

impl Iterator for GeoBuckets {
    type Item = GeoBucket;

    fn next(&mut self) -> Option<GeoBucket> {
        let mut reference = None;
        let mut documents = RoaringBitmap::new();
        loop {
            if self.sorted.is_empty() && !self.left.is_empty() {
                self.refill();
            }
            let Some(&(docid, point, metres)) = self.sorted.front() else { break };
            let (_, first) = *reference.get_or_insert((point, metres));
            if (metres - first).abs() > BUCKET_WIDTH || documents.len() as usize == BUCKET_MAX {
                break;
            }
            documents.insert(docid);
            self.sorted.pop_front();
        }
        match reference {
            Some(_) => Some(GeoBucket { reference, documents }),
            None => self.without_point.take().map(|documents| GeoBucket { reference: None, documents }),
        }
    }
}
