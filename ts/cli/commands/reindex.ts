import { LaunchError } from '../../launch/index.js'
import { isText, listAll } from '../../transfer/index.js'
import { defineCommand, examples, jsonOption } from '../command/index.js'
import { onServer, withServer } from './service.js'
import { enqueued, pathOf, reportTask } from './task-output.js'

export const reindex = defineCommand('reindex', (command, output) => {
  onServer(command)
    .summary('cuts the documents of indexes into words again')
    .description(`Cuts the stored documents of indexes into words again, with the dictionaries and rules of the running version.

An upgrade of the server or of Node.js may cut queries into other words than the documents were. GET /health and the statistics
of an index then carry a warning. Meanwhile searches find the documents as before.`)
    .argument('[indexes...]', 'Uids of the indexes')
    .option('--all', 'Takes all indexes')
    .option('--no-wait', 'Does not wait until they are done')
    .addOption(jsonOption)
    .addHelpText('after', examples('siftd reindex films\nsiftd reindex --all'))
    .action(async (uids: string[], options) => {
      if ((options.all === true) === uids.length > 0)
        throw new LaunchError('reindex: name indexes, or give --all, but not both', 2)
      await withServer(options, async (peer) => {
        const all = () => listAll<{ readonly uid: string }>(peer, '/indexes', { uid: isText })
        const chosen = options.all === true ? (await all()).map(({ uid }) => uid) : uids
        for (const uid of chosen)
          await reportTask(peer, await enqueued(peer, 'POST', `${pathOf(uid)}/reindex`), options, output)
      })
    })
})
