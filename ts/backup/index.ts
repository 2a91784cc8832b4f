/** Here is an instance: how does all of it get into one file, and out of it again? */
export { type DumpSetup, dumperTo } from './write-dump.js'
