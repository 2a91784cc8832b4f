/** A real browser, in which the page is used as people use it. */
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

/** Chromium. `npm test` installs it in CI, where it may. */
export const browserOfTests: Requirement = {
  missing: executablePath === undefined ? 'there is no Chromium; SIFTD_CHROMIUM names one' : null,
  isDemanded: process.env.SIFTD_PAGE_TESTS === 'required',
}

/** Nothing that Chromium would do by itself over the network. */
const args = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync'],
]

/** A busy machine takes long; no test measures time. */
const WAIT_MS = 120_000

let browser: Promise<Browser> | null = null
test.after.always('the browser is closed', async () => {
  if (browser !== null) await (await browser).close()
})

export interface Visit {
  readonly server: TestServer
  readonly page: Page
  /** Addresses of other servers that the page asked for. */
  readonly outside: readonly string[]
  /** Errors and refusals that the browser wrote into its console. */
  readonly complaints: readonly string[]
}

export interface VisitOptions {
  readonly server?: TestServerOptions
  readonly path?: string
  readonly colorScheme?: 'light' | 'dark'
  readonly width?: number
}

/** Starts a server, lets `prepare` fill it, and opens its page. */
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
    // Chromium reports every answer of 400 and above, those too that a test provokes.
    const isAnswer = message.text().startsWith('Failed to load resource')
    if (message.type() === 'error' && !isAnswer) complaints.push(message.text())
  })
  await page.goto(server.url + path)
  return { server, page, outside, complaints }
}

/** Serious violations that axe finds in what is shown, each with its rule and element. */
export async function violations(page: Page): Promise<readonly string[]> {
  const source = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
  // Playwright's own world evaluates it, so that the policy of the page stays as it is.
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

/** The text of an element, hidden parts included. */
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

/** Some films, with facets and an order. */
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
