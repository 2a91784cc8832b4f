/** The tables of allowed module dependencies, and a checker that finds imports against them. */
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, normalize, relative, sep } from 'node:path'

/** Module → modules that it may import from, including itself. */
export type ModuleTable = Readonly<Record<string, readonly string[]>>

/** Modules of ts/. `index` is ts/index.ts, the entry for in-process use. */
export const tsModules: ModuleTable = {
  errors: [],
  parse: ['errors'],
  launch: ['parse'],
  settings: ['parse', 'errors'],
  telemetry: ['launch', 'parse'],
  tls: ['telemetry', 'launch'],
  outbound: ['settings', 'parse', 'errors'],
  engine: ['launch', 'settings', 'parse', 'errors'],
  auth: ['settings', 'parse', 'errors'],
  embedding: ['outbound', 'engine', 'settings', 'parse', 'errors'],
  sqlite: ['errors'],
  reranking: ['embedding', 'outbound', 'settings', 'parse', 'errors'],
  tracing: ['reranking', 'embedding', 'engine', 'outbound', 'parse'],
  tasks: ['sqlite', 'reranking', 'embedding', 'engine', 'launch', 'settings', 'parse', 'errors'],
  instance: [
    ...[
      'tasks',
      'auth',
      'embedding',
      'reranking',
      'outbound',
      'engine',
      'telemetry',
      'launch',
      'settings',
      'parse',
      'errors',
    ],
  ],
  replication: ['instance', 'tasks', 'outbound', 'engine', 'telemetry', 'launch', 'parse', 'errors'],
  placement: ['replication', 'instance', 'outbound', 'telemetry', 'launch', 'parse', 'errors'],
  operations: ['instance', 'tasks', 'reranking', 'embedding', 'engine', 'settings', 'parse', 'errors'],
  mcp: [],
  judge: ['launch', 'parse', 'errors'],
  chats: [
    ...['operations', 'mcp', 'instance', 'tasks', 'embedding', 'outbound', 'engine', 'settings', 'parse'],
    'errors',
  ],
  transfer: ['tasks', 'outbound', 'engine', 'launch', 'settings', 'parse', 'errors'],
  http: [
    ...[
      'operations',
      'placement',
      'replication',
      'instance',
      'tasks',
      'auth',
      'reranking',
      'embedding',
      'outbound',
      'engine',
      'telemetry',
      'launch',
    ],
    ...['chats', 'mcp', 'tracing', 'settings', 'parse', 'errors'],
  ],
  'in-process': [
    ...[
      'operations',
      'transfer',
      'instance',
      'tasks',
      'engine',
      'telemetry',
      'launch',
      'settings',
      'parse',
      'errors',
    ],
  ],
  cli: [
    ...[
      'http',
      'transfer',
      'operations',
      'instance',
      'placement',
      'replication',
      'tasks',
      'auth',
      'reranking',
      'embedding',
      'outbound',
      'engine',
    ],
    ...['judge', 'mcp', 'tracing', 'tls', 'telemetry', 'launch', 'settings', 'parse', 'errors'],
  ],
  index: ['in-process', 'operations', 'instance', 'tasks', 'launch', 'errors'],
}

/** Modules of crates/engine/src, each with its direct and transitive dependencies. */
export const engineModules: ModuleTable = closed({
  error: [],
  background_fault: ['error'],
  settings: ['error'],
  fields: ['settings'],
  cache: [],
  threads: [],
  analysis: ['fields'],
  store: ['analysis', 'background_fault', 'fields', 'cache', 'threads'],
  postings: ['analysis', 'store'],
  facets: ['fields', 'store', 'analysis'],
  vector: ['store'],
  filter: ['facets', 'vector'],
  query: ['analysis', 'postings'],
  ranking: ['query', 'analysis', 'postings', 'facets', 'vector', 'filter'],
  indexing: ['analysis', 'postings', 'facets', 'vector', 'filter'],
  search: ['query', 'ranking', 'filter'],
  index: ['indexing', 'search'],
  engine: ['index'],
  lib: ['engine'],
})

