import { testNeeding } from '../../support/test-needing.js'
import { browserOfTests, fillFilms, textOf, violations, visit } from './browser.js'

const test = testNeeding([browserOfTests])
const masterKey = 'a master key of sixteen bytes'

test('a key for one index is created, searches that index only, and is deleted', async (t) => {
  const { server, page, complaints } = await visit(t, (server) => fillFilms(t, server), {
    server: { masterKey },
    path: '/#/keys',
  })
  await page.getByLabel('Key', { exact: true }).fill(masterKey)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('button', { name: 'New key' }).click()
  await page.getByLabel('Name').fill('shop')
  await page.getByLabel('Indexes, separated').fill('films')
  await page.getByLabel('Last day').fill('2099-12-31')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { name: 'The key is created' }).waitFor()
  await page.getByRole('button', { name: 'Show the new key' }).click()
  const key = await textOf(page.locator('dialog code'))
  t.regex(key, /^[0-9a-f]{64}$/)
  const ask = (path: string) =>
    fetch(server.url + path, { headers: { Authorization: `Bearer ${key}` } }).then(({ status }) => status)
  t.is(await ask('/indexes/films/search?q=solaris'), 200)
  t.is(await ask('/indexes/films/settings'), 403)
  await page.getByRole('button', { name: 'Done' }).click()
  const row = page.getByRole('row', { name: 'shop' })
  await row.waitFor()
  t.regex(await textOf(row), /search.*films.*2099/)
  t.deepEqual(await violations(page), [])
  await page.getByRole('button', { name: 'Delete shop' }).click()
  await page.getByRole('button', { name: 'Delete the key' }).click()
  await row.waitFor({ state: 'detached' })
  t.is(await ask('/indexes/films/search?q=solaris'), 403)
  t.deepEqual(complaints, [])
})

test('a server without a master key says how to create keys', async (t) => {
  const { page } = await visit(t, async () => undefined, { path: '/#/keys' })
  await page.getByText('--master-key-file').waitFor()
  t.true(await page.getByRole('button', { name: 'New key' }).isDisabled())
})

test('the console sends an operation of the chosen index and shows its answer', async (t) => {
  const { page } = await visit(t, (server) => fillFilms(t, server), { path: '/#/api/films' })
  const operation = page.getByLabel('Operation')
  await operation.locator('option', { hasText: 'POST /indexes/' }).first().waitFor({ state: 'attached' })
  const names = await operation.locator('option').allTextContents()
  const chosen = names.find((name) => /^POST \/indexes\/\{[^}]+\}\/search /.test(name))
  await operation.selectOption({ label: chosen ?? 'POST search is missing' })
  t.is(await page.getByLabel('Path with query').inputValue(), '/indexes/films/search')
  await page.getByLabel('Body', { exact: true }).fill('{ "q": "stalker", "attributesToRetrieve": ["title"] }')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText(/^200 in /).waitFor()
  t.regex(await textOf(page.getByRole('region', { name: 'Answer' })), /"title": "Stalker"/)
  t.deepEqual(await violations(page), [])
  await page.getByLabel('Path with query').fill('/indexes/{index_uid}')
  t.true(await page.getByRole('button', { name: 'Send' }).isDisabled())
})
