/** The versions that the fallback stores are those of what it runs with. */
import { readFileSync } from 'node:fs'
import test from 'ava'
import { analysisVersion } from '../../ts/engine/fallback/analysis/version.js'

test('the versions of the fallback are those of its packages and of Node.js', (t) => {
  const { version } = JSON.parse(readFileSync('node_modules/jieba-wasm/package.json', 'utf8'))
  const { icu, unicode } = process.versions
  t.like(analysisVersion, { chinese: `jieba-wasm ${version}`, japanese: `ICU ${icu}`, unicode: `${unicode}` })
})