function closed(modules: ModuleTable): ModuleTable {
  const reached = (module: string): readonly string[] =>
    (modules[module] ?? []).flatMap((above) => [above, ...reached(above)])
  return Object.fromEntries(Object.keys(modules).map((module) => [module, [...new Set(reached(module))]]))
}

/** A dependency of one file on another. Paths are relative to the folder and use `/`. */
export interface Arrow {
  readonly from: string
  readonly to: string
}

/** Returns a line for each arrow against the table, or from or to a module that is not in it. */
export function wrongArrows(arrows: readonly Arrow[], table: ModuleTable): readonly string[] {
  return arrows.flatMap(({ from, to }) => {
    const [user, used] = [moduleOf(from), moduleOf(to)]
    if (user === used) return []
    const unknown = [user, used].find((module) => table[module] === undefined)
    if (unknown !== undefined) return [`${from} → ${to}: the module ${unknown} is in no table`]
    return table[user]?.includes(used) ? [] : [`${from} → ${to}: ${user} must not use ${used}`]
  })
}

/** Returns the first folder, or the name of a file outside all modules. */
const moduleOf = (path: string): string => (path.split('/')[0] ?? '').replace(/\.(ts|rs)$/, '')

/** Finds relative imports, re-exports and dynamic imports of a TypeScript file. Paths are relative to the folder. */
export function tsArrows(file: string, text: string): readonly Arrow[] {
  const imports = text.matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']*)'/g)
  return [...imports].map(([, target = '']) => ({
    from: file,
    to: normalize(join(dirname(file), target))
      .split(sep)
      .join('/'),
  }))
}

const testModule = /^#\[cfg\(test\)\]\s+(?:pub(?:\(crate\))?\s+)?mod (\w+);$/gm
const anyModule = /^\s*(?:pub(?:\([^)]*\))?\s+)?mod (\w+);$/gm

/** Returns files compiled only for tests, declared with `#[cfg(test)] mod name;`. */
export const rustTestFiles = (file: string, text: string): readonly string[] =>
  named(file, text.matchAll(testModule))

/** Returns files that a Rust file declares with `mod name;`. */
export const rustModules = (file: string, text: string): readonly string[] =>
  named(file, text.matchAll(anyModule))

function named(file: string, modules: Iterable<RegExpMatchArray>): readonly string[] {
  const folder = /(^|\/)(lib|mod)\.rs$/.test(file) ? dirname(file) : file.replace(/\.rs$/, '')
  return [...modules].flatMap(([, name]) => {
    const path = normalize(join(folder, name ?? ''))
      .split(sep)
      .join('/')
    return [`${path}.rs`, `${path}/mod.rs`]
  })
}

/** Finds `crate::module` in all uses and paths of a Rust file, except in its tests. */
export function rustArrows(file: string, text: string): readonly Arrow[] {
  const [code = ''] = text.replaceAll(testModule, '').split(/^#\[cfg\(test\)\]/m)
  const plain = code.replaceAll(/^\s*\/\/.*$/gm, '')
  const grouped = [...plain.matchAll(/\bcrate::\{([^}]*(?:\{[^}]*\}[^}]*)*)\}/g)].flatMap(([, inner = '']) =>
    [...inner.matchAll(/(?:^|,)\s*([a-z_]+)/g)].map(([, module = '']) => module),
  )
  const single = [...plain.matchAll(/\bcrate::([a-z_]+)/g)].map(([, module = '']) => module)
  return [...new Set([...grouped, ...single])].map((module) => ({ from: file, to: `${module}/mod.rs` }))
}

/** Reads every file below `directory` with the suffix. Paths are relative and use `/`. */
export async function filesBelow(
  directory: string,
  suffix: string,
): Promise<readonly { readonly path: string; readonly text: string }[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(suffix))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
  return Promise.all(
    paths.map(async (path) => ({
      path: relative(directory, path).split(sep).join('/'),
      text: await readFile(path, 'utf8'),
    })),
  )
}
