/** Commands that read and change the data of a server, or read a directory at rest. */
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
    summary: 'explains the rank of a document in a search',
    load: async () => (await import('./explain.js')).explain,
  },
  {
    name: 'judge',
    summary: 'measures the relevance of searches with judged queries, and tunes settings',
    load: async () => (await import('./judge/index.js')).judge,
  },
  {
    name: 'documents',
    summary: 'reads, exports and deletes documents',
    load: async () => (await import('./documents.js')).documents,
  },
  {
    name: 'indexes',
    summary: 'lists, creates and deletes indexes, and counts their content',
    load: async () => (await import('./indexes.js')).indexes,
  },
  {
    name: 'settings',
    summary: 'prints settings of an index, compares them with a file, applies a file',
    load: async () => (await import('./settings.js')).settings,
  },
  {
    name: 'reindex',
    summary: 'cuts the documents of indexes into words again',
    load: async () => (await import('./reindex.js')).reindex,
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
    summary: 'asks a server to write a dump',
    load: async () => (await import('./backups.js')).dump,
  },
  {
    name: 'snapshot',
    summary: 'asks a server to write a snapshot',
    load: async () => (await import('./backups.js')).snapshot,
  },
  {
    name: 'handover',
    summary: 'lets another server of a bucket become the leader',
    load: async () => (await import('./handover.js')).handover,
  },
  {
    name: 'mcp',
    summary: 'gives an agent tools to search, on the standard input and output',
    load: async () => (await import('./mcp.js')).mcp,
  },
  {
    name: 'bench',
    summary: 'measures how fast a server answers searches',
    load: async () => (await import('./bench.js')).bench,
  },
]
