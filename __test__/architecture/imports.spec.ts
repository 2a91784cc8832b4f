import { fileURLToPath } from 'node:url'
import test from 'ava'
import {
  engineModules,
  filesBelow,
  rustArrows,
  rustModules,
  rustTestFiles,
  tsArrows,
  tsModules,
  wrongArrows,
} from './arrows.js'

const root = new URL('../../../', import.meta.url)
const below = (path: string, suffix: string) => filesBelow(fileURLToPath(new URL(path, root)), suffix)

test('no import in ts/ breaks the module table', async (t) => {
  const files = await below('ts', '.ts')
  const arrows = files.flatMap(({ path, text }) => tsArrows(path, text))
  t.true(arrows.length > 100, 'imports were found')
  t.deepEqual(wrongArrows(arrows, tsModules), [])
})

test('no use in crates/engine breaks the module table', async (t) => {
  const files = await below('crates/engine/src', '.rs')
  const onlyTests = new Set(files.flatMap(({ path, text }) => rustTestFiles(path, text)))
  // Files inside a test module are test files too.
  const inTests = [...onlyTests].filter((path) => path.endsWith('/mod.rs')).map((path) => path.slice(0, -6))
  const isTest = (path: string) => onlyTests.has(path) || inTests.some((folder) => path.startsWith(folder))
  const modules = files.filter(({ path }) => path !== 'lib.rs' && !isTest(path))
  const arrows = modules.flatMap(({ path, text }) => rustArrows(path, text))
  t.true(arrows.length > 0, 'uses were found')
  t.deepEqual(wrongArrows(arrows, engineModules), [])
})

test('every Rust file is compiled with its crate', async (t) => {
  for (const crate of ['engine', 'filter-grammar', 'node', 'script', 'script-node', 'embed', 'embed-node']) {
    const files = await below(`crates/${crate}/src`, '.rs')
    const compiled = new Set(['lib.rs', ...files.flatMap(({ path, text }) => rustModules(path, text))])
    t.true(files.length > 0, `files of ${crate} were found`)
    const left = files.map(({ path }) => path).filter((path) => !compiled.has(path))
    t.deepEqual(left, [], crate)
  }
})

const tree = [
  ['errors/codes.ts', "import { x } from './api.js'"],
  ['settings/index.ts', "export * from '../errors/index.js'\nimport type { T } from '../tasks/index.js'"],
  ['tasks/index.ts', "const late = await import('../http/server.js')"],
  ['attic/index.ts', "import '../errors/index.js'"],
] as const

test('the checker reports all wrong arrows of a bad tree, and no others', (t) => {
  const arrows = tree.flatMap(([path, text]) => tsArrows(path, text))
  t.deepEqual(wrongArrows(arrows, tsModules), [
    'settings/index.ts → tasks/index.js: settings must not use tasks',
    'tasks/index.ts → http/server.js: tasks must not use http',
    'attic/index.ts → errors/index.js: the module attic is in no table',
  ])
})

test('the checker reads every form of a Rust use, and ignores tests and comments', (t) => {
  const text = [
    '// crate::search is far below',
    'use crate::{error::Result, ranking::{self, Rule}};',
    'fn f() -> crate::search::Page { todo() }',
    '#[cfg(test)]',
    'mod tests { use crate::indexing::apply; }',
  ].join('\n')
  t.deepEqual(rustModules('a/mod.rs', 'pub(crate) mod b;\nmod tests { }'), ['a/b.rs', 'a/b/mod.rs'])
  t.deepEqual(rustTestFiles('lib.rs', '#[cfg(test)]\nmod fixture;'), ['fixture.rs', 'fixture/mod.rs'])
  t.deepEqual(rustTestFiles('a/b.rs', '#[cfg(test)]\nmod tests;'), ['a/b/tests.rs', 'a/b/tests/mod.rs'])
  t.deepEqual(wrongArrows(rustArrows('facets/mod.rs', text), engineModules), [
    'facets/mod.rs → ranking/mod.rs: facets must not use ranking',
    'facets/mod.rs → search/mod.rs: facets must not use search',
  ])
})

test('every ranking rule has its namesake in the other engine', async (t) => {
  const names = (files: readonly { readonly path: string }[]) =>
    files
      .map(({ path }) => path.replace(/\.(rs|ts)$/, '').replaceAll('_', '-'))
      .filter((name) => name !== 'mod' && name !== 'index')
      .sort()
  const native = names(await below('crates/engine/src/ranking/rules', '.rs'))
  const fallback = names(await below('ts/engine/fallback/ranking/rules', '.ts'))
  t.true(native.length >= 10, 'rules were found')
  t.deepEqual(native, fallback)
})
