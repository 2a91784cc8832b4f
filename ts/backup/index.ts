/** Here is an instance: how does all of it get into one file, and out of it again? */
export { DumpError } from './dump-error.js'
export { type Restored, type RestoreRequest, restoreDump } from './restore-dump.js'
export { type DumpSetup, dumperTo } from './write-dump.js'
