//! Documents by where they are.

use std::collections::VecDeque;
use std::ops::Bound;

use roaring::RoaringBitmap;

use super::columns::Columns;
use crate::error::Result;

/// Mean radius of the earth in metres. Source: search-semantics.md §9.
const EARTH_RADIUS: f64 = 6_371_000.0;

/// Documents whose distance differs by no more metres from that of the first share its bucket.
/// Source: search-semantics.md §9, as the two below.
const BUCKET_WIDTH: f64 = 1.0;

/// Documents a bucket holds at most.
const BUCKET_MAX: usize = 1000;

/// From so many documents on, exact distance orders them rather than whole metres.
const EXACT_FROM: usize = 1000;

/// A place in degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GeoPoint {
    /// Degrees north.
    pub lat: f64,
    /// Degrees east.
    pub lng: f64,
}

/// Metres between two points on a sphere, to the millimetre.
pub fn distance(a: GeoPoint, b: GeoPoint) -> f64 {
    let haversine = |angle: f64| (1.0 - angle.cos()) / 2.0;
    let (a_lat, b_lat) = (a.lat.to_radians(), b.lat.to_radians());
    let hav = haversine(b_lat - a_lat)
        + a_lat.cos() * b_lat.cos() * haversine(b.lng.to_radians() - a.lng.to_radians());
    let metres = 2.0 * EARTH_RADIUS * hav.sqrt().asin();
    (metres * 1000.0).round() / 1000.0
}

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
    point: GeoPoint,
    ascending: bool,
    left: Vec<(u32, GeoPoint)>,
    near: VecDeque<(u32, GeoPoint, f64)>,
    nowhere: Option<RoaringBitmap>,
}

impl Columns {
    /// Places of those of `universe` that have one, by ascending docid.
    pub fn places(&self, universe: &RoaringBitmap) -> Result<Vec<(u32, GeoPoint)>> {
        let (lats, lngs) = (self.field("_geo.lat")?, self.field("_geo.lng")?);
        let mut places = Vec::new();
        for ((segment, lat), lng) in self.segments(&lats).zip(&lngs.segments) {
            let (Some(lat), Some(lng)) = (&lat.numbers, &lng.numbers) else { continue };
            for doc in segment.segment_docids(universe) {
                if let (Some(lat), Some(lng)) = (lat.first(doc), lng.first(doc)) {
                    places.push((segment.docids[doc as usize], GeoPoint { lat, lng }));
                }
            }
        }
        places.sort_unstable_by_key(|(docid, _)| *docid);
        Ok(places)
    }

    /// Live documents no farther than `metres` from `center`.
    pub fn within_radius(&self, center: GeoPoint, metres: f64) -> Result<RoaringBitmap> {
        // Degrees of latitude are about the same everywhere: those too far north or south go first.
        let degrees = (metres / EARTH_RADIUS).to_degrees() + 1e-6;
        let (south, north) = (center.lat - degrees, center.lat + degrees);
        let band = self.number_range("_geo.lat", Bound::Included(south), Bound::Included(north))?;
        let places = self.places(&band)?;
        Ok(places.iter().filter(|(_, place)| distance(center, *place) <= metres).map(|(id, _)| *id).collect())
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
        let left = self.places(universe)?;
        let mut nowhere = self.live(universe);
        nowhere -= left.iter().map(|(docid, _)| *docid).collect::<RoaringBitmap>();
        let nowhere = Some(nowhere).filter(|nowhere| !nowhere.is_empty());
        Ok(GeoBuckets { point, ascending, left, near: VecDeque::new(), nowhere })
    }
}

impl GeoBuckets {
    /// Takes the next documents from those left, in order.
    fn refill(&mut self) {
        let point = self.point;
        let measure = |(docid, place): (u32, GeoPoint)| (docid, place, distance(point, place));
        if self.left.len() < EXACT_FROM {
            let mut all: Vec<_> = std::mem::take(&mut self.left).into_iter().map(measure).collect();
            // Sorting keeps documents of the same metre in order of docid.
            all.sort_by_key(|(_, _, metres)| *metres as u64);
            if !self.ascending {
                all.reverse();
            }
            self.near = all.into();
            return;
        }
        let mut all: Vec<_> = self.left.iter().copied().map(measure).collect();
        let by_distance = |a: &(u32, GeoPoint, f64), b: &(u32, GeoPoint, f64)| {
            let order = a.2.total_cmp(&b.2);
            (if self.ascending { order } else { order.reverse() }).then(a.0.cmp(&b.0))
        };
        all.select_nth_unstable_by(EXACT_FROM - 1, by_distance);
        let rest = all.split_off(EXACT_FROM);
        all.sort_unstable_by(by_distance);
        self.left = rest.into_iter().map(|(docid, place, _)| (docid, place)).collect();
        self.left.sort_unstable_by_key(|(docid, _)| *docid);
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
