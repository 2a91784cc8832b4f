// Takes the pictures of the documents from a running server, into docs/pictures/:
//
//   npm run build && node scripts/pictures.mjs [NAME…]
//
// For README.md, page.png shows the page with a search, and typing.webp the same while a misspelt title is typed. For
// docs/page.md, NAME-light.webp, NAME-dark.webp and NAME-narrow.webp show the section NAME. Without names all are taken.
// Needs Chromium (path in SIFTD_CHROMIUM); those of README.md also pngquant and img2webp (Debian: pngquant, webp).
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const pictures = join(root, 'docs', 'pictures')
const misspelt = 'snow orchrad'
const typed = 'lihgthouse'
/** Maximum size of each picture in bytes, for readers of the documents. */
const bytesMax = { 'page.png': 150_000, 'typing.webp': 400_000 }
const SECTION_BYTES_MAX = 60_000
/** Milliseconds per frame during typing, and of the last frame. */
const [frameMs, lastMs] = [220, 2_500]

const scratch = mkdtempSync(join(tmpdir(), 'siftd-pictures-'))
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }))
mkdirSync(pictures, { recursive: true })

/** Runs a tool. @throws if it fails or is not installed */
function run(tool, ...args) {
  const { status, error, stderr } = spawnSync(tool, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${tool} failed: ${error?.message ?? stderr}`)
}

/** Sends a request and waits for its task. @throws if it is refused */
async function send(url, method, path, body) {
  const answer = await fetch(`${url}${path}?waitMs=60000`, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(await answer.text())
}

/** Starts a server with the films of samples/. */
async function serve() {
  const main = join(root, 'dist/ts/cli/siftd.js')
  const data = [
    '--db-path',
    join(scratch, 'data'),
    '--http-addr',
    '127.0.0.1:0',
    '--no-analytics',
    '--query-stats',
  ]
  const server = spawn(process.execPath, [main, ...data], { stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  for await (const chunk of server.stderr) {
    log += chunk
    const [, url] = /Server listening on: +"([^"]+)"/.exec(log) ?? []
    if (url === undefined) continue
    server.stderr.resume()
    const films = ['--index', 'films', '--primary-key', 'id', '--url', url]
    const settings = {
      filterableAttributes: ['genres', 'year', 'director'],
      sortableAttributes: ['rating', 'year'],
    }
    await send(url, 'PATCH', '/indexes/films/settings', settings)
    run(process.execPath, main, 'import', join(root, 'samples/films.ndjson'), ...films)
    return { url, stop: () => Promise.all([once(server, 'exit'), server.kill()]) }
  }
  throw new Error(log)
}

const server = await serve()
const browser = await chromium.launch({
  executablePath: process.env.SIFTD_CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--hide-scrollbars'],
})

async function visit(width, height, { path = '/', colorScheme = 'light' } = {}) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme })
  await page.goto(server.url + path)
  return page
}

async function visitSearch(width, height) {
  const page = await visit(width, height)
  await page.getByText('30 hits').waitFor()
  return page
}

/** Returns the search request that `act` causes, after its answer. */
async function lastSearch(page, act) {
  const answered = page.waitForResponse((response) => /search/.test(response.url()))
  await act()
  const request = (await answered).request()
  const headers = { 'content-type': 'application/json' }
  return { url: request.url(), method: request.method(), headers, body: request.postData() ?? '' }
}

/** Searches before a picture, so that V8 has compiled the code and the shown times are realistic. */
const WARMING_SEARCHES = 500

async function takePicture() {
  const page = await visitSearch(1280, 640)
  const query = page.getByRole('searchbox', { name: 'Query' })
  await query.fill(misspelt)
  await page.locator('.hit h3 mark').first().waitFor()
  const { url, method, headers, body } = await lastSearch(page, () => query.fill(`${misspelt} `))
  for (let at = 0; at < WARMING_SEARCHES; at += 1)
    await (await fetch(url, { method, headers, body: body.replace(misspelt, `${misspelt}${at}`) })).text()
  await lastSearch(page, () => query.fill(misspelt))
  await page.waitForTimeout(300)
  const file = join(scratch, 'page.png')
  await page.screenshot({ path: file })
  run('pngquant', '--force', '--speed', '1', '--output', join(pictures, 'page.png'), '64', file)
}

async function takeAnimation() {
  const page = await visitSearch(960, 560)
  const frames = []
  const take = async () => {
    const path = join(scratch, `frame-${frames.length}.png`)
    await page.screenshot({ path })
    frames.push(path)
  }
  await page.getByRole('searchbox', { name: 'Query' }).focus()
  await take()
  for (const letter of typed) {
    await lastSearch(page, () => page.keyboard.type(letter))
    await page.waitForTimeout(150)
    await take()
  }
  const shown = frames.flatMap((path, at) => [
    '-d',
    String(at === frames.length - 1 ? lastMs : frameMs),
    path,
  ])
  run(
    'img2webp',
    '-loop',
    '0',
    '-lossy',
    '-q',
    '70',
    '-m',
    '6',
    ...shown,
    '-o',
    join(pictures, 'typing.webp'),
  )
}

/** Searches and clicks of visitors, for the section Analytics: query, searches, and positions of clicks. */
const visits = [
  ['lighthouse', 42, [0, 0, 0, 1, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1]],
  ['orbit', 31, [0, 1, 1, 0, 3, 1, 0]],
  ['salt and iron', 18, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]],
  ['heist', 12, []],
  ['harbour strike', 9, [4, 6, 5]],
  ['submarine', 7, []],
]

async function fillAnalytics() {
  for (const [q, searches, clicks] of visits) {
    for (let at = 0; at < searches; at += 1) await send(server.url, 'POST', '/indexes/films/search', { q })
    for (const position of clicks)
      await send(server.url, 'POST', '/indexes/films/clicks', { q, documentId: 1, position })
  }
}

/** Gives a film members with all types of values. */
async function fillDocument() {
  const cast = [
    { name: 'Hanne Lund', role: 'Keeper', age: 61 },
    { name: 'Piet Aerts', role: 'Pilot', age: 24 },
  ]
  const film = { id: 1, cast, release: { country: 'NL', restored: true, sequel: null } }
  await send(server.url, 'PUT', '/indexes/films/documents', [film])
}

/** The sections in docs/page.md: an address, what the server needs, what a person does before the picture, its height. */
const sections = {
  settings: {
    path: '/#/index/films',
    act: async (page) => {
      await page.getByRole('tab', { name: 'Settings' }).click()
      await page.getByRole('tab', { name: 'Attributes' }).click()
      await page.getByLabel('Filterable: rating').click()
      await page.getByText('1 change:').waitFor()
    },
  },
  analytics: {
    path: '/#/analytics',
    fill: fillAnalytics,
    act: (page) => page.getByRole('row', { name: 'lighthouse' }).first().waitFor(),
  },
  rules: {
    path: '/#/rules/films',
    height: 1000,
    fill: () => send(server.url, 'PATCH', '/experimental-features', { dynamicSearchRules: true }),
    act: async (page) => {
      await page.getByRole('button', { name: 'New rule' }).click()
      await page.getByLabel('Uid: letters').fill('orbit-week')
      await page.getByLabel('with all of these words').fill('orbit')
      await page.getByRole('button', { name: 'Add a pin' }).click()
      await page.getByLabel('Document id', { exact: true }).fill('1')
      await page.getByRole('region', { name: 'Preview' }).getByText('new', { exact: true }).first().waitFor()
    },
  },
  document: {
    path: '/#/search/films?{"q":"lighthouse"}',
    fill: fillDocument,
    act: async (page) => {
      await page.locator('.hit .title').first().click()
      await page.getByText('Hanne Lund').first().waitFor()
    },
  },
}
const forms = {
  light: { width: 1100, colorScheme: 'light' },
  dark: { width: 1100, colorScheme: 'dark' },
  narrow: { width: 380, colorScheme: 'light' },
}

async function takeSection(name, { path, fill, act, height = 720 }) {
  await fill?.()
  for (const [form, { width, colorScheme }] of Object.entries(forms)) {
    const page = await visit(width, height, { path, colorScheme })
    await act(page)
    await page.evaluate('document.activeElement.blur(); scrollTo(0, 0)')
    await page.waitForTimeout(300)
    const session = await page.context().newCDPSession(page)
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 70 })
    const file = `${name}-${form}.webp`
    bytesMax[file] = SECTION_BYTES_MAX
    writeFileSync(join(pictures, file), Buffer.from(data, 'base64'))
    await page.close()
  }
}

const wanted = process.argv.slice(2)
const isWanted = (name) => wanted.length === 0 || wanted.includes(name)
try {
  if (isWanted('readme')) {
    await takePicture()
    await takeAnimation()
  }
  for (const [name, section] of Object.entries(sections)) if (isWanted(name)) await takeSection(name, section)
} finally {
  await browser.close()
  await server.stop()
}
for (const [name, most] of Object.entries(bytesMax)) {
  const { size } = statSync(join(pictures, name))
  console.log(`${name}: ${size} bytes`)
  if (size > most) throw new Error(`${name} may have at most ${most} bytes`)
}
