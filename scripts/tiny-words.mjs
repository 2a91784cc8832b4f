// Writes the small dictionaries of the quick tests:  node scripts/tiny-words.mjs
import { writeFileSync } from 'node:fs'
import { wordsFile } from './words-file.mjs'

const NOUN = 1
const PARTICLE = 2
const HIRAGANA = 1
const KATAKANA = 2
const OTHER = 0

const nouns = (words) => words.split(' ').map((word) => [word, NOUN])
const particles = (words) => words.split(' ').map((word) => [word, PARTICLE])

/** Bits as in docs/words-format.md. @param most characters of an unknown word */
const kind = (category, most, isGrouped) =>
  ((1 << category) | (category << 18) | (most << 26) | (isGrouped ? 1 << 30 : 0)) >>> 0

/** Words that follow each other cost nothing, except a noun after a noun, or a particle at the start. */
const connection = (right, left) =>
  right === NOUN && left === NOUN ? 100 : right === 0 && left === PARTICLE ? 2000 : 0

const token = (of, cost, cuts = 0) => ({ left: of, right: of, cost, cuts })

function dictionary(info, words) {
  const known = words.map(([word, of, cuts]) => [word, [token(of, 1000 - 20 * word.length, cuts)]])
  return {
    info: { ...info, version: '1' },
    ranges: [
      [0, OTHER],
      [0x3041, HIRAGANA],
      [0x30a0, KATAKANA],
      [0x3100, OTHER],
    ],
    kinds: [kind(OTHER, 2, false), kind(HIRAGANA, 1, false), kind(KATAKANA, 0, true)],
    unknown: [OTHER, HIRAGANA, KATAKANA].map(() => [token(NOUN, 5000)]),
    words: new Map(known),
    connection,
    start: 0,
    end: 0,
  }
}

const japanese = dictionary({ language: 'jpn', name: 'tiny-ja' }, [
  ...nouns(
    '関西 国際 空港 国 際 空 今 今日 日 晴れ 天気 東京 京都 都 すもも もも うち 大阪 駅 名物 赤い 靴 日本 本 語',
  ),
  ...particles('は に も の を が で です と から まで'),
])
const korean = dictionary({ language: 'kor', name: 'tiny-ko' }, [
  ['삼성전자', NOUN, 0b10],
  ...nouns('삼성 전자 하늘 한국 한 하 은행 가격 사과 서울 학교'),
  ...particles('에서 를 을 이 가 은 는 의 에'),
])

const folder = new URL('../__test__/support/words/', import.meta.url)
writeFileSync(new URL('tiny-ja.bin', folder), wordsFile(japanese))
writeFileSync(new URL('tiny-ko.bin', folder), wordsFile(korean))
