/** Receives files that are dropped anywhere on the page. */
import { useEffect } from 'preact/hooks'

/** Without this, the browser would leave the page and open the dropped file. */
export function useDroppedFiles(take: (files: readonly File[]) => void): void {
  useEffect(() => {
    const over = (event: DragEvent): void => {
      if (event.dataTransfer?.types.includes('Files')) event.preventDefault()
    }
    const drop = (event: DragEvent): void => {
      const files = [...(event.dataTransfer?.files ?? [])]
      if (files.length === 0) return
      event.preventDefault()
      take(files)
    }
    addEventListener('dragover', over)
    addEventListener('drop', drop)
    return () => {
      removeEventListener('dragover', over)
      removeEventListener('drop', drop)
    }
  }, [take])
}
