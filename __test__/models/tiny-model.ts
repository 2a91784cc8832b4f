/** Creates small models with random weights, as files of a folder: sentence models, and cross-encoders with a head. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

export type Family = 'bert' | 'roberta' | 'distilbert'

/** The sizes of a model, with BERT's names. */
export interface Sizes {
  readonly hidden: number
  readonly layers: number
  readonly heads: number
  readonly intermediate: number
  readonly positions: number
}

export const tinySizes: Sizes = { hidden: 32, layers: 2, heads: 4, intermediate: 64, positions: 24 }

/** A tensor, row by row. */
export interface Tensor {
  readonly shape: readonly number[]
  readonly values: Float32Array
}

export interface TinyModel {
  readonly family: Family
  readonly sizes: Sizes
  /** By name; those of the encoder without the prefix that models with a head have. */
  readonly weights: ReadonlyMap<string, Tensor>
  /** Path inside the folder → content. */
  readonly files: ReadonlyMap<string, Buffer>
}

/** The vocabulary of a tiny model. A word's number is its position. */
export const vocabulary = [
  ...['[PAD]', '[UNK]', '[CLS]', '[SEP]'],
  ...['red', 'blue', 'green', 'car', 'boat', 'house', 'the', 'a', 'is', 'on', '##s', '##ing', 'run'],
]

/** Returns a generator of normally distributed numbers, the same for the same seed. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0 || 1
  const uniform = (): number => {
    // xorshift32
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
  return () => Math.sqrt(-2 * Math.log(uniform() || 1e-9)) * Math.cos(2 * Math.PI * uniform())
}

/** Names of the weights of a layer, by their role. */
export const layerNames = (family: Family, layer: number) => {
  const [start, ...parts] =
    family === 'distilbert'
      ? [
          `transformer.layer.${layer}.`,
          ...['attention.q_lin', 'attention.k_lin', 'attention.v_lin', 'attention.out_lin'],
          ...['sa_layer_norm', 'ffn.lin1', 'ffn.lin2', 'output_layer_norm'],
        ]
      : [
          `encoder.layer.${layer}.`,
          ...['attention.self.query', 'attention.self.key', 'attention.self.value', 'attention.output.dense'],
          ...['attention.output.LayerNorm', 'intermediate.dense', 'output.dense', 'output.LayerNorm'],
        ]
  const [query, key, value, output, attentionNorm, widen, narrow, norm] = parts.map((part) => start + part)
  return { query, key, value, output, attentionNorm, widen, narrow, norm } as Record<LayerPart, string>
}
type LayerPart = 'query' | 'key' | 'value' | 'output' | 'attentionNorm' | 'widen' | 'narrow' | 'norm'

/** Names of the two layers of a head. */
export const headNames = (family: Family): { readonly dense: string; readonly output: string } =>
  ({
    bert: { dense: 'pooler.dense', output: 'classifier' },
    roberta: { dense: 'classifier.dense', output: 'classifier.out_proj' },
    distilbert: { dense: 'pre_classifier', output: 'classifier' },
  })[family]

/**
 * Creates a model with `words` words.
 * @param settings merged into its config.json
 * @param labels numbers that the head gives; 0: there is no head
 */
