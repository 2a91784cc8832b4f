/**
 * A sentence encoder and a cross-encoder written for readability: one text at a time, in 64-bit floats, without a library. Source:
 * "Attention Is All You Need"; the papers and published configurations of BERT, RoBERTa and DistilBERT.
 */
import { headNames, layerNames, type TinyModel, vocabulary } from './tiny-model.js'

type Vector = readonly number[]
type Matrix = readonly Vector[]

/** Returns the token numbers of a text of known words, cut to the positions of the model. */
export const tokensOf = (model: TinyModel, text: string): readonly number[] => [
  number('[CLS]'),
  ...piecesOf(text).slice(0, positionsOf(model) - 2),
  number('[SEP]'),
]

/** Positions for tokens. */
const positionsOf = ({ sizes, family }: TinyModel): number => sizes.positions - (family === 'roberta' ? 2 : 0)

const number = (word: string): number => vocabulary.indexOf(word)

/** Returns the token numbers of a text without special tokens. */
function piecesOf(text: string): readonly number[] {
  const pieces = (word: string): readonly number[] => {
    if (number(word) >= 0) return [number(word)]
    for (let cut = word.length - 1; cut > 0; cut--) {
      const [head, tail] = [number(word.slice(0, cut)), number(`##${word.slice(cut)}`)]
      if (head >= 0 && tail >= 0) return [head, tail]
    }
    return [number('[UNK]')]
  }
  const words = text
    .toLowerCase()
    .split(' ')
    .filter((word) => word !== '')
  return words.flatMap(pieces)
}

/**
 * Returns the tokens of a pair with their types. The longer text is cut first; of two that remain, the one that was
 * longer keeps one token more. Source: the strategy `longest_first` of Hugging Face's tokenizers.
 */
function pairOf(model: TinyModel, query: string, document: string): readonly (readonly [number, number])[] {
  const isRoberta = model.family === 'roberta'
  const [first, second] = [[...piecesOf(query)], [...piecesOf(document)]]
  const room = positionsOf(model) - (isRoberta ? 4 : 3)
  const shorter = first.length <= second.length ? first : second
  while (first.length + second.length > room) {
    const cut = first.length === second.length ? shorter : first.length > second.length ? first : second
    cut.pop()
  }
  const separators = isRoberta ? ['[SEP]', '[SEP]'] : ['[SEP]']
  return [
    ...[number('[CLS]'), ...first, ...separators.map(number)].map((token) => [token, 0] as const),
    ...[...second, number('[SEP]')].map((token) => [token, isRoberta ? 0 : 1] as const),
  ]
}

/** Returns the score of a document for a query, from 0 to 1. */
export function pairScore(model: TinyModel, query: string, document: string): number {
  const pair = pairOf(model, query, document)
  const [first = []] = encoded(
    model,
    pair.map(([token]) => token),
    pair.map(([, type]) => type),
  )
  const { dense, output } = headNames(model.family)
  const layer = (name: string, state: Vector): Vector => {
    const [matrix, bias] = [weight(model, `${name}.weight`).values, weight(model, `${name}.bias`).values]
    return [...bias].map((shift, at) => {
      const row = matrix.subarray(at * state.length, (at + 1) * state.length)
      return dot([...row], state) + shift
    })
  }
  const between = layer(dense, first).map((one) =>
    model.family === 'distilbert' ? Math.max(one, 0) : Math.tanh(one),
  )
  const [logit = Number.NaN] = layer(output, between)
  return 1 / (1 + Math.exp(-logit))
}

