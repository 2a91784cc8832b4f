//! Indexes the points of a segment by cells of the map.

use std::sync::Arc;

use tantivy::DocId;

use super::by_value::{ByValue, Totals};
use super::column_rows::{AllOrSome, BLOCK, each_block};
use super::columns::Columns;
use super::geo_point::{EARTH_RADIUS, GeoPoint, distance};
use super::number_column::NumberColumn;
use super::segment_column::{SegmentColumn, build_in_parallel};
use crate::cache::cached;
use crate::error::Result;

cached! {
    pub(super) SegmentCells: () => Option<GeoCells>, |_, cells| cells.as_ref().map_or(0, GeoCells::bytes);
}

/// Maximum number of cells from pole to pole. A cell of one degree is 111 km high.
const ROWS_MAX: usize = 180;

/// The points of a segment in cells of about equal degrees, including deleted documents.
pub(super) struct GeoCells {
    /// Document → latitude and longitude; NaN for a document without a point.
    points: Vec<[f64; 2]>,
    /// Number of cells from pole to pole; twice as many go around the earth.
    rows: usize,
    /// Cell → documents. The last cell holds points outside the map.
    cells: ByValue,
}

impl Columns {
    /// Builds the cells of large segments on several threads.
    pub(super) fn build_geo_cells(&self) {
        let missing = |segment: &usize| {
            (!self.has_geo_cells(*segment)).then(|| self.segment(*segment).reader.max_doc())
        };
        build_in_parallel(0..self.snapshot.segments().len(), missing, |segment| {
            // An error occurs again, and is reported, when the cells are used.
            let _ = self.geo_cells(*segment);
        });
    }

    /// Returns true if the cells of a segment are cached.
    pub(super) fn has_geo_cells(&self, segment: usize) -> bool {
        self.segment(segment).cache().get::<SegmentCells>(&()).is_some()
    }

    /// Returns the cells of a segment, which are built once; `None` if it has no points.
    pub(super) fn geo_cells(&self, segment: usize) -> Result<Arc<Option<GeoCells>>> {
        let view = self.segment(segment);
        if let Some(cells) = view.cache().get::<SegmentCells>(&()) {
            return Ok(cells);
        }
        let (lats, lngs) = (self.field("_geo.lat")?, self.field("_geo.lng")?);
        let of_segment = |parts: &[SegmentColumn<NumberColumn>]| {
            parts.iter().find(|part| part.segment == segment).map(|part| Arc::clone(&part.column))
        };
        let both = of_segment(&lats.numbers).zip(of_segment(&lngs.numbers));
        let cells = both.map(|(lats, lngs)| GeoCells::new(&lats, &lngs, view.reader.max_doc()));
        let cells = Arc::new(cells);
        view.cache().insert::<SegmentCells>((), &cells);
        Ok(cells)
    }
}

impl GeoCells {
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
        let none = ByValue::of(Totals::of(0, |_| {}), |_| {});
        let mut built = Self { points, rows, cells: none };
        let totals = Totals::of(2 * rows * rows + 1, |take| built.each_cell(docs, take));
        built.cells = ByValue::of(totals, |take| built.each_cell(docs, take));
        built
    }

    /// Memory in bytes.
    fn bytes(&self) -> usize {
        size_of::<[f64; 2]>() * self.points.len() + self.cells.bytes()
    }

    /// Calls `take` with documents that have a point, and their cells.
    fn each_cell(&self, docs: u32, take: &mut dyn FnMut(&[DocId], &[u32])) {
        let (mut found, mut cells) = (Vec::with_capacity(BLOCK), Vec::with_capacity(BLOCK));
        for start in (0..docs).step_by(BLOCK) {
            found.clear();
            cells.clear();
            for doc in start..docs.min(start + BLOCK as u32) {
                if let Some(point) = self.point(doc) {
                    found.push(doc);
                    cells.push(self.cell_of(point) as u32);
                }
            }
            take(&found, &cells);
        }
    }

    /// Returns the point of a document, if any.
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

    /// Returns documents within `metres` of `center`, unordered.
    pub fn within_radius(&self, center: GeoPoint, metres: f64) -> Vec<DocId> {
        // Distances are rounded to a millimetre. A document at the edge of a cell must not be missed.
        let angle = (metres + 0.001) / EARTH_RADIUS + 1e-9;
        let degrees = angle.to_degrees();
        let (south, north) = (center.lat - degrees, center.lat + degrees);
        // A circle that contains a pole covers all longitudes.
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
            found.extend(self.cells.docs(cell).iter().filter(is_near));
        };
        for row in self.row_of(south)..=self.row_of(north) {
            // Two spans may share cells, which are tested once.
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
