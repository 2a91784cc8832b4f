import { defineCommand, examples } from '../command/index.js'
import { LaunchError, launchMistakes, machine } from '../launch/index.js'
import { readTlsFiles } from '../tls/index.js'
import { judgeMasterKey } from './master-key.js'
import { textOf } from './text-of.js'

export const config = defineCommand('config', (command, output) =>
  command
    .description('Looks at a configuration file.')
    .addHelpText('after', examples('siftd config validate /etc/siftd/config.toml'))
    .command('validate')
    .summary('names every mistake of a configuration file')
    .description(`Names every mistake of a configuration file.

Reads the file and the environment as a start would: names and values of options, options that need or exclude each
other, the master key, and the files that they name. Opens no data and listens nowhere. The exit code is 0 if a start
would accept all, 1 if not, 2 for wrong usage. \`siftd --print-config\` shows what the options come to.`)
    .argument('[file]', 'The file (default: the one that a start here would read)')
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
