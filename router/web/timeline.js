// Who held the lock when: a lane for each holder at a time, by process; what overlaps is red.
import { h, svg, fresh, say } from './dom.js';
import { t, number, listed } from './i18n.js';

const lane = 18, gap = 4, head = 22, label = 40;
const shownAtOnce = 400, lanesEach = 8;

/** holders turns spans into bars with times in ms, and finds those that share a moment and a key with another. */
export function holders(spans) {
  if (!spans.length) return { bars: [], end: 1 };
  const zero = Math.min(...spans.map((s) => s.acquired_ns));
  const last = Math.max(...spans.map((s) => Math.max(s.acquired_ns, s.release_called_ns, s.released_ns)));
  const ms = (ns) => (ns - zero) / 1e6;
  const bars = spans.map((s) => {
    const until = s.release_called_ns || s.released_ns;
    return { span: s, process: s.process, key: s.key, from: ms(s.acquired_ns), to: until ? ms(until) : ms(last), open: !until, others: [] };
  }).sort((a, b) => a.from - b.from);
  const active = new Map(); // key -> bars that have not ended
  for (const bar of bars) {
    const still = (active.get(bar.key) ?? []).filter((b) => b.to > bar.from);
    for (const b of still) {
      b.others.push(bar);
      bar.others.push(b);
    }
    active.set(bar.key, [...still, bar]);
  }
  return { bars, end: Math.max(1, ...bars.map((b) => b.to)) };
}

/** lanes gives each bar of a process the first lane that is free. */
function lanes(bars, processes) {
  const free = new Map(processes.map((p) => [p, []]));
  for (const bar of bars) {
    const ends = free.get(bar.process);
    let i = ends.findIndex((to) => to <= bar.from);
    if (i < 0) i = ends.length;
    ends[i] = bar.to;
    bar.lane = i;
  }
  let y = head;
  return new Map(processes.map((p) => {
    const needed = Math.max(1, free.get(p).length), at = { y, needed, n: Math.min(needed, lanesEach) };
    y += at.n * (lane + gap) + 8;
    return [p, at];
  }));
}

/** timeline is the card of a run, or null where no lock can be shown. */
export function timeline(run) {
  const { row, spans, spans_left_off: leftOff } = run.result;
  if (row.status === 'n/a') return null;
  const { bars, end } = holders(spans ?? []);
  const section = h('section', { className: 'card timeline', 'aria-labelledby': 'timeline-title' }, h('h2', { id: 'timeline-title' }, t('timeline.title')));
  if (!bars.length) {
    section.append(h('p', {}, t('timeline.none')));
    return section;
  }
  const processes = [...new Set(bars.map((b) => b.process))].sort(), overlaps = bars.filter((b) => b.others.length).length;
  const places = lanes(bars, processes);
  const tall = [...places.values()].reduce((n, p) => n + p.n * (lane + gap) + 8, head) + 4;
  const picture = svg('svg', {
    class: 'lanes', role: 'application', tabindex: 0, width: '100%', height: tall, id: 'lanes',
    'aria-label': t('timeline.label', { n: number(bars.length), processes: processes.length, overlaps: number(overlaps) }),
  });
  const detail = h('p', { className: 'detail', 'aria-live': 'polite', id: 'span-detail' }, t('timeline.pick'));
  const more = h('p', { className: 'small more', id: 'lanes-more' });
  const view = { bars, end, places, picture, detail, more, picked: null, from: 0, to: end };
  const crowded = Math.max(...[...places.values()].map((p) => p.needed));
  section.append(h('p', { className: 'small' }, t(bars[0].span.lock === 'none' ? 'timeline.nolock' : 'timeline.lead'), ' ', t('timeline.keys')),
    controls(view), picture, more, crowded > lanesEach ? h('p', { className: 'small', id: 'lanes-shared' }, t('timeline.lanes', { n: number(crowded), lanes: lanesEach })) : '',
    detail, leftOff ? h('p', { className: 'small' }, t('timeline.left', { n: number(leftOff) })) : '');
  hands(view);
  new ResizeObserver(() => draw(view)).observe(picture);
  return section;
}

