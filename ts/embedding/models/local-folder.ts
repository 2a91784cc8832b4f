/** Checks that an embedder may use a local folder as model. */
import { realpath, stat } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { ModelError, type ModelName } from './model-error.js'

/**
 * Returns the folder named by `model`.
 * @param directory the operator's folder of models
 * @throws ModelError; it does not reveal what exists outside of `directory`
 */
export async function localFolder({ model, revision }: ModelName, directory: string): Promise<string> {
  const outside = new ModelError(
    `the model \`${model}\` is a folder that is not below \`${directory}\`; --models-dir sets the folder of models`,
  )
  if (revision !== null) {
    throw new ModelError(`the model \`${model}\` is a folder, which has no \`revision\`: leave it out`)
  }
  const root = await realpath(directory).catch(() => null)
  const isBelow = (path: string) =>
    [resolve(directory), root].some((from) => from !== null && lies(path, from))
  if (!isBelow(resolve(model))) throw outside
  const folder = await realpath(model).catch(() => null)
  if (folder === null) throw new ModelError(`there is no folder \`${model}\``)
  // A symbolic link may lead outside.
  if (!isBelow(folder)) throw outside
  if (!(await stat(folder)).isDirectory()) throw new ModelError(`\`${model}\` is no folder`)
  return folder
}

/** True if `path` is below `from`. */
function lies(path: string, from: string): boolean {
  const way = relative(from, path)
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}
