import { LaunchError, launchMistakes, machine } from '../launch/index.js'
import { readTlsFiles } from '../tls/index.js'
import { defineCommand, examples } from './command/index.js'
import { judgeMasterKey } from './master-key.js'
import { textOf } from './text-of.js'

export const config = defineCommand('config', (command, output) =>
  command
    .description('Checks a configuration file.')
    .addHelpText('after', examples('siftd config validate /etc/siftd/config.toml'))
    .command('validate')
    .summary('lists all mistakes in a configuration file')
    .description(`Lists all mistakes in a configuration file.

Reads the file and the environment like a start: names and values of options, options that require or exclude each other,
the master key, and files that options name. Does not open data or listen on an address. The exit code is 0 if a start
would accept the configuration, 1 if not, 2 for wrong usage. \`siftd --print-config\` prints the resulting options.`)
    .argument('[file]', 'The file (default: the file that a start here would read)')
    .addHelpText(
      'after',
      examples(`
        siftd config validate /etc/siftd/config.toml
        siftd config validate                            the file that a start here would read
        SVC_MASTER_KEY=… siftd config validate           with the environment that the server has`),
    )
    .action(async (file) => {
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
      if (all.length > 0) output.finding()
      else output.line(`${run.configFile ?? 'the environment, without a file,'} is valid`)
    }),
)

/** Runs a check. Returns the message of its `LaunchError` in a list, or an empty list. */
async function mistakeOf(check: () => unknown): Promise<readonly string[]> {
  try {
    await check()
    return []
  } catch (error) {
    if (error instanceof LaunchError) return [error.message]
    throw error
  }
}
