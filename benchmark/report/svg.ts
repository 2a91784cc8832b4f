/** Draws bars, lines and curves as inline SVG without scripts, with the colours of the page. */

/** Name of a series. The page defines its colours for light and dark mode. */
export type SeriesName = 'native' | 'fallback' | 'reference' | 'minisearch' | 'orama'

export interface Bar {
  readonly series: SeriesName
  readonly value: number
  /** Displayed value with its unit. */
  readonly text: string
}

export interface BarRow {
  readonly label: string
  readonly bars: readonly Bar[]
}

export interface BarChart {
  readonly title: string
  readonly rows: readonly BarRow[]
  /** `per row` if the units of the rows differ. */
  readonly scale: 'shared' | 'per row'
  /** Default: half the width of the page. */
  readonly width?: number
}

export interface LineChart {
  readonly title: string
  readonly x: Axis
  readonly y: Axis
  readonly lines: readonly {
    readonly series: SeriesName
    readonly points: readonly Point[]
  }[]
  /** True to mark each point and show its text on hover. */
  readonly areMarked: boolean
}

export interface Axis {
  readonly label: string
  readonly scale: 'linear' | 'log'
  /** Values that the axis must include. Makes several charts comparable. */
  readonly reaches?: readonly number[]
}

export interface Point {
  readonly x: number
  readonly y: number
  readonly text: string
}

const WIDTH = 540
/** Width of a chart as wide as the page. */
export const FULL_WIDTH = 820
const BAR_HEIGHT = 14
const BAR_GAP = 3
const ROW_GAP = 12
/** Values are to the right of the bars, labels to the left. Widths assume an average 12 pixel letter. */
const VALUE_WIDTH = 120
const LETTER_WIDTH = 6.8

/** Plot area of a line chart. */
export const plot = { left: 52, right: WIDTH - 20, top: 28, bottom: 218 } as const
const LINE_CHART_HEIGHT = 260

export const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)

const rounded = (length: number): string => String(Math.round(length * 100) / 100)

const svg = (title: string, width: number, height: number, marks: readonly string[]): string =>
  [
    `<svg viewBox="0 0 ${width} ${height}" style="max-width: ${width}px" role="img" aria-label="${escaped(title)}">`,
    `<title>${escaped(title)}</title>`,
    ...marks,
    '</svg>',
  ].join('\n')

/** Draws horizontal bars from zero. */
export function barChart({ title, rows, scale, width = WIDTH }: BarChart): string {
  const largest = (list: readonly BarRow[]) =>
    Math.max(...list.flatMap(({ bars }) => bars.map(({ value }) => value)))
  const shared = largest(rows)
  const left = Math.ceil(Math.max(...rows.map(({ label }) => label.length)) * LETTER_WIDTH) + 12
  const lengthMax = width - left - VALUE_WIDTH
  const marks: string[] = []
  let y = 4
  for (const row of rows) {
    const whole = scale === 'shared' ? shared : largest([row])
    const height = row.bars.length * (BAR_HEIGHT + BAR_GAP)
    const middle = y + (height - BAR_GAP) / 2
    marks.push(
      `<text class="label" x="${left - 8}" y="${rounded(middle + 4)}" text-anchor="end">${escaped(row.label)}</text>`,
    )
    for (const { series, value, text } of row.bars) {
      const length = whole > 0 ? (value / whole) * lengthMax : 0
      marks.push(
        `<rect class="${series}" x="${left}" y="${rounded(y)}" width="${rounded(length)}" height="${BAR_HEIGHT}" rx="2">` +
          `<title>${escaped(`${row.label}, ${series}: ${text}`)}</title></rect>`,
        `<text class="value" x="${rounded(left + length + 6)}" y="${rounded(y + BAR_HEIGHT - 3)}">${escaped(text)}</text>`,
      )
      y += BAR_HEIGHT + BAR_GAP
    }
    y += ROW_GAP
  }
  return svg(title, width, y, marks)
}

