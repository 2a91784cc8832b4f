//! Sets of vectors, the same in every run.

use std::collections::HashMap;
use std::io::BufRead as _;
use std::path::Path;

use crate::DIMENSIONS;

/// Rows, the last of which are queries; and a group for each row, for filters by content.
pub struct Data {
    pub rows: Vec<Vec<f32>>,
    pub groups: Vec<usize>,
}

/// A small generator of pseudo-random numbers, the same on every machine. Source: splitmix64.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Returns a number from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.unit() * bound as f64) as usize
    }

    /// Returns a roughly normally distributed number.
    fn normal(&mut self) -> f32 {
        (0..6).map(|_| self.unit() as f32).sum::<f32>() - 3.0
    }
}

const CLUSTERS: usize = 1000;
const LATENT: usize = 48;

pub fn clustered(count: usize, random: &mut Random) -> Data {
    let centers: Vec<Vec<f32>> =
        (0..CLUSTERS).map(|_| (0..LATENT).map(|_| random.normal()).collect()).collect();
    let projection: Vec<Vec<f32>> =
        (0..LATENT).map(|_| (0..DIMENSIONS).map(|_| random.normal()).collect()).collect();
    let mut data = Data { rows: Vec::with_capacity(count), groups: Vec::with_capacity(count) };
    for _ in 0..count {
        let group = random.below(CLUSTERS);
        let latent: Vec<f32> = centers[group].iter().map(|center| center + 0.5 * random.normal()).collect();
        let mut row = vec![0f32; DIMENSIONS];
        for (weight, direction) in latent.iter().zip(&projection) {
            row.iter_mut().zip(direction).for_each(|(sum, part)| *sum += weight * part);
        }
        row.iter_mut().for_each(|component| *component += 0.1 * random.normal());
        data.rows.push(row);
        data.groups.push(group);
    }
    data
}

pub fn sphere(count: usize, random: &mut Random) -> Data {
    let row = |random: &mut Random| (0..DIMENSIONS).map(|_| random.normal()).collect();
    let rows = (0..count).map(|_| row(random)).collect();
    Data { rows, groups: (0..count).map(|at| at % CLUSTERS).collect() }
}

/// Returns a vector near `row`.
pub fn moved(row: &[f32], random: &mut Random) -> Vec<f32> {
    let scale = row.iter().map(|component| component.abs()).sum::<f32>() / row.len() as f32;
    row.iter().map(|component| component + 0.3 * scale * random.normal()).collect()
}

/// A text: its words with their weights.
type Weighted = Vec<(usize, f32)>;

/// Converts texts of films to vectors by latent semantic analysis: words are weighted by rarity, then projected on the
/// directions in which texts differ most.
pub fn films(path: &Path) -> Data {
    let (texts, groups, words) = weighted_texts(path);
    // Gives each word a random direction, then replaces it by what the words of similar texts have in common.
    let mut random = Random(5);
    let scattered = matrix(words, |row| row.iter_mut().for_each(|component| *component = random.normal()));
    let mut basis = matrix(words, |_| ());
    for text in &texts {
        let sum = sum_of(text, &scattered);
        for (word, weight) in text {
            add(&mut basis[*word], &sum, *weight);
        }
    }
    make_orthonormal(&mut basis);
    let rows: Vec<Vec<f32>> = texts.iter().map(|text| sum_of(text, &basis)).collect();
    let (rows, groups) =
        rows.into_iter().zip(groups).filter(|(row, _)| row.iter().any(|it| *it != 0.0)).unzip();
    shuffled(Data { rows, groups })
}

/// Shuffles rows. The last rows are queries, so they must not be similar.
fn shuffled(mut data: Data) -> Data {
    let mut random = Random(6);
    for at in (1..data.rows.len()).rev() {
        let other = random.below(at + 1);
        data.rows.swap(at, other);
        data.groups.swap(at, other);
    }
    data
}

/// Returns texts, decades as groups, and the number of words.
fn weighted_texts(path: &Path) -> (Vec<Weighted>, Vec<usize>, usize) {
    let file = std::fs::File::open(path).expect("the films can be read");
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut documents: Vec<f32> = Vec::new();
    let (mut texts, mut groups): (Vec<HashMap<usize, f32>>, _) = (Vec::new(), Vec::new());
    for line in std::io::BufReader::new(file).lines() {
        let film: serde_json::Value =
            serde_json::from_str(&line.expect("lines are text")).expect("lines are JSON");
        let text = ["title", "overview"].map(|field| film[field].as_str().unwrap_or_default()).join(" ");
        let mut counts: HashMap<usize, f32> = HashMap::new();
        for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2) {
            let next = numbers.len();
            *counts.entry(*numbers.entry(word.to_owned()).or_insert(next)).or_default() += 1.0;
        }
        documents.resize(numbers.len(), 0.0);
        counts.keys().for_each(|word| documents[*word] += 1.0);
        texts.push(counts);
        groups.push(film["year"].as_u64().unwrap_or(0) as usize % 100);
    }
    let total = texts.len() as f32;
    let weighted = |counts: HashMap<usize, f32>| -> Weighted {
        // A word of only one text is not shared with other texts.
        let shared = counts.into_iter().filter(|(word, _)| documents[*word] > 1.0);
        let mut text: Weighted =
            shared.map(|(word, count)| (word, (1.0 + count.ln()) * (total / documents[word]).ln())).collect();
        text.sort_unstable_by_key(|(word, _)| *word);
        let length =
            text.iter().map(|(_, weight)| weight * weight).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
        text.iter_mut().for_each(|(_, weight)| *weight /= length);
        text
    };
    (texts.into_iter().map(weighted).collect(), groups, numbers.len())
}

fn matrix(rows: usize, mut fill: impl FnMut(&mut [f32])) -> Vec<Vec<f32>> {
    let mut made = vec![vec![0f32; DIMENSIONS]; rows];
    made.iter_mut().for_each(|row| fill(row));
    made
}

fn sum_of(text: &Weighted, directions: &[Vec<f32>]) -> Vec<f32> {
    let mut sum = vec![0f32; DIMENSIONS];
    text.iter().for_each(|(word, weight)| add(&mut sum, &directions[*word], *weight));
    sum
}

fn add(sum: &mut [f32], other: &[f32], weight: f32) {
    sum.iter_mut().zip(other).for_each(|(sum, other)| *sum += weight * other);
}

/// Makes the columns of a tall matrix orthonormal: factors its product with itself (Cholesky) and divides every row by
/// the factor.
fn make_orthonormal(rows: &mut [Vec<f32>]) {
    let mut product = vec![vec![0f64; DIMENSIONS]; DIMENSIONS];
    for row in rows.iter().filter(|row| row.iter().any(|it| *it != 0.0)) {
        for (at, left) in row.iter().enumerate() {
            let sums = product[at][..=at].iter_mut().zip(row);
            sums.for_each(|(sum, right)| *sum += f64::from(left * right));
        }
    }
    for at in 0..DIMENSIONS {
        for other in 0..=at {
            let known: f64 = (0..other).map(|k| product[at][k] * product[other][k]).sum();
            let left = product[at][other] - known;
            product[at][other] =
                if at == other { left.max(1e-12).sqrt() } else { left / product[other][other] };
        }
    }
    for row in rows {
        for at in 0..DIMENSIONS {
            let known: f64 = (0..at).map(|k| product[at][k] * f64::from(row[k])).sum();
            row[at] = ((f64::from(row[at]) - known) / product[at][at]) as f32;
        }
    }
}
