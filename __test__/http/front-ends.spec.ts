import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { instantMeiliSearch } from '@meilisearch/instant-meilisearch'
import test, { type ExecutionContext } from 'ava'
import {
  connectConfigure,
  connectGeoSearch,
  connectHits,
  connectInfiniteHits,
  connectPagination,
  connectRefinementList,
  connectSearchBox,
} from 'instantsearch.js/es/connectors/index.js'
import instantsearch from 'instantsearch.js/es/index.js'
import { parsePage, root } from '../documents/markdown.js'
import { startServer, type TestServer, type TestServerOptions } from '../support/server.js'

const cities = [
  { id: 1, name: 'Lille', country: 'France', _geo: { lat: 50.63, lng: 3.06 } },
  { id: 2, name: 'Paris', country: 'France', _geo: { lat: 48.86, lng: 2.35 } },
  { id: 3, name: 'Lyon', country: 'France', _geo: { lat: 45.76, lng: 4.84 } },
  { id: 4, name: 'London', country: 'England', _geo: { lat: 51.51, lng: -0.13 } },
  { id: 5, name: 'Liverpool', country: 'England', _geo: { lat: 53.41, lng: -2.98 } },
  { id: 6, name: 'Lisbon', country: 'Portugal', _geo: { lat: 38.72, lng: -9.14 } },
  { id: 7, name: 'Porto', country: 'Portugal', _geo: { lat: 41.15, lng: -8.61 } },
]

async function atlas(t: ExecutionContext, options: TestServerOptions = {}): Promise<TestServer> {
  const server = await startServer(t, options)
  const settings = { filterableAttributes: ['country', '_geo'], sortableAttributes: ['_geo'] }
  await server.settle(t, server.patch('/indexes/cities/settings', settings))
  await server.settle(t, server.post('/indexes/cities/documents', cities))
  return server
}

/** The output of the widgets of a page after their last rendering. */
interface Shown {
  names: string[]
  countries: { readonly value: string; readonly count: number; readonly isRefined: boolean }[]
  pages: number
  isLastPage: boolean
  query(text: string): void
  refine(country: string): void
  goTo(page: number): void
  showMore(): void
  lookAt(box: { northEast: Point; southWest: Point }): void
}
/** The data that connectors pass to renderers. The package's types do not resolve from here. */
interface Rendered {
  readonly items: readonly unknown[]
  readonly isLastPage: boolean
  readonly nbPages: number
  readonly showMore: () => void
  readonly refine: (value: unknown) => void
}

interface Point {
  lat: number
  lng: number
}

const nothing = (): never => {
  throw new Error('the widget was not rendered yet')
}

/** A page with InstantSearch's own core. Its widgets render into `shown`. */
function page(t: ExecutionContext, server: TestServer, hitsPerPage: number, isInfinite = false) {
  const { searchClient } = instantMeiliSearch(server.url, 'no-key', {
    meiliSearchParams: { attributesToHighlight: ['name'] },
    finitePagination: !isInfinite,
  })
  const search = instantsearch({
    indexName: 'cities',
    searchClient: searchClient as never,
  })
  const shown: Shown = {
    names: [],
    countries: [],
    pages: 0,
    isLastPage: false,
    query: nothing,
    refine: nothing,
    goTo: nothing,
    showMore: nothing,
    lookAt: nothing,
  }
  const namesOf = (hits: readonly unknown[]) => hits.map((hit) => String((hit as { name: string }).name))
  const list = isInfinite
    ? connectInfiniteHits(({ items, isLastPage, showMore }: Rendered) => {
        Object.assign(shown, { names: namesOf(items), isLastPage, showMore })
      })({})
    : connectHits(({ items }: Rendered) => {
        shown.names = namesOf(items)
      })({})
  search.addWidgets([
    connectConfigure(() => undefined)({ searchParameters: { hitsPerPage } }),
    list,
    connectSearchBox(({ refine }: Rendered) => {
      shown.query = refine
    })({}),
    connectRefinementList(({ items, refine }: Rendered) => {
      shown.countries = (items as Shown['countries']).map(({ value, count, isRefined }) => ({
        value,
        count,
        isRefined,
      }))
      shown.refine = refine
    })({ attribute: 'country' }),
    connectGeoSearch(({ refine }: Rendered) => {
      shown.lookAt = refine
    })({}),
    ...(isInfinite
      ? []
      : [
          connectPagination(({ nbPages, refine }: Rendered) => {
            shown.pages = nbPages
            shown.goTo = refine
          })({}),
        ]),
  ])
  t.teardown(() => search.dispose())
  /** Waits until the page shows the expected output; reports the actual output on failure. */
  const until = async (what: string, met: () => boolean): Promise<void> => {
    for (let tries = 0; tries < 2_000 && !met(); tries++)
      await new Promise((resolve) => setTimeout(resolve, 5))
    t.true(met(), `${what}: ${JSON.stringify(shown)}`)
  }
  const errors: unknown[] = []
  search.on('error', (error: unknown) => void errors.push(error))
  search.start()
  return { shown, until, errors }
}

