/** npm run trials -- bucket-model: checks the bucket protocol exhaustively, with wider bounds than the tests. */
import { search } from './model.js'

const rules = { keepsFences: true, checksCheckpoint: true }
for (const [writers, records, lostAnswers] of [
  [2, 2, 1],
  [3, 1, 0],
] as const) {
  const { states, violation } = search({ writers, records, lostAnswers, restarts: 1, slots: 7 }, rules)
  console.log(`${writers} writers, ${records} records, ${lostAnswers} lost answers: ${states} states`)
  if (violation === null) continue
  console.log(violation)
  process.exitCode = 1
}
