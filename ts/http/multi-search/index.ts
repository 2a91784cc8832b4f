/** Distributes the searches of one request to instances and merges their answers. */
export { searchHeaders } from './ask-cell.js'
export { requireDisplayed } from './hidden-values.js'
export { searchNetwork } from './network.js'
export { byCell, partition } from './partition.js'
export { searchCells } from './separate.js'
