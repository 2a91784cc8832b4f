/** The list of tasks: filters, paging, progress, cancelation, and errors with advice. */
import { useState } from 'preact/hooks'
import { ask, type Failure } from '../api/client.ts'
import type { Batch, IndexInfo, Json, Task, TaskStatus, UidPage } from '../api/types.ts'
import { Empty, Problem, Scroll } from '../parts/basics.tsx'
import { count, milliseconds, millisecondsOfIso, plural, short, when, words } from '../parts/text.ts'
import { asFailure, usePolled } from '../state/loading.ts'

const PAGE_SIZE = 50
const EVERY_MS = 1500
const statuses: readonly TaskStatus[] = ['enqueued', 'processing', 'succeeded', 'failed', 'canceled']
const types = [
  'documentAdditionOrUpdate',
  'documentDeletion',
  'documentEdition',
  'settingsUpdate',
  'indexCreation',
  'indexUpdate',
  'indexDeletion',
  'indexSwap',
  'taskCancelation',
  'taskDeletion',
  'dumpCreation',
  'snapshotCreation',
  'indexCompaction',
  'export',
  'upgradeDatabase',
]

interface Found {
  readonly page: UidPage<Task>
  readonly batches: readonly Batch[]
}

export function TaskList({ indexes }: { readonly indexes: readonly IndexInfo[] }) {
  const [status, setStatus] = useState('')
  const [type, setType] = useState('')
  const [index, setIndex] = useState('')
  /** First uid of each visited page, newest page first. The last page is shown. */
  const [starts, setStarts] = useState<readonly number[]>([])
  const [failure, setFailure] = useState<Failure | null>(null)
  const from = starts.at(-1)
  const query = new URLSearchParams({
    limit: String(PAGE_SIZE),
    ...(status !== '' && { statuses: status }),
    ...(type !== '' && { types: type }),
    ...(index !== '' && { indexUids: index }),
    ...(from !== undefined && { from: String(from) }),
  }).toString()
  const tasks = usePolled(
    async (signal): Promise<Found> => {
      const page = await ask<UidPage<Task>>('GET', `/tasks?${query}`, { signal })
      const isRunning = page.results.some((task) => task.status === 'processing')
      const batches = isRunning
        ? (await ask<UidPage<Batch>>('GET', '/batches?statuses=processing', { signal })).results
        : []
      return { page, batches }
    },
    [query],
    EVERY_MS,
  )
  const narrow = (set: (value: string) => void) => (event: Event) => {
    set((event.currentTarget as HTMLSelectElement).value)
    setStarts([])
  }
  const cancel = async (uids: readonly number[] | null): Promise<void> => {
    setFailure(null)
    try {
      const which = new URLSearchParams(
        uids === null
          ? {
              statuses: status === '' ? 'enqueued,processing' : status,
              ...(type !== '' && { types: type }),
              ...(index !== '' && { indexUids: index }),
            }
          : { uids: uids.join(',') },
      )
      await ask('POST', `/tasks/cancel?${which}`)
      tasks.reload()
    } catch (error) {
      setFailure(asFailure(error))
    }
  }
  const { page, batches } = tasks.value ?? { page: null, batches: [] }
  const isPending = page?.results.some((task) => task.status === 'enqueued' || task.status === 'processing')
  return (
    <>
      <div class="row beside">
        <div class="pair grow">
          <Choice name="Status" value={status} change={narrow(setStatus)} options={statuses} />
          <Choice name="Type" value={type} change={narrow(setType)} options={types} />
          <Choice
            name="Index"
            value={index}
            change={narrow(setIndex)}
            options={indexes.map(({ uid }) => uid)}
          />
        </div>
        <button type="button" class="danger" disabled={!isPending} onClick={() => cancel(null)}>
          {status === '' && type === '' && index === '' ? 'Cancel all pending' : 'Cancel these pending'}
        </button>
      </div>
      {failure !== null && <Problem failure={failure} />}
      {tasks.failure !== null && <Problem failure={tasks.failure} />}
      {page !== null && page.results.length === 0 && (
        <Empty title="No task">
          <p>
            {status || type || index ? 'No task matches these conditions.' : 'Writes appear here as tasks.'}
          </p>
        </Empty>
      )}
      {page !== null && page.results.length > 0 && (
        <Scroll label="Tasks">
          <table class="tasks">
            <thead>
              <tr>
                <th scope="col" class="num fit">
                  Uid
                </th>
                <th scope="col" class="fit">
                  Status
                </th>
                <th scope="col">Type</th>
                <th scope="col">Index</th>
                <th scope="col" class="num fit">
                  Duration
                </th>
                <th scope="col" class="fit">
                  Enqueued
                </th>
                <th scope="col" class="fit">
                  <span class="hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {page.results.map((task) => (
                <TaskRow
                  key={task.uid}
                  task={task}
                  batch={batches.find(({ uid }) => uid === task.batchUid) ?? null}
                  cancel={() => cancel([task.uid])}
                />
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {page !== null && (
        <div class="row">
          <button type="button" disabled={starts.length === 0} onClick={() => setStarts(starts.slice(0, -1))}>
            Newer
          </button>
          <button
            type="button"
            disabled={page.next === null}
            onClick={() => page.next !== null && setStarts([...starts, page.next])}
          >
            Older
          </button>
          <span class="soft small num">
            {plural(page.total, 'task')}
            {page.total > PAGE_SIZE
              ? `, page ${count(starts.length + 1)} of ${count(Math.ceil(page.total / PAGE_SIZE))}`
              : ''}
          </span>
        </div>
      )}
    </>
  )
}

function Choice(props: {
  readonly name: string
  readonly value: string
  readonly change: (event: Event) => void
  readonly options: readonly string[]
}) {
  const { name, value, change, options } = props
  return (
    <label class="field">
      {name}
      <select value={value} onChange={change}>
        <option value="">Any</option>
        {options.map((option) => (
          <option key={option} value={option}>
            {name === 'Index' ? option : words(option)}
          </option>
        ))}
      </select>
    </label>
  )
}

function TaskRow(props: { readonly task: Task; readonly batch: Batch | null; readonly cancel: () => void }) {
  const { task, batch, cancel } = props
  const [isOpen, setIsOpen] = useState(false)
  const isPending = task.status === 'enqueued' || task.status === 'processing'
  const progress = task.status === 'processing' ? (batch?.progress ?? null) : null
  return (
    <>
      <tr>
        <td class="num">{task.uid}</td>
        <td>
          <span class={`status ${task.status}`}>{task.status}</span>
        </td>
        <td>
          {words(task.type)} <span class="soft small">{detailsOf(task.details)}</span>
          {progress !== null && (
            <>
              <progress max={100} value={progress.percentage} aria-label={`Progress of task ${task.uid}`} />
              <span class="soft small">
                {Math.floor(progress.percentage)} %, {progress.steps.at(-1)?.currentStep}
              </span>
            </>
          )}
          {task.error !== null && !isOpen && <p class="small soft wrap">{short(task.error.message, 140)}</p>}
        </td>
        <td class="wrap">{task.indexUid ?? ''}</td>
        <td class="num fit">
          {task.duration === null ? '' : milliseconds(millisecondsOfIso(task.duration))}
        </td>
        <td class="fit soft">{when(task.enqueuedAt)}</td>
        <td class="fit">
          {isPending && task.type !== 'taskCancelation' && (
            <button type="button" class="plain danger small" onClick={cancel}>
              Cancel<span class="hidden"> task {task.uid}</span>
            </button>
          )}
          <button type="button" class="plain small" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
            {isOpen ? 'Less' : 'More'}
            <span class="hidden"> about task {task.uid}</span>
          </button>
        </td>
      </tr>
      {isOpen && (
        <tr>
          <td />
          <td colSpan={6}>
            <div class="stack">
              {task.error !== null && <Problem failure={task.error} />}
              <pre class="code whole">{JSON.stringify(task, null, 2)}</pre>
            </div>
          </td>
        </tr>
      )}
    </>
  )
}

/** Summarises the numeric details of a task. */
function detailsOf(details: Readonly<Record<string, Json>> | null): string {
  return Object.entries(details ?? {})
    .filter(([, value]) => typeof value === 'number')
    .map(([name, value]) => `${count(Number(value))} ${words(name).toLowerCase().replace(' documents', '')}`)
    .slice(0, 3)
    .join(', ')
}
