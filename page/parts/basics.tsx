/** Components that all sections use. */
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks'
import type { Failure } from '../api/client.ts'
import { fixOf } from './fixes.ts'
import { count } from './text.ts'

/** Draws a value between 0 and 1. `label` describes it in words. */
export function Meter({ value, label }: { readonly value: number; readonly label: string }) {
  const width = `${Math.max(0, Math.min(1, value)) * 100}%`
  return (
    <span class="meter" role="img" aria-label={label}>
      <span style={{ width }} />
    </span>
  )
}

export interface Part {
  readonly name: string
  readonly value: number
  readonly text: string
}

/** Draws parts of a whole side by side. Combines the smallest of many parts. */
export function Parts({ parts, label }: { readonly parts: readonly Part[]; readonly label: string }) {
  const total = parts.reduce((sum, { value }) => sum + value, 0) || 1
  const color = (i: number): string => `c${i < 5 ? i + 1 : 0}`
  return (
    <figure class="stack" aria-label={label}>
      <div class="parts" aria-hidden="true">
        {parts.map(({ name, value }, i) => (
          <span key={name} class={color(i)} style={{ width: `${(value / total) * 100}%` }} />
        ))}
      </div>
      <ul class="legend">
        {parts.map(({ name, text }, i) => (
          <li key={name}>
            <i class={color(i)} aria-hidden="true" />
            {name} <span class="num">{text}</span>
          </li>
        ))}
      </ul>
    </figure>
  )
}

/** Shows an error message of the server, with `advice` or else the advice for its code. */
export function Problem(props: {
  readonly failure: Pick<Failure, 'code' | 'message'>
  readonly advice?: string
}) {
  const { failure, advice } = props
  const fix = advice ?? fixOf(failure.code)
  return (
    <div class="note bad" role="alert">
      <p class="wrap">{failure.message}</p>
      {fix !== null && <p class="small soft">{fix}</p>}
    </div>
  )
}

export function Empty({
  title,
  children,
}: {
  readonly title: string
  readonly children?: ComponentChildren
}) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  )
}

export interface Tab<T extends string> {
  readonly name: T
  readonly text: string
}

/** Tabs that follow the ARIA practices: arrow keys move, only the chosen tab is in the tab order. */
export function Tabs<T extends string>(props: {
  readonly label: string
  readonly tabs: readonly Tab<T>[]
  readonly chosen: T
  readonly choose: (name: T) => void
  readonly children: ComponentChildren
}) {
  const { label, tabs, chosen, choose, children } = props
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const at = (tabs.findIndex(({ name }) => name === chosen) + step + tabs.length) % tabs.length
    choose(tabs[at]!.name)
    list.current?.querySelectorAll('button')[at]?.focus()
  }
  return (
    <div class="stack">
      <div class="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={move}>
        {tabs.map(({ name, text }) => (
          <button
            type="button"
            role="tab"
            key={name}
            id={`${id}-${name}`}
            data-text={text}
            aria-selected={name === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={name === chosen ? 0 : -1}
            onClick={() => choose(name)}
          >
            {text}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${chosen}`} class="stack">
        {children}
      </div>
    </div>
  )
}

/** A modal dialog. Escape closes it. */
export function Dialog(props: {
  readonly title: string
  readonly close: () => void
  readonly children: ComponentChildren
}) {
  const { title, close, children } = props
  const id = useId()
  const element = useRef<HTMLDialogElement>(null)
  // An effect after painting would lose keys that are pressed while a slow machine paints.
  useLayoutEffect(() => {
    const before = document.activeElement
    element.current?.showModal()
    // The browser would focus the first button, which closes the dialog.
    element.current?.querySelector<HTMLElement>('input, textarea, select')?.focus()
    return () => {
      // Nothing outside an open dialog takes the focus, so it must be removed first.
      if (before instanceof HTMLElement) queueMicrotask(() => before.focus())
    }
  }, [])
  return (
    <dialog ref={element} aria-labelledby={id} onClose={close}>
      <div class="stack">
        <div class="row">
          <h2 id={id} class="grow">
            {title}
          </h2>
          <button type="button" class="plain" onClick={close}>
            Close
          </button>
        </div>
        {children}
      </div>
    </dialog>
  )
}

/** Scrolls a wide table horizontally, also by keyboard. */
export function Scroll({
  label,
  children,
}: {
  readonly label: string
  readonly children: ComponentChildren
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
    <section class="scroll" tabIndex={0} aria-label={label}>
      {children}
    </section>
  )
}

/** A status text that screen readers announce. */
export function Said({ children }: { readonly children: ComponentChildren }) {
  return (
    <p role="status" class="small soft num">
      {children}
    </p>
  )
}

/**
 * Buttons to page through a list. Shows nothing for a single page. Turns back if the page has vanished, because its
 * entries were deleted.
 */
export function Pager({
  offset,
  size,
  total,
  turn,
}: {
  readonly offset: number
  /** Number of entries per page. */
  readonly size: number
  /** Number of entries in the list. */
  readonly total: number
  readonly turn: (offset: number) => void
}) {
  const last = Math.max(0, Math.ceil(total / size) - 1) * size
  useEffect(() => {
    if (offset > last) turn(last)
  }, [offset, last, turn])
  if (total <= size) return null
  return (
    <div class="row">
      <button type="button" disabled={offset === 0} onClick={() => turn(Math.max(0, offset - size))}>
        Previous
      </button>
      <button type="button" disabled={offset + size >= total} onClick={() => turn(offset + size)}>
        Next
      </button>
      <span class="soft small num" role="status">
        {count(Math.min(total, offset + 1))}–{count(Math.min(total, offset + size))} of {count(total)}
      </span>
    </div>
  )
}
