/** Switches of each field: searchable, filterable, sortable, displayed; and the order of searchable fields. */
import { useState } from 'preact/hooks'
import type { Json } from '../api/types.ts'
import { Scroll } from '../parts/basics.tsx'
import { plural } from '../parts/text.ts'
import { excluding, including, isByPattern, isCovered } from './attributes.ts'
import { textsOf } from './changes.ts'
import type { Editor } from './editor.ts'
import { OrderedList } from './ordered-list.tsx'

const SHOWN_MAX = 100
const columns = [
  { name: 'searchableAttributes', title: 'Searchable' },
  { name: 'filterableAttributes', title: 'Filterable' },
  { name: 'sortableAttributes', title: 'Sortable' },
  { name: 'displayedAttributes', title: 'Displayed' },
] as const
type Column = (typeof columns)[number]

const listOf = (editor: Editor, { name }: Column): readonly Json[] => {
  const value = editor.settings[name]
  return Array.isArray(value) ? value : []
}

export function FieldSwitches({ editor }: { readonly editor: Editor }) {
  const [needle, setNeedle] = useState('')
  const [added, setAdded] = useState<readonly string[]>([])
  const inSettings = columns.flatMap((column) => textsOf(listOf(editor, column)))
  const names = [...new Set([...editor.fields, ...inSettings, ...added])].filter((name) => name !== '*')
  const found = names.filter((name) => name.toLowerCase().includes(needle.trim().toLowerCase()))
  const isNew = needle.trim() !== '' && !names.includes(needle.trim())
  const searchable = textsOf(editor.settings.searchableAttributes)
  const toggle = (column: Column, name: string, isOn: boolean): void => {
    const list = listOf(editor, column)
    editor.set(column.name, isOn ? including(list, name) : excluding(list, name, editor.fields))
  }
  return (
    <section class="stack" aria-label="Attributes">
      <div class="row">
        <input
          type="search"
          class="picker"
          aria-label="Find or add a field"
          placeholder={`Find among ${plural(names.length, 'field')}`}
          value={needle}
          onInput={(event) => setNeedle(event.currentTarget.value)}
        />
        {isNew && (
          <button
            type="button"
            onClick={() => {
              setAdded([...added, needle.trim()])
              setNeedle('')
            }}
          >
            Add {needle.trim()}
          </button>
        )}
        <AllFields editor={editor} name="searchableAttributes" text="Search in all fields, also new ones" />
        <AllFields editor={editor} name="displayedAttributes" text="Display all fields, also new ones" />
      </div>
      <Scroll label="Switches of each field">
        <table class="switches">
          <thead>
            <tr>
              <th scope="col">Field</th>
              {columns.map(({ name, title }) => (
                <th scope="col" class="fit" key={name}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {found.slice(0, SHOWN_MAX).map((name) => (
              <tr key={name}>
                <th scope="row" class="wrap">
                  {name} {editor.isUnknown(name) && <span class="small warn">no document has it</span>}
                </th>
                {columns.map((column) => {
                  const isFixed =
                    column.name === 'filterableAttributes' && isByPattern(editor.settings[column.name], name)
                  const isOn = isFixed || isCovered(textsOf(listOf(editor, column)), name)
                  return (
                    <td class="fit" key={column.name}>
                      <input
                        type="checkbox"
                        class="switch"
                        aria-label={`${column.title}: ${name}`}
                        checked={isOn}
                        disabled={isFixed}
                        title={isFixed ? 'By a pattern. Change it as JSON.' : ''}
                        onChange={() => toggle(column, name, !isOn)}
                      />
                    </td>
                  )
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {found.length > SHOWN_MAX && (
        <p class="small soft">and {plural(found.length - SHOWN_MAX, 'more field')}; type a part of a name</p>
      )}
      {!searchable.includes('*') && searchable.length > 0 && (
        <>
          <h3>Order of searchable fields: a match in an earlier field ranks higher</h3>
          <OrderedList
            label="Order of searchable fields"
            items={searchable}
            change={(items) => editor.set('searchableAttributes', items)}
            note={(name) => (editor.isUnknown(name) ? 'no document has it' : '')}
          />
        </>
      )}
      {/* Costs arrive late. Above the list, they would move an item away from the pointer. */}
      {columns
        .filter(({ name }) => editor.costOf(name) !== '')
        .map(({ name, title }) => (
          <p key={name} class="small soft">
            {title}: {editor.costOf(name)}
          </p>
        ))}
    </section>
  )
}

function AllFields(props: { readonly editor: Editor; readonly name: Column['name']; readonly text: string }) {
  const { editor, name, text } = props
  const isOn = textsOf(editor.settings[name]).includes('*')
  const topmost = editor.fields.filter((field) => !field.includes('.'))
  return (
    <label class="check small">
      <input type="checkbox" checked={isOn} onChange={() => editor.set(name, isOn ? topmost : ['*'])} />
      {text}
    </label>
  )
}
