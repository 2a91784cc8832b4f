/** npm run trials -- bucket-model: checks the bucket protocol exhaustively, with wider bounds than the tests. */
import { search } from './model.js'

const rules = { keepsFences: true, checksCheckpoint: true }
for (const [writers, entries, lostAnswers] of [
  [2, 2, 1],
  [3, 1, 0],
] as const) {
  const { states, violation } = search({ writers, entries, lostAnswers, restarts: 1, slots: 7 }, rules)
  console.log(`${writers} writers, ${entries} entries, ${lostAnswers} lost answers: ${states} states`)
  if (violation === null) continue
  console.log(violation)
  process.exitCode = 1
}
