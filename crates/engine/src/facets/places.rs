//! Where the documents of a segment are.

use std::sync::{Arc, OnceLock};

use tantivy::DocId;

use super::by_value::{AllOrSome, each_block};
use super::columns::{Columns, Part, work_out};
use super::geo::{EARTH_RADIUS, GeoPoint, distance};
use super::numbers::NumberColumn;
use crate::error::Result;

/// Cells from pole to pole at most: of a degree each, which takes in 111 km.
const ROWS_MAX: usize = 180;

/// The places of a segment in cells of about equal degrees. Deleted documents are among them.
pub(super) struct Places {
    /// By document; none is not a number.
    points: Vec<[f64; 2]>,
    /// Cells from pole to pole; around the earth there are twice as many.
    rows: usize,
    /// Where the documents of a cell begin, and one more for the end of the last. The last cell holds
    /// those that are off the map.
    starts: Vec<u32>,
    docs: Vec<DocId>,
}

#[derive(Default)]
struct Kept(OnceLock<Option<Arc<Places>>>);

impl Columns {
    /// Has several threads work out the places of segments.
    pub(super) fn work_out_places(&self) {
        let due = |segment: &usize| {
            let view = self.segment(*segment);
            view.attachments().get::<Kept>().0.get().is_none().then_some(view.reader.max_doc())
        };
        work_out(0..self.snapshot.segments().len(), due, |segment| {
            // What fails is tried again, and then reported, by who asks for it.
            let _ = self.segment_places(*segment);
        });
    }

    /// The places of a segment, worked out once for it; None if it has none.
    pub(super) fn segment_places(&self, segment: usize) -> Result<Option<Arc<Places>>> {
        let view = self.segment(segment);
        let kept = view.attachments().get::<Kept>();
        if let Some(places) = kept.0.get() {
            return Ok(places.clone());
        }
        let (lats, lngs) = (self.field("_geo.lat")?, self.field("_geo.lng")?);
        let of_segment = |parts: &[Part<NumberColumn>]| {
            parts.iter().find(|part| part.segment == segment).map(|part| Arc::clone(&part.column))
        };
        let both = of_segment(&lats.numbers).zip(of_segment(&lngs.numbers));
        let places = both.map(|(lats, lngs)| Arc::new(Places::new(&lats, &lngs, view.reader.max_doc())));
        Ok(kept.0.get_or_init(|| places).clone())
    }
}

impl Places {
    fn new(lats: &NumberColumn, lngs: &NumberColumn, docs: u32) -> Self {
        let mut points = vec![[f64::NAN; 2]; docs as usize];
        let mut values = Vec::new();
        for (axis, numbers) in [lats, lngs].into_iter().enumerate() {
            let column = &numbers.column;
            each_block(&column.index, AllOrSome::All(docs), &mut |docs, rows| {
                values.resize(rows.len(), 0.0);
                column.values.get_vals(rows, &mut values);
                for (&doc, &value) in docs.iter().zip(&values) {
                    points[doc as usize][axis] = value;
                }
            });
        }
        let rows = (((docs / 2) as f64).sqrt() as usize).clamp(1, ROWS_MAX);
        let mut places = Self { points, rows, starts: Vec::new(), docs: Vec::new() };
        let cells: Vec<Option<usize>> =
            (0..docs).map(|doc| Some(places.cell_of(places.point(doc)?))).collect();
        let mut starts = vec![0u32; 2 * rows * rows + 2];
        for cell in cells.iter().flatten() {
            starts[cell + 1] += 1;
        }
        for cell in 1..starts.len() {
            starts[cell] += starts[cell - 1];
        }
        let mut next = starts.clone();
        let mut sorted = vec![0; starts.last().copied().unwrap_or_default() as usize];
        for (doc, cell) in (0..docs).zip(cells) {
            if let Some(cell) = cell {
                sorted[next[cell] as usize] = doc;
                next[cell] += 1;
            }
        }
        (places.starts, places.docs) = (starts, sorted);
        places
    }

    /// Where a document is; None if it has no place.
    pub fn point(&self, doc: DocId) -> Option<GeoPoint> {
        let [lat, lng] = self.points[doc as usize];
        (!lat.is_nan() && !lng.is_nan()).then_some(GeoPoint { lat, lng })
    }

    fn row_of(&self, lat: f64) -> usize {
        (((lat + 90.0) / 180.0 * self.rows as f64).max(0.0) as usize).min(self.rows - 1)
    }

    fn column_of(&self, lng: f64) -> usize {
        (((lng + 180.0) / 360.0 * (2 * self.rows) as f64).max(0.0) as usize).min(2 * self.rows - 1)
    }

    fn cell_of(&self, point: GeoPoint) -> usize {
        if point.lat.abs() > 90.0 || point.lng.abs() > 180.0 {
            return 2 * self.rows * self.rows;
        }
        self.row_of(point.lat) * 2 * self.rows + self.column_of(point.lng)
    }

    fn docs_in(&self, cell: usize) -> &[DocId] {
        &self.docs[self.starts[cell] as usize..self.starts[cell + 1] as usize]
    }

    /// Documents no farther than `metres` from `center`, in no order.
    pub fn within_radius(&self, center: GeoPoint, metres: f64) -> Vec<DocId> {
        // Distances are rounded to a millimetre, and cells must not lose a document at their border.
        let angle = (metres + 0.001) / EARTH_RADIUS + 1e-9;
        let degrees = angle.to_degrees();
        let (south, north) = (center.lat - degrees, center.lat + degrees);
        // Near a pole a circle reaches all around it.
        let sideways = if south <= -90.0 || north >= 90.0 || angle >= std::f64::consts::FRAC_PI_2 {
            None
        } else {
            Some((angle.sin() / center.lat.to_radians().cos()).min(1.0).asin().to_degrees() + 1e-6)
        };
        let columns = 2 * self.rows;
        let spans: Vec<std::ops::RangeInclusive<usize>> = match sideways {
            Some(sideways) if sideways < 179.0 => {
                let (west, east) = (center.lng - sideways, center.lng + sideways);
                match (west < -180.0, east > 180.0) {
                    (true, _) => vec![0..=self.column_of(east), self.column_of(west + 360.0)..=columns - 1],
                    (_, true) => vec![0..=self.column_of(east - 360.0), self.column_of(west)..=columns - 1],
                    _ => vec![self.column_of(west)..=self.column_of(east)],
                }
            }
            _ => vec![0..=columns - 1],
        };
        let mut found = Vec::new();
        let mut test = |cell: usize| {
            let is_near =
                |doc: &&DocId| self.point(**doc).is_some_and(|point| distance(center, point) <= metres);
            found.extend(self.docs_in(cell).iter().filter(is_near));
        };
        for row in self.row_of(south)..=self.row_of(north) {
            // Spans that meet must not give a document twice.
            let mut next = 0;
            for span in &spans {
                for column in next.max(*span.start())..=*span.end() {
                    test(row * columns + column);
                }
                next = span.end() + 1;
            }
        }
        test(columns * self.rows);
        found
    }
}
