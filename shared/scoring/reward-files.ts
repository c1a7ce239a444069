import { pyFloatRepr } from '../data/python/text.js';
import { divideIntegers } from '../literals/exact-division.js';
import { formatFixed } from '../literals/rounding.js';
import type { LogPoint } from './reward-log.js';

const NEWLINE = '\r\n';

/** The reference's reward CSV: rollout_id and reward, Python's floats (1.0, not 1), CRLF line ends. */
export function rewardCsv(points: readonly LogPoint[]): string {
  const lines = points.map(({ rolloutId, reward }) => `${rolloutId},${pyFloatRepr(reward)}`);
  return ['rollout_id,reward', ...lines, ''].join(NEWLINE);
}

/** The reference's chart, in pixels. */
const WIDTH = 800;
const HEIGHT = 420;
const PLOT = { left: 70, right: WIDTH - 30, top: 35, bottom: HEIGHT - 60 };
const LEVELS = [0, 0.25, 0.5, 0.75, 1];

const STYLE = {
  text: 'font: 13px sans-serif; fill: #222;',
  '.axis': 'stroke: #333;',
  '.grid': 'stroke: #ddd;',
  polyline: 'fill: none; stroke: #2673c9; stroke-width: 2;',
  circle: 'fill: #2673c9;',
};

/**
 * The reference's reward curve as SVG, byte for byte.
 *
 * @param points at least one, sorted by rollout id
 * @throws RangeError for no points
 */
export function rewardSvg(points: readonly LogPoint[]): string {
  const [first] = points;
  const last = points.at(-1);
  if (first === undefined || last === undefined) throw new RangeError('a reward curve needs a point');
  const places = points.map((point) => ({ x: pixels(xOf(point, first, last)), y: pixels(yOf(point.reward)) }));
  const middle = { x: pyFloatRepr(WIDTH / 2), y: pyFloatRepr(HEIGHT / 2) };
  const style = Object.entries(STYLE).map(([selector, rule]) => `${selector} { ${rule} }`);
  const size = { width: WIDTH, height: HEIGHT };
  const lines = [
    `<svg${attributes({ xmlns: 'http://www.w3.org/2000/svg', ...size, viewBox: `0 0 ${WIDTH} ${HEIGHT}` })}>`,
    `<style>${style.join(' ')}</style>`,
    element('rect', { width: '100%', height: '100%', fill: 'white' }),
    label('MemAgent rollout reward', { x: middle.x, y: 22, 'text-anchor': 'middle', 'font-size': 16 }),
    ...LEVELS.map(gridLine),
    element('line', { x1: PLOT.left, y1: PLOT.top, x2: PLOT.left, y2: PLOT.bottom, class: 'axis' }),
    element('line', { x1: PLOT.left, y1: PLOT.bottom, x2: PLOT.right, y2: PLOT.bottom, class: 'axis' }),
    element('polyline', { points: places.map(({ x, y }) => `${x},${y}`).join(' ') }),
    ...places.map(({ x, y }) => element('circle', { cx: x, cy: y, r: 3 })),
    label(`rollout_id (${first.rolloutId}..${last.rolloutId})`, {
      x: middle.x,
      y: HEIGHT - 18,
      'text-anchor': 'middle',
    }),
    label('reward', { x: 18, y: middle.y, 'text-anchor': 'middle', transform: `rotate(-90 18 ${middle.y})` }),
    '</svg>',
    '',
  ];
  return lines.join('\n');
}

function gridLine(level: number): string {
  const y = yOf(level);
  const line = { x1: PLOT.left, y1: pixels(y), x2: PLOT.right, y2: pixels(y), class: 'grid' };
  const number = { x: PLOT.left - 12, y: pixels(y + 5), 'text-anchor': 'end' };
  return element('line', line) + label(formatFixed(level, 2), number);
}

/** Rollout ids are integers of any size: their quotient is rounded once. */
function xOf(point: LogPoint, first: LogPoint, last: LogPoint): number {
  const width = PLOT.right - PLOT.left;
  if (first.rolloutId === last.rolloutId) return PLOT.left + width / 2;
  const offset = (point.rolloutId - first.rolloutId) * BigInt(width);
  return PLOT.left + divideIntegers(offset, last.rolloutId - first.rolloutId);
}

function yOf(reward: number): number {
  return PLOT.top + (1 - reward) * (PLOT.bottom - PLOT.top);
}

function pixels(value: number): string {
  return formatFixed(value, 2);
}

type Attributes = Readonly<Record<string, string | number>>;

function element(name: string, members: Attributes): string {
  return `<${name}${attributes(members)} />`;
}

function label(text: string, members: Attributes): string {
  return `<text${attributes(members)}>${text}</text>`;
}

/** All values are numbers and constants of this file: there is nothing to escape. */
function attributes(members: Attributes): string {
  return Object.entries(members)
    .map(([name, value]) => ` ${name}="${value}"`)
    .join('');
}
