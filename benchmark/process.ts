/** Runs a trial in a separate process, so that trials do not affect each other. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Runs a script of this folder. @returns its output, parsed as JSON @throws Error if it fails */
export function trialProcess<Result>(script: string, args: readonly string[]): Promise<Result> {
  const path = fileURLToPath(new URL(`./${script}.js`, import.meta.url))
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [path, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    const chunks: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0) resolve(JSON.parse(Buffer.concat(chunks).toString()) as Result)
      else reject(new Error(`${script} ${args[0]} exited with ${code}`))
    })
  })
}
