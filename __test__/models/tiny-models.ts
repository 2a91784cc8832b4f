import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { openModels } from '../../ts/embedding/index.js'
import { openOutbound } from '../../ts/outbound/index.js'
import { writeModel } from './tiny-model.js'

export async function emptyDirectory(t: ExecutionContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-models-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  return directory
}

/** Writes a model into a folder, and opens the models of its parent folder, without a hub. */
export async function tinyModels(t: ExecutionContext, files: ReadonlyMap<string, Buffer | string>) {
  const directory = await emptyDirectory(t)
  const folder = join(directory, 'tiny')
  await writeModel(folder, files)
  const outbound = openOutbound({ allowedNetworks: [] })
  t.teardown(() => outbound.close())
  const models = openModels({
    outbound,
    directory,
    hubUrl: 'http://localhost:9',
    hubToken: null,
    threads: 2,
    version: '0.0.0',
    report: () => undefined,
  })
  t.teardown(() => models.close())
  return { models, folder }
}
