import { isDeepStrictEqual } from 'node:util'
import { ApiError } from '../../errors/index.js'
import { LaunchError } from '../../launch/index.js'
import { type Peer, PeerError } from '../../transfer/index.js'
import { type CommandOutput, defineCommand, examples, jsonOption } from '../command/index.js'
import { type JsonObject, objectIn } from './json-argument.js'
import { onData, onServer, withData, withServer } from './service.js'
import { settingsAfter } from './settings-after.js'
import { enqueued, pathOf, reportTask } from './task-output.js'

export const settings = defineCommand('settings', (command, output) => {
  command.description('Prints settings of an index, compares them with a file, applies a file.').addHelpText(
    'after',
    examples(`
        siftd settings get films > films.settings.json
        siftd settings diff films films.settings.json || echo drifted
        siftd settings apply films films.settings.json`),
  )
  onData(command.command('get'))
    .summary('prints the settings of an index')
    .description('Prints the settings of an index as JSON.')
    .argument('<index>', 'The uid of the index')
    .option('--json', 'Prints them on one line')
    .addHelpText('after', examples('siftd settings get films > films.settings.json'))
    .action(async (index, options) => {
      const found = await withData(options, (peer) => settingsOf(peer, index))
      output.line(JSON.stringify(found, null, options.json ? 0 : 2))
    })
  onData(command.command('diff'))
    .summary('prints the differences between an index and a file of settings')
    .description(`Prints the settings that applying FILE would change, with their old and new values.

FILE is a JSON object as printed by siftd settings get; it may have only some of the settings. null means the default value.
The file - is the standard input. The exit code is 0 if nothing would change, 1 for drift, 2 for wrong usage.`)
    .argument('<index>', 'The uid of the index')
    .argument('<file>', 'The file of settings')
    .addOption(jsonOption)
    .addHelpText('after', examples('siftd settings diff films films.settings.json'))
    .action(async (index, file, options) => {
      const wanted = objectIn(file)
      const found = await withData(options, (peer) => settingsOf(peer, index))
      printDrift(driftOf(found, wanted), options.json, output)
    })
  onServer(command.command('apply'))
    .summary('applies the settings of a file to an index')
    .description(`Applies the settings of FILE to an index, waits until they are in effect, and compares.

Settings that are not in FILE do not change. Nothing is sent if nothing would change. The exit code is 0 if the index has
the settings at the end, 1 if they were refused or drift remains, 2 for wrong usage.`)
    .argument('<index>', 'The uid of the index. It is created if it does not exist')
    .argument('<file>', 'The file of settings')
    .option('--no-wait', 'Does not wait until they are in effect')
    .addOption(jsonOption)
    .addHelpText('after', examples('siftd settings apply films films.settings.json'))
    .action(async (index, file, options) => {
      const wanted = objectIn(file)
      await withServer(options, async (peer) => {
        const before = await settingsOf(peer, index).catch(ifMissing)
        if (before !== null && driftOf(before, wanted).length === 0)
          return output.note('nothing to change: the index has these settings')
        const taskUid = await enqueued(peer, 'PATCH', `${pathOf(index)}/settings`, wanted)
        await reportTask(peer, taskUid, options, output)
        if (!options.wait) return
        const after = await settingsOf(peer, index).catch(ifMissing)
        const drift = after === null ? [] : driftOf(after, wanted)
        if (drift.length > 0) printDrift(drift, options.json, output)
      })
    })
})

const settingsOf = (peer: Peer, index: string): Promise<JsonObject> =>
  peer.json<JsonObject>('GET', `${pathOf(index)}/settings`)

/** Returns null if the index does not exist. */
function ifMissing(error: unknown): null {
  if (error instanceof PeerError && error.apiCode === 'index_not_found') return null
  throw error
}

interface Drift {
  readonly setting: string
  readonly now: unknown
  readonly wanted: unknown
}

/** Returns the settings that `wanted` would change. @throws LaunchError with exit code 2 if `wanted` is not accepted */
function driftOf(found: JsonObject, wanted: JsonObject): readonly Drift[] {
  try {
    const { before, after } = settingsAfter(found, wanted)
    return (
      Object.keys(wanted)
        .filter((setting) => !isDeepStrictEqual(before[setting], after[setting]))
        // A secret of the file counts as equal if its mask equals the mask in the index.
        .filter((setting) => !isDeepStrictEqual(found[setting], after[setting]))
        .map((setting) => ({ setting, now: found[setting], wanted: after[setting] }))
    )
  } catch (error) {
    if (error instanceof ApiError) throw new LaunchError(`settings: ${error.message}`, 2)
    throw error
  }
}

function printDrift(drift: readonly Drift[], json: true | undefined, output: CommandOutput): void {
  for (const { setting, now, wanted } of drift) {
    if (json) output.line(JSON.stringify({ setting, now, wanted }))
    else output.line(`${setting}\n- ${JSON.stringify(now)}\n+ ${JSON.stringify(wanted)}`)
  }
  if (drift.length > 0) output.finding()
}
