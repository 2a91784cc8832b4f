// Bundles the compiled program with its libraries, since loading hundreds of files doubles the start time. The bundle is
// in CommonJS, which Node.js loads faster than ES modules:
//
//   node scripts/bundle.mjs
//
// Reads dist/ts and writes dist/bundle. All output files are in one folder, because modules find their thread files by
// `import.meta.url`. Libraries that read their own files are not bundled.
import { writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** Libraries that load their own native or WebAssembly files. */
export const unbundled = ['libsql', 'node-sqlite3-wasm', 'jieba-wasm']

const entries = {
  siftd: 'cli/siftd.js',
  index: 'index.js',
  'store-worker': 'tasks/store/store-worker.js',
  'store-copy-worker': 'tasks/store/store-copy-worker.js',
  'thread-worker': 'settings/thread-worker.js',
  'render-worker': 'embedding/templates/render-worker.js',
  thread: 'engine/fallback/worker/thread.js',
  'http-worker': 'http/loops/http-worker.js',
}

const compiled = join(root, 'dist', 'ts')

const lacking = (id) => `throw new Error('the bundle lacks ${id}')`

/** Libraries that a start would load and no request uses, a third of the code of a start; with their replacements. */
const unused = {
  // fastify would load these compilers for the first schema of a route.
  '@fastify/ajv-compiler': lacking('@fastify/ajv-compiler'),
  '@fastify/fast-json-stringify-compiler': lacking('@fastify/fast-json-stringify-compiler'),
  // fastify compares its version with those that its plugins accept. Here the package lock fixes all of them.
  semver: 'module.exports = { satisfies: () => true, gt: () => false, coerce: (version) => version }',
  // prom-client reads the current span for exemplars, which are off.
  '@opentelemetry/api': 'module.exports = {}',
  // @fastify/compress asks for types that the option `customTypes` does not list. `http/server.ts` lists all.
  'mime-db': 'module.exports = {}',
  // A copy of the streams of Node.js for browsers.
  'readable-stream': "module.exports = require('node:stream')",
}

const withoutUnused = {
  name: 'without-unused',
  resolveId: (id) => (Object.hasOwn(unused, id) ? `\0unused:${id}` : null),
  load: (id) => (id.startsWith('\0unused:') ? { code: unused[id.slice(8)], moduleType: 'js' } : null),
}

/** Modules with side effects when loaded. */
const running = new Set([...Object.values(entries), 'cli/main.js'].map((path) => join(compiled, path)))

export async function bundle() {
  const { build } = await import('rolldown')
  const dir = join(root, 'dist', 'bundle')
  const { output } = await build({
    cwd: root,
    input: Object.fromEntries(
      Object.entries(entries).map(([name, path]) => [name, join('dist', 'ts', path)]),
    ),
    platform: 'node',
    external: unbundled,
    plugins: [withoutUnused],
    // Our other modules have no side effects, so each thread gets only the modules that it uses.
    treeshake: { moduleSideEffects: (path) => !path.startsWith(compiled) || running.has(path) },
    output: {
      dir,
      cleanDir: true,
      format: 'cjs',
      entryFileNames: '[name].js',
      chunkFileNames: '[name]-[hash].js',
      comments: { legal: false, annotation: false, jsdoc: false },
    },
  })
  // The package itself has ES modules.
  writeFileSync(join(dir, 'package.json'), '{"type":"commonjs"}\n')
  // Lists the bundled files, for their licences.
  const modules = output.flatMap((chunk) => (chunk.type === 'chunk' ? Object.keys(chunk.modules) : []))
  const files = modules.filter((path) => path.includes('node_modules')).map((path) => relative(root, path))
  writeFileSync(join(root, 'dist', 'bundled-files.json'), JSON.stringify(files.sort()))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundle()
