/** `siftd dump` and `siftd snapshot`: copies of an instance that its server writes. */
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
  description: `Lets a server write a dump of everything it holds, into its --dump-dir.

A dump can be read by later versions and by either engine: siftd --import-dump FILE.`,
})

export const snapshot = backup({
  name: 'snapshot',
  path: '/snapshots',
  description: `Lets a server write a snapshot of its data directory, into its --snapshot-dir.

A snapshot is a copy of files, quick to write and to start from: siftd --import-snapshot FILE.`,
})
