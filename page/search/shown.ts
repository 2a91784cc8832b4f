/** Chooses the title, image, text and facts of a hit from its fields. */
import type { Doc, Hit, Json } from '../api/types.ts'
import { unmarked } from '../parts/marked.tsx'
import { own } from '../parts/own.ts'
import { cut, short } from '../parts/text.ts'

export interface ShownHit {
  readonly title: string
  readonly image: string | null
  /** The longest text, if it is longer than a fact. May contain highlight marks. */
  readonly text: string | null
  readonly facts: readonly (readonly [name: string, value: string])[]
  readonly hiddenFacts: number
}

const TITLES = ['title', 'name', 'label', 'subject', 'heading', 'headline']
/** Fields that the server adds to a document. */
const ADDED = new Set([
  '_formatted',
  '_matchesPosition',
  '_rankingScore',
  '_rankingScoreDetails',
  '_federation',
  '_vectors',
])
const FACT_CHARS_MAX = 90
const TEXT_CHARS_MAX = 600
const FACTS_MAX = 8

export function shownHit(hit: Hit, primaryKey: string | null): ShownHit {
  const formatted = (hit._formatted ?? hit) as Doc
  const fields = Object.entries(formatted).filter(([name]) => !ADDED.has(name))
  const images = fields.filter(([name]) => isImage(hit[name]))
  const texts = fields.filter(
    ([name, value]) => typeof value === 'string' && typeof hit[name] === 'string' && !isAddress(hit[name]),
  )
  const title =
    texts.find(([name]) => TITLES.includes(name.toLowerCase())) ??
    texts.find(([name, value]) => name !== primaryKey && String(value).length <= FACT_CHARS_MAX) ??
    fields.find(([name]) => name === primaryKey) ??
    fields[0]
  const longest = texts
    .filter(([name, value]) => name !== title?.[0] && unmarked(String(value)).length > FACT_CHARS_MAX)
    .sort(([, a], [, b]) => String(b).length - String(a).length)[0]
  const facts = fields
    .filter(
      ([name]) => name !== title?.[0] && name !== longest?.[0] && images.every(([image]) => image !== name),
    )
    .map(([name, value]) => [name, short(withNumbers(value, hit[name]), FACT_CHARS_MAX * 2)] as const)
    .filter(([, value]) => value !== '')
  return {
    title: title === undefined ? '(no fields)' : short(title[1]) || '(empty)',
    image: images.length > 0 ? String(hit[images[0]![0]]) : null,
    text: longest === undefined ? null : cut(String(longest[1]), TEXT_CHARS_MAX),
    facts: facts.slice(0, FACTS_MAX),
    hiddenFacts: Math.max(0, facts.length - FACTS_MAX),
  }
}

/** Puts back the numbers of a document, which `_formatted` holds as texts, unless they have highlight marks. */
function withNumbers(formatted: Json, stored: Json | undefined): Json {
  if (typeof stored === 'number') return String(stored) === formatted ? stored : formatted
  if (typeof formatted !== 'object' || formatted === null) return formatted
  if (typeof stored !== 'object' || stored === null) return formatted
  const inside = stored as Readonly<Record<string, Json>>
  if (Array.isArray(formatted)) return formatted.map((one, at) => withNumbers(one, inside[at]))
  return Object.fromEntries(
    Object.entries(formatted).map(([name, one]) => [name, withNumbers(one, own(inside, name))]),
  )
}

const isAddress = (value: Json | undefined): boolean =>
  typeof value === 'string' && /^https?:\/\/\S+$/.test(value)

/** An image has an absolute address, or a path on this server. */
const isImage = (value: Json | undefined): boolean =>
  typeof value === 'string' &&
  /^(https?:\/\/|\/(?!\/))\S+\.(avif|gif|jpe?g|png|svg|webp)(\?\S*)?$/i.test(value) &&
  URL.canParse(value, location.href)
