/** A list to put in order, by dragging or with buttons. */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** Items shown at first. Settings may have a thousand. */
const SHOWN_MAX = 50

export function OrderedList(props: {
  readonly label: string
  readonly items: readonly string[]
  readonly change: (items: readonly string[]) => void
  /** Remark about an item. */
  readonly note: (item: string) => ComponentChildren
}) {
  const { label, items, change, note } = props
  const [dragged, setDragged] = useState<string | null>(null)
  const [said, setSaid] = useState('')
  const [isWhole, setIsWhole] = useState(false)
  const list = useRef<HTMLOListElement>(null)
  /** Button to focus after the list has changed: browsers drop the focus of a moved element. */
  const wanted = useRef<string | null>(null)
  useLayoutEffect(() => {
    if (wanted.current === null) return
    const buttons = [...(list.current?.querySelectorAll('button') ?? [])]
    buttons.find(({ ariaLabel }) => ariaLabel === wanted.current)?.focus()
    wanted.current = null
  }, [items])
  const put = (item: string, at: number): void => {
    if (at < 0 || at >= items.length || items[at] === item) return
    change(items.filter((one) => one !== item).toSpliced(at, 0, item))
    setSaid(`${item} is number ${at + 1} of ${items.length}`)
  }
  const step = (item: string, from: number, by: -1 | 1): void => {
    wanted.current = `Move ${item} ${by === 1 ? 'down' : 'up'}`
    put(item, from + by)
  }
  return (
    <>
      <ol class="ordered" aria-label={label} ref={list}>
        {items.slice(0, isWhole ? items.length : SHOWN_MAX).map((item, at) => (
          <li
            key={item}
            draggable
            class={item === dragged ? 'dragged' : ''}
            onDragStart={(event) => {
              event.dataTransfer?.setData('text/plain', item)
              setDragged(item)
            }}
            onDragEnd={() => setDragged(null)}
            onDragOver={(event) => dragged !== null && event.preventDefault()}
            onDrop={(event) => {
              if (dragged === null) return
              event.preventDefault()
              put(dragged, at)
            }}
          >
            <span class="soft num" aria-hidden="true">
              {at + 1}
            </span>
            <span class="grow wrap">
              {item} <span class="small soft">{note(item)}</span>
            </span>
            <button
              type="button"
              class="plain"
              aria-label={`Move ${item} up`}
              onClick={() => step(item, at, -1)}
            >
              ↑
            </button>
            <button
              type="button"
              class="plain"
              aria-label={`Move ${item} down`}
              onClick={() => step(item, at, 1)}
            >
              ↓
            </button>
            <button
              type="button"
              class="plain"
              aria-label={`Remove ${item}`}
              onClick={() => change(items.filter((one) => one !== item))}
            >
              ×
            </button>
          </li>
        ))}
      </ol>
      {items.length > SHOWN_MAX && !isWhole && (
        <div class="row">
          <button type="button" class="plain small" onClick={() => setIsWhole(true)}>
            {items.length - SHOWN_MAX} more
          </button>
        </div>
      )}
      <span role="status" class="hidden">
        {said}
      </span>
    </>
  )
}
