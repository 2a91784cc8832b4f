/** What does docs/clients.md say of the SDKs that were tried? */
import { type Language, type LanguageName, languages } from './languages.js'
import { steps } from './steps.js'

/** A line of the table for an SDK with which every step passed. */
export const rowOf = ({ title, package: name, version }: Language): string =>
  `| ${title} | ${name} | ${version} | ${steps.length} of ${steps.length} |`

/** Found by calling most other methods of three SDKs once; siftd answers as the API is described. */
const limits = [
  '- Python: read a key whose `expiresAt` has no fraction of a second. The API gives it back as it was given, so give one.',
  '- Go: write dynamic search rules. It sends the `actions` of a newer API, which are refused.',
  '- Rust: read a network with a remote that has no `searchApiKey`.',
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

/** The page, for languages whose scripts passed every step on both engines. */
export function page(): string {
  const list: readonly Language[] = (Object.keys(languages) as LanguageName[]).map((name) => languages[name])
  return [
    '# Clients',
    '',
    'The SDKs of Meilisearch work unchanged: a program gives them the URL of siftd, and its key. `npm run trials -- clients` installs',
    'these versions, runs a script of each against a fresh server, and writes this page with `--save` if all steps passed on',
    'both engines. A scheduled workflow runs it every night.',
    '',
    '| language | package | version | steps passed |',
    '|---|---|---|---|',
    ...list.map(rowOf),
    '',
    ...wrapped(
      `Steps, the same in each language: ${steps.map((step) => step.replaceAll('-', ' ')).join(', ')}. Hybrid and similar ` +
        'searches take vectors that the documents bring along; errors arrive as the error type of the SDK, with their code. ' +
        'The scripts are in [`trials/clients/`](../trials/clients/). PHP, Ruby and .NET have SDKs too, which are not tried.',
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
