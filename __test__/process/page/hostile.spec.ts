/** Hostile content in documents, uids and URLs is shown as text and never executed. */
import { testNeeding } from '../../support/test-needing.js'
import { browserOfTests, fillFilms, textOf, visit } from './browser.js'

const test = testNeeding([browserOfTests])

const HTML = `<img src=x onerror="window.hacked = true"><script>window.hacked = true</script>`

test('markup in documents, facets and field names is shown as text, also when highlighted', async (t) => {
  const { page, complaints } = await visit(t, async (server) => {
    await server.settle(t, server.patch('/indexes/traps/settings', { filterableAttributes: ['tag'] }))
    const document = {
      id: 1,
      title: `${HTML} word`,
      tag: HTML,
      [HTML]: 'x',
      link: 'javascript:window.hacked = true',
    }
    await server.settle(t, server.post('/indexes/traps/documents?primaryKey=id', [document]))
  })
  await page.getByRole('searchbox', { name: 'Query' }).fill('onerror word')
  await page.locator('.hit mark').first().waitFor()
  t.true((await textOf(page.locator('.hit h3'))).startsWith('<img src=x'))
  await page.getByRole('link', { name: 'Index' }).click()
  await page.locator('.record').first().click()
  await page.getByLabel('Document as JSON').waitFor()
  await page.getByRole('tab', { name: 'Fields' }).click()
  await page.getByRole('rowheader', { name: 'onerror' }).waitFor()
  t.is(await page.evaluate('window.hacked'), undefined)
  t.is(await page.locator('#page img, #page script, a[href^="javascript"]').count(), 0)
  t.deepEqual(complaints, [])
})

test('fields and values may have the names of built-in object properties', async (t) => {
  const { page, complaints } = await visit(t, async (server) => {
    await server.settle(
      t,
      server.patch('/indexes/traps/settings', {
        filterableAttributes: ['constructor', '__proto__', 'toString'],
      }),
    )
    const document = '{"id":1,"constructor":"toString","__proto__":"x","toString":7,"valueOf":"valueOf"}'
    await server.settle(t, server.post('/indexes/traps/documents?primaryKey=id', document))
  })
  await page.getByText('1 hit ').waitFor()
  await page.getByRole('group', { name: '__proto__' }).getByLabel('x').waitFor()
  await page.getByRole('group', { name: 'constructor' }).getByLabel('toString').check()
  await page.getByRole('button', { name: 'Remove constructor toString' }).waitFor()
  await page.getByRole('link', { name: 'Index' }).click()
  await page.getByRole('tab', { name: 'Fields' }).click()
  await page.getByRole('rowheader', { name: 'constructor' }).waitFor()
  t.deepEqual(complaints, [])
})

test('URLs with an invalid state or unknown names do not break the page', async (t) => {
  const { server, page, complaints } = await visit(t, (server) => fillFilms(t, server))
  for (const hash of [
    '#/search/films?%7B"lanes"%3A[{"index"%3A7,"chosen"%3A[1],"ranges"%3A{"year"%3A[{}]}},null]}',
    '#/search/films?%E0%A4%A',
    `#/index/${encodeURIComponent('../keys?x=<img>')}`,
    '#/__proto__/constructor',
  ]) {
    await page.goto('about:blank')
    await page.goto(`${server.url}/${hash}`)
    await page.getByRole('navigation', { name: 'Sections' }).waitFor()
    t.is(await page.locator('#page main').count(), 1, hash)
  }
  t.deepEqual(complaints, [])
})

test('a document of a megabyte and 20,000 facet values keep the page small', async (t) => {
  const { page } = await visit(t, async (server) => {
    const settings = { filterableAttributes: ['tag'], faceting: { maxValuesPerFacet: 100_000 } }
    await server.settle(t, server.patch('/indexes/large/settings', settings))
    const tags = Array.from({ length: 20_000 }, (_, i) => `tag ${i}`)
    const documents = [
      { id: 1, title: 'tags', tag: tags },
      { id: 2, title: 'text', text: 'word '.repeat(200_000) },
    ]
    await server.settle(t, server.post('/indexes/large/documents?primaryKey=id', documents))
  })
  await page.getByText('2 hits').waitFor()
  t.true(Number(await page.evaluate('document.querySelectorAll("*").length')) < 1500)
  await page.getByLabel('Find a value of tag').fill('tag 1999')
  await page.getByLabel('tag 19999').waitFor()
  t.true(Number(await page.evaluate('document.body.innerText.length')) < 50_000)
})
