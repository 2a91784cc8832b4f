/** Loaded by a start before the rest of the server, hence a small file of its own. */
export { startStoreThread } from '../tasks/index.js'
