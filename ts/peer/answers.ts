/** What of an answer its reader relies on. Another instance may be of any version, or none of ours. */

/** Whether a value is as expected. */
export type Check = (value: unknown) => boolean

/** Checks of the members of an object. Others may be there. */
export type Shape = Readonly<Record<string, Check>>

export const isText: Check = (value) => typeof value === 'string'
export const isCount: Check = (value) => typeof value === 'number' && value >= 0
export const isFlag: Check = (value) => typeof value === 'boolean'
export const isObject: Check = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
export const isTexts: Check = (value) => Array.isArray(value) && value.every(isText)
export const isUrl: Check = (value) => typeof value === 'string' && URL.canParse(value)

/** Null or absent too. */
export const maybe =
  (check: Check): Check =>
  (value) =>
    value === null || value === undefined || check(value)

export const object =
  (shape: Shape): Check =>
  (value) =>
    mistakeIn(value, shape) === null

/** An object, all of whose members are as expected. */
export const mapOf =
  (check: Check): Check =>
  (value) =>
    isObject(value) && Object.values(value as object).every(check)

export const list =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check)

/** Where the value is not of the shape: the name of a member, or an empty text for the value itself. Null: nowhere. */
export function mistakeIn(value: unknown, shape: Shape): string | null {
  if (!isObject(value)) return ''
  const members = value as Readonly<Record<string, unknown>>
  return Object.keys(shape).find((name) => !shape[name]!(members[name])) ?? null
}