/** Returns the vector of each token. */
export function encoded(
  model: TinyModel,
  tokens: readonly number[],
  types: readonly number[] = tokens.map(() => 0),
): Matrix {
  const { family, sizes } = model
  const rows = (name: string): Matrix => {
    const { shape, values } = weight(model, name)
    const width = shape[1] ?? shape[0] ?? 0
    return Array.from({ length: values.length / width }, (_, at) => [
      ...values.subarray(at * width, (at + 1) * width),
    ])
  }
  const row = (name: string, at = 0): Vector => rows(name)[at] ?? []
  const linear = (name: string, states: Matrix): Matrix => {
    const [matrix, bias] = [rows(`${name}.weight`), row(`${name}.bias`)]
    return states.map((state) => matrix.map((weights, at) => dot(weights, state) + (bias[at] ?? 0)))
  }
  const norm = (name: string, states: Matrix): Matrix =>
    states.map((state) => normed(state, row(`${name}.weight`), row(`${name}.bias`)))
  // In RoBERTa position 1 is padding, so texts begin at position 2.
  const first = family === 'roberta' ? 2 : 0
  const word = rows('embeddings.word_embeddings.weight')
  const position = rows('embeddings.position_embeddings.weight')
  const type = family === 'distilbert' ? [zeros(sizes.hidden), zeros(sizes.hidden)] : rows(TYPES)
  let states = norm(
    'embeddings.LayerNorm',
    tokens.map((token, at) =>
      sum(sum(word[token] ?? [], position[first + at] ?? []), type[types[at] ?? 0] ?? []),
    ),
  )
  const size = sizes.hidden / sizes.heads
  for (let layer = 0; layer < sizes.layers; layer++) {
    const names = layerNames(family, layer)
    const [queries, keys, values] = [names.query, names.key, names.value].map((name) => linear(name, states))
    const attended = (queries ?? []).map((query) =>
      Array.from({ length: sizes.heads }, (_, head) => {
        const part = (vector: Vector) => vector.slice(head * size, (head + 1) * size)
        const shares = softmax((keys ?? []).map((key) => dot(part(query), part(key)) / Math.sqrt(size)))
        return (values ?? []).reduce(
          (mixed, value, at) =>
            sum(
              mixed,
              part(value).map((component) => component * (shares[at] ?? 0)),
            ),
          zeros(size),
        )
      }).flat(),
    )
    const output = linear(names.output, attended)
    states = norm(
      names.attentionNorm,
      output.map((vector, at) => sum(vector, states[at] ?? [])),
    )
    const wide = linear(names.widen, states).map((vector) => vector.map(gelu))
    const narrow = linear(names.narrow, wide)
    states = norm(
      names.norm,
      narrow.map((vector, at) => sum(vector, states[at] ?? [])),
    )
  }
  return states
}

/** Returns the mean of the vectors of a text's tokens. */
export function meanVector(model: TinyModel, text: string): Vector {
  const states = encoded(model, tokensOf(model, text))
  return states.reduce(sum, zeros(model.sizes.hidden)).map((component) => component / states.length)
}

/** Returns the vector of a text's first token. */
export const firstVector = (model: TinyModel, text: string): Vector =>
  encoded(model, tokensOf(model, text))[0] ?? []

const TYPES = 'embeddings.token_type_embeddings.weight'

function weight({ weights }: TinyModel, name: string) {
  const found = weights.get(name)
  if (found === undefined) throw new TypeError(`no weight ${name}`)
  return found
}

const zeros = (length: number): Vector => Array.from({ length }, () => 0)
const dot = (a: Vector, b: Vector): number => a.reduce((total, one, at) => total + one * (b[at] ?? 0), 0)
const sum = (a: Vector, b: Vector): Vector => a.map((one, at) => one + (b[at] ?? 0))

function normed(state: Vector, scale: Vector, shift: Vector): Vector {
  const mean = state.reduce((total, one) => total + one, 0) / state.length
  const variance = state.reduce((total, one) => total + (one - mean) ** 2, 0) / state.length
  return state.map(
    (one, at) => ((one - mean) / Math.sqrt(variance + 1e-12)) * (scale[at] ?? 0) + (shift[at] ?? 0),
  )
}

function softmax(scores: Vector): Vector {
  const powers = scores.map((score) => Math.exp(score - Math.max(...scores)))
  const total = powers.reduce((all, one) => all + one, 0)
  return powers.map((power) => power / total)
}

const gelu = (x: number): number => (x / 2) * (1 + erf(x / Math.SQRT2))

/** The error function as a series. The tests only use values where it converges. */
function erf(x: number): number {
  if (Math.abs(x) > 4) return Math.sign(x)
  let [term, total] = [x, x]
  for (let n = 1; n < 200; n++) {
    term *= (-x * x) / n
    total += term / (2 * n + 1)
  }
  return (2 / Math.sqrt(Math.PI)) * total
}
