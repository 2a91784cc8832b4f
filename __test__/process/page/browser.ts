/** Drives the page in a real browser. */
import { accessSync, constants } from 'node:fs'
import { createRequire } from 'node:module'
import test, { type ExecutionContext } from 'ava'
import { type Browser, chromium, type Locator, type Page } from 'playwright-core'
import type { Requirement } from '../../support/requirements.js'
import { startServer, type TestServer, type TestServerOptions } from '../../support/server.js'
import { buildPage } from './built-page.js'

const paths = [
  process.env.SIFTD_CHROMIUM ?? '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]
const executablePath = paths.find(isExecutable)

/** Chromium. `npm test` installs it in CI if allowed. */
export const browserOfTests: Requirement = {
  missing: executablePath === undefined ? 'no Chromium; set SIFTD_CHROMIUM to its path' : null,
  isDemanded: process.env.SIFTD_PAGE_TESTS === 'required',
}

/** Options that disable Chromium's own network requests. */
const args = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync'],
]

/** Long timeout for a busy machine. No test measures time. */
const WAIT_MS = 120_000

let browser: Promise<Browser> | null = null
test.after.always('the browser is closed', async () => {
  if (browser !== null) await (await browser).close()
})

export interface Visit {
  readonly server: TestServer
  readonly page: Page
  /** URLs on other servers that the page requested. */
  readonly outside: readonly string[]
  /** Errors and policy violations in the browser console. */
  readonly complaints: readonly string[]
}

export interface VisitOptions {
  readonly server?: TestServerOptions
  readonly path?: string
  readonly colorScheme?: 'light' | 'dark'
  readonly width?: number
}

/** Starts a server, fills it with `prepare`, and opens its page. */
export async function visit(
  t: ExecutionContext,
  prepare: (server: TestServer) => Promise<unknown>,
  { server: options = {}, path = '/', colorScheme = 'light', width = 1280 }: VisitOptions = {},
): Promise<Visit> {
  t.timeout(WAIT_MS * 5)
  buildPage()
  const server = await startServer(t, { page: true, ...options })
  await prepare(server)
  browser ??= chromium.launch({ executablePath: executablePath ?? '', args })
  const context = await (await browser).newContext({ colorScheme, viewport: { width, height: 800 } })
  t.teardown(() => context.close())
  context.setDefaultTimeout(WAIT_MS)
  const page = await context.newPage()
  const outside: string[] = []
  const complaints: string[] = []
  page.on('request', (request) => {
    if (!request.url().startsWith(server.url) && !request.url().startsWith('data:'))
      outside.push(request.url())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    // Chromium logs every status from 400, including those that a test provokes.
    const isAnswer = message.text().startsWith('Failed to load resource')
    if (message.type() === 'error' && !isAnswer) complaints.push(message.text())
  })
  await page.goto(server.url + path)
  return { server, page, outside, complaints }
}

/** Returns the serious accessibility violations that axe finds, with rule and element. */
export async function violations(page: Page): Promise<readonly string[]> {
  const source = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
  // Evaluated by Playwright, so that the content security policy of the page need not change.
  const { readFile } = await import('node:fs/promises')
  await page.evaluate(await readFile(source, 'utf8'))
  const found = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as {
    readonly violations: readonly {
      readonly id: string
      readonly impact: string
      readonly nodes: readonly { readonly html: string }[]
    }[]
  }
  return found.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
}

/** Returns the text of an element, including hidden parts. */
export const textOf = async (element: Locator): Promise<string> => (await element.textContent()) ?? ''

const films = [
  {
    id: 1,
    title: 'Solaris',
    year: 1972,
    genres: ['Drama', 'Science Fiction'],
    poster: 'https://img.invalid/1.jpg',
  },
  { id: 2, title: 'Stalker', year: 1979, genres: ['Drama', 'Science Fiction'] },
  { id: 3, title: 'Mirror', year: 1975, genres: ['Drama'] },
  { id: 4, title: 'Playtime', year: 1967, genres: ['Comedy'] },
  { id: 5, title: 'Solaris', year: 2002, genres: ['Drama', 'Romance'] },
]

/** Adds some films with facets and a sortable attribute. */
export async function fillFilms(t: ExecutionContext, server: TestServer): Promise<void> {
  const settings = { filterableAttributes: ['genres', 'year'], sortableAttributes: ['year'] }
  await server.settle(t, server.patch('/indexes/films/settings', settings))
  await server.settle(t, server.post('/indexes/films/documents?primaryKey=id', films))
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
