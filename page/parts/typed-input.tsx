/** A text field for a value that has more than one written form, such as a list. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Json } from '../api/types.ts'

type InputProps = Omit<JSX.InputHTMLAttributes<HTMLInputElement>, 'value' | 'onInput' | 'onChange'>

export interface TypedInputProps {
  readonly value: Json
  readonly show: (value: Json) => string
  /** @throws SyntaxError for a text without a value; the field is then marked */
  readonly read: (text: string) => Json
  readonly set: (value: Json) => void
  /** Absent: `input` has an `aria-label`. */
  readonly label?: string
  readonly input?: InputProps
}

/** Shows the text as typed while it means the value, so that a redraw does not change it. */
export function TypedInput({ value, show, read, set, label, input }: TypedInputProps) {
  const [typed, setTyped] = useState<string | null>(null)
  const meant = typed === null ? undefined : meaningOf(typed, read)
  const isWrong = typed !== null && meant === undefined
  const isMeant = isWrong || (typed !== null && JSON.stringify(meant) === JSON.stringify(value))
  const field = (
    <input
      autocomplete="off"
      spellcheck={false}
      {...input}
      aria-invalid={isWrong}
      value={isMeant ? (typed ?? '') : show(value)}
      onInput={(event) => {
        const text = event.currentTarget.value
        setTyped(text)
        const next = meaningOf(text, read)
        if (next !== undefined) set(next)
      }}
    />
  )
  if (label === undefined) return field
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: `field` is the control
    <label class="field">
      {label}
      {field}
    </label>
  )
}

function meaningOf(text: string, read: (text: string) => Json): Json | undefined {
  try {
    return read(text)
  } catch {
    return undefined
  }
}

/** Shows and reads texts separated by commas. */
export const commaSeparated = {
  show: (value: Json): string => (Array.isArray(value) ? value.join(', ') : ''),
  read: (text: string): readonly string[] =>
    text.split(',').flatMap((part) => (part.trim() === '' ? [] : [part.trim()])),
}

/** Shows and reads a number; null if empty. */
export const decimal = {
  show: (value: Json): string => (value === null ? '' : String(value)),
  read: (text: string): number | null => {
    if (text.trim() === '') return null
    const value = Number(text)
    if (!Number.isFinite(value)) throw new SyntaxError('not a number')
    return value
  },
}
