/** Ranking rules in their order, and the weights of fields for the rule `relevance`. */
import { useState } from 'preact/hooks'
import type { Json } from '../api/types.ts'
import { own } from '../parts/own.ts'
import { decimal, TypedInput } from '../parts/typed-input.tsx'
import { isObject, textsOf } from './changes.ts'
import type { Editor } from './editor.ts'
import { OrderedList } from './ordered-list.tsx'
import { Setting } from './setting.tsx'

const meanings: Readonly<Record<string, string>> = {
  words: 'more words of the query first',
  typo: 'fewer typos first',
  proximity: 'words that are close together first',
  attribute: 'earlier fields and words first',
  attributeRank: 'earlier fields first',
  wordPosition: 'earlier words of a field first',
  sort: 'the sort of the search',
  exactness: 'exact words first',
  relevance: 'rare words that occur often first (BM25); only in siftd',
}
/** Number of fields with a weight in the form. */
const WEIGHTS_MAX = 30

export function RankingRules({ editor }: { readonly editor: Editor }) {
  const rules = textsOf(editor.settings.rankingRules)
  const [field, setField] = useState('')
  const [direction, setDirection] = useState('desc')
  const missing = Object.keys(meanings).filter((name) => !rules.includes(name))
  const add = (rule: string): void => {
    if (!rules.includes(rule)) editor.set('rankingRules', [...rules, rule])
  }
  const noteOf = (rule: string): string => {
    const [, name] = /^(.*):(?:asc|desc)$/s.exec(rule) ?? []
    if (name === undefined) return own(meanings, rule) ?? ''
    return editor.isUnknown(name) ? 'no document has it' : ''
  }
  return (
    <>
      <Setting
        editor={editor}
        name="rankingRules"
        title="Ranking rules"
        hint="Each rule orders the hits that the rules before it consider equal"
      >
        <OrderedList
          label="Ranking rules"
          items={rules}
          change={(items) => editor.set('rankingRules', items)}
          note={noteOf}
        />
        <div class="row">
          <select
            class="picker"
            aria-label="Add a ranking rule"
            value=""
            onChange={(event) => {
              add(event.currentTarget.value)
              event.currentTarget.value = ''
            }}
          >
            <option value="">Add a rule …</option>
            {missing.map((name) => (
              <option key={name} value={name}>
                {name}: {meanings[name]}
              </option>
            ))}
          </select>
          <input
            class="picker"
            aria-label="Field to rank by"
            placeholder="or a field"
            list="setting-fields"
            value={field}
            onInput={(event) => setField(event.currentTarget.value)}
          />
          <select
            class="picker short"
            aria-label="Direction"
            value={direction}
            onChange={(event) => setDirection(event.currentTarget.value)}
          >
            <option value="desc">highest first</option>
            <option value="asc">lowest first</option>
          </select>
          <button
            type="button"
            disabled={field.trim() === ''}
            onClick={() => {
              add(`${field.trim()}:${direction}`)
              setField('')
            }}
          >
            Add
          </button>
        </div>
      </Setting>
      {rules.includes('relevance') && <Weights editor={editor} />}
    </>
  )
}

function Weights({ editor }: { readonly editor: Editor }) {
  const { searchableAttributes, attributeWeights } = editor.settings
  const weights = isObject(attributeWeights) ? attributeWeights : {}
  const searchable = textsOf(searchableAttributes)
  const fields = searchable.includes('*') ? editor.fields : searchable
  const names = [...new Set([...Object.keys(weights), ...fields])].slice(0, WEIGHTS_MAX)
  const set = (name: string, weight: Json): void => {
    const { [name]: _, ...others } = weights
    editor.set('attributeWeights', weight === null ? others : { ...others, [name]: weight })
  }
  return (
    <Setting
      editor={editor}
      name="attributeWeights"
      title="Weights of fields"
      hint="For the rule relevance; empty: 1"
    >
      <div class="pair">
        {names.map((name) => (
          <TypedInput
            key={name}
            label={name}
            {...decimal}
            value={own(weights, name) ?? null}
            set={(weight) => set(name, weight)}
            input={{ inputMode: 'decimal', placeholder: '1' }}
          />
        ))}
      </div>
    </Setting>
  )
}
