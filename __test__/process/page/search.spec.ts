import { testNeeding } from '../../support/test-needing.js'
import { browserOfTests, fillFilms, textOf, violations, visit } from './browser.js'

const test = testNeeding([browserOfTests])

test('hits follow the typed query with highlighted matches, without requests to other servers', async (t) => {
  const { page, outside, complaints } = await visit(t, (server) => fillFilms(t, server))
  await page.getByText('5 hits').waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('solaris')
  await page.getByText('2 hits').waitFor()
  t.deepEqual(await page.locator('.hit h3 mark').allTextContents(), ['Solaris', 'Solaris'])
  t.regex(await textOf(page.locator('.outcome .legend')), /keyword ranking/)
  t.deepEqual(outside, [])
  t.deepEqual(complaints, [])
})

test('an index created by a command appears', async (t) => {
  const { page, server } = await visit(t, async () => undefined)
  await page.getByText('siftd import films.ndjson').waitFor()
  await fillFilms(t, server)
  await page.getByText('5 hits').waitFor()
  t.is(await page.locator('.hit').count(), 5)
})

test('a clicked facet narrows the hits, and its other values stay available', async (t) => {
  const { page } = await visit(t, (server) => fillFilms(t, server))
  await page.getByLabel('Comedy').check()
  await page.getByText('1 hit', { exact: false }).first().waitFor()
  await page.getByLabel('Romance').check()
  await page.getByText('2 hits').waitFor()
  t.deepEqual(await page.locator('.hit h3').allTextContents(), ['Playtime', 'Solaris'])
  await page.getByRole('button', { name: 'Remove genres Comedy' }).click()
  await page.getByText('1 hit ').waitFor()
  await page.getByLabel('year, from').fill('2003')
  await page.getByLabel('year, from').press('Tab')
  await page.getByText('No document matches').waitFor()
  t.is(await page.locator('.hit').count(), 0)
})

test('an answer that arrives while a range is typed does not replace the typed text', async (t) => {
  const { page } = await visit(t, (server) => fillFilms(t, server))
  await page.getByText('5 hits').waitFor()
  let answer: () => void = () => undefined
  const held = new Promise<void>((resolve) => {
    answer = resolve
  })
  await page.route('**/search', async (route) => {
    await held
    await route.continue()
  })
  await page.getByRole('searchbox', { name: 'Query' }).fill('solaris')
  const from = page.getByLabel('year, from')
  await from.pressSequentially('19')
  answer()
  await page.getByText('2 hits').waitFor()
  t.is(await from.inputValue(), '19')
  await from.pressSequentially('80')
  await from.press('Enter')
  await page.getByText('1 hit ').waitFor()
  t.is(await from.inputValue(), '1980')
})

