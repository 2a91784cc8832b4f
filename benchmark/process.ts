/** A trial in a process of its own, so that none warms up or weighs on another. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** @returns what the script of this folder printed, as JSON. @throws Error if it ends badly */
export function trialProcess<Result>(script: string, args: readonly string[]): Promise<Result> {
  const path = fileURLToPath(new URL(`./${script}.js`, import.meta.url))
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [path, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    const chunks: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0) resolve(JSON.parse(Buffer.concat(chunks).toString()) as Result)
      else reject(new Error(`${script} ${args[0]} ended with exit code ${code}`))
    })
  })
}
