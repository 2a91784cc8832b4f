/** Messages between the main thread and the settings thread. */
import type { ErrorCode } from '../errors/index.js'
import { comparedSettings } from './comparison.js'
import { mergedSettings, readSettings, renderedSettings } from './texts.js'

/** The functions that the thread can run. Their arguments and results are text, bytes or short. */
const settingsCalls = {
  read: readSettings,
  merge: mergedSettings,
  render: renderedSettings,
  compare: comparedSettings,
} as const

type SettingsCalls = typeof settingsCalls
export type SettingsCall = keyof SettingsCalls

export interface CallMessage {
  readonly id: number
  readonly call: SettingsCall
  readonly args: readonly unknown[]
}

export type AnswerMessage =
  | { readonly id: number; readonly value: unknown }
  /** An `ApiError`, as the arguments of its constructor. */
  | { readonly id: number; readonly refusal: readonly [ErrorCode, string, number] }
  /** Any other error, which is a bug. */
  | { readonly id: number; readonly fault: string }

export function runCall({ call, args }: Omit<CallMessage, 'id'>): unknown {
  // The methods of `SettingsThread` ensure that the arguments fit the call. The message type cannot express this.
  const run = settingsCalls[call] as (...args: readonly unknown[]) => unknown
  return run(...args)
}
