import type { ExecutionContext } from 'ava'
import type { Page } from 'playwright-core'
import { testNeeding } from '../../support/test-needing.js'
import { browserOfTests, fillFilms, textOf, type Visit, violations, visit } from './browser.js'

const test = testNeeding([browserOfTests])

async function openSettings(t: ExecutionContext, view: string): Promise<Visit> {
  const visited = await visit(t, (server) => fillFilms(t, server), { path: '/#/index/films' })
  await visited.page.getByRole('tab', { name: 'Settings' }).click()
  await visited.page.getByRole('tab', { name: view }).click()
  return visited
}

async function save(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('status').getByText('Saved', { exact: true }).waitFor()
}

test('words show the cost of a change before it is saved', async (t) => {
  const { server, page } = await openSettings(t, 'Words')
  await page.getByRole('textbox', { name: /^Stop words/ }).fill('the\nof')
  await page.getByText('1 change: 5 documents are reindexed').waitFor()
  t.deepEqual((await server.get('/indexes/films/settings/stop-words')).body, [] as never)
  await save(page)
  t.deepEqual((await server.get('/indexes/films/settings/stop-words')).body, ['of', 'the'] as never)
  await page.getByLabel('New synonym: word').fill('film')
  await page.getByLabel('New synonym: others').fill('movie, picture')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByRole('group', { name: 'Forms of words' }).getByLabel('English').check()
  await page.getByLabel('One typo from').fill('4')
  await page.getByLabel('Fields without typos').fill('titel')
  await page.getByText('No document has titel.').waitFor()
  await page.getByText('3 changes: no reindexing').waitFor()
  t.deepEqual(await violations(page), [])
  await save(page)
  const { body } = await server.get('/indexes/films/settings')
  t.deepEqual(body.synonyms, {
    film: ['movie', 'picture'],
    movie: ['film', 'picture'],
    picture: ['film', 'movie'],
  } as never)
  t.deepEqual(body.stemming, ['eng'] as never)
  t.like(body.typoTolerance, {
    minWordSizeForTypos: { oneTypo: 4, twoTypos: 9 },
    disableOnAttributes: ['titel'],
  })
})

test('attributes are switched and put in order by buttons and by dragging', async (t) => {
  const { server, page, complaints } = await openSettings(t, 'Attributes')
  let answerCosts = (): void => undefined
  const areCostsDue = new Promise<void>((resolve) => {
    answerCosts = resolve
  })
  await page.route(/dryRun=true/, async (route) => {
    await areCostsDue
    await route.continue()
  })
  await page.getByLabel('Searchable: year').click()
  await page.getByLabel('Filterable: title').click()
  await page.getByLabel('Find or add a field').fill('prize')
  await page.getByRole('button', { name: 'Add prize' }).click()
  await page.getByText('no document has it').waitFor()
  await page.getByLabel('Sortable: prize').click()
  const order = page.getByRole('list', { name: 'Order of searchable fields' })
  const shown = async () =>
    (await order.getByRole('listitem').allTextContents()).map((text) => text.replace(/[^a-z]/g, ''))
  t.deepEqual(await shown(), ['genres', 'id', 'poster', 'title'])
  await page.getByRole('button', { name: 'Move title up' }).press('Enter')
  await page.keyboard.press('Enter')
  t.deepEqual(await shown(), ['genres', 'title', 'id', 'poster'])
  await order.getByText('poster').dragTo(order.getByText('genres'))
  t.deepEqual(await shown(), ['poster', 'genres', 'title', 'id'])
  const place = await order.boundingBox()
  answerCosts()
  await page.getByText('3 changes: ').waitFor()
  t.deepEqual(await order.boundingBox(), place, 'costs do not move the list')
  t.deepEqual(await violations(page), [])
  await save(page)
  const { body } = await server.get('/indexes/films/settings')
  t.like(body, {
    searchableAttributes: ['poster', 'genres', 'title', 'id'],
    filterableAttributes: ['genres', 'year', 'title'],
    sortableAttributes: ['prize', 'year'],
    displayedAttributes: ['*'],
  } as never)
  await page.getByLabel('Search in all fields').check()
  await save(page)
  t.deepEqual((await server.get('/indexes/films/settings/searchable-attributes')).body, ['*'] as never)
  t.deepEqual(complaints, [])
})

test('ranking rules are added and removed, also by JSON', async (t) => {
  const { server, page } = await openSettings(t, 'Ranking')
  await page.getByLabel('Add a ranking rule').selectOption('relevance')
  await page.getByLabel('Field to rank by').fill('year')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  for (const rule of ['proximity', 'exactness'])
    await page.getByRole('button', { name: `Remove ${rule}` }).click()
  await page.getByRole('group', { name: 'Weights of fields' }).getByLabel('title').fill('2.5')
  await page.getByRole('tab', { name: 'JSON' }).click()
  const json = page.getByLabel('All settings')
  const { rankingRules, attributeWeights, ...others } = JSON.parse(await json.inputValue())
  t.deepEqual(rankingRules.slice(-2), ['relevance', 'year:desc'])
  t.deepEqual(attributeWeights, { title: 2.5 })
  await json.fill('{ "rankingRules": ')
  t.true(await page.getByRole('button', { name: 'Save' }).isDisabled())
  const pagination = { maxTotalHits: 77 }
  await json.fill(JSON.stringify({ ...others, rankingRules, attributeWeights, pagination }))
  await save(page)
  t.like((await server.get('/indexes/films/settings')).body, { rankingRules, attributeWeights, pagination })
})

test('an embedder is set up with a preview of its text and the number of new vectors', async (t) => {
  const { page } = await openSettings(t, 'Embedders')
  await page.getByLabel('Source of a new embedder').selectOption('rest')
  await page.getByRole('button', { name: 'Add an embedder' }).click()
  await page.getByLabel('Template:').fill('{{doc.title}} of {{doc.year}}')
  await page.getByText('1 change: no reindexing; at most 5 new vectors from default').waitFor()
  await page.getByRole('button', { name: 'Preview the text' }).click()
  await page.getByRole('button', { name: 'Switch it on' }).click()
  const text = page.getByRole('region', { name: 'Text of the document' })
  await text.waitFor()
  t.is(await textOf(text), 'Solaris of 1972')
  t.deepEqual(await violations(page), [])
  await page.getByRole('button', { name: 'Remove default' }).click()
  await page.getByText('No changes').waitFor()
})

test('a mistake in the JSON does not keep other views from saving', async (t) => {
  const { server, page } = await openSettings(t, 'JSON')
  await page.getByLabel('All settings').fill('{"stopWords": [')
  t.true(await page.getByRole('button', { name: 'Save' }).isDisabled())
  await page.getByRole('tab', { name: 'Words' }).click()
  await page.getByRole('textbox', { name: /^Stop words/ }).fill('the')
  await save(page)
  t.deepEqual((await server.get('/indexes/films/settings/stop-words')).body, ['the'] as never)
})
