import { type FeatureFlags, featureNames } from '../../instance/index.js'
import { boolean, type Field, optional, shape } from '../requests/index.js'

const flags: Readonly<Record<string, Field<boolean | null>>> = Object.fromEntries(
  featureNames.map((name) => [name, optional(boolean, 'bad_request')]),
)

/** Body of a request to switch experimental features; null keeps a feature. */
export const featuresBody = shape(flags)

/** Returns the features that a body switches. */
export function sentFeatures(body: ReturnType<typeof featuresBody.json>): Partial<FeatureFlags> {
  return Object.fromEntries(Object.entries(body).filter(([, isOn]) => isOn !== null))
}
