/** Characters of changes of the task store in one entry, unless a single transaction has more. */
export const ENTRY_CHANGES_CHARS = 4 * 2 ** 20
