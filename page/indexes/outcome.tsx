/** Progress and outcome of an import. */
import { Problem } from '../parts/basics.tsx'
import { bytes, count } from '../parts/text.ts'
import type { ImportRun } from './use-import.ts'

export function Outcome({ run: { stage, name, refusal, stop } }: { readonly run: ImportRun }) {
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
      {refusal !== null && <Problem failure={refusal} />}
    </div>
  )
}
