//! Documents by where they are.

use std::collections::VecDeque;
use std::ops::Bound;

use roaring::RoaringBitmap;

use super::columns::Columns;
use super::geo_point::{GeoPoint, distance};
use crate::error::Result;

/// Documents whose distance differs by no more metres from that of the first share its bucket.
/// Source: search §9, as the two below.
const BUCKET_WIDTH: f64 = 1.0;

/// Documents a bucket holds at most.
const BUCKET_MAX: usize = 1000;

/// From so many documents on, exact distance orders them rather than whole metres.
const EXACT_FROM: usize = 1000;

/// Documents about equally far from a point.
#[derive(Debug, Clone, PartialEq)]
pub struct GeoBucket {
    /// Place of the bucket's first document, and its distance in metres; None: these documents are
    /// nowhere.
    pub reference: Option<(GeoPoint, f64)>,
    /// Docids.
    pub documents: RoaringBitmap,
}

/// Documents of a universe by their distance from a point, those without a place last.
pub struct GeoBuckets {
    ascending: bool,
    left: Vec<(u32, GeoPoint, f64)>,
    /// Documents put in order so far.
    taken: usize,
    near: VecDeque<(u32, GeoPoint, f64)>,
    nowhere: Option<RoaringBitmap>,
}

impl Columns {
    /// Places of those of `universe` that have one, by ascending docid.
    pub fn places(&self, universe: &RoaringBitmap) -> Result<Vec<(u32, GeoPoint)>> {
        self.work_out_places();
        let mut places = Vec::new();
        for (position, segment) in self.snapshot.segments().iter().enumerate() {
            if segment.live.is_disjoint(universe) {
                continue;
            }
            let Some(of_segment) = self.segment_places(position)? else { continue };
            for doc in segment.segment_docids(universe) {
                places.extend(of_segment.point(doc).map(|point| (segment.docids[doc as usize], point)));
            }
        }
        if !places.is_sorted_by_key(|(docid, _)| *docid) {
            places.sort_unstable_by_key(|(docid, _)| *docid);
        }
        Ok(places)
    }

    /// Live documents no farther than `metres` from `center`.
    pub fn within_radius(&self, center: GeoPoint, metres: f64) -> Result<RoaringBitmap> {
        self.work_out_places();
        self.selected(&format!("radius {center:?} {metres:?}"), |segment| {
            let places = self.segment_places(segment)?;
            Ok(places.map(|places| places.within_radius(center, metres)).unwrap_or_default())
        })
    }

    /// Live documents in a box, borders included. A box whose right side lies west of its left one
    /// crosses the antimeridian.
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

    /// The buckets of `universe` by distance from `point`.
    pub fn geo_buckets(
        &self,
        point: GeoPoint,
        ascending: bool,
        universe: &RoaringBitmap,
    ) -> Result<GeoBuckets> {
        let measured = |(docid, place)| (docid, place, distance(point, place));
        let left: Vec<_> = self.places(universe)?.into_iter().map(measured).collect();
        let mut nowhere = self.live(universe);
        nowhere -= left.iter().map(|(docid, ..)| *docid).collect::<RoaringBitmap>();
        let nowhere = Some(nowhere).filter(|nowhere| !nowhere.is_empty());
        Ok(GeoBuckets { ascending, taken: 0, left, near: VecDeque::new(), nowhere })
    }
}

impl GeoBuckets {
    /// Takes the next documents from those left, in order.
    fn refill(&mut self) {
        let mut all = std::mem::take(&mut self.left);
        if all.len() < EXACT_FROM {
            // Sorting keeps documents of the same metre in order of docid.
            all.sort_by_key(|(docid, _, metres)| (*metres as u64, *docid));
            if !self.ascending {
                all.reverse();
            }
            self.near = all.into();
            return;
        }
        let by_distance = |a: &(u32, GeoPoint, f64), b: &(u32, GeoPoint, f64)| {
            let order = a.2.total_cmp(&b.2);
            (if self.ascending { order } else { order.reverse() }).then(a.0.cmp(&b.0))
        };
        // As many again each time: few passes for who reads all, little work for who reads a page.
        // What is left below a thousand is ordered by whole metres.
        let wanted = EXACT_FROM.max(self.taken).min(all.len() / EXACT_FROM * EXACT_FROM);
        self.taken += wanted;
        all.select_nth_unstable_by(wanted - 1, by_distance);
        self.left = all.split_off(wanted);
        all.sort_unstable_by(by_distance);
        self.near = all.into();
    }
}

impl Iterator for GeoBuckets {
    type Item = GeoBucket;

    fn next(&mut self) -> Option<GeoBucket> {
        let mut reference = None;
        let mut documents = RoaringBitmap::new();
        loop {
            if self.near.is_empty() && !self.left.is_empty() {
                self.refill();
            }
            let Some(&(docid, place, metres)) = self.near.front() else { break };
            let (_, first) = *reference.get_or_insert((place, metres));
            if (metres - first).abs() > BUCKET_WIDTH || documents.len() as usize == BUCKET_MAX {
                break;
            }
            documents.insert(docid);
            self.near.pop_front();
        }
        match reference {
            Some(_) => Some(GeoBucket { reference, documents }),
            None => self.nowhere.take().map(|documents| GeoBucket { reference: None, documents }),
        }
    }
}
