/**
 * The versions of everything that cuts texts into words. A snapshot of an index stores them. If they differ from those
 * of the engine, queries may be cut into other words than its documents, until the documents are analysed again.
 */
import type { AnalysisVersion } from '../../engine.js'

const { icu = 'none', unicode = 'none' } = process.versions

/** Version by component. The native engine has the same components. A test compares versions with installed packages. */
export const analysisVersion: AnalysisVersion = {
  chinese: 'jieba-wasm 2.4.0',
  japanese: `ICU ${icu}`,
  korean: 'none',
  normaliser: 'siftd 2',
  // The order of our own steps, such as those for Arabic.
  rules: '1',
  segmenter: 'siftd 2',
  stemmer: 'Snowball 3.0.1',
  thaiAndKhmer: 'charabia 0.9.9',
  unicode,
}
