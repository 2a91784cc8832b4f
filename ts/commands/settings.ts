import { isDeepStrictEqual } from 'node:util'
import { type CommandOutput, defineCommand, examples, jsonOption } from '../command/index.js'
import { ApiError } from '../errors/index.js'
import { LaunchError } from '../launch/index.js'
import type { Peer } from '../peer/index.js'
import { type JsonObject, objectIn } from './json-argument.js'
import { onData, onServer, withData, withServer } from './service.js'
import { settingsAfter } from './settings-after.js'
import { enqueued, pathOf, reportTask } from './task-output.js'

export const settings = defineCommand('settings', (command, output) => {
  command
    .description('Prints the settings of an index, compares them with a file, and applies one.')
    .addHelpText(
      'after',
      examples(`
        siftd settings get films > films.settings.json
        siftd settings diff films films.settings.json || echo drifted
        siftd settings apply films films.settings.json`),
    )
  onData(command.command('get'))
    .summary('prints the settings of an index')
    .description('Prints the settings of an index as JSON, ready for a file.')
    .argument('<index>', 'The uid of the index')
    .option('--json', 'Prints them on one line')
    .addHelpText('after', examples('siftd settings get films > films.settings.json'))
    .action(async (index, options) => {
      const found = await withData(options, (peer) => settingsOf(peer, index))
      output.line(JSON.stringify(found, null, options.json ? 0 : 2))
    })
  onData(command.command('diff'))
    .summary('prints in what an index differs from a file of settings')
    .description(`Prints the settings that applying FILE would change, each with its value now and then.

FILE is a JSON object such as siftd settings get prints, and may hold some settings only; null stands for the default,
and - for the standard input. The exit code is 0 if nothing would change, 1 for drift, 2 for wrong usage.`)
    .argument('<index>', 'The uid of the index')
    .argument('<file>', 'The settings that it should have')
    .addOption(jsonOption)
    .addHelpText('after', examples('siftd settings diff films films.settings.json'))
    .action(async (index, file, options) => {
      const wanted = objectIn(file)
      const found = await withData(options, (peer) => settingsOf(peer, index))
      printDrift(driftOf(found, wanted), options.json, output)
    })
  onServer(command.command('apply'))
    .summary('gives an index the settings of a file')
    .description(`Gives an index the settings of FILE, waits until they hold, and compares.

Settings that FILE does not hold stay. Nothing is sent if nothing would change. The exit code is 0 if the index has the
settings in the end, 1 if it was refused or drift remains, 2 for wrong usage.`)
    .argument('<index>', 'The uid of the index, which is created if it is missing')
    .argument('<file>', 'The settings that it shall have')
    .option('--no-wait', 'Does not wait until they hold')
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

/** null for an index that does not exist. */
function ifMissing(error: unknown): null {
  if ((error as { readonly code?: unknown }).code === 'index_not_found') return null
  throw error
}

interface Drift {
  readonly setting: string
  readonly now: unknown
  readonly wanted: unknown
}

/** The settings that `wanted` would change. @throws LaunchError with exit code 2 if `wanted` is not accepted */
function driftOf(found: JsonObject, wanted: JsonObject): readonly Drift[] {
  try {
    const { before, after } = settingsAfter(found, wanted)
    return (
      Object.keys(wanted)
        .filter((setting) => !isDeepStrictEqual(before[setting], after[setting]))
        // A secret of the file that masks like the one of the index counts as equal.
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
