/** npm run trials -- NAME [options]: runs one trial in a separate process and exits with its code. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

interface Trial {
  readonly shows: string
}

/** Each trial is `trials/NAME/main.ts`. */
const trials: Readonly<Record<string, Trial>> = {
  'bucket-stores': { shows: 'installs the object stores that tests use' },
  chart: { shows: 'the Helm chart, rendered and validated' },
  clients: { shows: 'official SDKs of five languages' },
  container: { shows: 'images, containers and the systemd unit' },
  damage: { shows: 'damaged files with serve, verify and repair' },
  differential: { shows: 'random searches: native against fallback' },
  failover: { shows: 'three servers of a bucket that replace a lost leader by themselves' },
  faults: { shows: 'system calls that fail under load' },
  guides: { shows: 'guides for Next.js and Django, followed in new projects' },
  'http-threads': { shows: 'changes, seen at once on all connections of several threads' },
  hostile: { shows: 'harmful and random requests' },
  interrupted: { shows: 'kills and full disks during dumps, snapshots, imports and upgrades' },
  kill: { shows: 'kill -9 of the task queue at its most critical points' },
  'memory-cap': { shows: 'memory of a server that indexes documents under a limit' },
  protocol: { shows: 'the protocol of the bucket in TLA+, and runs of the real code against it' },
  roundtrip: { shows: 'an instance through dump, snapshot and migration' },
  simulation: { shows: 'simulated runs of the task queue with crashes, full disks and a bucket' },
  soak: { shows: 'one data directory through many starts of a server' },
  'sync-postgres': { shows: 'tables of PostgreSQL and their indexes, through kills and cut connections' },
  takeover: { shows: 'servers that take over a bucket from each other' },
  words: { shows: 'Japanese and Korean words: both engines against MeCab' },
}

const width = Math.max(...Object.keys(trials).map((name) => name.length))
const help = `npm run trials -- NAME [options]

Long tests with a seed. Each exits with 1 if it finds a problem and prints the command that repeats it.

${Object.entries(trials)
  .map(([name, { shows }]) => `  ${name.padEnd(width)}  ${shows}`)
  .join('\n')}

Most take --engine native|fallback, --seed S and --minutes N (stop after that time). npm run trials -- NAME --help
lists the options of a trial.

Examples
  npm run trials -- kill --engine native --kills 500
  npm run trials -- soak --minutes 60
  npm run trials -- damage --help`

const [name, ...options] = process.argv.slice(2)
if (name === undefined || name === '--help') {
  console.log(help)
  process.exit(name === undefined ? 2 : 0)
}
const trial = Object.hasOwn(trials, name) ? trials[name] : undefined
if (trial === undefined) {
  console.error(`unknown trial ${name}\n\n${help}`)
  process.exit(2)
}
const main = fileURLToPath(new URL(`./${name}/main.js`, import.meta.url))
const promptExit = new URL('./prompt-exit.js', import.meta.url).href
const child = spawn(process.execPath, ['--import', promptExit, main, ...options], { stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
child.on('close', (code, signal) => {
  if (signal !== null) console.error(`the trial ${name} was ended by ${signal}`)
  process.exitCode = code ?? 1
})
