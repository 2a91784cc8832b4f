/** The documents as a site: complete and without broken links. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, extname, join, relative } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { allPages, commandPages, root } from '../../documents/markdown.js'
import { testNeeding } from '../../support/test-needing.js'
import { browserOfTests, visit } from '../page/browser.js'

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.js': 'text/javascript',
}

/** Builds the site into a folder that is removed when the test ends. */
function built(t: ExecutionContext, ...options: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'siftd-site-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const { status, stderr } = spawnSync(process.execPath, [
    join(root, 'scripts/build-docs.mjs'),
    folder,
    ...options,
  ])
  t.is(status, 0, String(stderr))
  return folder
}

const pagesOf = (site: string): readonly string[] =>
  readdirSync(site, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.html'))

/** Returns links and pictures of a page whose file or anchor does not exist. */
function broken(site: string, page: string): readonly string[] {
  const html = readFileSync(join(site, page), 'utf8')
  const addresses = [...html.matchAll(/\s(?:href|src)="([^"]*)"/g)].map((match) => match[1]!)
  return addresses
    .filter((address) => !/^(?:https?|mailto):/.test(address))
    .filter((address) => {
      const [path = '', anchor] = address.split('#')
      const target = path === '' ? join(site, page) : join(site, dirname(page), decodeURI(path))
      const isInside = !relative(site, target).startsWith('..')
      if (!isInside || !existsSync(target)) return true
      return anchor !== undefined && !readFileSync(target, 'utf8').includes(` id="${anchor}"`)
    })
    .map((address) => `${page}: ${address}`)
}

test('the site has no broken links and no scripts', async (t) => {
  const site = built(t)
  const pages = pagesOf(site)
  t.true(pages.length >= (await allPages()).length)
  t.deepEqual(
    pages.flatMap((page) => broken(site, page)),
    [],
  )
  t.false(
    pages.some((page) =>
      /<script|\son\w+=|javascript:/i.test(
        readFileSync(join(site, page), 'utf8').replaceAll(/<code>.*?<\/code>/gs, ''),
      ),
    ),
  )
  const [navigation = ''] = /<nav.*?<\/nav>/s.exec(readFileSync(join(site, 'index.html'), 'utf8')) ?? []
  const unlisted = (await commandPages())
    .map(({ path }) => path.replace(/\.md$/, '.html'))
    .filter(
      (path) => path !== 'README.html' && !navigation.includes(`href="${path.replace('README', 'index')}"`),
    )
  t.deepEqual(unlisted, [])
  // A removed anchor and a removed page are detected.
  const anchor = join(site, 'docs/embedding.html')
  writeFileSync(anchor, readFileSync(anchor, 'utf8').replace('id="models-that-run-here"', ''))
  rmSync(join(site, 'docs/tls.html'))
  t.true(broken(site, 'index.html').includes('index.html: docs/embedding.html#models-that-run-here'))
  t.true(broken(site, 'index.html').includes('index.html: docs/tls.html'))
})

interface Section {
  readonly heading: string
  readonly url: string
  readonly text: string
  readonly id: string
}

const sectionsOf = (site: string): readonly Section[] =>
  readFileSync(join(site, 'sections.ndjson'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Section)

test('every section is a document that names its place', (t) => {
  const site = built(t)
  const sections = sectionsOf(site)
  t.is(new Set(sections.map(({ id }) => id)).size, sections.length)
  const lost = sections.filter(({ url }) => {
    const [path = '', anchor] = url.split('#')
    return !readFileSync(join(site, path), 'utf8').includes(` id="${anchor}"`)
  })
  t.deepEqual(lost, [])
  const marked = sections.filter(({ heading, text }) => /<code>|&(?:lt|amp);/.test(heading + text))
  t.deepEqual(
    marked.map(({ url }) => url),
    [],
  )
})

testNeeding([browserOfTests])('the search box finds a section by a misspelt word in siftd', async (t) => {
  const { server, page, complaints } = await visit(t, async () => undefined)
  const site = built(t, '--search', server.url)
  await server.settle(t, server.post('/indexes/docs/documents?primaryKey=id', sectionsOf(site)))
  const files = createServer((request, response) => {
    const path = join(site, new URL(request.url ?? '', 'http://host').pathname)
    response.setHeader('Content-Type', types[extname(path)] ?? 'application/octet-stream')
    response.end(existsSync(path) ? readFileSync(path) : '')
  })
  await new Promise<void>((listening) => files.listen(0, '127.0.0.1', listening))
  t.teardown(() => files.close())
  await page.goto(`http://127.0.0.1:${(files.address() as AddressInfo).port}/docs/memory.html`)
  await page.getByLabel('Search the documents').fill('nginx proksy')
  await page.getByRole('link', { name: 'Behind a reverse proxy: nginx' }).click()
  await page.getByRole('heading', { name: 'nginx' }).waitFor()
  t.regex(page.url(), /\/docs\/guides\/reverse-proxy\.html#nginx$/)
  t.deepEqual(complaints, [])
})

test('docs/README.md links to every page', async (t) => {
  const index = readFileSync(join(root, 'docs/README.md'), 'utf8')
  const missing = (await commandPages())
    .map(({ path }) => path.replace(/^docs\//, ''))
    .filter((name) => name !== 'README.md' && !index.includes(`](${name})`))
  t.deepEqual(missing, [])
})
