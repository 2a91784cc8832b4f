/** Guides for frameworks: how a reader makes a project of a guide, and what the project shows then. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Block, parsePage } from '../../__test__/documents/markdown.js'
import { freePort } from '../../__test__/support/ports.js'
import { strapiProgram } from './strapi.js'

const execute = promisify(execFile)
const root = fileURLToPath(new URL('../../../', import.meta.url))

/** The server of a guide. */
export interface GuideServer {
  readonly url: string
  readonly masterKey: string
  /** A key that can only search. */
  readonly searchKey: string
}

export interface Project {
  /** Commands that succeed if the toolchain is installed. */
  readonly toolchain: readonly string[]
  /** Makes the project in an empty folder. @throws Error if the guide stumbles */
  follow(folder: string, blocks: readonly Block[], server: GuideServer): Promise<void>
}

const run = async (
  folder: string,
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<string> => {
  const options = { cwd: folder, maxBuffer: 64 * 2 ** 20, env: { ...process.env, ...env } }
  return (await execute(command, args, options)).stdout
}

const written = async (folder: string, path: string, text: string): Promise<void> => {
  await mkdir(dirname(join(folder, path)), { recursive: true })
  await writeFile(join(folder, path), text)
}

/** Returns the code blocks of a guide in a language. */
const codeOf = (blocks: readonly Block[], language: string): readonly string[] =>
  blocks.filter((block) => block.language === language).map(({ text }) => `${text}\n`)

/** Runs the installation that a guide shows, with more packages. */
async function install(folder: string, blocks: readonly Block[], prefix: string, more: readonly string[]) {
  const command = codeOf(blocks, 'sh').find((text) => text.startsWith(prefix))
  if (command === undefined) throw new Error(`the guide has no block with \`${prefix}\``)
  const [program = '', ...args] = command.trim().split(/\s+/)
  await run(folder, program, [...args, ...more])
}

const READY_MS_MAX = 120_000

async function textAt(url: string, expected: RegExp, program: ChildProcess): Promise<void> {
  const end = Date.now() + READY_MS_MAX
  let last = 'it does not answer'
  while (Date.now() < end && program.exitCode === null) {
    const answer = await fetch(url).catch(() => null)
    if (answer !== null) {
      last = (await answer.text()).replaceAll(/<!-- -->/g, '')
      if (answer.ok && expected.test(last)) return
    }
    await sleep(1000)
  }
  throw new Error(`${url} does not show ${expected}: ${last.slice(0, 500)}`)
}

/** Changes the page of live searches as the guide says for clicks. */
const withClicks = (live: string): string =>
  live
    .replace(
      /^import \{ instantMeiliSearch \}.*$/m,
      "import { insightsClient, searchClient } from './clicks'",
    )
    .replace(/^const \{ searchClient \} = [^)]*\)$/m, '')
    .replace('searchClient={searchClient}', '$& insights={{ insightsClient }}')

const nextjs: Project = {
  toolchain: ['npm --version'],
  async follow(folder, blocks, { url, searchKey }) {
    await written(folder, 'package.json', '{"private": true}')
    await install(folder, blocks, 'npm install', [
      'next@16',
      'react@19',
      'react-dom@19',
      '--no-audit',
      '--no-fund',
    ])
    const [films = '', live = ''] = codeOf(blocks, 'jsx')
    const [clicks = ''] = codeOf(blocks, 'js')
    await written(folder, 'app/films/page.jsx', films)
    await written(folder, 'app/live/page.jsx', live)
    await written(folder, 'app/counted/clicks.js', clicks)
    await written(folder, 'app/counted/page.jsx', withClicks(live))
    await written(
      folder,
      'app/layout.jsx',
      'export default ({ children }) => <html lang="en"><body>{children}</body></html>\n',
    )
    const [variables = ''] = codeOf(blocks, 'ini')
    await written(
      folder,
      '.env.local',
      variables.replace('http://localhost:7700', url).replace('the key of step 1', searchKey),
    )
    const port = await freePort()
    const program = spawn(process.execPath, ['node_modules/next/dist/bin/next', 'dev', '-p', String(port)], {
      cwd: folder,
      env: { ...process.env, NEXT_TELEMETRY_DISABLED: '1' },
      stdio: 'ignore',
    })
    try {
      await textAt(`http://127.0.0.1:${port}/films?q=lihgthouse`, /\[Lighthouse\] Keeper/, program)
      await textAt(`http://127.0.0.1:${port}/live`, /<body/, program)
      await textAt(`http://127.0.0.1:${port}/counted`, /<body/, program)
    } finally {
      program.kill()
    }
  },
}

const model = `from django.db import models


class Film(models.Model):
    title = models.CharField(max_length=100)
    year = models.IntegerField()
`

