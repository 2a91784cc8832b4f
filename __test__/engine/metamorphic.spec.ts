import { testedEngines } from '../support/engines.js'
import { metamorphic } from './metamorphic.js'

for (const engine of testedEngines) metamorphic(engine)
