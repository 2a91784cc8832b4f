//! Intersections of figures on a plane. Figures that touch intersect.

use robust::{Coord, orient2d};

/// A point of the plane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Longitude, growing to the east.
    pub x: f64,
    /// Latitude, growing to the north.
    pub y: f64,
}

/// The smallest box around a figure: west, south, east, north.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundingBox(pub [f64; 4]);

/// An outer ring and the rings of its holes. The last point of a ring equals the first. Edges, also of holes, are
/// inside.
#[derive(Debug, Clone, PartialEq)]
pub struct Polygon {
    rings: Vec<Vec<Point>>,
    bounding_box: BoundingBox,
}

/// Returns true if the last point of a line equals the first.
pub fn is_closed(line: &[Point]) -> bool {
    line.first() == line.last()
}

impl BoundingBox {
    /// Returns the box around one or more points.
    pub fn of(points: &[Point]) -> Self {
        let boxes = points.iter().map(|point| Self([point.x, point.y, point.x, point.y]));
        boxes.reduce(Self::around).unwrap_or(Self([f64::NAN; 4]))
    }

    /// Returns the box around both boxes.
    pub fn around(self, other: Self) -> Self {
        let ([west, south, east, north], other) = (self.0, other.0);
        Self([west.min(other[0]), south.min(other[1]), east.max(other[2]), north.max(other[3])])
    }

    /// Returns true if both boxes share a point.
    pub fn meets(&self, other: &Self) -> bool {
        let (a, b) = (&self.0, &other.0);
        a[0] <= b[2] && b[0] <= a[2] && a[1] <= b[3] && b[1] <= a[3]
    }

    /// Returns true if the box is completely inside `outer`.
    pub fn lies_within(&self, outer: &Self) -> bool {
        let (a, b) = (&self.0, &outer.0);
        a[0] >= b[0] && a[1] >= b[1] && a[2] <= b[2] && a[3] <= b[3]
    }

    /// Returns the point, if the box is a single point.
    pub fn as_point(&self) -> Option<Point> {
        let [west, south, east, north] = self.0;
        (west == east && south == north).then_some(Point { x: west, y: south })
    }

    /// Returns the corners; the last repeats the first.
    pub fn ring(&self) -> Vec<Point> {
        let [west, south, east, north] = self.0;
        let corners = [(west, south), (east, south), (east, north), (west, north), (west, south)];
        corners.map(|(x, y)| Point { x, y }).to_vec()
    }
}

/// Positive if `c` is left of the line from `a` to `b`, negative if it is right of it, zero if it is on it.
fn side(a: Point, b: Point, c: Point) -> f64 {
    let coord = |point: Point| Coord { x: point.x, y: point.y };
    orient2d(coord(a), coord(b), coord(c))
}

fn edges(line: &[Point]) -> impl Iterator<Item = (Point, Point)> + '_ {
    line.windows(2).map(|ends| (ends[0], ends[1]))
}

fn is_on(edge: (Point, Point), point: Point) -> bool {
    BoundingBox::of(&[edge.0, edge.1]).meets(&BoundingBox::of(&[point])) && side(edge.0, edge.1, point) == 0.0
}

fn cross((a, b): (Point, Point), (c, d): (Point, Point)) -> bool {
    if !BoundingBox::of(&[a, b]).meets(&BoundingBox::of(&[c, d])) {
        return false;
    }
    // Two edges cross if the ends of each are on different sides of the other, or on it.
    let apart = |one: f64, other: f64| (one > 0.0 && other > 0.0) || (one < 0.0 && other < 0.0);
    !apart(side(a, b, c), side(a, b, d)) && !apart(side(c, d, a), side(c, d, b))
}

impl Polygon {
    /// `rings`: the outer ring first, then holes. `None` without an outer ring.
    pub fn new(rings: Vec<Vec<Point>>) -> Option<Self> {
        let bounding_box = BoundingBox::of(rings.first().filter(|ring| !ring.is_empty())?);
        Some(Self { rings, bounding_box })
    }

    /// Returns the box around the outer ring.
    pub fn bounding_box(&self) -> BoundingBox {
        self.bounding_box
    }

    /// Returns true if a point is inside.
    pub fn contains(&self, point: Point) -> bool {
        let mut inside = false;
        for (a, b) in self.rings.iter().flat_map(|ring| edges(ring)) {
            if is_on((a, b), point) {
                return true;
            }
            // A ray from the point to the east crosses this edge. From inside, it crosses an odd number of edges.
            if (a.y > point.y) != (b.y > point.y) && (side(a, b, point) > 0.0) == (b.y > a.y) {
                inside = !inside;
            }
        }
        inside
    }

    /// Returns true if a line shares a point with the polygon.
    pub fn meets_line(&self, line: &[Point]) -> bool {
        // A line that crosses no edge is completely inside or completely outside.
        line.first().is_some_and(|point| self.contains(*point))
            || self
                .rings
                .iter()
                .any(|ring| edges(ring).any(|edge| edges(line).any(|other| cross(edge, other))))
    }

    /// Returns true if another polygon shares a point with this one.
    pub fn meets(&self, other: &Self) -> bool {
        if !self.bounding_box.meets(&other.bounding_box) {
            return false;
        }
        let begins_in = |inner: &Self, outer: &Self| outer.contains(inner.rings[0][0]);
        begins_in(self, other)
            || begins_in(other, self)
            || other.rings.iter().any(|ring| {
                let near = edges(ring).filter(|(a, b)| BoundingBox::of(&[*a, *b]).meets(&self.bounding_box));
                let mut crossing = near.flat_map(|edge| {
                    self.rings.iter().flat_map(|ring| edges(ring)).map(move |other| cross(edge, other))
                });
                crossing.any(|crosses| crosses)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(points: &[(f64, f64)]) -> Vec<Point> {
        points.iter().map(|&(x, y)| Point { x, y }).collect()
    }

    fn square(from: f64, to: f64) -> Vec<Point> {
        BoundingBox([from, from, to, to]).ring()
    }

    #[test]
    fn figures_meet_where_they_share_a_point() {
        let ring = Polygon::new(vec![square(0.0, 10.0), square(4.0, 6.0)]).unwrap();
        for (point, contains) in [
            ((1.0, 1.0), true),
            ((0.0, 5.0), true),
            ((10.0, 10.0), true),
            ((5.0, 5.0), false),
            ((4.0, 5.0), true),
            ((11.0, 5.0), false),
            ((-1.0, 0.0), false),
            ((-1.0, 10.0), false),
        ] {
            assert_eq!(ring.contains(Point { x: point.0, y: point.1 }), contains, "{point:?}");
        }
        assert!(ring.meets_line(&line(&[(-5.0, 5.0), (15.0, 5.0)])));
        assert!(ring.meets_line(&line(&[(5.0, 5.0), (5.0, 9.0)])));
        assert!(ring.meets_line(&line(&[(-1.0, 11.0), (1.0, 9.0)])));
        assert!(!ring.meets_line(&line(&[(4.5, 5.0), (5.5, 5.0)])));
        assert!(!ring.meets_line(&line(&[(-1.0, 9.0), (1.0, 11.5)])));
        let meets = |from: f64, to: f64| ring.meets(&Polygon::new(vec![square(from, to)]).unwrap());
        assert!(meets(-5.0, 20.0) && meets(10.0, 12.0) && meets(1.0, 2.0) && meets(3.0, 7.0));
        assert!(!meets(4.5, 5.5) && !meets(11.0, 12.0));
    }
}
