// Renders the documents as an HTML site, into dist/docs/ or another folder:
//
//   npm run docs [-- FOLDER] [--search URL --search-key KEY --search-index UID]
//
// `sections.ndjson` in the folder has a document for each section, to import into an index. With `--search` each page has a
// search box that asks that index, by default `docs`. Browsers see the key, so it must only search. Without `--search` the
// site has no scripts.
//
// Pages have the same paths as in the repository: `docs/tls.md` becomes `docs/tls.html`. README.md is the start page.
// Links lead to rendered pages, copies of other files, and folder indexes. The navigation comes from docs/README.md.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, posix, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Marked } from 'marked'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const { values: search, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    search: { type: 'string' },
    'search-key': { type: 'string', default: '' },
    'search-index': { type: 'string', default: 'docs' },
  },
})
const out = resolve(positionals[0] ?? join(root, 'dist', 'docs'))
const index = 'docs/README.md'
const pages = ['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'benchmark/RESULTS.md']
  .concat(['CONTRIBUTING', 'SECURITY'].map((name) => `.github/${name}.md`))
  .concat(markdownBelow('docs'))

function markdownBelow(folder) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
    .map((entry) => relative(root, join(entry.parentPath ?? entry.path, entry.name)).replaceAll('\\', '/'))
    .sort()
}

/** Returns the path of a page in the site. Removes leading dots, because web hosts skip such folders. */
const placeOf = (path) =>
  path
    .replace(/^\.github\//, '')
    .replace(/(^|\/)README\.md$/, '$1index.html')
    .replace(/\.md$/, '.html')

/** Returns the anchor of a heading, as GitHub generates it. */
function anchorOf(text, taken) {
  const plain = text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')
  const times = taken.get(plain) ?? 0
  taken.set(plain, times + 1)
  return times === 0 ? plain : `${plain}-${times}`
}

const escaped = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** Linked files other than pages, by their path in the repository. */
const copies = new Set()
/** Linked folders. */
const folders = new Set()

/** Translates a link of a page to its target in the site. */
function linkFrom(page, href) {
  if (/^(?:[a-z]+:|#)/i.test(href)) return href
  const [path, anchor] = href.split('#')
  const target = posix.normalize(posix.join(posix.dirname(page), decodeURI(path))).replace(/\/$/, '')
  const hash = anchor === undefined ? '' : `#${anchor}`
  return `${posix.relative(posix.dirname(placeOf(page)), targetOf(target, page, href))}${hash}`
}

function targetOf(target, page, href) {
  if (pages.includes(target)) return placeOf(target)
  const path = join(root, target)
  if (!existsSync(path)) throw new Error(`${page} links to ${href}, which does not exist`)
  if (!statSync(path).isDirectory()) {
    copies.add(target)
    return target
  }
  folders.add(target)
  return `${target}/index.html`
}

/** Returns the first heading of a page. */
const titleOf = (page) => /^# (.+)$/m.exec(readFileSync(join(root, page), 'utf8'))?.[1] ?? page

/** Renders the body of a page. */
function rendered(page) {
  const taken = new Map()
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ tokens, depth }) {
        const id = anchorOf(this.parser.parseInline(tokens, this.parser.textRenderer), taken)
        return `<h${depth} id="${escaped(id)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      link({ href, tokens }) {
        return `<a href="${escaped(linkFrom(page, href))}">${this.parser.parseInline(tokens)}</a>`
      },
      image({ href, text: alt }) {
        return `<img src="${escaped(linkFrom(page, href))}" alt="${escaped(alt)}">`
      },
      // Wide code and tables scroll separately from the page. `tabindex` allows scrolling with the keyboard.
      code({ text }) {
        return `<pre tabindex="0"><code>${escaped(text)}</code></pre>\n`
      },
      table(token) {
        const row = (cells, tag) =>
          `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>`
        const body = token.rows.map((cells) => row(cells, 'td')).join('\n')
        return `<div class="wide" tabindex="0"><table><thead>${row(token.header, 'th')}</thead><tbody>\n${body}\n</tbody></table></div>\n`
      },
      // The only markup in the documents is comments for tests and pictures.
      html({ text: markup }) {
        const picture = /^<img src="([^"]+)" alt="([^"]+)"[^>]*>$/.exec(markup.trim())
        return picture ? `<img src="${linkFrom(page, picture[1])}" alt="${picture[2]}">` : ''
      },
    },
  })
  return marked.parse(readFileSync(join(root, page), 'utf8'))
}

const entities = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
const plainText = (html) =>
  html
    .replaceAll(/<\/?(?:a|code|em|strong)\b[^>]*>/g, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/&([a-z]+|#39);/g, (all, name) => entities[name] ?? all)
    .replaceAll(/\s+/g, ' ')
    .trim()

/** Returns a document for each section of a rendered page. Earlier fields rank higher. */
function sectionsOf(page, html) {
  return html.split(/(?=<h[1-6] id=")/).flatMap((part) => {
    const [, id, heading, body] = /^<h\d id="([^"]*)">(.*?)<\/h\d>(.*)$/s.exec(part) ?? []
    if (id === undefined) return []
    const url = `${placeOf(page)}#${id}`
    const key = url.replaceAll(/[^A-Za-z0-9-]/g, '_')
    return [{ heading: plainText(heading), page: titleOf(page), text: plainText(body), url, id: key }]
  })
}