/** Returns the ticks of an axis and a function from values to positions, from 0 (lower end) to 1 (upper end). */
function positions(held: readonly number[], { scale, reaches = [] }: Axis) {
  const values = [...held, ...reaches]
  if (scale === 'linear') {
    const ticks = linearTicks(Math.max(...values))
    const whole = ticks.at(-1) ?? 1
    return { ticks, at: (value: number) => value / whole }
  }
  const above = values.filter((value) => value > 0)
  const least = Math.floor(Math.log10(Math.min(...above)))
  const most = Math.max(least + 1, Math.ceil(Math.log10(Math.max(...above))))
  const ticks = Array.from({ length: most - least + 1 }, (_, step) => 10 ** (least + step))
  // A time too short for the clock is drawn at the lower end.
  const at = (value: number) =>
    Math.max(0, (Math.log10(Math.max(value, 10 ** least)) - least) / (most - least))
  return { ticks, at }
}

/** Returns four to eight ticks from zero to at least `most`, in steps of 1, 2 or 5 times a power of ten. */
export function linearTicks(most: number): readonly number[] {
  if (!(most > 0)) return [0, 1]
  const raw = most / 5
  const power = 10 ** Math.floor(Math.log10(raw))
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= raw) ?? 10) * power
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, at) =>
    Number((at * step).toPrecision(12)),
  )
}

const tickText = (value: number): string =>
  value >= 1000 ? value.toLocaleString('en') : String(Number(value.toPrecision(3)))

/** Draws lines on two axes. */
export function lineChart({ title, x, y, lines, areMarked }: LineChart): string {
  const points = lines.flatMap((line) => line.points)
  const across = positions(
    points.map((point) => point.x),
    x,
  )
  const upwards = positions(
    points.map((point) => point.y),
    y,
  )
  const xOf = (value: number) => plot.left + across.at(value) * (plot.right - plot.left)
  const yOf = (value: number) => plot.bottom - upwards.at(value) * (plot.bottom - plot.top)
  const marks = [
    ...upwards.ticks.flatMap((tick) => [
      `<line class="grid" x1="${plot.left}" x2="${plot.right}" y1="${rounded(yOf(tick))}" y2="${rounded(yOf(tick))}"/>`,
      `<text class="tick" x="${plot.left - 6}" y="${rounded(yOf(tick) + 4)}" text-anchor="end">${tickText(tick)}</text>`,
    ]),
    ...across.ticks.flatMap((tick) => [
      `<line class="grid" x1="${rounded(xOf(tick))}" x2="${rounded(xOf(tick))}" y1="${plot.top}" y2="${plot.bottom}"/>`,
      `<text class="tick" x="${rounded(xOf(tick))}" y="${plot.bottom + 16}" text-anchor="middle">${tickText(tick)}</text>`,
    ]),
    `<text class="tick" x="${(plot.left + plot.right) / 2}" y="${plot.bottom + 34}" text-anchor="middle">${escaped(x.label)}</text>`,
    `<text class="tick" x="4" y="14">${escaped(y.label)}</text>`,
  ]
  for (const { series, points } of lines) {
    const path = points.map((point) => `${rounded(xOf(point.x))},${rounded(yOf(point.y))}`).join(' ')
    marks.push(`<polyline class="${series}" points="${path}"><title>${escaped(series)}</title></polyline>`)
    if (!areMarked) continue
    for (const point of points)
      marks.push(
        `<circle class="${series}" cx="${rounded(xOf(point.x))}" cy="${rounded(yOf(point.y))}" r="4">` +
          `<title>${escaped(`${series}: ${point.text}`)}</title></circle>`,
      )
  }
  return svg(title, WIDTH, LINE_CHART_HEIGHT, marks)
}

/** Returns the cumulative distribution of times, in percent: a point per time. */
export function cumulative(times: readonly number[]): readonly Point[] {
  const sorted = [...times].sort((a, b) => a - b)
  return sorted.map((time, at) => ({ x: time, y: (100 * (at + 1)) / sorted.length, text: '' }))
}
