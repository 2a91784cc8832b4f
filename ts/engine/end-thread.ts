import type { MessagePort } from 'node:worker_threads'

/** Ends the current thread once it has nothing left to do. @param port the port to its parent */
export function endThread(port: MessagePort): void {
  const { close } = port as Partial<MessagePort>
  // In Deno that port cannot be closed, but a thread can close itself.
  if (close === undefined) (globalThis as { readonly close?: () => void }).close?.()
  else close.call(port)
}
