//! Points on the earth, and distances between them.

/// Mean radius of the earth in metres. Source: search §9.
pub(super) const EARTH_RADIUS: f64 = 6_371_000.0;

/// A point on the earth, in degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GeoPoint {
    /// Degrees north.
    pub lat: f64,
    /// Degrees east.
    pub lng: f64,
}

/// Returns the distance of two points on a sphere in metres, rounded to the millimetre.
pub fn distance(a: GeoPoint, b: GeoPoint) -> f64 {
    let haversine = |angle: f64| (1.0 - angle.cos()) / 2.0;
    let (a_lat, b_lat) = (a.lat.to_radians(), b.lat.to_radians());
    let hav = haversine(b_lat - a_lat)
        + a_lat.cos() * b_lat.cos() * haversine(b.lng.to_radians() - a.lng.to_radians());
    let metres = 2.0 * EARTH_RADIUS * hav.sqrt().asin();
    (metres * 1000.0).round() / 1000.0
}
