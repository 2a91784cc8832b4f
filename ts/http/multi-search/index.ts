/** Here are several searches in one request: which instance answers each, and what do the answers come to? */
export { requireShown } from './hidden-values.js'
export { searchNetwork } from './network.js'
export { partition } from './partition.js'
