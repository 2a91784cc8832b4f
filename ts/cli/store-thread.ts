/** What a start loads before everything else of the server, so that it is a small file of its own. */
export { startStoreThread } from '../tasks/index.js'
