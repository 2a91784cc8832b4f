/** Synonyms, typo tolerance and the languages of words. */
import { useState } from 'preact/hooks'
import { compoundLanguages, stemmedLanguages, stopWordLanguages } from '../../ts/settings/word-languages.ts'
import type { Json } from '../api/types.ts'
import { count } from '../parts/text.ts'
import { commaSeparated, decimal, TypedInput } from '../parts/typed-input.tsx'
import { isObject, textsOf } from './changes.ts'
import type { Editor } from './editor.ts'
import { Setting, UnknownNames } from './setting.tsx'

/** Number of synonyms in the form. More are edited as JSON. */
const SYNONYMS_MAX = 200
const parted = commaSeparated.read

export function Synonyms({ editor }: { readonly editor: Editor }) {
  const value = editor.settings.synonyms
  const entries = isObject(value) ? Object.entries(value) : []
  const [word, setWord] = useState('')
  const [others, setOthers] = useState('')
  const [isMutual, setIsMutual] = useState(true)
  const set = (changes: Readonly<Record<string, readonly string[]>>): void => {
    const all = new Map<string, Json>(entries)
    for (const [name, list] of Object.entries(changes)) all.set(name, list)
    editor.set('synonyms', Object.fromEntries(all))
  }
  const add = (): void => {
    const group = [word.trim(), ...parted(others)]
    const named = isMutual ? group : group.slice(0, 1)
    set(Object.fromEntries(named.map((name) => [name, group.filter((one) => one !== name)])))
    setWord('')
    setOthers('')
  }
  return (
    <Setting
      editor={editor}
      name="synonyms"
      title="Synonyms"
      hint="A query with the first word also finds the others"
    >
      {entries.slice(0, SYNONYMS_MAX).map(([name, list]) => (
        <div class="row" key={name}>
          <span class="wrap synonym">{name}</span>
          <TypedInput
            {...commaSeparated}
            value={list}
            set={(changed) => set({ [name]: textsOf(changed) })}
            input={{ class: 'grow', 'aria-label': `Synonyms of ${name}` }}
          />
          <button
            type="button"
            class="plain"
            aria-label={`Remove ${name}`}
            onClick={() =>
              editor.set('synonyms', Object.fromEntries(entries.filter(([other]) => other !== name)))
            }
          >
            ×
          </button>
        </div>
      ))}
      {entries.length > SYNONYMS_MAX && (
        <p class="small soft">and {count(entries.length - SYNONYMS_MAX)} more; edit them as JSON</p>
      )}
      <div class="row">
        <input
          class="synonym"
          aria-label="New synonym: word"
          placeholder="film"
          value={word}
          onInput={(event) => setWord(event.currentTarget.value)}
        />
        <input
          class="grow"
          aria-label="New synonym: others, separated by commas"
          placeholder="movie, motion picture"
          value={others}
          onInput={(event) => setOthers(event.currentTarget.value)}
        />
        <label class="check small">
          <input type="checkbox" checked={isMutual} onChange={() => setIsMutual(!isMutual)} />
          each finds the others
        </label>
        <button type="button" disabled={word.trim() === '' || parted(others).length === 0} onClick={add}>
          Add
        </button>
      </div>
    </Setting>
  )
}

export function TypoTolerance({ editor }: { readonly editor: Editor }) {
  const value = editor.settings.typoTolerance
  const typos = isObject(value) ? value : {}
  const sizes = isObject(typos.minWordSizeForTypos) ? typos.minWordSizeForTypos : {}
  const set = (changes: Readonly<Record<string, Json>>): void =>
    editor.set('typoTolerance', { ...typos, ...changes })
  const size = (name: 'oneTypo' | 'twoTypos', label: string) => (
    <TypedInput
      label={label}
      {...decimal}
      value={sizes[name] ?? null}
      set={(value) => set({ minWordSizeForTypos: { ...sizes, [name]: value } })}
      input={{ inputMode: 'numeric' }}
    />
  )
  const list = (name: 'disableOnAttributes' | 'disableOnWords', label: string) => (
    <TypedInput
      label={label}
      {...commaSeparated}
      value={typos[name] ?? []}
      set={(value) => set({ [name]: value })}
    />
  )
  const toggle = (name: 'enabled' | 'disableOnNumbers', label: string) => (
    <label class="check">
      <input
        type="checkbox"
        checked={typos[name] === true}
        onChange={() => set({ [name]: typos[name] !== true })}
      />
      {label}
    </label>
  )
  return (
    <Setting
      editor={editor}
      name="typoTolerance"
      title="Typo tolerance"
      hint="Typos that a word of the query may have, by its length in letters"
    >
      <div class="choices">
        {toggle('enabled', 'Allow typos')}
        {toggle('disableOnNumbers', 'Not in numbers')}
      </div>
      <div class="pair">
        {size('oneTypo', 'One typo from, letters')}
        {size('twoTypos', 'Two typos from, letters')}
      </div>
      <div class="pair wide">
        {list('disableOnWords', 'Words without typos, separated by commas')}
        {list('disableOnAttributes', 'Fields without typos, separated by commas')}
      </div>
      <UnknownNames editor={editor} names={textsOf(typos.disableOnAttributes)} />
    </Setting>
  )
}

const languageNames = new Intl.DisplayNames('en', { type: 'language' })
const named = (codes: readonly string[]): readonly (readonly [code: string, text: string])[] =>
  codes
    .map((code) => [code, languageNames.of(code) ?? code] as const)
    .sort(([, a], [, b]) => a.localeCompare(b))

/** The settings that are lists of languages. */
const languageSettings = [
  {
    name: 'stemming',
    title: 'Forms of words',
    hint: 'A word also finds its other forms: connection finds connected. Only in siftd',
    all: stemmedLanguages,
  },
  {
    name: 'compounds',
    title: 'Compounds',
    hint: 'A word also finds the compounds of which it is a part: zimmer finds Arbeitszimmer. Only in siftd',
    all: compoundLanguages,
  },
  {
    name: 'stopWordLists',
    title: 'Lists of stop words',
    hint: 'Queries ignore the common words of these languages, except in phrases. Only in siftd',
    all: stopWordLanguages,
  },
] as const

export function WordLanguages({ editor }: { readonly editor: Editor }) {
  const languages = (name: string, all: readonly string[]) => {
    const chosen = textsOf(editor.settings[name])
    const toggle = (code: string): void =>
      editor.set(
        name,
        chosen.includes(code) ? chosen.filter((one) => one !== code) : [...chosen, code].sort(),
      )
    return (
      <div class="choices">
        {named(all).map(([code, text]) => (
          <label class="check small" key={code}>
            <input type="checkbox" checked={chosen.includes(code)} onChange={() => toggle(code)} />
            {text}
          </label>
        ))}
      </div>
    )
  }
  return (
    <>
      {languageSettings.map(({ name, title, hint, all }) => (
        <Setting key={name} editor={editor} name={name} title={title} hint={hint}>
          {languages(name, all)}
        </Setting>
      ))}
    </>
  )
}