/** controls choose the part that is shown. It begins where the first overlap is, which is what the lesson is about. */
function controls(view) {
  const first = view.bars.find((b) => b.others.length) ?? view.bars[0];
  const widths = [20, 50, 100, 200, 500, 1000, 2000, 5000].filter((w) => w < view.end);
  const near = view.bars.filter((b) => b.to >= first.from).slice(0, 24);
  const fit = widths.find((w) => w >= near.at(-1).to - first.from) ?? view.end;
  const width = h('select', { id: fresh('window') }, widths.map((w) => h('option', { value: w, selected: w === fit }, t('timeline.ms', { n: number(w) }))),
    h('option', { value: view.end, selected: fit === view.end }, t('timeline.whole')));
  const at = h('input', { type: 'range', id: fresh('at'), min: 0, max: 1000, step: 1, value: '0' });
  view.move = (from) => {
    const w = Number(width.value);
    view.from = Math.max(0, Math.min(from, view.end - w));
    view.to = view.from + w;
    at.value = view.end > w ? Math.round((view.from / (view.end - w)) * 1000) : 0;
    at.disabled = view.end <= w;
    draw(view);
  };
  at.addEventListener('input', () => view.move((Number(at.value) / 1000) * (view.end - Number(width.value))));
  width.addEventListener('change', () => view.move(view.from));
  view.move(first.from - Number(width.value) * 0.05);
  return h('div', { className: 'controls' }, h('label', { for: width.id }, t('timeline.window')), width,
    h('label', { for: at.id }, t('timeline.at')), at);
}

function draw(view) {
  const wide = Math.max(280, view.picture.clientWidth || 600);
  const x = (ms) => label + ((ms - view.from) / (view.to - view.from)) * (wide - label - 8);
  view.picture.setAttribute('viewBox', `0 0 ${wide} ${view.picture.getAttribute('height')}`);
  const nodes = [];
  for (const [process, at] of view.places) {
    nodes.push(svg('rect', { x: label, y: at.y - 2, width: wide - label - 8, height: at.n * (lane + gap), class: 'track', rx: 4 }),
      svg('text', { x: 4, y: at.y + 13, class: 'lane-name' }, process));
  }
  const step = niceStep(view.to - view.from);
  for (let ms = Math.ceil(view.from / step) * step; ms <= view.to; ms += step) {
    nodes.push(svg('path', { d: `M${x(ms)} ${head - 6}V${view.picture.getAttribute('height')}`, class: 'grid' }),
      svg('text', { x: x(ms) + 3, y: 12, class: 'tick' }, t('timeline.ms', { n: number(ms) })));
  }
  const seen = view.bars.filter((b) => b.to >= view.from && b.from <= view.to);
  say(view.more, seen.length > shownAtOnce ? t('timeline.more', { n: number(seen.length - shownAtOnce) }) : '');
  for (const bar of seen.slice(0, shownAtOnce)) {
    const at = view.places.get(bar.process), from = Math.max(label, x(bar.from)), to = Math.min(wide - 8, x(bar.to));
    const node = svg('rect', {
      x: from, y: at.y + (bar.lane % at.n) * (lane + gap), width: Math.max(2, to - from), height: lane, rx: 3,
      class: `bar ${bar.others.length ? 'overlap' : ''} ${bar === view.picked ? 'picked' : ''}`,
    });
    node.addEventListener('pointerenter', () => choose(view, bar));
    node.addEventListener('click', () => choose(view, bar));
    bar.node = node;
    nodes.push(node);
  }
  view.picture.replaceChildren(...nodes);
}

const niceStep = (span) => [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000].find((s) => span / s <= 7) ?? 30000;

function choose(view, bar) {
  view.picked?.node?.classList.remove('picked');
  view.picked = bar;
  bar.node?.classList.add('picked');
  const others = bar.others.slice(0, 4).map((b) => `${b.process} (${number(b.from)}–${number(b.to)})`);
  const words = [t('timeline.one', { process: bar.process, from: number(bar.from), to: number(bar.to), held: number(bar.to - bar.from) })];
  if (bar.open) words.push(t('timeline.open'));
  if (others.length) words.push(t('timeline.with', { others: listed(others) + (bar.others.length > 4 ? ' …' : '') }));
  if (bar.span.lost) words.push(t('timeline.lost', { why: lostFor(bar.span.lost) }));
  say(view.detail, words.join('; '));
  view.detail.classList.toggle('bad', others.length > 0);
}

/** lostFor is the cause of a lost lease in the page's words; the most exact one comes first. */
function lostFor(cause) {
  const known = [['expired', 'lost.expired'], ['MaxHold', 'lost.held'], ['closed', 'lost.closed'], ['lock: lost', 'lost.gone']];
  const found = known.find(([part]) => cause.includes(part));
  return found ? t(found[1]) : cause;
}

/** hands lets the keyboard do what the pointer does. */
function hands(view) {
  view.picture.addEventListener('keydown', (e) => {
    const i = view.bars.indexOf(view.picked), step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
    const to = e.key === 'Home' ? 0 : e.key === 'End' ? view.bars.length - 1 : step && (i < 0 ? firstSeen(view) : i + step);
    const bar = view.bars[to];
    if (to === undefined || !bar) return;
    e.preventDefault();
    if (bar.from < view.from || bar.from > view.to) view.move(bar.from - (view.to - view.from) / 2);
    choose(view, bar);
  });
}

const firstSeen = (view) => Math.max(0, view.bars.findIndex((b) => b.to >= view.from));
