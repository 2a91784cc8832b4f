/** Fields and values are named by users: `constructor` and `__proto__` are names like any other. */
export function own<T>(record: Readonly<Record<string, T>> | null | undefined, name: string): T | undefined {
  return record != null && Object.hasOwn(record, name) ? record[name] : undefined
}
