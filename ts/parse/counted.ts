/** Returns a count with its noun: `1 document`, `2 documents`. @param many the plural, if it is not formed by `s` */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`
}
