/** Makes HTTP requests to other hosts, if their addresses are allowed. */
export { type AllowedNetworks, addressPolicy } from './addresses.js'
export {
  type Backoff,
  isTransientStatus,
  pauseMs,
  retryAfterMs,
  retrying,
  type Wait,
  waitOnTimer,
} from './backoff.js'
export { certificateFault, trusting } from './certificate.js'
export * from './client.js'
export { readAnswer } from './json.js'
export { type LinkedSignal, linkedSignal } from './linked-signal.js'
export { OutboundError, type OutboundFault } from './outbound-error.js'
