import { LaunchError, launchMistakes, machine } from '../launch/index.js'
import { type Command, readFlags } from '../peer/index.js'
import { readTlsFiles } from '../tls/index.js'
import { judgeMasterKey } from './master-key.js'
import { textOf } from './text-of.js'

const help = `siftd config: names every mistake of a configuration file

Usage: siftd config validate [FILE]

Examples:
  siftd config validate /etc/siftd/config.toml
  siftd config validate                            the file that a start here would read
  SVC_MASTER_KEY=… siftd config validate           with the environment that the server has

Reads the file and the environment as a start would: names and values of options, options that need or exclude each
other, the master key, and the files that they name. Opens no data and listens nowhere. The exit code is 0 if a start
would accept all, 1 if not, 2 for wrong usage. \`siftd --print-config\` shows what the options come to.
`

export const config: Command = {
  help,
  async run(args, output) {
    const { positionals } = readFlags('config', args, {}, 2)
    const [verb, file] = positionals
    if (verb !== 'validate')
      throw new LaunchError('config: expected `siftd config validate [FILE]` (see siftd config --help)', 2)
    const { mistakes, run } = launchMistakes({
      args: file === undefined ? [] : ['--config-file-path', file],
      env: process.env,
      readFile: textOf,
      machine: machine(),
    })
    const unfit = [
      await mistakeOf(() => judgeMasterKey(run.options)),
      await mistakeOf(() => readTlsFiles(run.options)),
    ]
    const all = [...mistakes.map(({ message }) => message), ...unfit.flat()]
    for (const remark of run.remarks) output.line(`note: ${remark}`)
    for (const mistake of all) output.line(mistake)
    if (all.length === 0) output.line(`${run.configFile ?? 'the environment, without a file,'} is valid`)
    return all.length === 0 ? 0 : 1
  },
}

/** The message of a `LaunchError` that a check throws, in a list; an empty list if it throws none. */
async function mistakeOf(check: () => unknown): Promise<readonly string[]> {
  try {
    await check()
    return []
  } catch (error) {
    if (error instanceof LaunchError) return [error.message]
    throw error
  }
}
