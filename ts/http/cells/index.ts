/** Several cells: passes requests on to the cell that has the index, and merges the answers of all. */
export { Cells, type CellsSetup } from './cells.js'
export { passNamed, routeCells } from './route.js'
