/** Methods that a directory opened with `readOnly` refuses. */
import { ReadOnlyError } from './errors.js'
import type { Index, Siftd } from './types.js'

type Methods<T> = { [K in keyof T]-?: T[K] extends (...parameters: never[]) => unknown ? K : never }[keyof T]

/** By method of an index: true if it writes. */
export const indexWrites: Readonly<Record<Methods<Index>, boolean>> = {
  addDocuments: true,
  updateDocuments: true,
  deleteDocuments: true,
  deleteAllDocuments: true,
  editDocuments: true,
  updateSettings: true,
  resetSettings: true,
  create: true,
  update: true,
  compact: true,
  reindex: true,
  delete: true,
  document: false,
  documents: false,
  search: false,
  explain: false,
  facetSearch: false,
  similar: false,
  compareSettings: false,
  settings: false,
  stats: false,
  fields: false,
}

/** By method of an open directory: true if it writes. */
export const instanceWrites: Readonly<
  Record<Exclude<Methods<Siftd>, 'close' | typeof Symbol.asyncDispose>, boolean>
> = {
  cancelTasks: true,
  deleteTasks: true,
  swapIndexes: true,
  export: true,
  createDump: true,
  createSnapshot: true,
  updateFeatures: true,
  index: false,
  indexes: false,
  multiSearch: false,
  tasks: false,
  task: false,
  batches: false,
  batch: false,
  waitForTask: false,
  onTaskChange: false,
  features: false,
}

/** Returns `target` with methods that reject with a `ReadOnlyError` where `writes` says so. */
export function refusingWrites<T extends object>(target: T, writes: Readonly<Record<string, boolean>>): T {
  const members = Object.entries(target).map(([name, member]): [string, unknown] =>
    writes[name] === true ? [name, () => Promise.reject(new ReadOnlyError(name))] : [name, member],
  )
  return Object.fromEntries(members) as T
}
