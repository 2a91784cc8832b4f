/** The settings of an index: types, validation, merging and defaults. */
export {
  defaultModel,
  defaultRevision,
  type EmbedderFields,
  indexingFields,
  searchingFields,
  sourceOf,
} from './embedder-rules.js'
export {
  defaultDocumentTemplate,
  dimensionsOf,
  dimensionsSet,
  embedderAsSet,
  embedderWithoutSecrets,
  HIDDEN_SECRET,
  isSecretHeader,
  type Known,
  maskSecret,
  maskUserInfo,
} from './embedders.js'
export {
  defaultIndexSettings,
  type FilterableRule,
  type IndexSettings,
  type MatchingStrategy,
} from './index-settings.js'
export { liquid, templatesOf } from './liquid.js'
export { acceptedLocales, threeLetterLocale } from './locales.js'
export { defaultOwnSettings, mergeSettings, renderSetting, renderSettings } from './merge.js'
export { type Remake, type Remakes, remakesBetween } from './remakes.js'
export {
  filledRequest,
  parseRequestTemplate,
  RequestTemplateError,
  valuesFromAnswer,
} from './request-template.js'
export {
  modelOf,
  type RerankerFields,
  rerankerDefaults,
  rerankerDefaultsOf,
  rerankersWithoutSecrets,
} from './rerankers.js'
export {
  completeSettings,
  type EmbeddersByName,
  parsedSettings,
  type SettingsUpdate,
  updateOf,
} from './texts.js'
export { SettingsThread } from './thread.js'
export {
  ownSettings,
  resetAllSettings,
  resetSetting,
  type SentSettings,
  type SettingName,
  type SettingsChange,
  settingRoutes,
  settingsBody,
  settingsChange,
} from './validate.js'
