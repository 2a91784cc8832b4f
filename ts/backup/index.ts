/** Here is an instance: how is it written into one file, and how is another one made from it? */
export { ArchiveError } from './archive-error.js'
export { type Restored, restoreDump } from './restore-dump.js'
export type { RestoreRequest } from './restore-request.js'
export { restoreSnapshot, type SnapshotRequest } from './restore-snapshot.js'
export { syncNames } from './sync-names.js'
export { type DumpSetup, dumperTo } from './write-dump.js'
export { type SnapshotSetup, snapshotterTo } from './write-snapshot.js'
