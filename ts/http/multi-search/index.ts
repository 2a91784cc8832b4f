/** Distributes the searches of one request to instances and merges their answers. */
export { requireDisplayed } from './hidden-values.js'
export { searchNetwork } from './network.js'
export { partition } from './partition.js'
