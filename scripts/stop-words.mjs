// Writes the stop words of both engines from the lists of the Snowball project.
//
// usage: node scripts/stop-words.mjs DIRECTORY
//
// DIRECTORY holds `en.txt` and others, as in `sphinx/search/_stopwords` of the Python package Sphinx 9.0.4. A word is listed
// as it is and without diacritics, as most texts are analysed.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const codes = {
  dan: 'da',
  deu: 'de',
  eng: 'en',
  fin: 'fi',
  fra: 'fr',
  hun: 'hu',
  ita: 'it',
  nld: 'nl',
  nob: 'no',
  por: 'pt',
  rus: 'ru',
  spa: 'es',
  swe: 'sv',
}
/** Our own: Snowball has no lists of these languages. Words as their dictionaries cut them. */
const own = {
  jpn:
    'あっ あり ある いう いか いく いつ いっ いる う え お か から が き く け けど けれど こ ここ こそ ' +
    'こと この これ さ さえ さん し しか しまっ しまう する せ せる そ そう そこ そして その それ た ため ' +
    'たら たり だ だけ だっ だれ ち ちゃん っ つ て で でき できる です でも と とき ところ とも とも どう ' +
    'どこ どの どれ どんな な ない なかっ ながら なく なけれ なさい なぜ など なら なり なる なん に ね の ' +
    'のみ は ば ばかり へ べき ほど ま まし ます ませ また まで み も もの や よ よう より ら らしい られ ' +
    'られる れ れる を ん 何 誰 何故 的 方 よっ おり られ し され たい について',
  kor:
    '이 가 은 는 을 를 의 에 에서 에게 께 께서 한테 로 으로 와 과 랑 이랑 하고 도 만 까지 부터 마저 ' +
    '조차 처럼 보다 라고 고 며 면 지만 는데 은데 니까 어서 아서 었 았 겠 시 다 요 습니다 ㅂ니다 입니다 ' +
    '이다 하 되 있 없 않 었다 았다 는다 ㄴ다 ㄴ ㄹ 게 지 어 아 기 음 것 수 등 및 그 저 이것 그것 저것 ' +
    '무엇 누구 언제 어디 어떻게 왜 어느 어떤 몇',
}
const [directory] = process.argv.slice(2)
const plain = (word) => word.normalize('NFKD').replaceAll(/\p{M}/gu, '')
const snowball = Object.entries(codes).map(([code, name]) => {
  const listed = readFileSync(join(directory, `${name}.txt`), 'utf8')
    .split('\n')
    .flatMap((line) =>
      line
        .split('|')[0]
        .trim()
        .toLowerCase()
        .split(/[\s'’]+/),
    )
    .filter(Boolean)
  return `${code} ${[...new Set([...listed, ...listed.map(plain)])].sort().join(' ')}\n`
})
const ours = Object.entries(own).map(([code, words]) => {
  const listed = words.split(' ').map((word) => word.normalize('NFKD'))
  return `${code} ${[...new Set(listed)].sort().join(' ')}\n`
})
const lines = [...snowball, ...ours].sort()
writeFileSync('crates/engine/src/analysis/stop_words.txt', lines.join(''))
const quoted = lines.map((line) => `  '${line.trim()}',\n`).join('')
writeFileSync(
  'ts/engine/fallback/analysis/snowball/stop-words.ts',
  '/** Stop words, mostly of the Snowball project: a language and its words. Made by scripts/stop-words.mjs. Licence: LICENSE. */\n' +
    `export const lines: readonly string[] = [\n${quoted}]\n`,
)
