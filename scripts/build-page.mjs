// Builds `page/` into dist/page/, compressed as it is served:
//
//   node scripts/build-page.mjs
//
// The scripts become one minified module. Markup, style sheet and icon are not changed. Skips the build if sources and
// bundler have not changed.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const sources = join(root, 'page')
/** Films that the page offers to load. */
const sample = join(root, 'samples', 'films.ndjson')
const out = join(root, 'dist', 'page')
/** Lists the bundled files, for their licences. */
const bundledFiles = join(root, 'dist', 'page-files.json')

/** @throws if bundling fails or the bundler is not installed */
export async function buildPage() {
  const stamp = join(out, '.built')
  const wanted = hashOfSources()
  if (existsSync(stamp) && existsSync(bundledFiles) && readFileSync(stamp, 'utf8') === wanted) return
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out, { recursive: true })
  write('page.js', await bundle())
  write('page.css', styleSheet())
  for (const name of ['index.html', 'icon.svg']) write(name, readFileSync(join(sources, name)))
  writeFileSync(stamp, wanted)
}

async function bundle() {
  const { rolldown } = await import('rolldown')
  const build = await rolldown({
    input: join(sources, 'main.tsx'),
    platform: 'browser',
    moduleTypes: { '.ndjson': 'text' },
  })
  try {
    const { output } = await build.generate({ format: 'es', minify: true })
    if (output.length !== 1) throw new Error(`expected one module, not ${output.length} files`)
    const modules = Object.keys(output[0].modules).filter((path) => path.includes('node_modules'))
    writeFileSync(bundledFiles, JSON.stringify(modules.map((path) => relative(root, path)).sort()))
    return Buffer.from(output[0].code)
  } finally {
    await build.close()
  }
}

/** Joins the sheets of `styles/`, in the order of the numbers in their names. */
function styleSheet() {
  const folder = join(sources, 'styles')
  return Buffer.concat(
    readdirSync(folder)
      .sort()
      .map((name) => readFileSync(join(folder, name))),
  )
}

/** Writes brotli and gzip. The server decompresses one for clients that accept neither. */
function write(name, bytes) {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
  writeFileSync(join(out, `${name}.br`), brotliCompressSync(bytes, { params }))
  writeFileSync(join(out, `${name}.gz`), gzipSync(bytes, { level: 9 }))
}

function hashOfSources() {
  const hash = createHash('sha256')
  const paths = readdirSync(sources, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort()
  // The lock file contains the versions of the bundler and of the bundled library.
  for (const path of [...paths, sample, fileURLToPath(import.meta.url), join(root, 'package-lock.json')])
    hash.update(relative(root, path)).update('\0').update(readFileSync(path)).update('\0')
  return hash.digest('hex')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildPage()
