/** Shown while the instance has no index: the ways to the first one. */
import { useRef } from 'preact/hooks'
import { Empty } from '../parts/basics.tsx'
import { addressOf } from '../state/route.ts'
import { sampleFile } from './sample.ts'

export function FirstSteps(props: {
  readonly take: (files: readonly File[]) => void
  readonly hasLink: boolean
}) {
  const { take, hasLink } = props
  const input = useRef<HTMLInputElement>(null)
  return (
    <Empty title="No index yet">
      <p>Drop files of documents anywhere on this page: JSON, NDJSON or CSV, also gzipped.</p>
      <input
        ref={input}
        type="file"
        multiple
        class="hidden"
        tabIndex={-1}
        aria-label="File to import"
        accept=".json,.ndjson,.jsonl,.csv,.gz"
        onChange={(event) => {
          take([...(event.currentTarget.files ?? [])])
          event.currentTarget.value = ''
        }}
      />
      <p class="row">
        <button type="button" class="main" onClick={() => input.current?.click()}>
          Choose a file
        </button>
        <button type="button" onClick={() => take([sampleFile()])}>
          Load sample films
        </button>
      </p>
      {hasLink && (
        <p>
          Or <a href={addressOf('index', null)}>create an index</a>, or run{' '}
          <code>siftd import films.ndjson --index films</code>.
        </p>
      )}
    </Empty>
  )
}
