import { KEY_UID, type Subject } from './questions.js'
import { type Call, featuresCall, newsDocument, RULED, ruleCall, type State, settingsCall } from './state.js'

/** A request that changes the state. */
export interface Change {
  readonly name: string
  readonly call: Call
  readonly next: State
  /** The questions that show it. */
  readonly subject: Subject
}

/** Returns a change of a state. @param round number that makes new texts */
type MakeChange = (state: State, round: number) => Change

/** Groups of changes. The changes of a group follow each other, and leave rules disabled. */
export const changeGroups: readonly (readonly MakeChange[])[] = [
  [
    (state, round) => {
      const text = `edition ${round}`
      return written('a document is added', state, new Map([...state.news, [2, text]]), {
        method: 'POST',
        path: '/indexes/news/documents',
        body: [newsDocument([2, text])],
      })
    },
    (state, round) => {
      const text = `edition ${round}`
      return written('a document is changed', state, new Map([...state.news, [2, text]]), {
        method: 'PUT',
        path: '/indexes/news/documents',
        body: [{ id: 2, text }],
      })
    },
    (state) =>
      written('a document is deleted', state, new Map([...state.news].filter(([id]) => id !== 2)), {
        method: 'DELETE',
        path: '/indexes/news/documents/2',
      }),
  ],
  [
    (state, round) => {
      const text = `edition ${round}`
      return written('the only document is replaced', state, new Map([[1, text]]), {
        method: 'POST',
        path: '/indexes/news/documents',
        body: [newsDocument([1, text])],
      })
    },
  ],
  [(state) => set('displayed attributes', { ...state, showsIdOnly: !state.showsIdOnly })],
  [(state) => set('synonyms', { ...state, hasSynonym: !state.hasSynonym })],
  [(state) => set('filterable attributes', { ...state, isFilterable: !state.isFilterable })],
  [
    (state) => ({
      name: 'two indexes are swapped',
      call: { method: 'POST', path: '/swap-indexes', body: [{ indexes: ['left', 'right'] }] },
      next: { ...state, sides: [state.sides[1], state.sides[0]] },
      subject: 'sides',
    }),
  ],
  [
    (state) => ({
      name: 'an index is deleted',
      call: { method: 'DELETE', path: '/indexes/passing' },
      next: { ...state, passing: null },
      subject: 'passing',
    }),
    (state, round) => ({
      name: 'an index is created',
      call: {
        method: 'POST',
        path: '/indexes/passing/documents?primaryKey=id',
        body: [{ id: 1, text: `passing ${round}` }],
      },
      next: { ...state, passing: `passing ${round}` },
      subject: 'passing',
    }),
  ],
  [
    (state, round) => ({
      name: 'a key is created',
      call: {
        method: 'POST',
        path: '/keys',
        body: {
          ...{ uid: KEY_UID, name: `key ${round}`, expiresAt: null },
          ...{ actions: ['search'], indexes: ['left'] },
        },
      },
      next: { ...state, keyName: `key ${round}` },
      subject: 'keys',
    }),
    (state, round) => ({
      name: 'a key is changed',
      call: { method: 'PATCH', path: `/keys/${KEY_UID}`, body: { name: `key ${round}` } },
      next: { ...state, keyName: `key ${round}` },
      subject: 'keys',
    }),
    (state) => ({
      name: 'a key is deleted',
      call: { method: 'DELETE', path: `/keys/${KEY_UID}` },
      next: { ...state, keyName: null },
      subject: 'keys',
    }),
  ],
  [
    (state) => ({
      ...features('an experimental feature', { ...state, containsFilter: !state.containsFilter }),
      subject: 'features',
    }),
  ],
  [
    (state) => features('rules are enabled', { ...state, hasRules: true }),
    (state) => {
      const pinned = RULED.at((state.pinned + 1) % RULED.length)!
      return {
        name: 'a rule is changed',
        call: ruleCall(pinned),
        next: { ...state, pinned },
        subject: 'rules',
      }
    },
    (state) => features('rules are disabled', { ...state, hasRules: false }),
  ],
]

const written = (name: string, state: State, news: State['news'], call: Call): Change => ({
  ...{ name, call },
  next: { ...state, news },
  subject: 'news',
})

const set = (name: string, next: State): Change => ({
  ...{ name, next },
  call: settingsCall(next),
  subject: 'settings',
})

const features = (name: string, next: State): Change => ({
  ...{ name, next },
  call: featuresCall(next),
  subject: 'rules',
})
