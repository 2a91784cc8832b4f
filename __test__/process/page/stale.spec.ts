/** Hits of an earlier search, hits without an id, and odd names of facets. */
import { testNeeding } from '../../support/test-needing.js'
import { browserOfTests, fillFilms, visit } from './browser.js'

const test = testNeeding([browserOfTests])

test('a judgment belongs to the query of the hit, not to a query that failed', async (t) => {
  const { page } = await visit(t, (server) => fillFilms(t, server))
  await page.getByRole('button', { name: 'Judge hits' }).click()
  const query = page.getByRole('searchbox', { name: 'Query' })
  await query.fill('mirror')
  await page.getByText('1 hit ').waitFor()
  await page.route('**/search', (route) => route.abort())
  await query.fill('playtime')
  await page.getByText('Hits of the previous search').waitFor()
  await page.getByRole('button', { name: 'Good hit: Mirror' }).click()
  const judged = () => page.evaluate('localStorage.getItem("siftd.judgments.films")')
  t.is(await judged(), '[{"query":"mirror","id":"3","grade":1}]')
})

test('hits of another index are not shown when its search fails', async (t) => {
  const { page } = await visit(t, async (server) => {
    await fillFilms(t, server)
    await server.settle(
      t,
      server.post('/indexes/ships/documents?primaryKey=hull', [{ hull: 1, title: 'Tern' }]),
    )
  })
  await page.getByText('5 hits').waitFor()
  const bodies: unknown[] = []
  await page.route('**/indexes/ships/search', (route) => {
    bodies.push((route.request().postDataJSON() as { readonly facets: unknown }).facets)
    return route.abort()
  })
  await page.locator('.controls select').first().selectOption('ships')
  await page.getByText('Not searched').waitFor()
  t.is(await page.locator('.hit').count(), 0)
  t.deepEqual(bodies, [[]], 'facets of films are not counted in ships')
})

test('hits whose primary key is not displayed are all shown, and none is judged or explained', async (t) => {
  const { page } = await visit(t, async (server) => {
    await fillFilms(t, server)
    await server.settle(t, server.patch('/indexes/films/settings', { displayedAttributes: ['title'] }))
  })
  await page.getByText('5 hits').waitFor()
  await page.getByRole('button', { name: 'Judge hits' }).click()
  await page.getByRole('searchbox', { name: 'Query' }).fill('solaris')
  await page.getByText('2 hits').waitFor()
  t.is(await page.locator('.hit').count(), 2)
  t.is(await page.locator('.thumbs').count(), 0)
  await page.getByRole('button', { name: 'Why?' }).first().click()
  await page.getByRole('heading', { name: 'Why is this document a hit?' }).waitFor()
  t.is(await page.locator('.hit.chosen').count(), 1)
})

test('facets with the names of operators can be chosen, and the strategy of the settings is the default', async (t) => {
  const { page } = await visit(t, async (server) => {
    const settings = { filterableAttributes: ['NOT', '_geoRadius'], matchingStrategy: 'any' }
    await server.settle(t, server.patch('/indexes/odd/settings', settings))
    const documents = [
      { id: 1, title: 'tern', NOT: 'yes', _geoRadius: 'far' },
      { id: 2, title: 'gull', NOT: 'no', _geoRadius: 'far' },
    ]
    await server.settle(t, server.post('/indexes/odd/documents?primaryKey=id', documents))
  })
  const query = page.getByRole('searchbox', { name: 'Query' })
  await query.fill('tern gull')
  await page.getByText('2 hits').waitFor()
  await page.getByRole('group', { name: 'NOT' }).getByLabel('yes').check()
  await page.getByRole('group', { name: '_geoRadius' }).getByLabel('far').check()
  await page.getByText('1 hit ').waitFor()
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.getByRole('button', { name: 'More settings' }).click()
  await page.getByLabel('Words that must match').selectOption('last')
  await page.getByText('1 hit ').waitFor()
})

test('a key that may not change settings is told so by the facet', async (t) => {
  const { page } = await visit(t, async (server) => {
    const settings = { filterableAttributes: ['tag'], faceting: { maxValuesPerFacet: 2 } }
    await server.settle(t, server.patch('/indexes/tags/settings', settings))
    const documents = ['-', '.', 'sea'].map((tag, id) => ({ id, tag }))
    await server.settle(t, server.post('/indexes/tags/documents?primaryKey=id', documents))
  })
  await page.route('**/settings/faceting', (route) =>
    route.request().method() === 'PATCH'
      ? route.fulfill({ status: 403, json: { message: 'The key may not.', code: 'invalid_api_key' } })
      : route.continue(),
  )
  await page.getByRole('button', { name: 'Count the most frequent ones' }).click()
  await page.getByRole('alert').getByText('The key may not.').waitFor()
})

test('the preview of a rule offers no hits of another index to pin', async (t) => {
  const { page } = await visit(
    t,
    async (server) => {
      await fillFilms(t, server)
      await server.settle(t, server.post('/indexes/ships/documents?primaryKey=hull', [{ hull: 1 }]))
    },
    { path: '/#/rules/films' },
  )
  await page.getByRole('button', { name: 'Switch rules on' }).click()
  await page.getByRole('button', { name: 'New rule' }).click()
  const preview = page.getByRole('region', { name: 'Preview' })
  await preview.getByRole('button', { name: 'Hide 5' }).waitFor()
  await page.route('**/indexes/ships/search', (route) => route.abort())
  await preview.locator('select').first().selectOption('ships')
  await preview.getByRole('alert').waitFor()
  t.is(await preview.getByRole('listitem').count(), 0)
})
