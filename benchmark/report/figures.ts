/** What does a report show? Plain numbers, so that a page can be made of fixed ones. */
import type { SeriesName } from './svg.js'

export interface EngineFigures {
  readonly engine: 'native' | 'fallback'
  /** In process. */
  readonly indexMs: number
  /** Over HTTP, from the POST until a search finds them. */
  readonly toSearchableMs: number
  readonly diskBytes: number
  readonly peakResidentBytes: number
  readonly diskParts: readonly DiskPart[]
  /** Milliseconds of each search in process, by workload. */
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

/** The same settings and searches over the first films of the corpus. */
export interface GrowthFigures {
  readonly documents: number
  readonly indexMs: number
  readonly diskBytes: number
  /** Median of the searches of all workloads. */
  readonly searchMs: number
}

/** What a library made of the films, inside a process of its own. */
export interface LibraryFigures {
  readonly library: Exclude<SeriesName, 'reference'>
  /** Name and version as a reader knows it. */
  readonly title: string
  /** How it was set up, in words. */
  readonly setup: string
  readonly indexMs: number
  readonly peakResidentBytes: number
  /** By how titles were written: correct, or misspelt in one way. */
  readonly searches: Readonly<Record<string, TitleSearches>>
}

export interface TitleSearches {
  readonly times: readonly number[]
  /** Searches whose first ten hits held the film. */
  readonly found: number
}

/** A line of RESULTS.md that has a figure of the reference. */
export interface ReferenceFigure {
  readonly label: string
  readonly siftd: string
  readonly reference: string
}

export interface ReferenceTable {
  readonly title: string
  /** When and where siftd's figures of this table were measured. */
  readonly origin: string
  readonly figures: readonly ReferenceFigure[]
}

export interface Report {
  readonly date: string
  readonly commit: string
  readonly machine: string
  readonly corpus: { readonly name: string; readonly documents: number; readonly bytes: number }
  /** Processes that ran or waited to, on average over a minute: as the measurements began, and at most while they ran. */
  readonly busy: { readonly before: number; readonly most: number; readonly stolenPercent: number | null }
  readonly engines: readonly EngineFigures[]
  readonly libraries: readonly LibraryFigures[]
  readonly reference: readonly ReferenceTable[]
}