test('InstantSearch shows the hits of typing, refining and turning pages', async (t) => {
  const server = await atlas(t)
  const { shown, until, errors } = page(t, server, 3)
  await until('all cities, three a page', () => shown.names.length === 3 && shown.pages === 3)
  t.deepEqual(shown.countries.map(({ value, count }) => [value, count]).sort(), [
    ['England', 2],
    ['France', 3],
    ['Portugal', 2],
  ])
  shown.goTo(2)
  await until('the last page', () => shown.names.join() === 'Porto')
  shown.query('li')
  await until('a query starts on the first page', () => shown.names.join() === 'Lille,Liverpool,Lisbon')
  shown.refine('England')
  await until('a refinement narrows it', () => shown.names.join() === 'Liverpool' && shown.pages === 1)
  t.true(shown.countries.find(({ value }) => value === 'England')?.isRefined)
  t.is(shown.countries.length, 3, 'the other values can still be chosen')
  shown.refine('Portugal')
  await until('values of one facet are alternatives', () => shown.names.join() === 'Liverpool,Lisbon')
  t.deepEqual(errors, [])
})

test('InstantSearch appends the next hits to an infinite list', async (t) => {
  const server = await atlas(t)
  const { shown, until, errors } = page(t, server, 3, true)
  await until('the first ones', () => shown.names.length === 3 && !shown.isLastPage)
  shown.showMore()
  await until('more', () => shown.names.length === 6)
  shown.showMore()
  await until('all', () => shown.names.length === 7 && shown.isLastPage)
  t.deepEqual([...shown.names].sort(), cities.map(({ name }) => name).sort())
  t.deepEqual(errors, [])
})

test('InstantSearch shows the hits within the map', async (t) => {
  const server = await atlas(t)
  const { shown, until, errors } = page(t, server, 10)
  await until('everywhere', () => shown.names.length === 7)
  shown.lookAt({ northEast: { lat: 43, lng: -6 }, southWest: { lat: 36, lng: -10 } })
  await until('Portugal', () => [...shown.names].sort().join() === 'Lisbon,Porto')
  shown.query('lisb')
  await until('a query within it', () => shown.names.join() === 'Lisbon')
  t.deepEqual(errors, [])
})

interface CountedQuery {
  readonly q: string
  readonly clicks: number
  readonly averageClickPosition: number | null
  readonly lastClicked: readonly string[]
}

interface ClickableHits {
  readonly items: readonly { readonly name: string }[]
  readonly sendEvent: (event: string, hit: unknown, name: string) => void
}

