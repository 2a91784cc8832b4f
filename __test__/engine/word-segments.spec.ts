import test, { type ExecutionContext } from 'ava'
import { WordSegmenter } from '../../ts/engine/index.js'

/** Locale, and a text without spaces. */
const texts = [
  ['th', 'ภาษาไทยสวยงามประเทศไทยมีประชากรมากกว่าหกสิบล้านคน'],
  ['km', 'ភាសាខ្មែរ'],
  ['ja', '東京都に住んでいる人々は毎日電車で通勤します'],
  ['ja', 'ひらがな'],
  ['ko', '안녕하세요세계'],
  ['und', 'a.b,c'],
  ['und', '👩‍👩‍👧e\u0301'],
] as const
const segmentsOf = (locale: string, text: string): string[] =>
  Array.from(new WordSegmenter(locale).segments(text), ({ segment }) => segment)

for (const [locale, text] of texts) {
  test(`segmenting a long text in windows gives the same segments: ${locale} ${text}`, (t) => {
    const long = text.repeat(Math.ceil(3000 / text.length))
    const atOnce = new Intl.Segmenter(locale, { granularity: 'word' }).segment(long)
    t.deepEqual(
      segmentsOf(locale, long),
      Array.from(atOnce, ({ segment }) => segment),
    )
  })
}

/** Runs `work` and sums the cost of each segment in Node.js 20: the length of the text passed to the segmenter. */
function cost(t: ExecutionContext, work: () => void): number {
  const { segment } = Intl.Segmenter.prototype
  let sum = 0
  Intl.Segmenter.prototype.segment = function (this: Intl.Segmenter, text: string) {
    const segments = segment.call(this, text)
    const counted = function* (): Generator<Intl.SegmentData> {
      for (const data of segments) {
        sum += text.length
        yield data
      }
    }
    return Object.assign(Object.create(segments), { [Symbol.iterator]: counted })
  }
  t.teardown(() => {
    Intl.Segmenter.prototype.segment = segment
  })
  work()
  Intl.Segmenter.prototype.segment = segment
  return sum
}

test.serial('segmenting takes time linear in the length of the text, for words of any length', (t) => {
  const word = '가'.repeat(450)
  const mixed = ['가'.repeat(3000), 'a.'.repeat(200), word].join('!')
  for (const [locale, text] of [...texts, ['ko', mixed], ['ko', `${word}!`]] as const) {
    const long = text.repeat(Math.ceil(50_000 / text.length))
    const spent = cost(t, () => {
      for (const _ of new WordSegmenter(locale).segments(long));
    })
    t.true(spent <= 600 * long.length, `${locale} ${text.slice(0, 20)}: ${spent / long.length}`)
  }
})

test.serial('segments are computed lazily', (t) => {
  const spent = cost(t, () => {
    const { value } = new WordSegmenter('und').segments('a b '.repeat(100_000)).next()
    t.deepEqual(value, { segment: 'a', isWordLike: true })
  })
  t.true(spent <= 1000)
})
