/** Several cells: passes requests on to the cell that has the index, and merges the answers of all. */
export { CELL_HEADER, Cells, type CellsSetup, clientHeaders } from './cells.js'
export {
  errorOf,
  gathered,
  mergedByUid,
  mergedIndexes,
  mergedStats,
  passFiltered,
  unreadable,
} from './gather.js'
export { copyKeys, sendKey } from './keys.js'
export { passNamed, requireOwnIndexes, routeCells } from './route.js'
