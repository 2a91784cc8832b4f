/** Here are two running instances: how does everything of the one get into the other over HTTP, and is it all there? */

import { LaunchError } from '../launch/index.js'
import { openOutbound } from '../outbound/index.js'
import { type Command, openPeer, peerFlags, peerOptions, readFlags } from '../peer/index.js'
import { type InstancePart, instanceParts } from './inventory.js'
import { leftOut } from './left-out.js'
import { copyAll, describe, type Migration, surveyed } from './migration.js'
import { StateFile } from './state-file.js'
import { differences } from './verify.js'

const help = `siftd migrate: copies a running instance of Meilisearch or siftd into a running siftd, over HTTP

Usage: siftd migrate --from URL [--to URL] [options]

Examples:
  siftd migrate --from http://old:7700 --from-key-file old.key --to-key-file new.key
  siftd migrate --from http://old:7700 --to http://new:7700 --index films --index books
  siftd migrate --from http://old:7700 --dry-run       what would be copied
  siftd migrate --from http://old:7700 --verify        what differs; copies nothing

Copies experimental features, indexes with settings, documents and vectors, dynamic search rules, keys and webhooks, and
lists what it cannot copy. A run that was stopped
goes on where it was when it is started again. The exit code is 0 if all is equal in the end, 1 if something differs or
failed, 2 for wrong usage.

Options:
  --from URL               The instance to copy
  --from-key KEY           Its master key, or a key that may read everything
  --from-key-file FILE     A file that holds that key, so that no list of processes shows it
  --to URL                 The siftd to copy into (default: http://127.0.0.1:7700)
  --to-key KEY, --to-key-file FILE
                           Its master key
  --index UID              Copies this index only; may be repeated
  --skip PART              Leaves out ${instanceParts.join(', ')}; may be repeated
  --state FILE             Where the progress is kept until all is copied
                           (default: siftd-migrate-….json in the current directory)
  --dry-run                Prints what would be copied
  --verify                 Compares only
  --help                   Prints this text
`

const DEFAULT_TARGET = 'http://127.0.0.1:7700'

export const migrate: Command = {
  help,
  async run(args, output) {
    const { values } = readFlags('migrate', args, {
      ...peerOptions('from'),
      ...peerOptions('to'),
      index: { type: 'string', multiple: true },
      skip: { type: 'string', multiple: true },
      state: { type: 'string' },
      'dry-run': { type: 'boolean' },
      verify: { type: 'boolean' },
    })
    const from = peerFlags('from', values, null)
    const to = peerFlags('to', values, DEFAULT_TARGET)
    const selection = { indexes: values.index ?? null, skipped: skippedParts(values.skip ?? []) }
    // The user names both addresses, so that none of them is refused as private.
    const outbound = openOutbound({ allowedNetworks: 'any' })
    try {
      const migration: Migration = {
        from: openPeer(outbound, from),
        to: openPeer(outbound, to),
        selection,
        output,
      }
      const { source, target } = await surveyed(migration)
      const uncopied = values.verify ? [] : await leftOut(migration.from, source, selection)
      if (values['dry-run']) {
        await describe(migration, source, target)
        for (const line of uncopied) output.line(`would not copy ${line}`)
        return 0
      }
      if (!values.verify) {
        const state = await StateFile.open(values.state ?? null, from.url, to.url)
        for (const remark of await copyAll(migration, source, target, state)) output.line(`note: ${remark}`)
        for (const line of uncopied) output.line(`not copied: ${line}`)
        await state.remove()
      }
      const found = await differences(migration.from, migration.to, selection)
      for (const difference of found) output.line(`differs: ${difference}`)
      output.line(found.length === 0 ? 'all is equal' : `${found.length} differences`)
      return found.length === 0 ? 0 : 1
    } finally {
      await outbound.close()
    }
  },
}

function skippedParts(given: readonly string[]): ReadonlySet<InstancePart> {
  const parts: readonly string[] = instanceParts
  const wrong = given.find((part) => !parts.includes(part))
  if (wrong !== undefined)
    throw new LaunchError(`--skip: unknown part \`${wrong}\`, expected ${instanceParts.join(', ')}`, 2)
  return new Set(given as readonly InstancePart[])
}
