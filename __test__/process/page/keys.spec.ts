import { testNeeding } from '../../support/test-needing.js'
import { browserOfTests, fillFilms, textOf, visit } from './browser.js'

const test = testNeeding([browserOfTests])
const masterKey = 'a-master-key-of-20-b'

test('a wrong key is refused with a reason, and a valid key is kept only in the tab', async (t) => {
  const { page } = await visit(t, (server) => fillFilms(t, server), { server: { masterKey } })
  const key = page.getByLabel('Key', { exact: true })
  await key.fill('wrong "><script>')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('alert').waitFor()
  t.regex(await textOf(page.getByRole('alert')), /is unknown/)
  await key.fill(masterKey)
  await key.press('Enter')
  await page.getByText('5 hits').waitFor()
  t.is(await page.evaluate('localStorage.length + document.cookie.length'), 0)
  t.false(page.url().includes(masterKey))
  await page.reload()
  await page.getByText('5 hits').waitFor()
  const other = await page.context().newPage()
  await other.goto(page.url())
  await other.getByText('This instance needs a key').waitFor()
})

test('a search-only key searches the named index', async (t) => {
  let searchKey = ''
  const { page } = await visit(
    t,
    async (server) => {
      await fillFilms(t, server)
      const { body } = await server.post('/keys', {
        actions: ['search'],
        indexes: ['films'],
        expiresAt: null,
      })
      searchKey = body.key
    },
    { server: { masterKey } },
  )
  await page.getByLabel('Key', { exact: true }).fill(searchKey)
  await page.getByLabel('Index, for a key').fill('films')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('5 hits').waitFor()
  t.is(await page.locator('.hit').count(), 5)
})

test('a key with an invisible character is refused with its code point', async (t) => {
  const { page } = await visit(t, (server) => fillFilms(t, server), { server: { masterKey } })
  const key = page.getByLabel('Key', { exact: true })
  await key.fill(`${masterKey.slice(0, 4)}\u200B${masterKey.slice(4)}`)
  await key.press('Enter')
  await page.getByRole('alert').waitFor()
  t.regex(await textOf(page.getByRole('alert')), /U\+200B/)
  await key.fill(masterKey)
  await key.press('Enter')
  await page.getByText('5 hits').waitFor()
})

test('the page works in a browser that refuses storage', async (t) => {
  const { page, complaints } = await visit(t, (server) => fillFilms(t, server), { server: { masterKey } })
  await page.addInitScript(() => {
    for (const name of ['sessionStorage', 'localStorage'])
      Object.defineProperty(globalThis, name, {
        get() {
          throw new DOMException('Access is denied for this document.', 'SecurityError')
        },
      })
  })
  await page.reload()
  const key = page.getByLabel('Key', { exact: true })
  await key.fill(masterKey)
  await key.press('Enter')
  await page.getByText('5 hits').waitFor()
  await page.getByRole('button', { name: 'Judge hits' }).click()
  await page.getByRole('searchbox', { name: 'Query' }).fill('mirror')
  await page.getByRole('button', { name: 'Good hit: Mirror' }).click()
  await page.getByText('has no space for judgments, or refuses storage').waitFor()
  await page.getByRole('button', { name: 'Load images' }).click()
  t.deepEqual(complaints, [])
})

test('a key that may import but not cancel is told so', async (t) => {
  let key = ''
  const { page } = await visit(
    t,
    async (server) => {
      const rights = { actions: ['search', 'documents.*', 'tasks.get'], indexes: ['films'], expiresAt: null }
      key = (await server.post('/keys', rights)).body.key
    },
    { server: { masterKey, limits: { tasksMax: 0 } }, path: '/#/index/films' },
  )
  await page.getByLabel('Key', { exact: true }).fill(key)
  await page.getByLabel('Index, for a key').fill('films')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('tab', { name: 'Import' }).click()
  const file = { name: 'films.json', mimeType: '', buffer: Buffer.from('[{"id":1}]') }
  await page.getByLabel('File of documents').setInputFiles(file)
  await page.getByText('films.json is queued').waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  t.regex(await textOf(page.getByRole('alert').last()), /may not do this/)
})
