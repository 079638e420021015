// Orders and the stock column over time.
import { h, svg } from './dom.js';
import { t, number } from './i18n.js';

const high = 220, left = 44, right = 12, top = 16, bottom = 26;

/** chart is a figure with a method draw(samples, stock). Its height is fixed, so that nothing moves while it grows. */
export function chart() {
  const picture = svg('svg', { class: 'chart', role: 'img', height: high, width: '100%' });
  const node = h('figure', { className: 'plot' }, picture,
    h('figcaption', {}, h('span', { className: 'key orders' }, t('chart.orders')), h('span', { className: 'key left' }, t('chart.left'))));
  return { node, draw: (samples, stock) => draw(picture, samples, stock) };
}

function draw(picture, samples, stock) {
  const wide = Math.max(260, picture.clientWidth || 600);
  picture.setAttribute('viewBox', `0 0 ${wide} ${high}`);
  const last = samples.at(-1) ?? { at_ms: 0, orders: 0 };
  const span = Math.max(1000, last.at_ms), peak = Math.max(stock * 1.15, ...samples.map((s) => s.orders), 1);
  const x = (ms) => left + (ms / span) * (wide - left - right);
  const y = (n) => high - bottom - (n / peak) * (high - top - bottom);
  const line = (of) => samples.map((s, i) => `${i ? 'L' : 'M'}${x(s.at_ms).toFixed(1)} ${y(of(s)).toFixed(1)}`).join('');
  const parts = [axis(x, y, span, wide)];
  const over = samples.filter((s) => s.orders > stock);
  if (over.length) parts.push(excess(samples, stock, x, y));
  parts.push(svg('path', { d: `M${left} ${y(stock)}H${wide - right}`, class: 'limit' }),
    svg('text', { x: wide - right, y: y(stock) - 5, class: 'limit-text', 'text-anchor': 'end' }, t('chart.stock', { n: number(stock) })));
  if (samples.length > 1) {
    parts.push(svg('path', { d: line((s) => s.stock_left), class: 'line left' }), svg('path', { d: line((s) => s.orders), class: 'line orders' }));
  }
  if (samples.length) parts.push(svg('circle', { cx: x(last.at_ms), cy: y(last.orders), r: 4, class: last.orders > stock ? 'dot over' : 'dot' }));
  picture.setAttribute('aria-label', t('chart.label', { stock: number(stock), orders: number(last.orders) }));
  picture.replaceChildren(...parts.flat());
}

/** excess is the area between the stock and the orders above it. */
function excess(samples, stock, x, y) {
  const edge = samples.map((s) => `${x(s.at_ms).toFixed(1)} ${Math.min(y(s.orders), y(stock)).toFixed(1)}`);
  return svg('path', { d: `M${x(samples[0].at_ms)} ${y(stock)}L${edge.join('L')}L${x(samples.at(-1).at_ms)} ${y(stock)}Z`, class: 'excess' });
}

function axis(x, y, span, wide) {
  const step = [100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000].find((s) => span / s <= 6) ?? 120000;
  const marks = [svg('path', { d: `M${left} ${y(0)}H${wide - right}`, class: 'axis' }),
    svg('text', { x: left - 6, y: y(0) + 4, class: 'tick', 'text-anchor': 'end' }, '0')];
  for (let ms = 0; ms <= span; ms += step) {
    marks.push(svg('text', { x: x(ms), y: high - 8, class: 'tick', 'text-anchor': ms ? 'middle' : 'start' }, t('chart.seconds', { n: number(ms / 1000) })));
  }
  return marks;
}
