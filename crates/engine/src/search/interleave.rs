//! Merges hits at fixed positions with other hits.

/// Iterates over pins at their positions with the other hits between them. Pins beyond the other hits follow at the
/// end.
pub(super) struct Interleave<T, I: Iterator<Item = T>, P> {
    pins: std::iter::Peekable<std::vec::IntoIter<T>>,
    rest: I,
    position: P,
    placed: usize,
}

impl<T, I: Iterator<Item = T>, P: Fn(&T) -> u32> Interleave<T, I, P> {
    /// `pins` in order of their positions.
    pub fn new(pins: Vec<T>, rest: I, position: P) -> Self {
        Self { pins: pins.into_iter().peekable(), rest, position, placed: 0 }
    }
}

impl<T, I: Iterator<Item = T>, P: Fn(&T) -> u32> Iterator for Interleave<T, I, P> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let (position, placed) = (&self.position, self.placed);
        self.placed += 1;
        let due = self.pins.next_if(|pin| position(pin) as usize <= placed);
        due.or_else(|| self.rest.next()).or_else(|| self.pins.next())
    }
}

#[cfg(test)]
mod tests {
    use super::Interleave;

    #[test]
    fn pins_keep_their_positions_and_close_up_at_the_end() {
        let cases: [(&[u32], usize, &str); 6] = [
            (&[0], 3, "P0 r r r"),
            (&[1, 1], 3, "r P1 P1 r r"),
            (&[2], 3, "r r P2 r"),
            (&[10, 20], 2, "r r P10 P20"),
            (&[0, 5], 0, "P0 P5"),
            (&[], 2, "r r"),
        ];
        for (pins, rest, expected) in cases {
            let pins = pins.iter().map(|at| format!("P{at}")).collect();
            let rest = std::iter::repeat_n("r".to_owned(), rest);
            let position = |pin: &String| pin[1..].parse().unwrap_or_default();
            let found: Vec<String> = Interleave::new(pins, rest, position).collect();
            assert_eq!(found.join(" "), expected);
        }
    }
}
