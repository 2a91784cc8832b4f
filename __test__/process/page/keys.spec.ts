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
