// Takes the pictures of README.md from a running server, into docs/pictures/:
//
//   npm run build && node scripts/pictures.mjs
//
// page.png shows the page with a search, typing.webp the same while a misspelt title is typed. Needs Chromium (path in
// SIFTD_CHROMIUM), pngquant and img2webp (Debian: pngquant, webp).
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const pictures = join(root, 'docs', 'pictures')
const misspelt = 'snow orchrad'
const typed = 'lihgthouse'
/** Maximum size of each picture in bytes, for readers of README.md. */
const bytesMax = { 'page.png': 150_000, 'typing.webp': 400_000 }
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

/** Starts a server with the films of samples/. */
async function serve() {
  const main = join(root, 'dist/ts/cli/siftd.js')
  const data = ['--db-path', join(scratch, 'data'), '--http-addr', '127.0.0.1:0', '--no-analytics']
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
    await fetch(`${url}/indexes/films/settings?waitMs=60000`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(settings),
    })
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

async function visit(width, height) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: 'light' })
  await page.goto(server.url)
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
  const page = await visit(1280, 640)
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
  const page = await visit(960, 560)
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

try {
  await takePicture()
  await takeAnimation()
} finally {
  await browser.close()
  await server.stop()
}
for (const [name, most] of Object.entries(bytesMax)) {
  const { size } = statSync(join(pictures, name))
  console.log(`${name}: ${size} bytes`)
  if (size > most) throw new Error(`${name} may have at most ${most} bytes`)
}
