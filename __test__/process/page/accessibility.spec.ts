import { testNeeding } from '../../support/test-needing.js'
import { browserOfTests, fillFilms, violations, visit } from './browser.js'

const test = testNeeding([browserOfTests])

for (const [colorScheme, width] of [
  ['light', 1280],
  ['dark', 380],
] as const)
  test(`axe finds nothing serious in any section, ${colorScheme}, ${width} px wide`, async (t) => {
    const { page } = await visit(
      t,
      async (server) => {
        await fillFilms(t, server)
        await server.settle(t, server.post('/indexes/films/documents', [{ title: 'no id' }]))
      },
      { colorScheme, width, server: { features: ['metrics', 'dynamicSearchRules'], queryStats: true } },
    )
    const look = async (what: string): Promise<void> => {
      t.deepEqual(await violations(page), [], what)
    }
    await page.getByText('5 hits').waitFor()
    await look('search')
    await page.getByRole('searchbox', { name: 'Query' }).fill('solaris')
    await page.getByText('2 hits').waitFor()
    await page.getByRole('button', { name: 'More settings' }).click()
    // On a narrow screen, the panel covers most of the page.
    await page.getByRole('button', { name: 'Why? Solaris' }).first().click()
    await page.getByText('Score, rule by rule').waitFor()
    await look('why')
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('combobox', { name: 'Filter' }).fill('genres = ')
    await page.getByRole('option', { name: 'Drama' }).waitFor()
    await look('completion')
    await page.getByRole('combobox', { name: 'Filter' }).press('Escape')
    await page.getByRole('button', { name: 'Judge hits' }).click()
    await page.getByRole('button', { name: 'Good hit: Solaris' }).first().waitFor()
    await look('judge hits')
    await page.getByRole('button', { name: 'Copy as code' }).click()
    await look('copy')
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('link', { name: 'Index' }).click()
    await page.locator('.record').first().click()
    await look('documents')
    for (const tab of ['Fields', 'Settings', 'Import', 'Vectors', 'Judge']) {
      await page.getByRole('tab', { name: tab }).click()
      await page.getByRole('tabpanel').getByText(/./).first().waitFor()
      await look(tab)
    }
    await page.getByRole('link', { name: 'Tasks' }).click()
    await page.getByRole('button', { name: 'More about task 2' }).click()
    await look('tasks')
    await page.getByRole('link', { name: 'API' }).click()
    await page.getByLabel('Path with query').waitFor()
    await look('console')
    await page.getByRole('link', { name: 'Rules' }).click()
    await page.getByRole('button', { name: 'New rule' }).click()
    await page.getByText('changes nothing').waitFor()
    await look('rules')
    await page.getByRole('link', { name: 'Analytics' }).click()
    await page.getByText('Top queries').waitFor()
    await look('analytics')
    await page.getByRole('link', { name: 'Health' }).click()
    await page.getByText('Resident memory').waitFor()
    await look('health')
    t.true(
      Boolean(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')),
      'nothing overflows to the right',
    )
  })

test('a hit, its explanation and the sections can be reached by keyboard', async (t) => {
  const { page } = await visit(t, (server) => fillFilms(t, server))
  await page.getByText('5 hits').waitFor()
  await page.keyboard.press('Tab')
  t.is(await page.evaluate('document.activeElement.textContent.trim()'), 'Skip to content')
  await page.keyboard.press('Enter')
  t.is(await page.evaluate('document.activeElement.id'), 'main')
  await page.keyboard.press('/')
  await page.keyboard.type('solaris')
  await page.getByText('2 hits').waitFor()
  const reached: string[] = []
  for (let i = 0; i < 40 && !reached.at(-1)?.startsWith('Why? Solaris'); i++) {
    await page.keyboard.press('Tab')
    reached.push(String(await page.evaluate('document.activeElement.textContent')))
  }
  t.regex(reached.at(-1) ?? '', /^Why\? Solaris/)
  await page.keyboard.press('Enter')
  await page.getByText('Score, rule by rule').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('link', { name: 'Index' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('tab', { name: 'Documents' }).focus()
  await page.keyboard.press('ArrowRight')
  t.is(await page.getByRole('tab', { name: 'Fields' }).getAttribute('aria-selected'), 'true')
})
