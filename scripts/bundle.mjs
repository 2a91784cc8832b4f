// Bundles the compiled program with the libraries it uses, since a start that loads hundreds of files takes twice as long:
//
//   node scripts/bundle.mjs
//
// Reads dist/ts and writes dist/bundle, where every file lies beside the others: modules find the files of their threads
// by `import.meta.url`. Libraries that read files of their own stay apart.
import { writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** Libraries that load native or WebAssembly files of theirs. */
export const unbundled = ['libsql', 'node-sqlite3-wasm', 'jieba-wasm']

const entries = {
  siftd: 'cli/siftd.js',
  index: 'index.js',
  'store-worker': 'tasks/store/store-worker.js',
  'store-copy-worker': 'tasks/store/store-copy-worker.js',
  'thread-worker': 'settings/thread-worker.js',
  'render-worker': 'embedders/render-worker.js',
  thread: 'engine/fallback/worker/thread.js',
}

const compiled = join(root, 'dist', 'ts')

/** Modules that do something when they are loaded. */
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
    // Loading a module of ours does nothing by itself, so a thread gets only those of which it uses something.
    treeshake: { moduleSideEffects: (path) => !path.startsWith(compiled) || running.has(path) },
    output: {
      dir,
      cleanDir: true,
      format: 'esm',
      entryFileNames: '[name].js',
      chunkFileNames: '[name]-[hash].js',
      comments: { legal: false },
    },
  })
  // Tells which packages are inside, for their licences.
  const modules = output.flatMap((chunk) => (chunk.type === 'chunk' ? Object.keys(chunk.modules) : []))
  const files = modules.filter((path) => path.includes('node_modules')).map((path) => relative(root, path))
  writeFileSync(join(root, 'dist', 'bundled-files.json'), JSON.stringify(files.sort()))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundle()
