/**
 * Images of documents come from other hosts, and loading them reveals the reader to these hosts. They are loaded only
 * on request: the URL `/?images` is served with a policy that allows them, and the switch must also be on in the tab,
 * so a link alone loads nothing. Images on this server are always loaded.
 */
const NAME = 'siftd.images'

export const imagesAllowed = (): boolean => new URLSearchParams(location.search).has('images') && isOnInTab()

/** False if the browser has no storage for this site. */
function isOnInTab(): boolean {
  try {
    return sessionStorage.getItem(NAME) === 'yes'
  } catch {
    return false
  }
}

/** Returns true if the image is on this server, or if images of other servers are switched on. */
export const mayLoad = (address: string): boolean =>
  new URL(address, location.href).origin === location.origin || imagesAllowed()

/** Reloads the page with the other policy. The search is in the fragment, which stays. Without storage it does nothing. */
export function switchImages(): void {
  const isOn = imagesAllowed()
  try {
    if (isOn) sessionStorage.removeItem(NAME)
    else sessionStorage.setItem(NAME, 'yes')
  } catch {
    return
  }
  const hash = location.hash
  const address = `${location.pathname}${isOn ? '' : '?images'}${hash}`
  if (isOn === new URLSearchParams(location.search).has('images')) location.replace(address)
  else location.reload()
}
