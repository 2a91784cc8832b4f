import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import test from 'ava'
import { startDaemon } from '../../support/daemon.js'
import { startServer } from '../../support/server.js'
import { buildPage } from './built-page.js'

test.before('the page is built', (t) => {
  t.timeout(120_000)
  buildPage()
})

/** Header that Chromium sends for a typed URL. */
const ofBrowser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }
const files = ['/page/page.js', '/page/page.css', '/page/icon.svg']
const BYTES_MAX = 150_000

test('browsers get the page at /, and other clients get JSON', async (t) => {
  const server = await startServer(t, { page: true, masterKey: 'a-master-key-of-20-b' })
  const shown = await server.get('/', { headers: ofBrowser })
  t.is(shown.headers['content-type'], 'text/html; charset=utf-8')
  t.regex(shown.bytes.toString(), /<script type="module" src="\/page\/page\.js">/)
  for (const accept of [undefined, '*/*', 'application/json', 'application/json, text/html']) {
    const answer = await server.get('/', { headers: { accept } })
    t.deepEqual(answer.body, { status: 'siftd is running' } as never, accept)
    t.is(answer.headers['content-type'], 'application/json')
  }
})

test('without the option browsers get JSON, and the page files are not served', async (t) => {
  const server = await startServer(t)
  t.deepEqual(Object.keys((await server.get('/', { headers: ofBrowser })).body), ['status'])
  for (const path of files) t.is((await server.get(path)).status, 404, path)
})

test('the page may only run its own scripts and call its own server', async (t) => {
  const server = await startServer(t, { page: true })
  const { headers } = await server.get('/', { headers: ofBrowser })
  const policy = String(headers['content-security-policy']).split('; ')
  t.deepEqual(policy.slice(0, 5), [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
  ])
  t.true(policy.includes("frame-ancestors 'none'"))
  t.is(headers['x-content-type-options'], 'nosniff')
  t.is(headers['referrer-policy'], 'no-referrer')
  const withImages = await server.get('/?images', { headers: ofBrowser })
  t.regex(String(withImages.headers['content-security-policy']), /img-src 'self' data: https: http:;/)
})

test('page files are compressed, small and cached', async (t) => {
  const server = await startServer(t, { page: true })
  let bytes = 0
  for (const path of files) {
    const plain = await server.get(path)
    const gzip = await server.get(path, { headers: { 'accept-encoding': 'gzip, deflate' } })
    const br = await server.get(path, { headers: { 'accept-encoding': 'gzip, deflate, br' } })
    t.is(plain.headers['content-encoding'], undefined)
    t.is(gzip.headers['content-encoding'], 'gzip')
    t.is(br.headers['content-encoding'], 'br')
    t.deepEqual(gunzipSync(gzip.bytes), plain.bytes, path)
    t.deepEqual(brotliDecompressSync(br.bytes), plain.bytes, path)
    bytes += br.bytes.length
    const etag = String(br.headers.etag)
    const again = await server.get(path, { headers: { 'accept-encoding': 'br', 'if-none-match': etag } })
    t.deepEqual([again.status, again.bytes.length], [304, 0], path)
  }
  t.true(bytes < BYTES_MAX, `${bytes} bytes`)
})

test('an error with a code of our own links to its description on the server, with or without the page', async (t) => {
  const server = await startServer(t)
  const { link } = (await server.get('/tasks/0?waitMs=x')).body as { link: string }
  const [path, code] = link.split('#')
  const shown = await server.get(path!)
  t.is(shown.headers['content-type'], 'text/html; charset=utf-8')
  t.true(shown.bytes.toString().includes(`<code id="${code}">${code}</code>`))
  t.false(shown.bytes.toString().includes('href'))
})

test('in production the page is served only with --page, in development always', async (t) => {
  t.timeout(120_000)
  const directory = await mkdtemp(join(tmpdir(), 'siftd-page-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const production = ['--env', 'production', '--master-key', 'a-master-key-of-20-b']
  const cases = [
    [[], true],
    [production, false],
    [[...production, '--page'], true],
  ] as const
  for (const [options, isShown] of cases) {
    const daemon = await startDaemon(t, join(directory, 'data.ms'), ['--no-analytics', ...options])
    const answer = await fetch(`http://127.0.0.1:${daemon.port}/`, { headers: ofBrowser })
    t.is(answer.headers.get('content-type')?.startsWith('text/html'), isShown, options.join(' '))
    await answer.arrayBuffer()
    await daemon.stop()
  }
})