export function madeModel(
  family: Family,
  sizes: Sizes = tinySizes,
  { seed = 7, words = vocabulary, settings = {}, pooling = null as object | null, labels = 0 } = {},
): TinyModel {
  const random = seeded(seed)
  const weights = new Map<string, Tensor>()
  const add = (name: string, shape: readonly number[], mean = 0) => {
    const values = new Float32Array(shape.reduce((all, size) => all * size, 1))
    for (let at = 0; at < values.length; at++) values[at] = mean + 0.3 * random()
    weights.set(name, { shape, values })
  }
  const norm = (name: string) => {
    add(`${name}.weight`, [sizes.hidden], 1)
    add(`${name}.bias`, [sizes.hidden])
  }
  const linear = (name: string, inputs: number, outputs: number) => {
    add(`${name}.weight`, [outputs, inputs])
    add(`${name}.bias`, [outputs])
  }
  add('embeddings.word_embeddings.weight', [words.length, sizes.hidden])
  add('embeddings.position_embeddings.weight', [sizes.positions, sizes.hidden])
  if (family !== 'distilbert') add('embeddings.token_type_embeddings.weight', [2, sizes.hidden])
  norm('embeddings.LayerNorm')
  for (let layer = 0; layer < sizes.layers; layer++) {
    const names = layerNames(family, layer)
    for (const part of ['query', 'key', 'value', 'output'] as const)
      linear(names[part], sizes.hidden, sizes.hidden)
    norm(names.attentionNorm)
    linear(names.widen, sizes.hidden, sizes.intermediate)
    linear(names.narrow, sizes.intermediate, sizes.hidden)
    norm(names.norm)
  }
  const encoder = new Set(weights.keys())
  if (labels > 0) {
    const { dense, output } = headNames(family)
    linear(dense, sizes.hidden, sizes.hidden)
    linear(output, sizes.hidden, labels)
    // BERT's pooler is part of the encoder.
    if (family === 'bert') for (const part of ['weight', 'bias']) encoder.add(`${dense}.${part}`)
  }
  const stored = [...weights].map(
    ([name, tensor]) => [labels > 0 && encoder.has(name) ? `${family}.${name}` : name, tensor] as const,
  )
  const files = new Map<string, Buffer>([
    ['config.json', json({ ...configOf(family, sizes, words.length), ...settings })],
    ['tokenizer.json', json(tokenizerOf(words, family))],
    ['model.safetensors', safetensors(new Map(stored))],
  ])
  if (pooling !== null) files.set('1_Pooling/config.json', json(pooling))
  return { family, sizes, weights, files }
}

const json = (value: object): Buffer => Buffer.from(JSON.stringify(value))

function configOf(family: Family, sizes: Sizes, words: number): object {
  const common = { model_type: family, vocab_size: words, max_position_embeddings: sizes.positions }
  if (family === 'distilbert') {
    return {
      ...common,
      dim: sizes.hidden,
      n_layers: sizes.layers,
      n_heads: sizes.heads,
      hidden_dim: sizes.intermediate,
      activation: 'gelu',
      pad_token_id: 0,
    }
  }
  return {
    ...common,
    hidden_size: sizes.hidden,
    num_hidden_layers: sizes.layers,
    num_attention_heads: sizes.heads,
    intermediate_size: sizes.intermediate,
    hidden_act: 'gelu',
    type_vocab_size: 2,
    layer_norm_eps: 1e-12,
    pad_token_id: family === 'roberta' ? 1 : 0,
  }
}

/** A WordPiece tokenizer in the format of the `tokenizers` library. */
export function tokenizerOf(words: readonly string[], family: Family = 'bert'): object {
  const special = (content: string) => ({ id: content, ids: [words.indexOf(content)], tokens: [content] })
  const token = (id: string, type_id = 0) => ({ SpecialToken: { id, type_id } })
  const text = (id: string, type_id = 0) => ({ Sequence: { id, type_id } })
  // RoBERTa has one type, and two tokens between the texts of a pair.
  const [type, between] = family === 'roberta' ? [0, ['[SEP]', '[SEP]']] : [1, ['[SEP]']]
  return {
    version: '1.0',
    truncation: null,
    padding: { strategy: { Fixed: 300 }, direction: 'Right', pad_id: 0, pad_type_id: 0, pad_token: '[PAD]' },
    added_tokens: [],
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: {
      type: 'TemplateProcessing',
      single: [token('[CLS]'), text('A'), token('[SEP]')],
      pair: [
        ...[token('[CLS]'), text('A'), ...between.map((id) => token(id))],
        ...[text('B', type), token('[SEP]', type)],
      ],
      special_tokens: { '[CLS]': special('[CLS]'), '[SEP]': special('[SEP]') },
    },
    decoder: null,
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(words.map((word, at) => [word, at])),
    },
  }
}

/** Builds a file of weights: the length of its header, the header as JSON, the numbers. */
export function safetensors(weights: ReadonlyMap<string, Tensor>): Buffer {
  let end = 0
  const entries = [...weights].map(([name, { shape, values }]) => {
    const begin = end
    end += values.byteLength
    return [name, { dtype: 'F32', shape, data_offsets: [begin, end] }] as const
  })
  const head = Buffer.from(JSON.stringify(Object.fromEntries(entries)))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(head.length))
  const numbers = [...weights.values()].map(({ values }) => Buffer.from(values.buffer))
  return Buffer.concat([length, head, ...numbers])
}

/** Writes the files of a model to a folder. */
export async function writeModel(folder: string, files: ReadonlyMap<string, Buffer | string>): Promise<void> {
  for (const [name, content] of files) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), content)
  }
}
