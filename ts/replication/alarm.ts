/** A pause that ends early once it is asked to. */
export class Alarm {
  #ring: () => void = () => undefined

  /** Resolves after so long, or at the next `ring`. */
  async wait(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#ring = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#ring = () => undefined
  }

  /** Ends the pause under way; does nothing without one. */
  ring(): void {
    this.#ring()
  }
}
