/** Operations to interrupt: how to prepare and request each. */
import { copyFile, cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { World } from './world.js'

/** Directories of one trial. */
export interface Place {
  /** Contains all others. */
  readonly root: string
  readonly data: string
  readonly dumps: string
  readonly snapshots: string
}

export interface Operation {
  readonly name: string
  /** Creates the files that exist before the operation. */
  prepare(world: World, place: Place): Promise<void>
  /** Arguments of every start, in addition to the directories. */
  args(world: World): readonly string[]
  /** Path to POST for the task that performs the operation; null if a server start performs it. */
  readonly request: string | null
}

const OLDER_VERSION = '0.0.9'

async function copied(world: World, { root, data }: Place): Promise<void> {
  await mkdir(root, { recursive: true })
  await cp(world.data, data, { recursive: true })
}

const noArguments = (): readonly string[] => []
const nothing = async (_world: World, { root }: Place): Promise<void> => {
  await mkdir(root, { recursive: true })
}

export const operations: readonly Operation[] = [
  { name: 'dump', prepare: copied, args: noArguments, request: '/dumps' },
  {
    name: 'snapshot',
    async prepare(world, place) {
      await copied(world, place)
      await mkdir(place.snapshots, { recursive: true })
      await copyFile(world.snapshot, join(place.snapshots, 'data.ms.snapshot'))
    },
    args: noArguments,
    request: '/snapshots',
  },
  { name: 'compaction', prepare: copied, args: noArguments, request: '/indexes/things/compact' },
  {
    name: 'import of a dump',
    prepare: nothing,
    args: ({ dump }) => ['--import-dump', dump, '--ignore-dump-if-db-exists'],
    request: null,
  },
  {
    name: 'restore of a snapshot',
    prepare: nothing,
    args: ({ snapshot }) => ['--import-snapshot', snapshot, '--ignore-snapshot-if-db-exists'],
    request: null,
  },
  {
    name: 'upgrade',
    async prepare(world, place) {
      await copied(world, place)
      await writeFile(join(place.data, 'VERSION'), `${OLDER_VERSION}\n`)
    },
    args: () => ['--upgrade-db'],
    request: null,
  },
]
