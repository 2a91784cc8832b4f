/** `siftd doctor`: would a server start and run well here, and if not, what has to be done? */
import { type CommandOutput, coloured, defineCommand, examples, jsonOption } from '../../command/index.js'
import { launchMistakes, machine } from '../../launch/index.js'
import { textOf } from '../text-of.js'
import type { Finding } from './finding.js'
import { checkClock, checkLimits, checkVersions } from './machine-checks.js'
import { checkAddress, checkBinary, checkCertificate, checkDirectory, checkKey } from './start-checks.js'

export const doctor = defineCommand('doctor', (command, output) =>
  command
    .description(`Looks at what a server needs here, and says of each fault how to mend it.

Checks the versions, the configuration, whether the native engine loads and why not, the data directory and its disk,
the limits of memory and open files, the address, the clock and the certificate. It reads options as a start would,
from the environment and the configuration file. It changes nothing and prints no secret. The exit code is 0 if nothing
is wrong, 1 if something is, 2 for wrong usage.`)
    .option('--db-path <directory>', 'The data directory (default: as a start here would choose it)')
    .option('--config-file-path <file>', 'The configuration file (default: ./config.toml if there is one)')
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