test('a filter can be completed by keyboard', async (t) => {
  const { page } = await visit(t, (server) => fillFilms(t, server))
  await page.getByText('5 hits').waitFor()
  await page.getByRole('combobox', { name: 'Filter' }).focus()
  await page.keyboard.type('gen')
  await page.getByRole('option', { name: 'genres' }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('option', { name: 'IN [', exact: true }).waitFor()
  await page.keyboard.type('= ro')
  await page.getByRole('option', { name: 'Romance' }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByText('1 hit ').waitFor()
  t.is(await page.getByRole('combobox', { name: 'Filter' }).inputValue(), 'genres = "Romance" ')
})

test('Enter never chooses a value that does not begin with the typed text', async (t) => {
  const { page } = await visit(t, (server) => fillFilms(t, server))
  await page.getByText('5 hits').waitFor()
  const filter = page.getByRole('combobox', { name: 'Filter' })
  await filter.fill('genres = ')
  await page.getByRole('option', { name: 'Comedy' }).waitFor()
  await page.route('**/facet-search', () => undefined)
  await page.keyboard.type('ro')
  await page.keyboard.press('Enter')
  await page.getByText('1 hit ').waitFor()
  t.is(await filter.inputValue(), 'genres = "Romance" ')
  await filter.fill('genres = zz')
  await page.keyboard.press('Enter')
  t.is(await filter.inputValue(), 'genres = zz')
})

test('a mistake in a filter is shown next to it, with its position marked', async (t) => {
  const { page } = await visit(t, (server) => fillFilms(t, server))
  await page.getByRole('combobox', { name: 'Filter' }).fill('genres = Drama AND yeer > 3')
  await page.getByText('`yeer` is not filterable').waitFor()
  t.is(await textOf(page.locator('.place mark')), 'yeer')
  t.is(await page.getByRole('combobox', { name: 'Filter' }).getAttribute('aria-invalid'), 'true')
})

test('the explanation of a hit shows each rule, and Escape returns to the hit', async (t) => {
  const { page } = await visit(t, (server) => fillFilms(t, server))
  await page.getByRole('searchbox', { name: 'Query' }).fill('solaris')
  await page.getByText('2 hits').waitFor()
  await page.getByRole('button', { name: 'Why? Solaris' }).first().press('Enter')
  const panel = page.getByRole('complementary', { name: 'Explanation' })
  await panel.getByText('Score, rule by rule').waitFor()
  t.regex(await textOf(panel), /1 of 1 words/)
  t.is(await page.evaluate('document.activeElement.tagName'), 'H2')
  await page.keyboard.press('Escape')
  await panel.waitFor({ state: 'detached' })
  t.regex(String(await page.evaluate('document.activeElement.textContent')), /Why/)
})

test('the explanation of a missing document shows the reasons', async (t) => {
  const { page } = await visit(t, (server) => fillFilms(t, server))
  await page.getByRole('searchbox', { name: 'Query' }).fill('mirror')
  await page.getByRole('combobox', { name: 'Filter' }).fill('year > 1970 AND genres = Comedy')
  await page.getByText('No document matches').waitFor()
  await page.getByRole('button', { name: 'Why not …?' }).click()
  const panel = page.getByRole('complementary', { name: 'Explanation' })
  await page.keyboard.type('3')
  await panel.getByText('It is not a hit.').waitFor()
  await panel.getByText('It does not match the filter.').waitFor()
  const clauses = await panel.locator('.tree .step').allTextContents()
  t.deepEqual(
    clauses.map((text) => text.replace(/^[✓✗] /, '').replace(/ +/g, ' ')),
    ['passes: year > 1970', 'fails: genres = Comedy'],
  )
  t.regex(await textOf(panel), /Interpretation of the query[\s\S]*mirror[\s\S]*found as typed in title/)
  await panel.getByLabel('Id of the document').fill('77')
  await panel.getByRole('alert').waitFor()
})

test('two searches can be compared side by side, with moved hits marked', async (t) => {
  const { page } = await visit(t, (server) => fillFilms(t, server))
  await page.getByText('5 hits').waitFor()
  await page.getByRole('button', { name: 'Compare' }).click()
  const second = page.getByRole('region', { name: 'Search B' })
  await second.getByLabel('Sort').selectOption('year:desc')
  await second.getByText('↑ 4 against A').waitFor()
  t.is(await textOf(second.locator('.hit h3').first()), 'Solaris')
  await page.reload()
  await page.getByRole('region', { name: 'Search B' }).getByText('↑ 4 against A').waitFor()
})

test('a search can be copied as code, without the key', async (t) => {
  const masterKey = 'a-master-key-of-20-b'
  const { page } = await visit(t, (server) => fillFilms(t, server), { server: { masterKey } })
  await page.getByLabel('Key', { exact: true }).fill(masterKey)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('searchbox', { name: 'Query' }).fill("d'or")
  await page.getByRole('button', { name: 'Copy as code' }).click()
  const code = page.getByRole('dialog').locator('pre')
  for (const [language, pattern] of [
    ['curl', /curl -X POST 'http:\/\/127\.0\.0\.1:\d+\/indexes\/films\/search'[\s\S]*"q": "d'\\''or"/],
    ['JavaScript', /await fetch\([\s\S]*"q": "d'or"/],
    ['Python', /urlopen[\s\S]*SIFTD_KEY/],
  ] as const) {
    await page.getByRole('tab', { name: language }).click()
    const text = await textOf(code)
    t.regex(text, pattern)
    t.false(text.includes(masterKey), language)
  }
})

test('images of documents are loaded only after the switch', async (t) => {
  const { page, outside } = await visit(t, (server) => fillFilms(t, server))
  await page.getByText('5 hits').waitFor()
  t.deepEqual([outside, await page.locator('.hit img').count()], [[], 0])
  await page.getByRole('button', { name: 'Load images' }).click()
  await page.getByRole('button', { name: 'Load images', pressed: true }).waitFor()
  while (outside.length === 0) await page.waitForTimeout(10)
  t.deepEqual(outside, ['https://img.invalid/1.jpg'])
})

test('images on this server are shown at once, and a hit opens as a whole document', async (t) => {
  const { page, outside, complaints } = await visit(t, async (server) => {
    const document = {
      id: 1,
      title: 'Solaris',
      poster: '/page/icon.svg',
      cast: [{ name: 'Natalya', age: 27 }, null],
      isColor: true,
    }
    await server.settle(
      t,
      server.patch('/indexes/films/settings', { displayedAttributes: ['id', 'title', 'poster'] }),
    )
    await server.settle(t, server.post('/indexes/films/documents?primaryKey=id', [document]))
  })
  const image = page.locator('.hit img')
  await image.waitFor({ state: 'attached' })
  t.is(await image.getAttribute('src'), '/page/icon.svg')
  await page.getByRole('button', { name: 'Solaris', exact: true }).click()
  const panel = page.getByRole('complementary', { name: 'Explanation' })
  await panel.getByText('list of 2').waitFor()
  await panel.getByText('object').click()
  await panel.getByText('Natalya').waitFor()
  const text = await textOf(panel)
  for (const part of [/Document 1/, /age number\s*27/, /1 null\s*null/, /isColor true or false\s*true/])
    t.regex(text, part)
  t.deepEqual(await violations(page), [])
  await panel.getByRole('tab', { name: 'Why' }).click()
  await panel.getByText('It is a hit').waitFor()
  t.deepEqual([outside, complaints], [[], []])
})

test('a facet with more values than are counted can count the most frequent ones', async (t) => {
  const { page } = await visit(t, async (server) => {
    const settings = { filterableAttributes: ['tag'], faceting: { maxValuesPerFacet: 2 } }
    await server.settle(t, server.patch('/indexes/tags/settings', settings))
    const documents = ['-', '.', 'sea', 'sea'].map((tag, id) => ({ id, tag }))
    await server.settle(t, server.post('/indexes/tags/documents?primaryKey=id', documents))
  })
  await page.getByText('From the first 2 values in alphabetical order').waitFor()
  const sea = page.getByRole('group', { name: 'tag' }).getByText('sea', { exact: true })
  t.is(await sea.count(), 0)
  await page.getByRole('button', { name: 'Count the most frequent ones' }).click()
  await sea.waitFor()
})

test('the bar of stages counts the wait in the queue once', async (t) => {
  const { page } = await visit(t, (server) => fillFilms(t, server))
  await page.getByText('5 hits').waitFor()
  await page.route('**/indexes/films/search', async (route) => {
    const answer = await route.fetch()
    const performanceDetails = {
      'wait in queue': '64ms',
      search: '68ms',
      'search > keyword ranking': '1ms',
    }
    await route.fulfill({ response: answer, json: { ...(await answer.json()), performanceDetails } })
  })
  await page.getByLabel('Query', { exact: true }).fill('solaris')
  await page.getByText('wait in queue 64 ms').waitFor()
  await page.getByText('the rest 3.0 ms').waitFor()
  t.is(await page.getByText('wait in queue').count(), 1)
})

test('a link to another index opens it, and links hold only what differs from a new search', async (t) => {
  const { page } = await visit(t, async (server) => {
    await fillFilms(t, server)
    await server.settle(t, server.post('/indexes/odd/documents', [{ id: 1, title: 'Odd one' }]))
  })
  const hash = () => decodeURIComponent(new URL(page.url()).hash)
  await page.getByText('5 hits').waitFor()
  await page.evaluate("location.hash = '#/search/odd'")
  await page.getByText('1 hit ').waitFor()
  await page.getByPlaceholder('Search odd').waitFor()
  await page.getByLabel('Query', { exact: true }).fill('one')
  while (!hash().includes('one')) await page.waitForTimeout(10)
  t.is(hash(), '#/search/odd?{"q":"one"}')
})
