import type { TestBody } from '../../support/server.js'
import { testNeeding } from '../../support/test-needing.js'
import { browserOfTests, fillFilms, textOf, violations, visit } from './browser.js'

const test = testNeeding([browserOfTests])

test('a rule is created with a preview of its search, switched off and deleted', async (t) => {
  const { server, page, complaints } = await visit(t, (server) => fillFilms(t, server), {
    path: '/#/rules/films',
  })
  const firstId = async () => {
    const { body } = await server.post('/indexes/films/search', { q: 'solaris', filter: 'year > 1960' })
    return (body.hits as readonly TestBody[])[0]?.id
  }
  await page.getByRole('button', { name: 'Switch rules on' }).click()
  await page.getByRole('button', { name: 'New rule' }).click()
  await page.getByLabel('Uid: letters').fill('classics')
  await page.getByLabel('with all of these words').fill('solaris')
  const preview = page.getByRole('region', { name: 'Preview' })
  await preview.getByText('The rule changes nothing in this search.').waitFor()
  await page.getByRole('button', { name: 'Add a pin' }).click()
  await page.getByLabel('Document id', { exact: true }).fill('4')
  await preview.getByText('3 hits with the rule, 2 without.').waitFor()
  t.regex(await textOf(preview.getByRole('listitem').first()), /Playtime 4 new/)
  await preview.getByRole('button', { name: 'Hide 5' }).click()
  await preview.getByText('No longer among the first 10: 5').waitFor()
  t.deepEqual(await violations(page), [])
  await page.getByRole('button', { name: 'Save' }).click()
  const row = page.getByRole('row', { name: 'classics' })
  await row.getByText('searches with “solaris”').waitFor()
  t.regex(await textOf(row), /pins 1 document, hides some/)
  t.is(await firstId(), 4)
  await page.getByLabel('Active: classics').click()
  while ((await firstId()) === 4) await page.waitForTimeout(20)
  t.deepEqual(await violations(page), [])
  await page.getByRole('button', { name: 'Edit classics' }).click()
  t.is(await page.getByLabel('Document id', { exact: true }).inputValue(), '4')
  await page.getByRole('button', { name: 'Back to the rules' }).click()
  await page.getByRole('button', { name: 'Delete classics' }).click()
  await page.getByRole('button', { name: 'Delete the rule' }).click()
  await page.getByText('No rule yet').waitFor()
  t.deepEqual(complaints, [])
})

test('frequent queries and those without hits lead to their searches', async (t) => {
  const { page, complaints } = await visit(
    t,
    async (server) => {
      await fillFilms(t, server)
      for (const q of ['solaris', 'solaris', 'xyzzy']) await server.post('/indexes/films/search', { q })
      for (const position of [0, 3, 3])
        await server.post('/indexes/films/clicks', { q: 'solaris', documentId: 1, position })
    },
    { path: '/#/analytics', server: { queryStats: true } },
  )
  await page.getByText('3 searches with words since').waitFor()
  const top = page.getByRole('region', { name: 'Top queries' })
  t.deepEqual(await top.getByRole('rowheader').allTextContents(), ['solaris', 'xyzzy'])
  t.regex(await textOf(top.getByRole('row', { name: 'solaris' })), /150 %3\.0$/)
  const failing = page.getByRole('region', { name: 'Queries without hits' })
  t.deepEqual(await failing.getByRole('rowheader').allTextContents(), ['xyzzy'])
  t.deepEqual(await violations(page), [])
  await top.getByRole('link', { name: 'solaris' }).click()
  await page.getByText('2 hits').waitFor()
  t.is(decodeURIComponent(new URL(page.url()).hash), '#/search/films?{"q":"solaris"}')
  t.deepEqual(complaints, [])
})

test('without statistics the page says how to count queries', async (t) => {
  const { page } = await visit(t, async () => undefined, { path: '/#/analytics' })
  await page.getByText('--query-stats').waitFor()
  t.deepEqual(await violations(page), [])
})
