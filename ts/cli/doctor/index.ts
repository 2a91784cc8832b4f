/** `siftd doctor`: checks that a server would start and run well here, and says how to fix problems. */

import { launchMistakes, machine } from '../../launch/index.js'
import { type CommandOutput, coloured, defineCommand, examples, jsonOption } from '../command/index.js'
import { textOf } from '../text-of.js'
import type { Finding } from './finding.js'
import { checkClock, checkLimits, checkVersions } from './machine-checks.js'
import { checkAddress, checkBinary, checkCertificate, checkDirectory, checkKey } from './start-checks.js'

export const doctor = defineCommand('doctor', (command, output) =>
  command
    .description(`Checks this machine and the configuration of a server, and says how to fix each problem.

Checks versions, configuration, loading of the native engine, data directory and disk, limits of memory and open files,
address, clock and certificate. Reads options like a start, from the environment and the configuration file. Changes
nothing and prints no secrets. The exit code is 0 if no problem is found, 1 if there are problems, 2 for wrong usage.`)
    .option(
      '--db-path <directory>',
      'The data directory (default: the directory that a start here would use)',
    )
    .option('--config-file-path <file>', 'The configuration file (default: ./config.toml if it exists)')
    .addOption(jsonOption)
    .addHelpText(
      'after',
      examples(`
        siftd doctor
        siftd doctor --config-file-path /etc/siftd/config.toml
        siftd doctor --json | jq 'select(.state != "good")'`),
    )
    .action(async ({ dbPath, configFilePath, json }) => {
      const args = [
        ...(dbPath === undefined ? [] : ['--db-path', dbPath]),
        ...(configFilePath === undefined ? [] : ['--config-file-path', configFilePath]),
      ]
      const sources = { args, env: process.env, readFile: textOf, machine: machine() }
      const { mistakes, run } = launchMistakes(sources)
      const { options } = run
      const checks: readonly (() => Promise<readonly Finding[]> | readonly Finding[])[] = [
        checkVersions,
        () => mistakes.map(({ message }) => wrongOption(message)),
        () => run.remarks.map((remark) => ({ ...wrongOption(remark), state: 'odd' }) as const),
        () => checkBinary(options),
        () => checkDirectory(options),
        () => checkLimits(options),
        () => checkAddress(options),
        () => checkKey(options),
        () => checkCertificate(options),
        checkClock,
      ]
      for (const check of checks) for (const finding of await check()) print(finding, json, output)
    }),
)

const wrongOption = (found: string): Finding => ({
  subject: 'configuration',
  state: 'bad',
  found,
  fix: 'correct the option; siftd --help describes each',
})

const marks = { good: ['green', 'good'], odd: ['yellow', 'odd '], bad: ['red', 'bad '] } as const

function print(finding: Finding, json: true | undefined, output: CommandOutput): void {
  const { subject, state, found, fix } = finding
  if (state === 'bad') output.finding()
  const [colour, mark] = marks[state]
  const line = `${coloured(output, colour, mark)}  ${subject}: ${found}`
  output.line(json ? JSON.stringify(finding) : line)
  if (!json && fix !== null) output.line(`      → ${fix}`)
}
