// Builds `page/` into dist/page/, compressed as it is served:
//
//   node scripts/build-page.mjs
//
// The scripts become one minified module. Markup, style sheet and icon are not changed. docs/errors.md becomes the page to
// which errors link. Skips the build if sources and bundler have not changed.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const sources = join(root, 'page')
/** Films that the page offers to load. */
const sample = join(root, 'samples', 'films.ndjson')
/** Describes the error codes that link to this server. */
const errors = join(root, 'docs', 'errors.md')
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
  write('errors.html', await errorsPage())
  writeFileSync(stamp, wanted)
}

/**
 * Renders docs/errors.md. Codes of the table are anchors. Links become plain text: other documents are not served. Servers
 * without the page serve it too, so it has its own style.
 */
async function errorsPage() {
  const { Marked } = await import('marked')
  const marked = new Marked({
    renderer: {
      link({ tokens }) {
        return this.parser.parseInline(tokens)
      },
      // A wide table scrolls by itself; `tabindex` allows that with the keyboard.
      table(token) {
        const cells = (row, name) =>
          row.map(({ tokens }) => `<${name}>${this.parser.parseInline(tokens)}</${name}>`)
        const rows = token.rows.map(([codes, ...rest]) => {
          const [first, ...others] = cells([codes, ...rest], 'td')
          return `<tr>${first.replaceAll(/<code>(\w+)<\/code>/g, '<code id="$1">$1</code>')}${others.join('')}</tr>`
        })
        const head = `<thead><tr>${cells(token.header, 'th').join('')}</tr></thead>`
        return `<div class="wide" tabindex="0" role="region" aria-label="Codes"><table>${head}<tbody>${rows.join('')}</tbody></table></div>`
      },
    },
  })
  return Buffer.from(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Error codes · siftd</title>
<style>
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem }
.wide { overflow-x: auto }
table { border-collapse: collapse; min-width: 48rem }
th, td { padding: 0.4rem 0.75rem 0.4rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid #8884 }
code { font: 0.875em ui-monospace, monospace }
td:nth-child(2) { white-space: nowrap }
:target { background: light-dark(#fbe7a1, #5a4a12) }
</style>
<main>
${marked.parse(readFileSync(errors, 'utf8'))}
</main>
</html>
`)
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
  for (const path of [
    ...paths,
    sample,
    errors,
    fileURLToPath(import.meta.url),
    join(root, 'package-lock.json'),
  ])
    hash.update(relative(root, path)).update('\0').update(readFileSync(path)).update('\0')
  return hash.digest('hex')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildPage()
