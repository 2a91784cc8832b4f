import { isText } from '../../transfer/index.js'
import { defineCommand, examples, jsonOption } from '../command/index.js'
import { onServer, withServer } from './service.js'

/** Milliseconds for the server to name a successor and to wait until it leads. */
const HANDOVER_MS = 15_000

export const handover = defineCommand('handover', (command, output) =>
  onServer(command)
    .description(
      `Lets another server of a bucket become the leader, before an upgrade or a move.

Any server of the bucket can be asked. The leader stops its batches, sends everything, and names a server that runs with
--candidate yes and --follow. It becomes a follower and keeps running. Clients notice a delay of about a second.`,
    )
    .option(
      '--to <url>',
      'The --advertised-url of the next leader (default: the candidate with the newest data)',
    )
    .addOption(jsonOption)
    .addHelpText(
      'after',
      examples(`
        siftd handover --key-file master.key
        siftd handover --url http://search-1:7700 --to http://search-2:7700`),
    )
    .action(({ to, json, ...options }) =>
      withServer(
        options,
        async (peer) => {
          const body = to === undefined ? {} : { to }
          const call = { isRepeatable: false, body, shape: { to: isText }, timeoutMs: HANDOVER_MS }
          const done = await peer.json<{ to: string }>('POST', '/replication/handover', call)
          output.line(json ? JSON.stringify(done) : `${done.to} is the leader now`)
        },
        { attemptsMax: 1 },
      ),
    ),
)
