/** All tools, in the order in which they are listed. */
import type { Tool } from '../tool.js'
import { describeIndex, explainHit, facetSearch, getDocuments, listIndexes } from './read.js'
import { searchTool } from './search.js'
import { addDocuments, deleteDocuments, getTask, updateSettings } from './write.js'

/** @param indexes see `searchTool` */
export const readTools = (indexes: string): readonly Tool[] => [
  listIndexes,
  describeIndex,
  searchTool(indexes),
  facetSearch,
  getDocuments,
  explainHit,
]

export const writeTools: readonly Tool[] = [addDocuments, deleteDocuments, updateSettings, getTask]

/** Other names that calls may use. Source: the reference names this tool in both ways. */
export const aliases: Readonly<Record<string, string>> = { describeIndexes: 'describeIndex' }
