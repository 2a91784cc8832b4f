/** Dynamic search rules as the API has them, and in words. */
import type { Json } from '../api/types.ts'
import { plural, when } from '../parts/text.ts'

export interface Pin {
  readonly id: string
  /** From 0. */
  readonly position: number
  readonly indexUid?: string
}

export interface Scale {
  readonly weight: number
  readonly ids?: readonly string[]
  readonly filter?: Json
  readonly indexUid?: string
}

export interface Conditions {
  readonly time?: { readonly start?: string; readonly end?: string }
  readonly query?: { readonly isEmpty?: boolean; readonly words?: string }
  readonly filter?: { readonly values: { readonly [attribute: string]: Json } }
}

export interface Rule {
  readonly uid: string
  readonly description: string | null
  readonly precedence: number | null
  readonly active: boolean
  readonly conditions: Conditions
  readonly actions: { readonly pin?: readonly Pin[]; readonly scale?: readonly Scale[] }
}

export const newRule: Rule = {
  uid: '',
  description: null,
  precedence: null,
  active: true,
  conditions: {},
  actions: {},
}

/** Describes the searches in which a rule acts. */
export function conditionsInWords({ time, query, filter }: Conditions): string {
  const parts = [
    ...(query?.isEmpty === true ? ['without words'] : []),
    ...(query?.words === undefined ? [] : [`with “${query.words}”`]),
    ...(filter === undefined
      ? []
      : [
          `filtered by ${Object.entries(filter.values)
            .map(([name, value]) => `${name} = ${textOf(value)}`)
            .join(' and ')}`,
        ]),
    ...(time?.start === undefined ? [] : [`from ${when(time.start)}`]),
    ...(time?.end === undefined ? [] : [`until ${when(time.end)}`]),
  ]
  return parts.length === 0 ? 'every search' : `searches ${parts.join(', ')}`
}

export function actionsInWords({ pin = [], scale = [] }: Rule['actions']): string {
  const weights = scale.map(({ weight }) => (weight === 0 ? 'hides some' : `scales some by ${weight}`))
  const pins = pin.length === 0 ? [] : [`pins ${plural(pin.length, 'document')}`]
  return [...pins, ...new Set(weights)].join(', ') || 'nothing'
}

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Reads a value of a filter condition: a number or a truth value if it looks like one, otherwise a text. */
export function conditionValue(text: string): Json {
  const trimmed = text.trim()
  return /^(-?\d+(\.\d+)?|true|false)$/.test(trimmed) ? (JSON.parse(trimmed) as Json) : trimmed
}

/** Shows a value so that `conditionValue` reads it again. */
export const conditionText = textOf
