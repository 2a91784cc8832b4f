/** Opens a data directory with its engine and queue, for a server or for use inside a process. */

export { AnalysisWatch, reindexing } from './analysis-watch.js'
export * from './backup/index.js'
export * from './chat-workspaces.js'
export { copyState, setCopyState } from './copied-directory.js'
export * from './data-directory.js'
export { type Embedding, openEmbedding } from './embedding.js'
export {
  type Feature,
  type FeatureFlags,
  type Features,
  featureNames,
  openFeatures,
  requestFeatures,
} from './features.js'
export { replaceFile, textOf } from './files.js'
export { type FollowerInstance, openFollowerInstance } from './followed-instance.js'
export { type InTurn, inTurn } from './in-turn.js'
export * from './instance.js'
export { openFeaturesOf, storedTasksMax } from './launch-features.js'
export { openReadOnlyInstance } from './read-only.js'
export * from './repair/index.js'
export * from './reports/index.js'
export { isSystemFault } from './system-fault.js'
export { readVersion, requireVersion, type WrittenVersion } from './version-file.js'
export * from './webhooks/index.js'
