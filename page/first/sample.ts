/** Films to try the page with. */
import text from '../../samples/films.ndjson'

/** Returns the sample as a file, as if it had been dropped. */
export const sampleFile = (): File => new File([text], 'films.ndjson')
