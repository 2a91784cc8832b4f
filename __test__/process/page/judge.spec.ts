/** Judged queries on the page: from a file, and collected on hits. */
import { readFile } from 'node:fs/promises'
import { testNeeding } from '../../support/test-needing.js'
import { browserOfTests, fillFilms, textOf, visit } from './browser.js'

const test = testNeeding([browserOfTests])

const csv = (text: string) => ({ name: 'judgments.csv', mimeType: 'text/csv', buffer: Buffer.from(text) })

test('a file of judgments is run with the worst query first, linked to the explanation', async (t) => {
  const { page, complaints } = await visit(t, (server) => fillFilms(t, server), { path: '/#/index/films' })
  await page.getByRole('tab', { name: 'Judge' }).click()
  await page
    .getByLabel('File of judgments')
    .setInputFiles(
      csv('query,id,grade\nsolaris,1,3\nsolaris,5,3\nspace station,3,2\nmirror,3,1\nmirror,99,1\n'),
    )
  await page.getByText('judgments.csv: nDCG@10 0.667, recall@50 0.667, 3 queries, 1 without a hit').waitFor()
  await page.getByText('1 judged document not in this index: 99. Their judgments are ignored.').waitFor()
  t.deepEqual(await page.getByRole('rowheader').allTextContents(), ['space station', 'mirror', 'solaris'])
  t.regex(await textOf(page.getByRole('row').nth(1)), /0\.000.*Why 3\? grade 2, not in 50 hits/)
  await page.getByRole('link', { name: 'Why 3?' }).click()
  const panel = page.getByRole('complementary', { name: 'Explanation' })
  await panel.getByText('It is not a hit.').waitFor()
  t.is(await panel.getByLabel('Id of the document').inputValue(), '3')
  t.is(await page.getByRole('searchbox', { name: 'Query' }).inputValue(), 'space station')
  t.deepEqual(complaints, [])
})

test('a file with a mistake is refused with its line', async (t) => {
  const { page } = await visit(t, (server) => fillFilms(t, server), { path: '/#/index/films' })
  await page.getByRole('tab', { name: 'Judge' }).click()
  for (const [text, message] of [
    ['query,id,grade\nsolaris,1,-1\n', 'Line 2: the grade “-1” is not a number from 0'],
    ['query,id\nsolaris,1\n', 'Line 1 is “query,id”.'],
    ['query,id,grade\nsolaris,99,1\n', 'No query has a document with a grade above 0'],
  ] as const) {
    await page.getByLabel('File of judgments').setInputFiles(csv(text))
    await page.getByRole('alert').getByText(message).waitFor()
  }
  t.is(await page.getByRole('rowheader').count(), 0)
})

test('thumbs on hits collect judgments in the browser, which can be run and downloaded', async (t) => {
  const { page, outside, complaints } = await visit(t, (server) => fillFilms(t, server))
  await page.getByRole('searchbox', { name: 'Query' }).fill('solaris')
  await page.getByText('2 hits').waitFor()
  t.is(await page.getByRole('button', { name: 'Good hit: Solaris' }).count(), 0)
  await page.getByRole('button', { name: 'Judge hits' }).click()
  await page.getByRole('button', { name: 'Good hit: Solaris' }).first().press('Enter')
  await page.getByRole('button', { name: 'Good hit: Solaris', pressed: true }).waitFor()
  await page.getByRole('button', { name: 'Bad hit: Solaris' }).nth(1).click()
  await page.getByText('2 judgments in this browser.').waitFor()
  await page.getByRole('button', { name: 'Bad hit: Solaris' }).nth(1).click()
  await page.getByText('1 judgment in this browser.').waitFor()
  await page.reload()
  await page.getByRole('button', { name: 'Judge hits' }).click()
  await page.getByText('1 judgment in this browser.').waitFor()

  await page.getByRole('link', { name: 'Index' }).click()
  await page.getByRole('tab', { name: 'Judge' }).click()
  await page.getByText('Collected in this browser: 1 judgment of 1 query').waitFor()
  const started = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download CSV' }).click()
  const download = await started
  t.is(download.suggestedFilename(), 'films-judgments.csv')
  t.is(await readFile(await download.path(), 'utf8'), 'query,id,grade\nsolaris,1,1\n')
  await page.getByRole('button', { name: 'Run them' }).click()
  await page.getByText('collected judgments: nDCG@10 1.000, recall@50 1.000, 1 query').waitFor()
  await page.getByRole('button', { name: 'Forget them' }).click()
  await page.getByRole('button', { name: 'Forget them for good?' }).click()
  await page.getByText('Or collect judgments').waitFor()
  t.deepEqual([outside, complaints], [[], []])
})
