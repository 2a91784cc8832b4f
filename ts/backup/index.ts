/** Here is an instance: how does all of it get into one file, and out of it again? */
export { DumpError } from './dump-error.js'
export { type Restored, restoreDump } from './restore-dump.js'
export type { RestoreRequest } from './restore-request.js'
export { type DumpSetup, dumperTo } from './write-dump.js'
