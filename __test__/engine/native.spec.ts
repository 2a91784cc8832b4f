import { native } from '../support/engines.js'
import { conformance } from './conformance/index.js'

conformance(native)
