//! Do two figures on a plane share a point? Touching is sharing.

use robust::{Coord, orient2d};

/// A point of the plane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// To the east.
    pub x: f64,
    /// To the north.
    pub y: f64,
}

/// The smallest box around something: west, south, east, north.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Border(pub [f64; 4]);

/// A ring and the holes in it. Each ends where it begins; edges count as inside, even those of holes.
#[derive(Debug, Clone, PartialEq)]
pub struct Polygon {
    rings: Vec<Vec<Point>>,
    border: Border,
}

/// Whether a line ends where it begins.
pub fn is_closed(line: &[Point]) -> bool {
    line.first() == line.last()
}

impl Border {
    /// Around some places, of which there is one at least.
    pub fn of(places: &[Point]) -> Self {
        let places = places.iter().map(|place| Self([place.x, place.y, place.x, place.y]));
        places.reduce(Self::around).unwrap_or(Self([f64::NAN; 4]))
    }

    /// Around both.
    pub fn around(self, other: Self) -> Self {
        let ([west, south, east, north], other) = (self.0, other.0);
        Self([west.min(other[0]), south.min(other[1]), east.max(other[2]), north.max(other[3])])
    }

    /// Whether they share a point.
    pub fn meets(&self, other: &Self) -> bool {
        let (a, b) = (&self.0, &other.0);
        a[0] <= b[2] && b[0] <= a[2] && a[1] <= b[3] && b[1] <= a[3]
    }

    /// Whether all of it is in the other.
    pub fn lies_within(&self, outer: &Self) -> bool {
        let (a, b) = (&self.0, &outer.0);
        a[0] >= b[0] && a[1] >= b[1] && a[2] <= b[2] && a[3] <= b[3]
    }

    /// The point that it is, if it is one.
    pub fn as_place(&self) -> Option<Point> {
        let [west, south, east, north] = self.0;
        (west == east && south == north).then_some(Point { x: west, y: south })
    }

    /// Its corners, the first again as the last.
    pub fn ring(&self) -> Vec<Point> {
        let [west, south, east, north] = self.0;
        let corners = [(west, south), (east, south), (east, north), (west, north), (west, south)];
        corners.map(|(x, y)| Point { x, y }).to_vec()
    }
}

/// Above zero if `c` lies to the left of the line from `a` to `b`, below if to the right, zero on it.
fn side(a: Point, b: Point, c: Point) -> f64 {
    let coord = |place: Point| Coord { x: place.x, y: place.y };
    orient2d(coord(a), coord(b), coord(c))
}

fn edges(line: &[Point]) -> impl Iterator<Item = (Point, Point)> + '_ {
    line.windows(2).map(|ends| (ends[0], ends[1]))
}

fn is_on(edge: (Point, Point), place: Point) -> bool {
    Border::of(&[edge.0, edge.1]).meets(&Border::of(&[place])) && side(edge.0, edge.1, place) == 0.0
}

fn cross((a, b): (Point, Point), (c, d): (Point, Point)) -> bool {
    if !Border::of(&[a, b]).meets(&Border::of(&[c, d])) {
        return false;
    }
    // Each has its ends on different sides of the other, or on it.
    let apart = |one: f64, other: f64| (one > 0.0 && other > 0.0) || (one < 0.0 && other < 0.0);
    !apart(side(a, b, c), side(a, b, d)) && !apart(side(c, d, a), side(c, d, b))
}

impl Polygon {
    /// The outer ring comes first. None without one.
    pub fn new(rings: Vec<Vec<Point>>) -> Option<Self> {
        let border = Border::of(rings.first().filter(|ring| !ring.is_empty())?);
        Some(Self { rings, border })
    }

    /// Around the outer ring.
    pub fn border(&self) -> Border {
        self.border
    }

    /// Whether a place is inside.
    pub fn holds(&self, place: Point) -> bool {
        let mut inside = false;
        for (a, b) in self.rings.iter().flat_map(|ring| edges(ring)) {
            if is_on((a, b), place) {
                return true;
            }
            // A ray to the east crosses the edge: from inside, it crosses an odd number of them.
            if (a.y > place.y) != (b.y > place.y) && (side(a, b, place) > 0.0) == (b.y > a.y) {
                inside = !inside;
            }
        }
        inside
    }

    /// Whether a line shares a point with it.
    pub fn meets_line(&self, line: &[Point]) -> bool {
        // A line that crosses no edge is wholly inside or wholly outside.
        line.first().is_some_and(|place| self.holds(*place))
            || self
                .rings
                .iter()
                .any(|ring| edges(ring).any(|edge| edges(line).any(|other| cross(edge, other))))
    }

    /// Whether another polygon shares a point with it.
    pub fn meets(&self, other: &Self) -> bool {
        if !self.border.meets(&other.border) {
            return false;
        }
        let begins_in = |inner: &Self, outer: &Self| outer.holds(inner.rings[0][0]);
        begins_in(self, other)
            || begins_in(other, self)
            || other.rings.iter().any(|ring| {
                let near = edges(ring).filter(|(a, b)| Border::of(&[*a, *b]).meets(&self.border));
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

    fn line(places: &[(f64, f64)]) -> Vec<Point> {
        places.iter().map(|&(x, y)| Point { x, y }).collect()
    }

    fn square(from: f64, to: f64) -> Vec<Point> {
        Border([from, from, to, to]).ring()
    }

    #[test]
    fn figures_meet_where_they_share_a_point() {
        let ring = Polygon::new(vec![square(0.0, 10.0), square(4.0, 6.0)]).unwrap();
        for (place, holds) in [
            ((1.0, 1.0), true),
            ((0.0, 5.0), true),
            ((10.0, 10.0), true),
            ((5.0, 5.0), false),
            ((4.0, 5.0), true),
            ((11.0, 5.0), false),
            ((-1.0, 0.0), false),
            ((-1.0, 10.0), false),
        ] {
            assert_eq!(ring.holds(Point { x: place.0, y: place.1 }), holds, "{place:?}");
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
