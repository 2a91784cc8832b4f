import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { testNeeding } from '../../support/test-needing.js'
import { browserOfTests, fillFilms, textOf, visit } from './browser.js'

const test = testNeeding([browserOfTests])

/** Drops files of this machine on the page, outside of any control. */
async function drop(page: Page, files: readonly string[]): Promise<void> {
  const devtools = await page.context().newCDPSession(page)
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await devtools.send('Input.dispatchDragEvent', {
      ...{ type, x: 20, y: 600 },
      data: { items: [], files: [...files], dragOperationsMask: 1 },
    })
}

test('a chosen file is imported into a new index', async (t) => {
  const { server, page, complaints } = await visit(t, async () => undefined)
  await page.getByRole('link', { name: 'Create an index' }).click()
  await page.getByRole('button', { name: 'New index' }).click()
  await page.getByLabel('Uid: letters').fill('boats')
  await page.getByRole('button', { name: 'Create' }).click()
  const lines = Array.from({ length: 500 }, (_, i) => JSON.stringify({ id: i, name: `boat ${i}` })).join('\n')
  await page
    .getByLabel('File of documents')
    .setInputFiles({ name: 'boats.ndjson', mimeType: '', buffer: Buffer.from(lines) })
  await page.getByText('500 of 500 documents of boats.ndjson are indexed').waitFor()
  t.is((await server.get('/indexes/boats/stats')).body.numberOfDocuments, 500)
  t.deepEqual(complaints, [])
})

test('a file dropped anywhere on the empty page becomes a searchable index with filters', async (t) => {
  const { server, page, complaints } = await visit(t, async () => undefined)
  const lines = Array.from({ length: 30 }, (_, i) => `${i},boat ${i},${1950 + i}`)
  const path = join(await mkdtemp(join(tmpdir(), 'siftd-drop-')), 'Old boats.csv')
  await writeFile(path, ['boat_id,name,built:number', ...lines].join('\n'))
  await page.getByText('No index yet').waitFor()
  await drop(page, [path])
  await page.getByRole('heading', { name: 'Import Old boats.csv' }).waitFor()
  t.is(await page.getByLabel('Index', { exact: true }).inputValue(), 'Old-boats')
  const primaryKey = page.getByLabel('Primary key')
  while ((await primaryKey.inputValue()) === '') await page.waitForTimeout(10)
  t.is(await primaryKey.inputValue(), 'boat_id')
  await page.getByRole('button', { name: 'Import', exact: true }).click()
  await page.getByText('30 of 30 documents of Old boats.csv are indexed').waitFor()
  t.true(await page.getByRole('checkbox', { name: 'built' }).isChecked())
  t.false(await page.getByRole('checkbox', { name: 'name' }).isChecked())
  await page.getByRole('button', { name: 'Enable and search' }).click()
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  await page.getByText('30 hits').waitFor()
  const { body } = await server.get('/indexes/Old-boats/settings')
  t.deepEqual([body.filterableAttributes, body.sortableAttributes], [['built'], ['built']] as never)
  t.like(body, { faceting: { sortFacetValuesBy: { '*': 'count' } } })
  t.deepEqual(complaints, [])
})

test('several dropped files are imported in turn, and settings of an existing index stay', async (t) => {
  const { server, page, complaints } = await visit(t, (server) => fillFilms(t, server))
  const folder = await mkdtemp(join(tmpdir(), 'siftd-drop-'))
  const paths = ['films', 'boats'].map((name) => join(folder, `${name}.csv`))
  for (const path of paths) await writeFile(path, 'id:number,title,length:number\n1,One,90')
  const { body: before } = await server.get('/indexes/films/settings')
  await page.getByText('5 hits').waitFor()
  await drop(page, paths)
  await page.getByRole('heading', { name: 'Import films.csv' }).waitFor()
  await page.getByText('then 1 more file').waitFor()
  await page.getByRole('button', { name: 'Import', exact: true }).click()
  await page.getByRole('button', { name: 'Search', exact: true }).click()
  await page.getByRole('heading', { name: 'Import boats.csv' }).waitFor()
  t.deepEqual((await server.get('/indexes/films/settings')).body, before)
  await page.getByRole('button', { name: 'Import', exact: true }).click()
  await page.getByText('1 of 1 documents of boats.csv').waitFor()
  t.deepEqual(complaints, [])
})

test('the sample films are loaded by two clicks', async (t) => {
  const { server, page } = await visit(t, async () => undefined)
  await page.getByRole('button', { name: 'Load sample films' }).click()
  await page.getByRole('button', { name: 'Import', exact: true }).click()
  await page.getByRole('button', { name: 'Search without filters' }).click()
  await page.getByText(/\d+ hits/).waitFor()
  t.true(Number((await server.get('/indexes/films/stats')).body.numberOfDocuments) >= 20)
})

