import { removeReserve } from '../../sqlite/index.js'
import { reservePath } from './paths.js'

/** Removes the reserve of a data directory that is not open. Returns true if it existed. */
export const releaseReserve = (directory: string): boolean => removeReserve(reservePath(directory))
