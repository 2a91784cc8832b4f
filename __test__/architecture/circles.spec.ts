import { fileURLToPath } from 'node:url'
import test from 'ava'
import { filesBelow, rustTestFiles, tsArrows } from './arrows.js'
import { circles, rustFileArrows } from './circles.js'

const root = new URL('../../../', import.meta.url)
const below = (path: string, suffix: string) => filesBelow(fileURLToPath(new URL(path, root)), suffix)

for (const folder of ['ts', 'page', '__test__', 'trials', 'benchmark', 'scripts'])
  test(`${folder}/ has no circular imports`, async (t) => {
    const files = (await Promise.all(['.ts', '.tsx', '.mjs'].map((suffix) => below(folder, suffix)))).flat()
    const paths = new Set(files.map(({ path }) => path))
    const arrows = files
      .flatMap(({ path, text }) => tsArrows(path, text))
      .flatMap(({ from, to }) => {
        const source = ['.ts', '.tsx', '.js'].map((suffix) => to.replace(/\.js$/, suffix))
        const found = [to, ...source].find((path) => paths.has(path))
        return found === undefined ? [] : [{ from, to: found }]
      })
    t.true(arrows.length > 0, 'imports were found')
    t.deepEqual(circles(arrows), [])
  })

for (const crate of ['engine', 'filter-grammar', 'node', 'script', 'script-node', 'embed', 'embed-node'])
  test(`crates/${crate} has no circular uses`, async (t) => {
    const files = await below(`crates/${crate}/src`, '.rs')
    const paths = new Set(files.map(({ path }) => path))
    const onlyTests = new Set(files.flatMap(({ path, text }) => rustTestFiles(path, text)))
    const inTests = [...onlyTests].filter((path) => path.endsWith('/mod.rs')).map((path) => path.slice(0, -6))
    const isTest = (path: string) => onlyTests.has(path) || inTests.some((folder) => path.startsWith(folder))
    const arrows = files
      .filter(({ path }) => !isTest(path))
      .flatMap(({ path, text }) => rustFileArrows(path, text, paths))
    t.deepEqual(circles(arrows), [])
  })

test('the search finds each complete circle from any starting file', (t) => {
  const arrow = (from: string, to: string) => ({ from, to })
  const arrows = [arrow('d', 'a'), arrow('a', 'b'), arrow('b', 'c'), arrow('c', 'a'), arrow('c', 'e')]
  t.deepEqual(circles(arrows), [['a', 'b', 'c']])
  t.deepEqual(circles(arrows.slice(0, 3)), [])
})

test('Rust uses are found in groups, re-exports and paths', (t) => {
  const files = new Set(['lib.rs', 'a/mod.rs', 'a/b.rs', 'a/c.rs', 'd.rs'])
  const read = (file: string, text: string) => rustFileArrows(file, text, files).map(({ to }) => to)
  t.deepEqual(read('a/b.rs', 'use super::{Thing, c::Other};\nuse crate::d;\n'), [
    'a/mod.rs',
    'a/c.rs',
    'd.rs',
  ])
  t.deepEqual(read('a/mod.rs', 'mod b;\npub use b::Thing;\n'), ['a/b.rs'])
  t.deepEqual(read('d.rs', 'fn f() { crate::a::b::g() }\n// crate::a\n'), ['a/b.rs'])
  t.deepEqual(read('d.rs', 'struct S;\n#[cfg(test)]\nmod tests {\n use crate::a;\n}\n'), [])
})
