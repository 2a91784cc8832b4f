/** Generates random documents as NDJSON uploads, the same for the same seed. */
import { numbers } from '../../__test__/support/numbers.js'

const WORDS = 200_000
const GENRES = 24
/** Minimum and maximum number of words in a text. */
const [TEXT_MIN, TEXT_MAX] = [30, 90]

/** Returns the word of a rank. Uses only letters, so that typos and prefixes of a word are words too. */
function wordOf(rank: number): string {
  let word = ''
  for (let left = rank + 27; left > 0; left = Math.floor(left / 26))
    word += String.fromCharCode(97 + (left % 26))
  return word
}

/**
 * Yields uploads of about `uploadBytes` each, in total at least `bytes`. Word ranks are uniform on a logarithmic scale,
 * which approximates Zipf's law: half of all words have a rank below 450.
 */
export function* uploads(bytes: number, uploadBytes: number, seed: number): Generator<Buffer> {
  const random = numbers(seed)
  const words = (count: number) =>
    Array.from({ length: count }, () => wordOf(Math.floor(WORDS ** random()))).join(' ')
  let id = 0
  for (let made = 0; made < bytes; ) {
    const lines: string[] = []
    for (let length = 0; length < uploadBytes && made + length < bytes; ) {
      const line = JSON.stringify({
        id: id++,
        title: words(2 + Math.floor(random() * 5)),
        year: 1900 + Math.floor(random() * 126),
        genres: [`genre ${Math.floor(random() * GENRES)}`, `genre ${Math.floor(random() * GENRES)}`],
        text: words(TEXT_MIN + Math.floor(random() * (TEXT_MAX - TEXT_MIN))),
      })
      lines.push(line)
      length += line.length + 1
    }
    const upload = Buffer.from(`${lines.join('\n')}\n`)
    made += upload.length
    yield upload
  }
}