test('clicks that InstantSearch reports with the program of a guide are counted for their query', async (t) => {
  const server = await atlas(t, { queryStats: true })
  const folder = await mkdtemp(join(root, 'dist', 'guide-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const { blocks } = parsePage('nextjs.md', await readFile(join(root, 'docs/guides/nextjs.md'), 'utf8'))
  const program = blocks.find(({ text }) => text.includes('insightsClient(method'))?.text ?? ''
  await writeFile(join(folder, 'clicks.js'), program)
  Object.assign(process.env, { NEXT_PUBLIC_SEARCH_URL: server.url, NEXT_PUBLIC_SEARCH_KEY: 'no-key' })
  const { searchClient, insightsClient } = await import(pathToFileURL(join(folder, 'clicks.js')).href)
  const search = instantsearch({ indexName: 'cities', searchClient, insights: { insightsClient } } as never)
  let hits: ClickableHits | null = null
  let query: (text: string) => void = nothing
  search.addWidgets([
    connectHits((rendered: ClickableHits) => {
      hits = rendered
    })({}),
    connectSearchBox(({ refine }: Rendered) => {
      query = refine
    })({}),
  ])
  t.teardown(() => search.dispose())
  search.start()
  const click = async (name: string, event: string): Promise<void> => {
    const shown = () => hits?.items.find((hit) => hit.name === name)
    for (let tries = 0; tries < 2_000 && shown() === undefined; tries++) await sleep(5)
    hits?.sendEvent(event, shown(), 'City opened')
  }
  await click('Porto', 'click')
  query('lisb')
  for (let tries = 0; tries < 2_000 && hits!.items.length !== 1; tries++) await sleep(5)
  await click('Lisbon', 'click')
  query('li')
  for (let tries = 0; tries < 2_000 && hits!.items.length !== 3; tries++) await sleep(5)
  await click('Lisbon', 'click:internal')
  const clicked = async (): Promise<readonly CountedQuery[]> => {
    const { mostFrequent } = (await server.get('/stats/queries')).body
    return (mostFrequent as unknown as readonly CountedQuery[]).filter(({ clicks }) => clicks > 0)
  }
  for (let tries = 0; tries < 2_000 && (await clicked()).length < 2; tries++) await sleep(5)
  const counted = (await clicked()).map(({ q, clicks, averageClickPosition, lastClicked }) => ({
    ...{ q, clicks, averageClickPosition, lastClicked },
  }))
  t.deepEqual(
    counted.toSorted((a, b) => (a.q < b.q ? -1 : 1)),
    [
      { q: 'li', clicks: 1, averageClickPosition: 2, lastClicked: ['6'] },
      { q: 'lisb', clicks: 1, averageClickPosition: 0, lastClicked: ['6'] },
    ],
  )
})

test('the requests of Laravel Scout set up, fill, search, flush and remove an index', async (t) => {
  const server = await startServer(t, { masterKey: 'harbour-lantern-4471-xyz' })
  const headers = { 'content-type': 'application/json', 'user-agent': 'Meilisearch PHP (v1.16.1)' }
  const send = (method: string, path: string, body?: unknown) =>
    server.request(method, path, { headers, ...(body !== undefined && { body }) })
  t.is((await send('GET', '/indexes/posts')).status, 404)
  await server.settle(t, send('POST', '/indexes', { uid: 'posts', primaryKey: 'id' }))
  await server.settle(
    t,
    send('PATCH', '/indexes/posts/settings', { filterableAttributes: ['user_id', '__soft_deleted'] }),
  )
  const posts = Array.from({ length: 120 }, (_, at) => ({
    id: at + 1,
    title: `Post ${at + 1}`,
    user_id: at % 3,
    __soft_deleted: 0,
  }))
  for (let from = 0; from < posts.length; from += 50)
    await server.settle(
      t,
      send('PUT', '/indexes/posts/documents?primaryKey=id', posts.slice(from, from + 50)),
    )
  const asked = { q: 'post', filter: 'user_id=1 AND __soft_deleted=0', hitsPerPage: 15, page: 2 }
  const { body } = await send('POST', '/indexes/posts/search', asked)
  t.like(body, { page: 2, hitsPerPage: 15, totalHits: 40, totalPages: 3 })
  t.is(body.hits.length, 15)
  await server.settle(t, send('POST', '/indexes/posts/documents/delete-batch', [1, 2, '3']))
  t.is((await send('GET', '/indexes/posts/stats')).body.numberOfDocuments, 117)
  t.is((await send('GET', '/indexes?limit=1000000')).body.total, 1)
  await server.settle(t, send('DELETE', '/indexes/posts/documents'))
  await server.settle(t, send('DELETE', '/indexes/posts'))
})

test('the requests of a scraper fill a new index in batches and swap it for the old one', async (t) => {
  const server = await startServer(t)
  await server.settle(
    t,
    server.post('/indexes/docs/documents?primaryKey=objectID', [{ objectID: 'old', content: 'old' }]),
  )
  await server.settle(t, server.post('/indexes', { uid: 'docs_tmp', primaryKey: 'objectID' }))
  const settings = {
    rankingRules: [
      'words',
      'typo',
      'attribute',
      'proximity',
      'exactness',
      'page_rank:desc',
      'level:desc',
      'position:asc',
    ],
    distinctAttribute: 'url',
    searchableAttributes: ['hierarchy_radio_lvl0', 'hierarchy_lvl0', 'hierarchy_lvl1', 'content'],
    displayedAttributes: ['hierarchy_lvl0', 'hierarchy_lvl1', 'content', 'url', 'anchor', 'objectID'],
  }
  await server.settle(t, server.patch('/indexes/docs_tmp/settings', settings))
  const pages = Array.from({ length: 130 }, (_, at) => ({
    objectID: `p${at}`,
    url: `https://docs.example/${at >> 1}#${at}`,
    anchor: `${at}`,
    hierarchy_lvl0: 'Guide',
    hierarchy_lvl1: `Chapter ${at >> 1}`,
    hierarchy_radio_lvl0: null,
    content: at % 2 === 0 ? 'install the package' : 'remove the package',
    page_rank: 0,
    level: 100 - (at % 2),
    position: at,
  }))
  for (let from = 0; from < pages.length; from += 50)
    await server.settle(t, server.post('/indexes/docs_tmp/documents', pages.slice(from, from + 50)))
  await server.settle(t, server.post('/swap-indexes', [{ indexes: ['docs', 'docs_tmp'] }]))
  await server.settle(t, server.delete('/indexes/docs_tmp'))
  t.is((await server.get('/indexes/docs/documents?limit=1000000')).body.results.length, 130)
  const { body } = await server.post('/indexes/docs/search', {
    q: 'install pack',
    attributesToHighlight: ['*'],
    attributesToCrop: ['content'],
    cropLength: 3,
    limit: 5,
  })
  t.is(body.estimatedTotalHits, 65)
  t.is((body.hits[0]!._formatted as { content: string }).content, '<em>install</em> the <em>pack</em>age')
})
