import { createServer } from 'node:net'
import { type Address, addressText, LaunchError } from '../launch/index.js'

/**
 * Listens on an address for a moment, so that a start fails before it creates anything if the address is in use.
 * @throws LaunchError
 */
export async function requireFreeAddress(address: Address): Promise<void> {
  const probe = createServer()
  try {
    await new Promise<void>((resolve, reject) => {
      probe.once('error', reject)
      probe.listen(address, resolve)
    })
  } catch (error) {
    throw cannotListen(address, error as NodeJS.ErrnoException)
  }
  await new Promise((resolve) => probe.close(resolve))
}

/** Error of a start that cannot listen on its address. */
export function cannotListen(address: Address, { code, message }: NodeJS.ErrnoException): LaunchError {
  const hint = code === undefined ? undefined : hints[code]
  const advice = hint === undefined ? '' : `: ${hint}`
  return new LaunchError(`cannot listen on ${addressText(address)}: ${code ?? message}${advice}`, 1)
}

const hints: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens there; stop it, or choose another --http-addr',
  EADDRNOTAVAIL: 'this machine has no such address; 0.0.0.0 stands for all it has',
  EACCES: 'ports below 1024 need a privilege; choose another --http-addr',
  ENOTFOUND: 'this name has no address',
  EAI_AGAIN: 'the address of this name cannot be looked up now',
}
