/**
 * Returns the own value of `record` under `name`; undefined if there is none.
 *
 * A name chosen by a user may be `constructor` or `__proto__`, which plain access finds on every object. For the same
 * reason, build records with such names by `Object.fromEntries`, not by assignment.
 */
export const ownValue = <T>(record: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined
