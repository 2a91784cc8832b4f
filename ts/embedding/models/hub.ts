/**
 * Finds the files of a hub model on this disk.
 *
 * They are downloaded at the first request, into a folder with a temporary name. The folder gets its final name once
 * all have arrived. Later requests do not call the hub.
 */
import { mkdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Download, type DownloadSetup, download } from './download.js'
import { locked } from './folder-lock.js'
import { CONFIG_BYTES_MAX, PROGRESS_MS, TOKENIZER_BYTES_MAX, WEIGHTS_BYTES_MAX } from './limits.js'
import { ModelError, type ModelName } from './model-error.js'

export interface HubSetup extends DownloadSetup {
  /** Folder of the models; created if missing. */
  readonly directory: string
  /** The address of the hub, http or https. */
  readonly hubUrl: string
  /** Access token for models that are not public. */
  readonly hubToken: string | null
  /** Milliseconds without a heartbeat after which another downloading process counts as dead. */
  readonly lockStaleMs?: number
  /** Called with a line about the download from time to time. */
  report(line: string): void
}

/** The files of a model. The small files come first, as they show if the model can run here. */
const files = [
  { name: 'config.json', bytesMax: CONFIG_BYTES_MAX, isOptional: false },
  { name: '1_Pooling/config.json', bytesMax: CONFIG_BYTES_MAX, isOptional: true },
  { name: 'tokenizer.json', bytesMax: TOKENIZER_BYTES_MAX, isOptional: false },
  { name: 'model.safetensors', bytesMax: WEIGHTS_BYTES_MAX, isOptional: false },
] as const

/**
 * Returns the folder of a hub model. Downloads the model if it is missing.
 * @throws ModelError, or OutboundError `aborted`
 */
export async function hubFolder(setup: HubSetup, name: ModelName, signal: AbortSignal): Promise<string> {
  const { model, revision } = checked(name)
  // Names on a hub have no `--`, and revisions are encoded, so two models never share a folder.
  const folder = join(setup.directory, 'hub', model.replace('/', '--'), encodeURIComponent(revision))
  if (await isThere(folder)) return folder
  const lock = {
    signal,
    onWait: () => setup.report(`another process downloads the model ${model}: waiting for it`),
    staleMs: setup.lockStaleMs,
  }
  // No encoded revision ends like this. The lock prevents that two processes append to the same file.
  return locked(`${folder}%lock`, lock, async () =>
    (await isThere(folder)) ? folder : downloaded(setup, { model, revision }, folder, signal),
  )
}

async function downloaded(
  setup: HubSetup,
  { model, revision }: { readonly model: string; readonly revision: string },
  folder: string,
  signal: AbortSignal,
): Promise<string> {
  const partial = `${folder}%partial`
  const base = setup.hubUrl.endsWith('/') ? setup.hubUrl.slice(0, -1) : setup.hubUrl
  let commit = revision
  for (const { name: file, bytesMax, isOptional } of files) {
    const path = join(partial, file)
    await mkdir(dirname(path), { recursive: true })
    const answer = await download(setup, {
      url: `${base}/${model}/resolve/${encodeURIComponent(commit)}/${file}`,
      headers: setup.hubToken === null ? {} : { authorization: `Bearer ${setup.hubToken}` },
      path,
      bytesMax,
      signal,
      progress: progressOf(setup, `${file} of ${model}`),
    })
    if ('missing' in answer) {
      if (isOptional && answer.missing === 404) continue
      throw missing({ model, revision }, file, answer.missing)
    }
    // Pins the commit, because a branch may change between two files.
    const named = answer.found['x-repo-commit']
    if (typeof named === 'string' && /^[0-9a-f]{40}$/.test(named)) commit = named
  }
  await rm(folder, { recursive: true, force: true })
  await rename(partial, folder)
  setup.report(`the model ${model} is downloaded`)
  return folder
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Checks that a name is safe in a URL and in a path. @throws ModelError */
function checked({ model, revision }: ModelName): { readonly model: string; readonly revision: string } {
  const isName = (part: string) => /^\w[\w.-]{0,95}$/.test(part) && !/--|\.\./.test(part)
  const parts = model.split('/')
  if (parts.length > 2 || !parts.every(isName)) {
    throw new ModelError(
      `\`${model}\` is no model: expected a repository such as \`BAAI/bge-base-en-v1.5\`, or the path of a folder`,
    )
  }
  const at = revision ?? 'main'
  if (!/^\w[\w./-]{0,127}$/.test(at) || at.includes('..')) {
    throw new ModelError(`\`${at}\` is no revision: expected a commit, a branch or a tag`)
  }
  return { model, revision: at }
}

function missing({ model, revision }: ModelName, file: string, status: number): ModelError {
  if (status !== 404) {
    return new ModelError(
      `the hub does not give out \`${model}\` (it answered ${status}); SVC_MODEL_HUB_TOKEN can hold a token for it`,
    )
  }
  const at = `\`${model}\` at the revision \`${revision}\``
  if (file === 'config.json') return new ModelError(`the hub has no model ${at}`)
  const hint = file === 'model.safetensors' ? '; weights in other formats are not supported' : ''
  return new ModelError(`the hub has no \`${file}\` for ${at}${hint}`)
}

/** Reports a download when it begins, and then every few seconds. */
function progressOf(setup: HubSetup, what: string): Download['progress'] {
  let reported = Number.NEGATIVE_INFINITY
  return (bytes, total) => {
    if (performance.now() - reported < PROGRESS_MS) return
    reported = performance.now()
    const share = total === null ? '' : ` of ${megabytes(total)} (${Math.floor((100 * bytes) / total)} %)`
    setup.report(`downloading ${what}: ${megabytes(bytes)}${share}`)
  }
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`
