/** Placement: which cell of several holds an index, and how to reach it. */
export * from './placement.js'
export * from './placement-store.js'
export { type OpenedPlacement, openPlacement } from './placement-watch.js'
