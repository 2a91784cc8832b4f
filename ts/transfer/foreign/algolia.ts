/** Reads an exported Algolia index: records, and optionally its settings, synonyms and rules. */
import { rulesOf } from './algolia-rules.js'
import { settingsOf } from './algolia-settings.js'
import { type Foreign, named, objectOf, Synonyms, textsOf } from './foreign.js'

/** The parsed content of exported files. */
interface AlgoliaExport {
  readonly uid: string
  /** Yields the JSON of each record. */
  readonly records: () => AsyncIterable<Buffer>
  /** null: not given. */
  readonly settings: unknown
  readonly synonyms: readonly unknown[]
  readonly rules: readonly unknown[]
}

/** Members that searches and exports add to records. */
const added = ['_highlightResult', '_snippetResult', '_rankingInfo', '_distinctSeqID']

/** @throws ForeignError for a file of another form */
export function readAlgolia({ uid, records, settings, synonyms, rules }: AlgoliaExport): Foreign {
  const converted = settingsOf(settings === null ? {} : objectOf(settings, 'the file of --algolia-settings'))
  const copiedSynonyms = synonymsOf(synonyms.map((one) => objectOf(one, 'a synonym')))
  const copiedRules = rulesOf(
    uid,
    rules.map((one) => objectOf(one, 'a rule')),
  )
  const hasSynonyms = Object.keys(copiedSynonyms.synonyms).length > 0
  return {
    indexes: [
      {
        uid,
        primaryKey: 'objectID',
        settings: { ...converted.settings, ...(hasSynonyms && { synonyms: copiedSynonyms.synonyms }) },
        rules: copiedRules.rules,
        form: {
          idField: 'objectID',
          removed: added,
          geo: { field: '_geoloc', order: 'object' },
          vectors: [],
        },
        expected: null,
        leftOut: [...converted.leftOut, ...copiedSynonyms.leftOut, ...copiedRules.leftOut],
        documents: records,
      },
    ],
    leftOut: [],
  }
}

function synonymsOf(items: readonly Readonly<Record<string, unknown>>[]): {
  readonly synonyms: Readonly<Record<string, readonly string[]>>
  readonly leftOut: readonly string[]
} {
  const synonyms = new Synonyms()
  const placeholders: string[] = []
  const corrections: string[] = []
  for (const { objectID, type, input, word, synonyms: given, corrections: corrected } of items) {
    const id = String(objectID)
    // The dashboard writes some types in camel case.
    const kind = String(type).toLowerCase()
    if (kind === 'synonym') for (const one of textsOf(given)) synonyms.add(one, textsOf(given))
    else if (kind === 'onewaysynonym' && typeof input === 'string') synonyms.add(input, textsOf(given))
    else if (kind.startsWith('altcorrection') && typeof word === 'string') {
      synonyms.add(word, textsOf(corrected))
      corrections.push(id)
    } else placeholders.push(id)
  }
  const leftOut = [
    ...(corrections.length > 0
      ? [`that the corrections ${named(corrections)} count as typos: they are synonyms here`]
      : []),
    ...(placeholders.length > 0 ? [`the placeholders ${named(placeholders)}`] : []),
  ]
  return { synonyms: synonyms.setting, leftOut }
}
