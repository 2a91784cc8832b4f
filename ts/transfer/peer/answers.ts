/** Checks of answers of other instances, which may have any version or be another program. */

/** Returns true if a value is valid. */
export type Check = (value: unknown) => boolean

/** Checks of members of an object. It may have other members. */
export type Shape = Readonly<Record<string, Check>>

export const isText: Check = (value) => typeof value === 'string'
export const isCount: Check = (value) => typeof value === 'number' && value >= 0
export const isFlag: Check = (value) => typeof value === 'boolean'
export const isObject: Check = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
export const isTexts: Check = (value) => Array.isArray(value) && value.every(isText)
export const isUrl: Check = (value) => typeof value === 'string' && URL.canParse(value)

/** Also accepts null and absent values. */
export const maybe =
  (check: Check): Check =>
  (value) =>
    value === null || value === undefined || check(value)

export const object =
  (shape: Shape): Check =>
  (value) =>
    mistakeIn(value, shape) === null

/** An object with valid members under any names. */
export const mapOf =
  (check: Check): Check =>
  (value) =>
    isObject(value) && Object.values(value as object).every(check)

export const list =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check)

/** Returns the name of the first invalid member, or an empty text if the value is not an object; null: it is valid. */
export function mistakeIn(value: unknown, shape: Shape): string | null {
  if (!isObject(value)) return ''
  const members = value as Readonly<Record<string, unknown>>
  return Object.keys(shape).find((name) => !shape[name]!(members[name])) ?? null
}
