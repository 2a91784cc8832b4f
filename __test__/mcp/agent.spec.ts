/**
 * An agent without a model. It knows no name of an index, field or value before: it reads them from descriptions of
 * tools, from answers, and from error messages, as a model would.
 */
import type { Client } from '@modelcontextprotocol/client'
import test from 'ava'
import { callTool, connect, films, startFilms, type ToolAnswer } from './world.js'

interface Question {
  readonly asks: string
  answer(agent: Agent): Promise<unknown>
  /** The right answer, from the documents themselves. */
  expected(films: readonly Film[]): unknown
}

interface Film {
  readonly id: number
  readonly title: string
  readonly year: number
  readonly rating: number
  readonly genres: readonly string[]
  readonly director: string
}

/** An agent without a model. Counts the calls that are refused, and keeps the description of the index. */
class Agent {
  errors = 0
  readonly #client: Client
  // biome-ignore lint/suspicious/noExplicitAny: descriptions have any shape
  #about: any = null

  constructor(client: Client) {
    this.#client = client
  }

  async call(name: string, args: object): Promise<ToolAnswer> {
    const answer = await callTool(this.#client, name, args)
    if (answer.isError) this.errors += 1
    return answer
  }

  /** Describes the index with the most documents. */
  // biome-ignore lint/suspicious/noExplicitAny: descriptions have any shape
  async about(): Promise<any> {
    if (this.#about !== null) return this.#about
    const { value } = await this.call('listIndexes', {})
    const [largest] = [...value.results].sort((a, b) => b.numberOfDocuments - a.numberOfDocuments)
    this.#about = (await this.call('describeIndex', { indexUid: largest.uid })).value
    return this.#about
  }

  /** Returns a filterable attribute whose type matches, the one that an example filter of the description uses. */
  async filterable(type: RegExp, name: RegExp): Promise<string> {
    const { fields, filterableAttributes } = await this.about()
    const found = fields.find(
      (field: { name: string; type: string }) =>
        filterableAttributes.includes(field.name) && type.test(field.type) && name.test(field.name),
    )
    return found.name
  }

  /** Finds the spelling of a value. */
  async value(attribute: string, beginning: string): Promise<string> {
    const { uid } = await this.about()
    const { value } = await this.call('facetSearch', {
      indexUid: uid,
      facetName: attribute,
      facetQuery: beginning,
    })
    return value.facetHits[0].value
  }

  // biome-ignore lint/suspicious/noExplicitAny: answers have any shape
  async search(query: object): Promise<any> {
    const { uid } = await this.about()
    const { value } = await this.call('searchInIndexes', { queries: [{ indexUid: uid, ...query }] })
    return value.results[0]
  }

  async count(filter: string): Promise<number> {
    return (await this.search({ filter, limit: 0 })).estimatedTotalHits
  }
}

const year = (agent: Agent) => agent.filterable(/^number$/, /year/)
const rating = (agent: Agent) => agent.filterable(/^number$/, /rat/)
const genre = (agent: Agent) => agent.filterable(/array of string/, /genre/)

const questions: readonly Question[] = [
  {
    asks: 'How many films are there?',
    answer: async (agent) => (await agent.about()).numberOfDocuments,
    expected: (all) => all.length,
  },
  {
    asks: 'From what year is the oldest film?',
    answer: async (agent) => {
      const name = await year(agent)
      return (await agent.about()).fields.find((field: { name: string }) => field.name === name).min
    },
    expected: (all) => Math.min(...all.map((film) => film.year)),
  },
  {
    asks: 'What is the newest film?',
    answer: async (agent) =>
      (await agent.search({ sort: [`${await year(agent)}:desc`], limit: 1 })).hits[0].title,
    expected: (all) => [...all].sort((a, b) => b.year - a.year)[0]?.title,
  },
  {
    asks: 'What is the best rated film?',
    answer: async (agent) =>
      (await agent.search({ sort: [`${await rating(agent)}:desc`], limit: 1 })).hits[0].rating,
    expected: (all) => Math.max(...all.map((film) => film.rating)),
  },
  {
    asks: 'How many dramas are there?',
    answer: async (agent) => {
      const name = await genre(agent)
      return agent.count(`${name} = "${await agent.value(name, 'dram')}"`)
    },
    expected: (all) => all.filter(({ genres }) => genres.includes('Drama')).length,
  },
  {
    asks: 'How many science fiction films, in the agent’s own spelling?',
    answer: async (agent) => {
      const name = await genre(agent)
      return agent.count(`${name} = "${await agent.value(name, 'sciense')}"`)
    },
    expected: (all) => all.filter(({ genres }) => genres.includes('Science Fiction')).length,
  },
  {
    asks: 'Which films are from the 1970s?',
    answer: async (agent) =>
      (await agent.search({ filter: `${await year(agent)} 1970 TO 1979`, limit: 100 })).hits
        .map(({ id }: Film) => id)
        .sort((a: number, b: number) => a - b),
    expected: (all) => all.filter((film) => film.year >= 1970 && film.year <= 1979).map(({ id }) => id),
  },
  {
    asks: 'Which genre has the most films?',
    answer: async (agent) => {
      const name = await genre(agent)
      const { facetDistribution } = await agent.search({ facets: [name], limit: 0 })
      return Math.max(...Object.values<number>(facetDistribution[name]))
    },
    expected: (all) => {
      const counts = new Map<string, number>()
      for (const one of all.flatMap(({ genres }) => genres)) counts.set(one, (counts.get(one) ?? 0) + 1)
      return Math.max(...counts.values())
    },
  },
  {
    asks: 'Which film is about a weather station in orbit?',
    answer: async (agent) => (await agent.search({ q: 'weather station orbit', limit: 1 })).hits[0].id,
    expected: () => 3,
  },
  {
    asks: 'Who directed the film "Salt and Irn" (misspelt)?',
    answer: async (agent) =>
      (await agent.search({ q: 'salt and irn', attributesToRetrieve: ['director'], limit: 1 })).hits[0]
        .director,
    expected: (all) => all.find(({ title }) => title === 'Salt and Iron')?.director,
  },
  {
    asks: 'How many dramas after 1990 are rated above 8?',
    answer: async (agent) =>
      agent.count(
        `${await genre(agent)} = Drama AND ${await year(agent)} > 1990 AND ${await rating(agent)} > 8`,
      ),
    expected: (all) =>
      all.filter((film) => film.genres.includes('Drama') && film.year > 1990 && film.rating > 8).length,
  },
  {
    asks: 'How many films are neither dramas nor comedies?',
    answer: async (agent) => agent.count(`NOT ${await genre(agent)} IN [Drama, Comedy]`),
    expected: (all) =>
      all.filter(({ genres }) => !genres.includes('Drama') && !genres.includes('Comedy')).length,
  },
  {
    asks: 'Who made film 5? (first guesses a filter that is refused, then reads the error)',
    answer: async (agent) => {
      const { uid } = await agent.about()
      const guess = { queries: [{ indexUid: uid, filter: 'id = 5' }] }
      const { isError, text } = await agent.call('searchInIndexes', guess)
      if (!isError || !text.includes('describeIndex')) return text
      const { value } = await agent.call('getDocuments', { indexUid: uid, ids: [5] })
      return value.results[0].director
    },
    expected: (all) => all.find(({ id }) => id === 5)?.director,
  },
  {
    asks: 'Which film is it? (first guesses the name of the index, then reads the error)',
    answer: async (agent) => {
      const guess = { queries: [{ indexUid: 'movies', q: 'cartographer' }] }
      const { text } = await agent.call('searchInIndexes', guess)
      const [, tool = ''] = /Call (\w+)/.exec(text) ?? []
      const { value } = await agent.call(tool, {})
      const [{ uid }] = value.results
      const found = await agent.call('searchInIndexes', { queries: [{ indexUid: uid, q: 'cartographer' }] })
      return found.value.results[0].hits[0].id
    },
    expected: () => 5,
  },
  {
    asks: 'Why is "Salt and Iron" no hit for "harbour" after 2000?',
    answer: async (agent) => {
      const { uid } = await agent.about()
      const filter = `${await year(agent)} > 2000`
      const { value } = await agent.call('explainHit', { indexUid: uid, id: 2, q: 'harbour', filter })
      return value.reasons.map(({ kind }: { kind: string }) => kind)
    },
    expected: () => ['filter'],
  },
]

test('an agent that reads only descriptions and errors answers questions about the films', async (t) => {
  const server = await startFilms(t)
  const all = (await films()) as unknown as readonly Film[]
  for (const era of ['legacy', 'modern'] as const) {
    const client = await connect(t, server, { era })
    const agent = new Agent(client)
    for (const { asks, answer, expected } of questions)
      t.deepEqual(await answer(agent), expected(all), `${era}: ${asks}`)
    t.is(agent.errors, 2, 'only the two guesses were refused')
  }
})

test('the search tool names the attributes for filters, so that a first filter is valid', async (t) => {
  const server = await startFilms(t)
  const client = await connect(t, server)
  const { tools } = await client.listTools()
  const [, uid = '', filters = ''] =
    /^- (\w+): filter by ([^;]+)/m.exec(
      tools.find(({ name }) => name === 'searchInIndexes')?.description ?? '',
    ) ?? []
  const names = filters.split(', ')
  t.true(names.length >= 4)
  for (const name of names) {
    const { isError, text } = await callTool(client, 'searchInIndexes', {
      queries: [{ indexUid: uid, filter: `${name} EXISTS` }],
    })
    t.false(isError, text)
  }
})
