/** Replication state for clients: positions and lag. */
export { isWrite, learnTask, passOn } from './forward.js'
export { hasBody, type Passing, passed, sendPassed } from './pass.js'
export { accessToRead, showPositions } from './replicas.js'
