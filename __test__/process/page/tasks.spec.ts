import { testNeeding } from '../../support/test-needing.js'
import { browserOfTests, fillFilms, textOf, visit } from './browser.js'

const test = testNeeding([browserOfTests])

/** Number of tasks that the page must handle. */
const TASKS = 10_000
const AT_ONCE = 50

test('a waiting task can be canceled from the list', async (t) => {
  let isHeld = true
  const { server, page } = await visit(
    t,
    async (server) => {
      await server.post('/indexes/films/documents', [{ id: 1 }])
    },
    {
      path: '/#/tasks',
      server: {
        // The batch of documents does not end before its task is canceled.
        queueEngine: (engine) =>
          new Proxy(engine, {
            get: (target, name) =>
              name === 'prepare'
                ? async (...given: Parameters<typeof engine.prepare>) => {
                    while (isHeld) await new Promise((resolve) => setTimeout(resolve, 20))
                    return target.prepare(...given)
                  }
                : bound(target, name),
          }),
      },
    },
  )
  await page.getByRole('button', { name: 'Cancel task 0' }).click()
  await page.getByRole('cell', { name: 'task cancelation' }).waitFor()
  isHeld = false
  await page.getByRole('cell', { name: 'canceled', exact: true }).waitFor()
  t.is((await server.get('/tasks/0')).body.status, 'canceled')
})

test('canceling pending tasks keeps to the chosen index and type', async (t) => {
  const { page } = await visit(
    t,
    async (server) => {
      await fillFilms(t, server)
      await server.settle(t, server.post('/indexes/ships/documents', [{ id: 1 }]))
    },
    { path: '/#/tasks' },
  )
  const pending = {
    uid: 2,
    status: 'enqueued',
    type: 'documentAdditionOrUpdate',
    indexUid: 'ships',
    details: {},
  }
  await page.route('**/tasks?*', async (route) => {
    const answer = await route.fetch()
    const { results, ...rest } = await answer.json()
    await route.fulfill({ json: { ...rest, results: [{ ...results[0], ...pending, error: null }] } })
  })
  await page.getByRole('combobox', { name: 'Index' }).selectOption('ships')
  await page.getByLabel('Type').selectOption('documentAdditionOrUpdate')
  const canceled = page.waitForRequest('**/tasks/cancel?*')
  await page.getByRole('button', { name: 'Cancel these pending' }).click()
  const { searchParams } = new URL((await canceled).url())
  t.deepEqual(Object.fromEntries(searchParams), {
    statuses: 'enqueued,processing',
    types: 'documentAdditionOrUpdate',
    indexUids: 'ships',
  })
})

test('a failed task shows the error and advice', async (t) => {
  const { page } = await visit(
    t,
    async (server) => {
      await fillFilms(t, server)
      await server.settle(t, server.post('/indexes/films/documents', [{ title: 'no id' }]))
    },
    { path: '/#/tasks' },
  )
  await page.getByRole('button', { name: 'More about task 2' }).click()
  t.regex(await textOf(page.getByRole('alert')), /`id`[\s\S]*Every document needs/)
  await page.getByLabel('Status').selectOption('succeeded')
  await page.getByText('2 tasks').waitFor()
  await page.getByRole('tab', { name: 'Batches' }).click()
  await page.getByText('Batch 2').waitFor()
})

test('10,000 tasks are paged, and the page stays small', async (t) => {
  const { page, complaints } = await visit(
    t,
    async (server) => {
      for (let sent = 0; sent < TASKS; sent += AT_ONCE)
        await Promise.all(Array.from({ length: AT_ONCE }, () => server.delete('/indexes/films/documents')))
    },
    { path: '/#/tasks', server: { limits: { tasksMax: 0 } } },
  )
  await page.getByText('10,000 tasks, page 1 of 200').waitFor()
  await page.getByRole('button', { name: 'Older' }).click()
  await page.getByText('page 2 of 200').waitFor()
  await page.getByRole('cell', { name: '9949', exact: true }).waitFor()
  t.true(Number(await page.evaluate('document.querySelectorAll("*").length')) < 2500)
  t.deepEqual(complaints, [])
})

test('health shows the disk and the memory, and analytics the slowest searches of this tab', async (t) => {
  const { page } = await visit(t, (server) => fillFilms(t, server))
  await page.getByRole('searchbox', { name: 'Query' }).fill('mirror')
  await page.getByText('1 hit ').waitFor()
  await page.getByRole('link', { name: 'Health' }).click()
  await page.getByRole('heading', { name: 'The server answers' }).waitFor()
  await page.getByRole('button', { name: 'Switch it on' }).click()
  await page.getByText('Resident memory').waitFor()
  await page.getByRole('button', { name: 'Verify every file' }).click()
  await page.getByText('All files are intact.').waitFor()
  t.regex(await textOf(page.locator('main')), /tasks and the rest/)
  await page.getByRole('link', { name: 'Analytics' }).click()
  await page.getByRole('heading', { name: 'Slowest searches of this tab' }).waitFor()
  await page.getByRole('listitem').filter({ hasText: 'mirror' }).waitFor()
})

function bound<T extends object>(target: T, name: string | symbol): unknown {
  const value = Reflect.get(target, name) as unknown
  return typeof value === 'function' ? value.bind(target) : value
}