/** Returns the search box of a page, and the policy that allows it; both empty without `--search`. */
function searchBox(page) {
  if (search.search === undefined) return { box: '', policy: '' }
  const top = posix.relative(posix.dirname(placeOf(page)), '.')
  const data = { url: search.search, key: search['search-key'], index: search['search-index'], top }
  const attributes = Object.entries(data).map(([name, value]) => ` data-${name}="${escaped(value)}"`)
  return {
    box: `<form role="search"${attributes.join('')}>
<input type="search" aria-label="Search the documents" placeholder="Search" autocomplete="off">
<ol aria-live="polite"></ol>
</form>
<script src="${posix.join(top, 'search.js')}" defer></script>
`,
    policy: `; script-src 'self'; connect-src ${new URL(search.search).origin}`,
  }
}

/** Returns the headings of docs/README.md, each with the pages that its lists link to. */
function contents() {
  const text = readFileSync(join(root, index), 'utf8')
  return text
    .split(/^## /m)
    .slice(1)
    .map((part) => {
      const [title, ...lines] = part.split('\n')
      const entries = lines.filter((line) => /^(-|\d+\.| {2,3})\s*\S/.test(line))
      const links = entries.flatMap((line) => [...line.matchAll(/\[[^\]]+\]\(([^)#]+)[^)]*\)/g)])
      const hrefs = new Set(links.map(([, href]) => href).filter((href) => href !== '../README.md'))
      return { title, hrefs: [...hrefs] }
    })
}

function navigation(page) {
  const here = placeOf(page)
  const item = (target, name) => {
    const href = posix.relative(posix.dirname(here), target)
    return `<li><a href="${href}"${target === here ? ' aria-current="page"' : ''}>${escaped(name)}</a></li>`
  }
  const parts = contents().map(({ title, hrefs }) => {
    const items = hrefs.map((href) => {
      const target = posix.normalize(posix.join(posix.dirname(index), href)).replace(/\/$/, '')
      return item(
        targetOf(target, index, href),
        pages.includes(target) ? titleOf(target) : target.split('/').at(-1),
      )
    })
    return `<h2>${escaped(title)}</h2>\n<ul>${items.join('\n')}</ul>`
  })
  const start = [item('index.html', 'siftd'), item(placeOf(index), 'All documents')]
  return `<nav aria-label="Documents"><ul>${start.join('\n')}</ul>\n${parts.join('\n')}</nav>`
}

function write(page, title, body) {
  const place = placeOf(page)
  const style = posix.relative(posix.dirname(place), 'style.css')
  const path = join(out, place)
  const { box, policy } = searchBox(page)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(
    path,
    `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'self'; img-src 'self'${policy}">
<title>${escaped(title === 'siftd' ? title : `${title} · siftd`)}</title>
<link rel="stylesheet" href="${style}">
</head>
<body>
${navigation(page)}
<main>
${box}${body}</main>
</body>
</html>
`,
  )
}

/** Renders the list of a folder's pages. If it has none, lists its files and copies them. */
function indexOf(folder) {
  const inside = pages.filter((page) => posix.dirname(page) === folder)
  const files = readdirSync(join(root, folder)).filter((name) => statSync(join(root, folder, name)).isFile())
  const items =
    inside.length > 0
      ? inside.map((page) => [posix.basename(placeOf(page)), titleOf(page)])
      : files.map((name) => [name, name])
  if (inside.length === 0) for (const name of files) copies.add(`${folder}/${name}`)
  const lines = items.map(([href, name]) => `<li><a href="${encodeURI(href)}">${escaped(name)}</a></li>`)
  return `<h1>${escaped(folder)}</h1>\n<ul>${lines.join('\n')}</ul>\n`
}

rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })
const sections = pages.flatMap((page) => {
  const html = rendered(page)
  write(page, titleOf(page), html)
  return sectionsOf(page, html)
})
writeFileSync(
  join(out, 'sections.ndjson'),
  sections.map((section) => `${JSON.stringify(section)}\n`).join(''),
)
for (const folder of folders) {
  const own = `${folder}/README.md`
  if (!pages.includes(own)) write(own, folder, indexOf(folder))
}
for (const file of copies) {
  mkdirSync(dirname(join(out, file)), { recursive: true })
  copyFileSync(join(root, file), join(out, file))
}
copyFileSync(join(root, 'scripts', 'docs.css'), join(out, 'style.css'))
if (search.search !== undefined) copyFileSync(join(root, 'scripts', 'docs-search.js'), join(out, 'search.js'))
