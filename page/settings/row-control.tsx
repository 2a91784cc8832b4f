/** The control of a setting: a text, a list with one entry per line, a choice, or JSON. */
import { useId, useState } from 'preact/hooks'
import type { Editor } from './editor.ts'
import { type SettingRow, typedFrom, valueFrom } from './rows.ts'

export function RowControl({
  editor,
  row: { name, title, hint, kind },
}: {
  readonly editor: Editor
  readonly row: SettingRow
}) {
  const id = useId()
  const value = editor.settings[name]
  const stored = typedFrom(kind, value)
  /** The text as typed, while it has a mistake or differs from the stored form, for example by blank lines. */
  const [typed, setTyped] = useState<string | null>(null)
  const [mistake, setMistake] = useState<string | null>(null)
  const change = (text: string): void => {
    setTyped(text)
    try {
      editor.set(name, valueFrom(kind, text))
      setMistake(null)
    } catch (error) {
      setMistake((error as Error).message)
    }
  }
  const text = typed !== null && (mistake !== null || isFor(typed)) ? typed : stored
  /** True if the typed text has the current value. Undo may have changed the value since it was typed. */
  function isFor(given: string): boolean {
    try {
      return JSON.stringify(valueFrom(kind, given)) === JSON.stringify(value ?? null)
    } catch {
      return false
    }
  }
  const common = { id, 'aria-describedby': `${id}-note`, 'aria-invalid': mistake !== null }
  const isUnknown = kind === 'text' && typeof value === 'string' && editor.isUnknown(value)
  return (
    <div class={editor.isChanged(name) ? 'setting changed' : 'setting'}>
      <label for={id} class="name">
        {title} <span class="hint">{hint}</span>
      </label>
      {kind === 'lines' || kind === 'json' ? (
        <textarea
          {...common}
          rows={Math.min(12, text.split('\n').length + 1)}
          spellcheck={false}
          value={text}
          onInput={(event) => change(event.currentTarget.value)}
        />
      ) : kind === 'toggle' ? (
        <span>
          <input
            {...common}
            type="checkbox"
            class="switch"
            checked={text === 'true'}
            onChange={(event) => change(String(event.currentTarget.checked))}
          />
        </span>
      ) : kind === 'text' || kind === 'number' ? (
        <input
          {...common}
          inputMode={kind === 'number' ? 'numeric' : 'text'}
          list={kind === 'text' ? 'setting-fields' : undefined}
          value={text}
          onInput={(event) => change(event.currentTarget.value)}
        />
      ) : (
        <select {...common} value={text} onChange={(event) => change(event.currentTarget.value)}>
          {kind.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      )}
      <span id={`${id}-note`} class={isUnknown ? 'small warn' : 'small soft'}>
        {mistake ?? (isUnknown ? 'No document has this field. ' : '') + editor.costOf(name)}
      </span>
    </div>
  )
}
