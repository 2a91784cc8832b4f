/** Measures the cost of usage counting per search: prints the median of trials, in microseconds of processor time. */
import { openUsage } from '../ts/telemetry/index.js'

const SEARCHES = 300_000
const TRIALS = 9

const asked = {
  filter: ['genres = Drama', ['year > 2000', 'year < 1990'], '_geoRadius(48.2, 16.4, 2000)'],
  sort: ['year:asc'],
  distinct: null,
  facets: ['genres', 'year'],
  offset: 0,
  limit: 20,
  page: null,
  hitsPerPage: null,
  attributesToRetrieve: ['title', 'year'],
  attributesToHighlight: ['*'],
  attributesToCrop: null,
  highlightPreTag: '<b>',
  highlightPostTag: '</b>',
  cropLength: 10,
  cropMarker: '…',
  showMatchesPosition: false,
  showRankingScore: true,
  showRankingScoreDetails: false,
  rankingScoreThreshold: null,
  attributesToSearchOn: null,
  matchingStrategy: 'last',
  locales: ['eng'],
  vector: null,
  retrieveVectors: false,
  hybrid: null,
  media: null,
}
const answer = { degraded: false, usedNegativeOperator: false, terms: 2 }
const agents = ['Meilisearch JavaScript (v0.62.0)', 'Meilisearch PHP (v1.16.0)']

function trial(): number {
  const usage = openUsage()
  const start = process.cpuUsage()
  for (let i = 0; i < SEARCHES; i += 1) {
    const began = performance.now()
    const counters = usage.searches('search')
    counters.add(asked, agents[i % agents.length])
    counters.succeeded(answer, performance.now() - began)
  }
  const { user, system } = process.cpuUsage(start)
  return (user + system) / SEARCHES
}

trial()
const times = Array.from({ length: TRIALS }, trial).sort((a, b) => a - b)
const shown = [times[0], times[TRIALS >> 1], times.at(-1)].map((time) => (time ?? 0).toFixed(2))
console.log(`counting a search: ${shown[1]} µs of processor time (${shown[0]} to ${shown[2]})`)
