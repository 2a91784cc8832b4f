/** siftd in process beside the libraries that a Node program would take instead, which are installed when asked for. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { trialProcess } from './process.js'
import type { LibraryFigures } from './report/figures.js'

const packages = ['minisearch@7.2.0', '@orama/orama@3.1.18']
const cache = fileURLToPath(new URL('../../node_modules/.cache/siftd-libraries', import.meta.url))

async function installed(): Promise<string> {
  const folder = join(cache, packages.join('-').replaceAll(/[@/]/g, '_'))
  const mark = join(folder, 'installed')
  if (existsSync(mark)) return folder
  await mkdir(folder, { recursive: true })
  // npm installs where the nearest manifest is.
  await writeFile(join(folder, 'package.json'), '{ "private": true }\n')
  await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', ...packages], {
    cwd: folder,
    shell: process.platform === 'win32',
  })
  await writeFile(mark, '')
  return folder
}

/**
 * Each library in a fresh process, one after another.
 * @param titles how many titles are asked for in each spelling
 */
export async function compareLibraries(
  engines: readonly string[],
  documents: string,
  titles: number,
): Promise<readonly LibraryFigures[]> {
  const folder = await installed()
  const figures: LibraryFigures[] = []
  for (const name of [...engines, 'minisearch', 'orama'])
    figures.push(
      await trialProcess<LibraryFigures>('library-trial', [name, documents, String(titles), folder]),
    )
  return figures
}
