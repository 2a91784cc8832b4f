/**
 * The value that `record` itself has under `name`; undefined if it has none.
 *
 * Names that users choose may be `constructor` or `__proto__`, which plain access finds on every object. Writing has
 * the same trap: records with such names are built by `Object.fromEntries`, never by assignment.
 */
export const ownValue = <T>(record: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined
