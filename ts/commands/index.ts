/** Here is a running server or a directory at rest: what does it hold, and how is that changed from a command line? */
import type { CommandEntry } from '../command/index.js'

/** The commands that talk to a server. */
export const serverCommands: readonly CommandEntry[] = [
  {
    name: 'import',
    summary: 'adds the documents of files to an index',
    load: async () => (await import('./import/index.js')).importDocuments,
  },
  {
    name: 'search',
    summary: 'searches an index',
    load: async () => (await import('./search.js')).search,
  },
  {
    name: 'explain',
    summary: 'tells why a document is where it is among the hits of a search',
    load: async () => (await import('./explain.js')).explain,
  },
  {
    name: 'documents',
    summary: 'reads, exports and deletes documents',
    load: async () => (await import('./documents.js')).documents,
  },
  {
    name: 'indexes',
    summary: 'lists, creates and deletes indexes, and counts what they hold',
    load: async () => (await import('./indexes.js')).indexes,
  },
  {
    name: 'settings',
    summary: 'prints the settings of an index, compares them with a file, and applies one',
    load: async () => (await import('./settings.js')).settings,
  },
  {
    name: 'tasks',
    summary: 'lists, watches and cancels tasks',
    load: async () => (await import('./tasks.js')).tasks,
  },
  {
    name: 'keys',
    summary: 'lists, creates and deletes API keys',
    load: async () => (await import('./keys.js')).keys,
  },
  {
    name: 'dump',
    summary: 'lets a server write a dump',
    load: async () => (await import('./backups.js')).dump,
  },
  {
    name: 'snapshot',
    summary: 'lets a server write a snapshot',
    load: async () => (await import('./backups.js')).snapshot,
  },
  {
    name: 'bench',
    summary: 'measures how fast a server answers searches',
    load: async () => (await import('./bench.js')).bench,
  },
]
