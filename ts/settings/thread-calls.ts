/** What the thread of settings and the one that asks it say to each other. */
import type { ErrorCode } from '../errors/index.js'
import { mergedSettings, readSettings, renderedSettings } from './texts.js'

/** Calls of the thread: what they take and give is text, bytes or small. */
export const settingsCalls = { read: readSettings, merge: mergedSettings, render: renderedSettings } as const

export type SettingsCalls = typeof settingsCalls
export type SettingsCall = keyof SettingsCalls

export interface CallMessage {
  readonly id: number
  readonly call: SettingsCall
  readonly args: readonly unknown[]
}

export type AnswerMessage =
  | { readonly id: number; readonly value: unknown }
  /** A mistake of the caller, as `ApiError` takes it. */
  | { readonly id: number; readonly refusal: readonly [ErrorCode, string, number] }
  /** A fault of ours. */
  | { readonly id: number; readonly fault: string }

/** Carries a call out. */
export function performed({ call, args }: Omit<CallMessage, 'id'>): unknown {
  // The types of `SettingsThread` hold names and arguments together; a message cannot.
  const run = settingsCalls[call] as (...args: readonly unknown[]) => unknown
  return run(...args)
}
