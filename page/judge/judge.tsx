/** Judge: figures of judged queries, from a file or collected on hits. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Failure } from '../api/client.ts'
import type { IndexInfo } from '../api/types.ts'
import { Empty, Problem } from '../parts/basics.tsx'
import { bytes, count, plural } from '../parts/text.ts'
import { asFailure } from '../state/loading.ts'
import { useCollected } from './collected.ts'
import { csvOf, FILE_BYTES_MAX, type Judgment, queriesOf, readJudgments } from './judgments.ts'
import { missingIds, type QueryScore, runQueries } from './run.ts'
import { Scores } from './scores.tsx'

type Stage =
  | { readonly kind: 'idle' }
  | { readonly kind: 'running'; readonly finished: number; readonly total: number }
  | {
      readonly kind: 'done'
      readonly name: string
      readonly scores: readonly QueryScore[]
      readonly missing: readonly string[]
    }
  | { readonly kind: 'failed'; readonly failure: Pick<Failure, 'code' | 'message'> }

export function Judge({ index }: { readonly index: IndexInfo }) {
  const { uid, primaryKey } = index
  const [stage, setStage] = useState<Stage>({ kind: 'idle' })
  const input = useRef<HTMLInputElement>(null)
  const abort = useRef(new AbortController())
  useEffect(() => () => abort.current.abort(), [])
  const isRunning = stage.kind === 'running'
  if (primaryKey === null)
    return (
      <Empty title="Nothing to judge yet">
        <p>Add documents first.</p>
      </Empty>
    )

  const run = async (name: string, judgments: () => Promise<readonly Judgment[]>): Promise<void> => {
    const running = new AbortController()
    const { signal } = running
    abort.current = running
    setStage({ kind: 'running', finished: 0, total: 0 })
    try {
      const all = await judgments()
      const target = { index: uid, primaryKey }
      const missing = await missingIds(target, all, signal)
      const queries = queriesOf(all.filter(({ id }) => !missing.has(id)))
      if (queries.length === 0) throw new Error('No query has a document with a grade above 0 in this index.')
      const progress = (finished: number): void =>
        setStage({ kind: 'running', finished, total: queries.length })
      const scores = await runQueries(target, queries, signal, progress)
      setStage({ kind: 'done', name, scores, missing: [...missing] })
    } catch (error) {
      const isCanceled = signal.aborted
      // Ends the searches that still run.
      running.abort()
      setStage(isCanceled ? { kind: 'idle' } : { kind: 'failed', failure: asFailure(error) })
    }
  }
  const take = (file: File | undefined): void => {
    if (file !== undefined) run(file.name, () => judgmentsIn(file))
  }
  return (
    <div class="stack">
      <section class="drop" aria-label="Judge">
        <h2>How good are the hits?</h2>
        <p class="soft small">
          A CSV file with the columns query, id and grade: 0 for a wrong document, up to 3 for a perfect one
        </p>
        <input
          ref={input}
          type="file"
          class="hidden"
          tabIndex={-1}
          aria-label="File of judgments"
          accept=".csv"
          onChange={(event) => {
            take(event.currentTarget.files?.[0])
            event.currentTarget.value = ''
          }}
        />
        <button type="button" class="main" disabled={isRunning} onClick={() => input.current?.click()}>
          Choose a CSV file
        </button>
      </section>
      <CollectedLine
        uid={uid}
        isRunning={isRunning}
        run={(all) => run('collected judgments', async () => all)}
      />
      {stage.kind === 'failed' && <Problem failure={stage.failure} />}
      {isRunning && (
        <div class="row">
          <span class="grow num" role="status">
            {count(stage.finished)} of {plural(stage.total, 'query', 'queries')}
          </span>
          <button type="button" onClick={() => abort.current.abort()}>
            Cancel
          </button>
          <progress aria-label="Judged queries" max={stage.total || 1} value={stage.finished} />
        </div>
      )}
      {stage.kind === 'done' && <Scores index={uid} {...stage} />}
    </div>
  )
}

/** @throws Error for a file that is too large or has a mistake */
async function judgmentsIn(file: File): Promise<readonly Judgment[]> {
  if (file.size > FILE_BYTES_MAX)
    throw new Error(`${file.name} has more than ${bytes(FILE_BYTES_MAX)}. Run “siftd judge” on it.`)
  return readJudgments(await file.text())
}

/** The judgments that thumbs collected, and what can be done with them. */
function CollectedLine(props: {
  readonly uid: string
  readonly isRunning: boolean
  readonly run: (judgments: readonly Judgment[]) => void
}) {
  const { uid, isRunning, run } = props
  const { judgments, forget, problem } = useCollected(uid)
  const [isSure, setIsSure] = useState(false)
  if (judgments.length === 0)
    return (
      <p class="soft small">
        Or collect judgments: press “Judge hits” in a search, then mark good and bad hits. They stay in this
        browser.
      </p>
    )
  const queries = new Set(judgments.map(({ query }) => query)).size
  return (
    <>
      <div class="row">
        <span class="grow num">
          Collected in this browser: {plural(judgments.length, 'judgment')} of{' '}
          {plural(queries, 'query', 'queries')}
        </span>
        <button type="button" disabled={isRunning} onClick={() => run(judgments)}>
          Run them
        </button>
        <button type="button" onClick={() => download(`${uid}-judgments.csv`, csvOf(judgments))}>
          Download CSV
        </button>
        <button
          type="button"
          class="danger"
          onClick={() => {
            if (isSure) forget()
            setIsSure(!isSure)
          }}
        >
          {isSure ? 'Forget them for good?' : 'Forget them'}
        </button>
      </div>
      {problem !== null && <Problem failure={{ code: '', message: problem }} />}
    </>
  )
}

/** Milliseconds after which a download has begun. */
const DOWNLOAD_MS = 10_000

function download(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), DOWNLOAD_MS)
}
