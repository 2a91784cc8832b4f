/** Sends a file to an index and follows its task. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { ask, type Failure } from '../api/client.ts'
import type { Batch, Task, UidPage } from '../api/types.ts'
import { asFailure } from '../state/loading.ts'
import { type Upload, upload } from './upload.ts'

export type Stage =
  | { readonly kind: 'idle' }
  | { readonly kind: 'sending'; readonly sent: number; readonly total: number }
  | { readonly kind: 'indexing'; readonly taskUid: number; readonly percentage: number | null }
  | { readonly kind: 'done'; readonly task: Task }
  | { readonly kind: 'failed'; readonly failure: Pick<Failure, 'code' | 'message'> }

/** An import that a component shows. It is canceled when the component is removed during the upload. */
export interface ImportRun {
  readonly stage: Stage
  /** Name of the file. */
  readonly name: string
  readonly isBusy: boolean
  /** Why the cancelation was refused, such as a key without the right to cancel. */
  readonly refusal: Failure | null
  readonly start: (upload: Upload) => Promise<void>
  readonly stop: () => void
}

/** How long a request waits for the end of the task before the progress is updated, in milliseconds. */
const WAIT_MS = 700

/** @param changed called when the task has ended */
export function useImport(changed: () => void): ImportRun {
  const [stage, setStage] = useState<Stage>({ kind: 'idle' })
  const [name, setName] = useState('')
  const [refusal, setRefusal] = useState<Failure | null>(null)
  const abort = useRef(new AbortController())
  useEffect(() => () => abort.current.abort(), [])
  const isBusy = stage.kind === 'sending' || stage.kind === 'indexing'

  const start = async (request: Upload): Promise<void> => {
    if (isBusy) return
    abort.current = new AbortController()
    const { signal } = abort.current
    setName(request.file.name)
    setRefusal(null)
    setStage({ kind: 'sending', sent: 0, total: request.file.size })
    try {
      const { taskUid } = await upload(
        request,
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
  const stop = (): void => {
    if (stage.kind !== 'indexing') abort.current.abort()
    else
      ask('POST', `/tasks/cancel?uids=${stage.taskUid}`).catch((error: unknown) =>
        setRefusal(asFailure(error)),
      )
  }
  return { stage, name, isBusy, refusal, start, stop }
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
