import { LaunchError } from '../../launch/index.js'
import { counted } from '../../parse/index.js'
import {
  endedTask,
  isCount,
  isText,
  list,
  maybe,
  object,
  type Peer,
  type PeerTask,
} from '../../transfer/index.js'
import { collected, countFor, defineCommand, examples, jsonOption, tableLines } from '../command/index.js'
import { onServer, withServer } from './service.js'
import { enqueued, printTask, reportTask } from './task-output.js'

/** Tasks of a page of the tasks to wait for. */
const PAGE_TASKS = 1_000

interface ListedTask extends PeerTask {
  readonly enqueuedAt: string
}

interface TaskPage {
  readonly results: readonly ListedTask[]
  readonly total: number
  /** First task of the next page. */
  readonly next: number | null
}

const taskShape = {
  ...{ uid: isCount, status: isText, type: isText, indexUid: maybe(isText), enqueuedAt: isText },
  error: maybe(object({ code: isText, message: isText })),
}
const pageShape = { results: list(object(taskShape)), total: isCount, next: maybe(isCount) }

export const tasks = defineCommand('tasks', (command, output) => {
  command.description('Lists, watches and cancels tasks: the writes of a server.').addHelpText(
    'after',
    examples(`
        siftd tasks list --status failed
        siftd tasks watch
        siftd tasks cancel 12`),
  )
  onServer(command.command('list'))
    .summary('lists tasks, newest first')
    .description('Lists tasks, newest first.')
    .option(
      '--status <status>',
      'enqueued, processing, succeeded, failed or canceled; may be repeated',
      collected,
    )
    .option('--type <type>', 'Type such as documentAdditionOrUpdate; may be repeated', collected)
    .option('--index <uid>', 'Tasks of this index; may be repeated', collected)
    .option('--limit <n>', 'Maximum number of tasks (default: 20)', countFor('--limit'))
    .addOption(jsonOption)
    .addHelpText(
      'after',
      examples('siftd tasks list --status failed --index films\nsiftd tasks list --limit 1 --json'),
    )
    .action(async (options) => {
      const { limit = 20 } = options
      const path = `/tasks?limit=${limit}${filtered(options)}`
      const { results, total } = await withServer(options, (peer) =>
        peer.json<TaskPage>('GET', path, { shape: pageShape }),
      )
      if (options.json) return results.forEach((task) => void output.line(JSON.stringify(task)))
      const rows = results.map(({ uid, status, type, indexUid, enqueuedAt, error }) => [
        ...[String(uid), status, type, indexUid ?? '-', enqueuedAt, error?.code ?? '-'],
      ])
      for (const line of tableLines([['TASK', 'STATUS', 'TYPE', 'INDEX', 'ENQUEUED', 'ERROR'], ...rows]))
        output.line(line)
      if (total > results.length)
        output.note(`${results.length} of ${counted(total, 'task')} (--limit lists more)`)
    })
  onServer(command.command('watch'))
    .summary('waits for tasks and prints their results')
    .description(`Waits for tasks and prints their results.

Without uids it waits for all tasks that are enqueued or running now. The exit code is 1 if a task failed or was
canceled.`)
    .argument('[tasks...]', 'Uids of the tasks')
    .addOption(jsonOption)
    .addHelpText('after', examples('siftd tasks watch\nsiftd tasks watch 12 13 && echo "all indexed"'))
    .action((uids, options) =>
      withServer(
        options,
        async (peer) => {
          const watched = uids.length > 0 ? uids.map(uidOf) : await unfinished(peer)
          for (const [finished, uid] of watched.entries()) {
            output.progress('tasks', finished, watched.length)
            printTask(await endedTask(peer, uid), options.json, output)
          }
        },
        // A restart of the server does not end the watch.
        {},
      ),
    )
  onServer(command.command('cancel'))
    .summary('cancels tasks that have not ended')
    .description('Cancels tasks that are enqueued or running: by their uids, of an index, or all.')
    .argument('[tasks...]', 'Uids of the tasks')
    .option('--index <uid>', 'Tasks of this index; may be repeated', collected)
    .option('--type <type>', 'Tasks of this type; may be repeated', collected)
    .option('--all', 'All tasks')
    .option('--no-wait', 'Does not wait until they are canceled')
    .addOption(jsonOption)
    .addHelpText('after', examples('siftd tasks cancel 12 13\nsiftd tasks cancel --index films'))
    .action(async (uids, options) => {
      const { all, index, type } = options
      if (uids.length === 0 && !all && index === undefined && type === undefined)
        throw new LaunchError('tasks cancel: expected uids, --index, --type or --all', 2)
      const named = uids.length > 0 ? `&uids=${uids.map(uidOf).join(',')}` : ''
      const statuses = all || named === '' ? '&statuses=enqueued,processing' : ''
      const path = `/tasks/cancel?${`${named}${statuses}${filtered(options)}`.slice(1)}`
      await withServer(options, async (peer) =>
        reportTask(peer, await enqueued(peer, 'POST', path), options, output),
      )
    })
})

interface Filters {
  readonly status?: readonly string[] | undefined
  readonly type?: readonly string[] | undefined
  readonly index?: readonly string[] | undefined
}

const filtered = ({ status, type, index }: Filters): string =>
  Object.entries({ statuses: status, types: type, indexUids: index })
    .map(([name, values]) =>
      values === undefined ? '' : `&${name}=${values.map(encodeURIComponent).join(',')}`,
    )
    .join('')

function uidOf(text: string): number {
  if (/^\d{1,10}$/.test(text)) return Number(text)
  throw new LaunchError(`tasks: \`${text}\` is not the uid of a task, which is a number`, 2)
}

/** Uids of the tasks that have not ended, oldest first. */
async function unfinished(peer: Peer): Promise<readonly number[]> {
  const path = `/tasks?statuses=enqueued,processing&reverse=true&limit=${PAGE_TASKS}`
  const uids: number[] = []
  for (let from: number | null = 0; from !== null; ) {
    const page: TaskPage = await peer.json<TaskPage>('GET', `${path}&from=${from}`, { shape: pageShape })
    uids.push(...page.results.map(({ uid }) => uid))
    from = page.next
  }
  return uids
}
