/** Suggests completions for a partially typed filter. */
import { attribute, quoted } from './lane.ts'

/** The kind of completion at the caret. */
export interface Wanted {
  readonly kind: 'attribute' | 'operator' | 'value' | 'connective'
  /** The part typed so far, without quotes. */
  readonly typed: string
  /** Position of its first character in the text. */
  readonly from: number
  /** The attribute that an operator or a value belongs to. */
  readonly attribute: string
}

interface Token {
  readonly text: string
  readonly at: number
  readonly kind: 'word' | 'quoted' | 'sign'
}

const SIGNS = ['!=', '>=', '<=', '=', '>', '<', '(', ')', '[', ']', ','] as const
const COMPARISONS = new Set(['=', '!=', '>', '>=', '<', '<=', 'IN', 'TO', 'CONTAINS', 'WITH'])
const ENDS = new Set(['EXISTS', 'NULL', 'EMPTY'])

export const operators = [
  '=', '!=', '>', '>=', '<', '<=', 'IN [', 'NOT IN [', 'EXISTS', 'NOT EXISTS', 'IS NULL', 'IS NOT NULL', 'IS EMPTY',
  'IS NOT EMPTY', 'STARTS WITH',
] as const // biome-ignore format: one line per kind would hide the list
export const connectives = ['AND', 'OR'] as const

function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  let at = 0
  while (at < text.length) {
    const start = at
    const char = text.charAt(at)
    const sign = SIGNS.find((one) => text.startsWith(one, at))
    if (/\s/.test(char)) at++
    else if (char === '"' || char === "'") {
      at++
      while (at < text.length && text.charAt(at) !== char) at += text.charAt(at) === '\\' ? 2 : 1
      at++
      tokens.push({ text: text.slice(start, at), at: start, kind: 'quoted' })
    } else if (sign !== undefined) {
      at += sign.length
      tokens.push({ text: sign, at: start, kind: 'sign' })
    } else {
      while (at < text.length && !/[\s"'()[\],=!<>]/.test(text.charAt(at))) at++
      if (at === start) at++
      tokens.push({ text: text.slice(start, at), at: start, kind: 'word' })
    }
  }
  return tokens
}

const plain = (text: string): string =>
  /^["']/.test(text) ? text.slice(1).replace(/["']$/, '').replace(/\\(.)/g, '$1') : text

/** Parses the text before the caret. A word that touches the caret counts as incomplete. */
export function wantedAfter(before: string): Wanted {
  const tokens = tokensOf(before)
  const last = tokens.at(-1)
  const isOpen = last !== undefined && last.kind !== 'sign' && last.at + last.text.length >= before.length
  const isClosedQuote = isOpen && last.kind === 'quoted' && /^(["']).*\1$/s.test(last.text)
  const typing = isOpen && !isClosedQuote ? tokens.pop() : undefined
  let kind: Wanted['kind'] = 'attribute'
  let of = ''
  let isInList = false
  for (const { text, kind: form } of tokens) {
    const upper = form === 'quoted' ? '' : text.toUpperCase()
    if (upper === '[') [kind, isInList] = ['value', true]
    else if (upper === ']') [kind, isInList] = ['connective', false]
    else if (upper === ',') kind = 'value'
    else if (upper === 'AND' || upper === 'OR' || upper === '(') kind = 'attribute'
    else if (upper === ')' || ENDS.has(upper)) kind = 'connective'
    else if (COMPARISONS.has(upper)) kind = 'value'
    else if (upper === 'NOT' || upper === 'IS' || upper === 'STARTS') continue
    else if (kind === 'attribute') [kind, of] = ['operator', plain(text)]
    else if (kind === 'value') kind = isInList ? 'value' : 'connective'
  }
  return { kind, typed: plain(typing?.text ?? ''), from: typing?.at ?? before.length, attribute: of }
}

/** Returns the text that a suggestion inserts into the filter. */
export function written(kind: Wanted['kind'], text: string): string {
  if (kind === 'attribute') return `${attribute(text)} `
  if (kind === 'value') return `${/^-?\d+(\.\d+)?$/.test(text) ? text : quoted(text)} `
  return text.endsWith('[') ? text : `${text} `
}