test('an unreadable file is refused with the reason and advice', async (t) => {
  const { page } = await visit(t, (server) => fillFilms(t, server), { path: '/#/index/films' })
  await page.getByRole('tab', { name: 'Import' }).click()
  await page
    .getByLabel('File of documents')
    .setInputFiles({ name: 'broken.json', mimeType: '', buffer: Buffer.from('[{"id": 1},') })
  await page.getByRole('alert').waitFor()
  t.regex(await textOf(page.getByRole('alert')), /Check the file at the given position/)
})

test('a file that is too large for a request names the command that imports it', async (t) => {
  const { page } = await visit(t, (server) => fillFilms(t, server), { path: '/#/index/films' })
  await page.route('**/indexes/films/documents**', (route) =>
    route.request().method() === 'POST'
      ? route.fulfill({ status: 413, json: { message: 'too large', code: 'payload_too_large' } })
      : route.continue(),
  )
  await page.getByRole('tab', { name: 'Import' }).click()
  await page
    .getByLabel('File of documents')
    .setInputFiles({ name: 'films.ndjson', mimeType: '', buffer: Buffer.from('{"id": 1}') })
  await page.getByText('siftd import FILE --index UID').waitFor()
  t.pass()
})

test('a document can be edited without losing digits, and deleted', async (t) => {
  const { server, page } = await visit(t, (server) => fillFilms(t, server), { path: '/#/index/films' })
  await page.locator('.record').first().click()
  const editor = page.getByLabel('Document as JSON')
  // Polls here, because the page's content security policy forbids evaluated code.
  while (!(await editor.inputValue()).includes('Solaris')) await page.waitForTimeout(10)
  await editor.fill('{ "id": 1, "title": "Solaris", "serial": 9007199254740993 }')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('status').getByText('Saved', { exact: true }).waitFor()
  t.regex((await server.get('/indexes/films/documents/1')).bytes.toString(), /9007199254740993/)
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('button', { name: 'Delete for good?' }).click()
  await editor.waitFor({ state: 'detached' })
  t.is((await server.get('/indexes/films/documents/1')).status, 404)
})

test('the list turns back when the last document of its last page is deleted', async (t) => {
  const documents = Array.from({ length: 26 }, (_, id) => ({ id }))
  const { page, complaints } = await visit(
    t,
    (server) => server.settle(t, server.post('/indexes/numbers/documents', documents)),
    { path: '/#/index/numbers' },
  )
  await page.getByRole('button', { name: 'Next' }).click()
  await page.getByRole('button', { name: '25' }).click()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('button', { name: 'Delete for good?' }).click()
  await page.getByRole('button', { name: '24' }).waitFor()
  t.is(await page.getByRole('button', { name: 'Next' }).count(), 0)
  t.deepEqual(complaints, [])
})

test('vectors are shown by embedder', async (t) => {
  const { page } = await visit(
    t,
    async (server) => {
      const embedders = { own: { source: 'userProvided', dimensions: 3 } }
      await server.settle(t, server.patch('/indexes/films/settings', { embedders }))
      const documents = [
        { id: 1, _vectors: { own: [0.5, -1, 0.25] } },
        { id: 2, _vectors: { own: null } },
      ]
      await server.settle(t, server.post('/indexes/films/documents?primaryKey=id', documents))
    },
    { path: '/#/index/films' },
  )
  await page.getByRole('tab', { name: 'Vectors' }).click()
  await page.getByText('own: 1 vector of 3 numbers, first 0.500, -1.000, 0.250').waitFor()
  await page.getByText('1 vector, in 1 of 2 documents').waitFor()
  t.is(await page.getByText('own: 1 vector').count(), 1)
})

test('a dialog focuses its first field, and returns the focus however it is closed', async (t) => {
  const { page } = await visit(t, async () => undefined, { path: '/#/index' })
  await page.getByRole('button', { name: 'New index' }).click()
  const uid = page.getByLabel('Uid: letters')
  await uid.waitFor()
  t.is(await page.evaluate('document.activeElement.required'), true)
  await page.keyboard.press('Escape')
  await uid.waitFor({ state: 'detached' })
  t.is(await page.evaluate('document.activeElement.textContent'), 'New index')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Close' }).click()
  await uid.waitFor({ state: 'detached' })
  t.is(await page.evaluate('document.activeElement.textContent'), 'New index', 'closed by its button')
  const opened = `(async () => {
    document.activeElement.click()
    await new Promise((resolve) => queueMicrotask(() => queueMicrotask(resolve)))
    return document.activeElement.required
  })()`
  t.is(await page.evaluate(opened), true, 'the next key is typed into the field')
  await page.keyboard.type('boats')
  await page.keyboard.press('Enter')
  await page.getByText('0 documents').waitFor()
})

test('the sections of an instance without features ask for nothing that is refused', async (t) => {
  const { page } = await visit(t, (server) => fillFilms(t, server))
  const refused: string[] = []
  page.on('response', (answer) => answer.status() >= 400 && refused.push(answer.url()))
  await page.getByRole('link', { name: 'Health' }).click()
  await page.getByRole('button', { name: 'Switch it on' }).waitFor()
  await page.getByRole('link', { name: 'Rules' }).click()
  await page.getByRole('button', { name: 'Switch rules on' }).waitFor()
  t.deepEqual(refused, [])
})
