/** A setting in the form: its name, what it does, its controls and the cost of its change. */
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import type { Editor } from './editor.ts'

export function Setting(props: {
  readonly editor: Editor
  readonly name: string
  readonly title: string
  readonly hint: string
  readonly children: ComponentChildren
}) {
  const { editor, name, title, hint, children } = props
  const id = useId()
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be a grid in all browsers
    <div class={editor.isChanged(name) ? 'setting changed' : 'setting'} role="group" aria-labelledby={id}>
      <div class="name">
        <span id={id}>{title}</span> <span class="hint">{hint}</span>
      </div>
      <div class="stack">{children}</div>
      <span class="small soft">{editor.costOf(name)}</span>
    </div>
  )
}

/** Warns of names that no document has. */
export function UnknownNames({
  editor,
  names,
}: {
  readonly editor: Editor
  readonly names: readonly string[]
}) {
  const unknown = names.filter(editor.isUnknown)
  if (unknown.length === 0) return null
  return <p class="small warn">No document has {unknown.slice(0, 10).join(', ')}.</p>
}
