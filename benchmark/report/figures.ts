/** The figures of a report, as plain numbers, so that tests can render fixed ones. */
import type { SeriesName } from './svg.js'

export interface EngineFigures {
  readonly engine: 'native' | 'fallback'
  /** Time to index in-process. */
  readonly indexMs: number
  /** Time over HTTP from the POST until a search finds the documents. */
  readonly toSearchableMs: number
  readonly diskBytes: number
  readonly peakResidentBytes: number
  readonly diskParts: readonly DiskPart[]
  /** Milliseconds of each in-process search, by workload. */
  readonly searches: Readonly<Record<string, readonly number[]>>
  readonly loads: readonly LoadFigures[]
  readonly growth: readonly GrowthFigures[]
}

export interface DiskPart {
  readonly name: string
  readonly bytes: number
}

export interface LoadFigures {
  readonly label: string
  readonly perSecond: number
  /** Milliseconds of each search. */
  readonly times: readonly number[]
}

/** Figures for a part of the corpus, with the same settings and searches. */
export interface GrowthFigures {
  readonly documents: number
  readonly indexMs: number
  readonly diskBytes: number
  /** Median over the searches of all workloads. */
  readonly searchMs: number
}

/** Figures of a library, measured in a separate process. */
export interface LibraryFigures {
  readonly library: Exclude<SeriesName, 'reference'>
  /** Name and version for the reader. */
  readonly title: string
  /** Description of its set-up. */
  readonly setup: string
  readonly indexMs: number
  readonly peakResidentBytes: number
  /** Searches by spelling: `as written`, or a kind of mistake. */
  readonly searches: Readonly<Record<string, TitleSearches>>
}

export interface TitleSearches {
  readonly times: readonly number[]
  /** Number of searches with the film in the first ten hits. */
  readonly found: number
}

/** A line of RESULTS.md with a figure of the reference. */
export interface ReferenceFigure {
  readonly label: string
  readonly siftd: string
  readonly reference: string
}

export interface ReferenceTable {
  readonly title: string
  /** When and where siftd's figures in this table were measured. */
  readonly origin: string
  readonly figures: readonly ReferenceFigure[]
}

export interface Report {
  readonly date: string
  readonly commit: string
  readonly machine: string
  readonly corpus: { readonly name: string; readonly documents: number; readonly bytes: number }
  /** Load average of a minute: when the measurements began, and its maximum during them. */
  readonly busy: { readonly before: number; readonly most: number; readonly stolenPercent: number | null }
  readonly engines: readonly EngineFigures[]
  readonly libraries: readonly LibraryFigures[]
  readonly reference: readonly ReferenceTable[]
}
