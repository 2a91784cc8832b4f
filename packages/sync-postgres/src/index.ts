/** PostgreSQL as a source of `siftd sync`. */
export { openSource } from './postgres-source.js'
export { propose } from './propose.js'