const routes = `from django.urls import path
from films.views import find

urlpatterns = [path("find", find)]
`

const use = `
from django.test import Client
from films import search
from films.models import Film

def ended():
    for task in search.client.get_tasks({"limit": 20}).results:
        search.client.wait_for_task(task.uid, timeout_in_ms=60000)

def found(q):
    return [hit["title"] for hit in Client(headers={"host": "localhost"}).get("/find?q=" + q).json()["hits"]]

print(found("solris"))
Film.objects.create(title="The Lighthouse", year=1961)
Film.objects.get(title="Solaris").delete()
ended()
print(found("lihgthouse"), found("solris"))
`

const django: Project = {
  toolchain: ['python3 -m venv --help'],
  async follow(folder, blocks, { url, masterKey }) {
    const bin = (name: string): string => join(folder, 'venv/bin', name)
    await run(folder, 'python3', ['-m', 'venv', 'venv'])
    const packages = codeOf(blocks, 'sh').find((text) => text.startsWith('pip install'))
    await run(folder, bin('pip'), [...(packages?.trim().split(/\s+/).slice(1) ?? [])])
    const python = (...args: string[]): Promise<string> =>
      run(folder, bin('python'), args, { SEARCH_URL: url, SEARCH_KEY: masterKey })
    await run(folder, bin('django-admin'), ['startproject', 'website', '.'])
    await python('manage.py', 'startapp', 'films')
    const [settings, index, apps, command, view] = codeOf(blocks, 'python')
    const made = await python('-c', 'print(open("website/settings.py").read())')
    await written(folder, 'website/settings.py', `${made}\n${settings}\nINSTALLED_APPS += ["films"]\n`)
    await written(folder, 'website/urls.py', routes)
    await written(folder, 'films/models.py', model)
    await written(folder, 'films/search.py', index ?? '')
    await written(folder, 'films/apps.py', apps ?? '')
    await written(folder, 'films/management/commands/index_films.py', command ?? '')
    await written(folder, 'films/views.py', view ?? '')
    await python('manage.py', 'makemigrations', 'films')
    await python('manage.py', 'migrate')
    const rows = 'from films.models import Film; Film.objects.bulk_create([Film(title="Solaris", year=1972)])'
    await python('manage.py', 'shell', '-c', rows)
    await python('manage.py', 'index_films')
    const shown = (await python('manage.py', 'shell', '-c', use)).trim().split('\n').slice(-2).join('\n')
    if (shown !== "['Solaris']\n['The Lighthouse'] []") throw new Error(`the view shows ${shown}`)
  },
}

const strapi: Project = {
  toolchain: ['npm --version'],
  async follow(folder, blocks, { url, masterKey }) {
    await written(folder, 'package.json', '{"private": true}')
    // Without Strapi itself, of which the plug-in needs only parts that the program stands in for.
    await install(folder, blocks, 'npm install', ['--legacy-peer-deps', '--no-audit', '--no-fund'])
    const [configuration = ''] = codeOf(blocks, 'js')
    await written(folder, 'config/plugins.js', configuration)
    await written(folder, 'run.cjs', strapiProgram)
    const problems = await run(folder, process.execPath, ['run.cjs'], {
      MEILISEARCH_HOST: url,
      MEILISEARCH_API_KEY: masterKey,
    })
    if (problems.trim() !== '[]') throw new Error(`the plug-in reports ${problems}`)
    const headers = { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' }
    const body = JSON.stringify({
      q: 'solris',
      filter: 'year > 1960',
      attributesToRetrieve: ['documentId', 'title'],
    })
    const expected = '[{"documentId":"a1","title":"Solaris"}]'
    let shown = ''
    for (const end = Date.now() + READY_MS_MAX; Date.now() < end && shown !== expected; ) {
      const answer = await fetch(`${url}/indexes/strapi-films/search`, { method: 'POST', headers, body })
      shown = JSON.stringify(((await answer.json()) as { readonly hits?: unknown }).hits)
      await sleep(200)
    }
    if (shown !== expected) throw new Error(`the index has ${shown}`)
  },
}

export const projects: Readonly<Record<string, Project>> = { nextjs, django, strapi }

export const guideOf = async (name: string): Promise<readonly Block[]> => {
  const path = `docs/guides/${name}.md`
  return parsePage(path, await readFile(join(root, path), 'utf8')).blocks
}

/** Runs `work` in an empty folder. */
export async function inFolder(base: string, work: (folder: string) => Promise<void>): Promise<void> {
  await rm(base, { recursive: true, force: true })
  await mkdir(base, { recursive: true })
  try {
    await work(base)
  } finally {
    await rm(base, { recursive: true, force: true, maxRetries: 5 })
  }
}
