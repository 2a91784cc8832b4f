/** Threads that answer searches next to the main thread. */
export { HttpLoops } from './http-loops.js'
