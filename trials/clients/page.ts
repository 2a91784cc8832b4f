/** Generates docs/clients.md. */
import { type Language, type LanguageName, languages } from './languages.js'
import { steps } from './steps.js'
import { knownTests } from './suites/outcome.js'
import { type Suite, suites } from './suites/suites.js'

/** Table row of an SDK that passed every step. */
export const rowOf = ({ title, package: name, version }: Language): string =>
  `| ${title} | ${name} | ${version} | ${steps.length} of ${steps.length} |`

/** Table row of a suite without unknown failures. */
const suiteRow = ({ language, tests, skipped, known }: Suite): string => {
  const { title, version } = languages[language]
  return `| ${title} | ${version} | ${tests - skipped - knownTests(known).length} of ${tests} |`
}

/** Limits of the SDKs, found by calling most other methods of three SDKs once. siftd follows the API here. */
const limits = [
  '- Python: read a key whose `expiresAt` has no fraction of a second. The API returns it as you sent it, so send one.',
  '- Python: read dynamic search rules. It expects the `actions` of versions before 1.54.',
  '- Rust: read a network that has a remote without `searchApiKey`.',
]

const LINE_LENGTH_MAX = 120

function wrapped(text: string): readonly string[] {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = `${lines.at(-1)} ${word}`.trim()
    if (line.length <= LINE_LENGTH_MAX) lines[lines.length - 1] = line
    else lines.push(word)
  }
  return lines
}

/** Returns the page. Valid only if every script passed every step on both engines. */
export function page(): string {
  const list: readonly Language[] = (Object.keys(languages) as LanguageName[]).map((name) => languages[name])
  return [
    '# Clients',
    '',
    'The Meilisearch SDKs work unchanged with the URL and key of siftd. `npm run trials -- clients` installs these',
    'versions and runs a script of each against a fresh server. With `--save` it writes this page if all steps pass on',
    'both engines. A scheduled workflow runs it every night.',
    '',
    '| language | package | version | steps passed |',
    '|---|---|---|---|',
    ...list.map(rowOf),
    '',
    ...wrapped(
      `Every language runs the same steps: ${steps.map((step) => step.replaceAll('-', ' ')).join(', ')}. ` +
        'Hybrid and similar searches use vectors from the documents. Errors arrive as the error type of the SDK, ' +
        'with their code. `npm run trials -- clients --servers two` sends requests to a leader ' +
        'and a follower in turn; the results must be the same. The scripts are in [`trials/clients/`](../trials/clients/). The SDKs for PHP, Ruby and ' +
        '.NET are not tested.',
    ),
    '',
    '## Their own tests',
    '',
    ...wrapped(
      'The packages for Go and Rust contain the tests of their SDK. `npm run trials -- clients --suites` runs them ' +
        'against a fresh server of each engine and fails if a test fails that is not listed here. The packages for ' +
        'JavaScript and Java contain no tests, the one for Python only tests that need no server.',
    ),
    '',
    '| language | version | tests passed on both engines |',
    '|---|---|---|',
    ...suites.map(suiteRow),
    '',
    'Known failures, with the number of tests:',
    '',
    ...suites.flatMap(({ known }) => known.map(({ reason, tests }) => `- ${reason} (${tests.length})`)),
    ...suites
      .filter(({ skipped }) => skipped > 0)
      .map(
        ({ language, skipped }) =>
          `- ${languages[language].title}: skipped without a key of a provider. (${skipped})`,
      ),
    '',
    '## What these versions cannot do',
    '',
    ...limits,
    '',
    '## What a program changes',
    ...list.flatMap(({ title, connect: { fence, lines } }) => [
      '',
      title,
      '',
      `\`\`\`${fence}`,
      ...lines,
      '```',
    ]),
    '',
  ].join('\n')
}
