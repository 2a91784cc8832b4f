/** Import of a dropped file, with the progress of upload and indexing. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Failure } from '../api/client.ts'
import { ask } from '../api/client.ts'
import type { Batch, IndexInfo, Task, UidPage } from '../api/types.ts'
import { Problem } from '../parts/basics.tsx'
import { bytes, count } from '../parts/text.ts'
import { asFailure } from '../state/loading.ts'
import { type Formats, formatOf, formats, upload } from './upload.ts'

type Stage =
  | { readonly kind: 'idle' }
  | { readonly kind: 'sending'; readonly sent: number; readonly total: number }
  | { readonly kind: 'indexing'; readonly taskUid: number; readonly percentage: number | null }
  | { readonly kind: 'done'; readonly task: Task }
  | { readonly kind: 'failed'; readonly failure: Pick<Failure, 'code' | 'message'> }

/** How long a request waits for the end of the task before the progress is updated. */
const WAIT_MS = 700

export function Import(props: { readonly index: IndexInfo; readonly changed: () => void }) {
  const { index, changed } = props
  const [format, setFormat] = useState<Formats | 'auto'>('auto')
  const [primaryKey, setPrimaryKey] = useState('')
  const [isUpdate, setIsUpdate] = useState(false)
  const [stage, setStage] = useState<Stage>({ kind: 'idle' })
  const [isOver, setIsOver] = useState(false)
  const [name, setName] = useState('')
  const input = useRef<HTMLInputElement>(null)
  const abort = useRef(new AbortController())
  useEffect(() => () => abort.current.abort(), [])

  const isBusy = stage.kind === 'sending' || stage.kind === 'indexing'
  const start = async (file: File): Promise<void> => {
    if (isBusy) return
    abort.current = new AbortController()
    const { signal } = abort.current
    setName(file.name)
    setStage({ kind: 'sending', sent: 0, total: file.size })
    try {
      const { taskUid } = await upload(
        {
          index: index.uid,
          file,
          format: format === 'auto' ? formatOf(file.name) : format,
          primaryKey: primaryKey.trim(),
          isUpdate,
        },
        (sent, total) => setStage({ kind: 'sending', sent, total }),
        signal,
      )
      const task = await followed(taskUid, signal, (percentage) =>
        setStage({ kind: 'indexing', taskUid, percentage }),
      )
      setStage(task.error === null ? { kind: 'done', task } : { kind: 'failed', failure: task.error })
      changed()
    } catch (error) {
      if (signal.aborted) setStage({ kind: 'idle' })
      else setStage({ kind: 'failed', failure: asFailure(error) })
    }
  }
  const take = (files: FileList | null | undefined): void => {
    const file = files?.[0]
    if (file !== undefined) start(file)
  }
  const stop = (): void => {
    if (stage.kind === 'indexing') ask('POST', `/tasks/cancel?uids=${stage.taskUid}`).catch(() => undefined)
    else abort.current.abort()
  }
  return (
    <div class="stack">
      <section
        class={isOver ? 'drop over' : 'drop'}
        aria-label="Import"
        onDragOver={(event) => {
          event.preventDefault()
          setIsOver(true)
        }}
        onDragLeave={() => setIsOver(false)}
        onDrop={(event) => {
          event.preventDefault()
          setIsOver(false)
          take(event.dataTransfer?.files)
        }}
      >
        <h2>Drop a file of documents here</h2>
        <p class="soft small">JSON, NDJSON or CSV, also gzipped</p>
        <input
          ref={input}
          type="file"
          class="hidden"
          tabIndex={-1}
          aria-label="File of documents"
          accept=".json,.ndjson,.jsonl,.csv,.gz"
          onChange={(event) => {
            take(event.currentTarget.files)
            event.currentTarget.value = ''
          }}
        />
        <button type="button" class="main" disabled={isBusy} onClick={() => input.current?.click()}>
          Choose a file
        </button>
      </section>
      <Outcome stage={stage} name={name} stop={stop} />
      <div class="pair wide">
        <label class="field">
          Format
          <select
            value={format}
            onChange={(event) => setFormat(event.currentTarget.value as Formats | 'auto')}
          >
            <option value="auto">By the name of the file</option>
            {Object.keys(formats).map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <label class="field">
          Documents with an existing id
          <select
            value={isUpdate ? 'update' : 'replace'}
            onChange={(event) => setIsUpdate(event.currentTarget.value === 'update')}
          >
            <option value="replace">Replace them</option>
            <option value="update">Update only the given fields</option>
          </select>
        </label>
        {index.primaryKey === null && (
          <label class="field">
            Primary key
            <input
              placeholder="Found in the documents"
              value={primaryKey}
              onInput={(event) => setPrimaryKey(event.currentTarget.value)}
            />
          </label>
        )}
      </div>
    </div>
  )
}

/** Waits for a task and reports the progress of its batch. */
async function followed(
  taskUid: number,
  signal: AbortSignal,
  show: (percentage: number | null) => void,
): Promise<Task> {
  for (;;) {
    const task = await ask<Task>('GET', `/tasks/${taskUid}?waitMs=${WAIT_MS}`, { signal })
    if (task.status !== 'enqueued' && task.status !== 'processing') return task
    const { results } = await ask<UidPage<Batch>>('GET', '/batches?statuses=processing&limit=20', { signal })
    const mine = results.find((batch) => batch.uid === task.batchUid) ?? results[0]
    show(task.status === 'enqueued' ? null : (mine?.progress?.percentage ?? null))
  }
}

function Outcome(props: { readonly stage: Stage; readonly name: string; readonly stop: () => void }) {
  const { stage, name, stop } = props
  if (stage.kind === 'idle') return null
  if (stage.kind === 'failed') return <Problem failure={stage.failure} />
  if (stage.kind === 'done') {
    const { indexedDocuments, receivedDocuments } = stage.task.details ?? {}
    return (
      <p class="note good" role="status">
        {stage.task.status === 'canceled'
          ? `The import of ${name} was canceled. Nothing was stored.`
          : `${count(Number(indexedDocuments))} of ${count(Number(receivedDocuments))} documents of ${name} are indexed.`}
      </p>
    )
  }
  const isSending = stage.kind === 'sending'
  const label = isSending
    ? `Sending ${name}, ${bytes(stage.sent)} of ${bytes(stage.total)}`
    : stage.percentage === null
      ? `${name} is queued`
      : `Indexing ${name}, ${Math.floor(stage.percentage)} %`
  return (
    <div class="stack">
      <div class="row">
        <span class="grow num wrap" role="status">
          {label}
        </span>
        <button type="button" onClick={stop}>
          Cancel
        </button>
      </div>
      {isSending ? (
        <progress aria-label={`Upload of ${name}`} max={stage.total || 1} value={stage.sent} />
      ) : (
        <progress
          aria-label={`Indexing of ${name}`}
          max={100}
          {...(stage.percentage !== null && { value: stage.percentage })}
        />
      )}
    </div>
  )
}
