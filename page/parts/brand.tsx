/** The name and mark of the program. */
export function Brand() {
  return (
    <span class="brand">
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="7" fill="currentColor" />
        <path
          d="M7 10h18M10 16h12M13.5 22h5"
          fill="none"
          stroke="var(--on-accent)"
          stroke-width="2.6"
          stroke-linecap="round"
        />
      </svg>
      siftd
    </span>
  )
}
