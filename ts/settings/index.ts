/** What may an index or a launch be told, and what holds when nothing was said? */
export {
  defaultIndexSettings,
  type FilterableRule,
  type IndexSettings,
  type LocalizedRule,
} from './index-settings.js'
