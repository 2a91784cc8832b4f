import { fileURLToPath } from 'node:url'
import test from 'ava'
import { filesBelow } from '../architecture/arrows.js'
import { patternsOf, superLinear } from './patterns.js'

// Otherwise the analyser looks for a Java runtime.
process.env.RECHECK_BACKEND = 'pure'

const below = (path: string, suffix: string) =>
  filesBelow(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), suffix)

test('every regular expression in ts/ takes linear time', async (t) => {
  const sources = new Set((await below('ts', '.ts')).map(({ path }) => path.replace(/\.ts$/, '.js')))
  // Reads the compiled files, since the JavaScript parser does not support types.
  const modules = (await below('dist/ts', '.js')).filter(({ path }) => sources.has(path))
  t.is(modules.length, sources.size, 'every source file is compiled')
  const patterns = modules.flatMap(({ path, text }) => patternsOf(path, text))
  t.true(patterns.length > 100, 'patterns were found')
  t.deepEqual(superLinear(patterns), [])
})

test('the checker rejects patterns that backtrack, and no others', (t) => {
  const module = [
    'text.split(/,(?![^(]*\\))/)',
    'text.replace(/\\/+$/, "")',
    'export const decimal = /^[-+]?(\\d+\\.?\\d*|\\.\\d+)$/',
    'const size = /^\\s*(\\d+)\\s*([a-z]*)\\s*$/i',
    'if (/^(a|a)*$/.test(text)) found = /disk.*full/i.test(text)',
    'new RegExp(text)',
    'RegExp("a+")',
    'text.match("a+") ?? text.search(`${text}`)',
    'engine.search(request, text.match(known), /^\\d+$/, /^(a+)b\\1c*$/)',
    'text.search(/^[a-z]+$/)',
  ].join('\n')
  t.deepEqual(
    superLinear(patternsOf('bad.js', module)).map((line) => line.slice(0, line.indexOf(': '))),
    [
      'bad.js:1 /,(?![^(]*\\))/',
      'bad.js:2 /\\/+$/',
      'bad.js:3 /^[-+]?(\\d+\\.?\\d*|\\.\\d+)$/',
      'bad.js:4 /^\\s*(\\d+)\\s*([a-z]*)\\s*$/i',
      'bad.js:5 /^(a|a)*$/',
      'bad.js:5 /disk.*full/i',
      'bad.js:6 new RegExp(text)',
      'bad.js:7 RegExp("a+")',
      'bad.js:8 text.match("a+")',
      'bad.js:8 text.search(`${text}`)',
    ],
  )
})
