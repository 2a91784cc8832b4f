/** `siftd dump` and `siftd snapshot`: ask a server to write a copy of its instance. */
import { type Command, defineCommand, examples, jsonOption } from '../command/index.js'
import { onServer, withServer } from './service.js'
import { enqueued, reportTask } from './task-output.js'

interface Backup {
  readonly name: string
  readonly path: string
  readonly description: string
}

const backup = ({ name, path, description }: Backup): Command =>
  defineCommand(name, (command, output) =>
    onServer(command)
      .description(description)
      .option('--no-wait', 'Does not wait until it is written')
      .addOption(jsonOption)
      .addHelpText('after', examples(`siftd ${name} --key-file master.key`))
      .action((options) =>
        withServer(options, async (peer) =>
          reportTask(peer, await enqueued(peer, 'POST', path), options, output),
        ),
      ),
  )

export const dump = backup({
  name: 'dump',
  path: '/dumps',
  description: `Asks a server to write a dump of all its data to its --dump-dir.

A dump can be read by later versions and by either engine: siftd --import-dump FILE.`,
})

export const snapshot = backup({
  name: 'snapshot',
  path: '/snapshots',
  description: `Asks a server to write a snapshot of its data directory to its --snapshot-dir.

A snapshot is a copy of files, fast to write and to start from: siftd --import-snapshot FILE.`,
})
