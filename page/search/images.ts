/**
 * Images of documents come from other hosts, which would learn who reads what. They are loaded only after the switch:
 * the address `/?images` is served with a policy that lets them through, and the tab must have been switched as well,
 * so that a link alone loads nothing.
 */
const NAME = 'siftd.images'

export const imagesAllowed = (): boolean =>
  new URLSearchParams(location.search).has('images') && sessionStorage.getItem(NAME) === 'yes'

/** Loads the page anew under the other policy; what is searched for is in the fragment, which stays. */
export function switchImages(): void {
  const isOn = imagesAllowed()
  if (isOn) sessionStorage.removeItem(NAME)
  else sessionStorage.setItem(NAME, 'yes')
  const hash = location.hash
  const address = `${location.pathname}${isOn ? '' : '?images'}${hash}`
  if (isOn === new URLSearchParams(location.search).has('images')) location.replace(address)
  else location.reload()
}
