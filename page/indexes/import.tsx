/** Import of a dropped file, with the progress of upload and indexing. */
import { useRef, useState } from 'preact/hooks'
import type { IndexInfo } from '../api/types.ts'
import { Outcome } from './outcome.tsx'
import { type Formats, formatOf, formats } from './upload.ts'
import { useImport } from './use-import.ts'

export function Import(props: { readonly index: IndexInfo; readonly changed: () => void }) {
  const { index, changed } = props
  const [format, setFormat] = useState<Formats | 'auto'>('auto')
  const [primaryKey, setPrimaryKey] = useState('')
  const [isUpdate, setIsUpdate] = useState(false)
  const [isOver, setIsOver] = useState(false)
  const input = useRef<HTMLInputElement>(null)
  const run = useImport(changed)
  const { isBusy } = run
  const take = (files: FileList | null | undefined): void => {
    const file = files?.[0]
    if (file === undefined) return
    run.start({
      index: index.uid,
      file,
      format: format === 'auto' ? formatOf(file.name) : format,
      primaryKey: primaryKey.trim(),
      isUpdate,
    })
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
          // The page itself would propose a new index for the file.
          event.stopPropagation()
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
      <Outcome run={run} />
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
