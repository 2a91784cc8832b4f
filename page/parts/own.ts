/** Reads an own property. Users may name fields and values `constructor` or `__proto__`. */
export function own<T>(record: Readonly<Record<string, T>> | null | undefined, name: string): T | undefined {
  return record != null && Object.hasOwn(record, name) ? record[name] : undefined
}
