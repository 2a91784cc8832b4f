import { randomUUID } from 'node:crypto'

/** Returns a UUID of version 7: 48 bits of milliseconds since 1970, and random bits. Source: RFC 9562 §5.7. */
export function uuidV7(): string {
  // Node.js buffers random bytes for UUIDs, so replacing the beginning of a version 4 UUID is cheaper than fresh bytes.
  const millis = Date.now().toString(16).padStart(12, '0')
  return `${millis.slice(0, 8)}-${millis.slice(8)}-7${randomUUID().slice(15)}`
}
