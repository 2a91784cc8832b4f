/**
 * The own value of `record` under `name`; undefined if it has none.
 *
 * A name that a user chooses may be `constructor` or `__proto__`, which plain access finds on every object. Likewise,
 * build records with such names by `Object.fromEntries` and not by assignment.
 */
export const ownValue = <T>(record: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined
