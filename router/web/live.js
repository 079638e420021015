// The sale while it runs.
import { h, say } from './dom.js';
import { t, number } from './i18n.js';
import { chart } from './chart.js';
import * as runs from './runs.js';
import { messageOf } from './messages.js';

const tiles = ['orders', 'oversold', 'left', 'soldout', 'busy', 'latency'];

function tile(name) {
  const value = h('output', { className: 'value', 'aria-live': 'off' }, '–'), note = h('span', { className: 'note' });
  return { node: h('div', { className: `tile ${name}` }, h('span', { className: 'name' }, t(`tile.${name}`)), value, note), value, note };
}

/** live shows the current run; update() brings it up to date. */
export function live() {
  const state = h('p', { className: 'state', role: 'status', 'aria-live': 'polite', id: 'state' });
  const box = Object.fromEntries(tiles.map((n) => [n, tile(n)]));
  const picture = chart();
  const share = h('div', { className: 'share', role: 'img' });
  const notice = h('p', { className: 'notice', role: 'alert' });
  const cancel = h('button', { type: 'button', id: 'cancel', onclick: async () => {
    say(notice, '');
    try {
      await runs.cancel();
    } catch (e) {
      say(notice, messageOf(e));
    }
  } }, t('run.cancel'));
  const what = h('span', { className: 'what' });
  const node = h('section', { className: 'card live', 'aria-labelledby': 'live-title' },
    h('div', { className: 'head' }, h('h2', { id: 'live-title' }, t('live.title')), what, cancel), state, notice,
    h('div', { className: 'tiles' }, tiles.map((n) => box[n].node)), picture.node,
    h('h3', {}, t('share.title')), share, h('p', { className: 'small' }, t('live.follow')));
  const update = () => {
    const { run, samples, cancelling } = runs.current;
    cancel.hidden = !run || runs.ended(run);
    cancel.disabled = cancelling;
    say(state, stateOf(run));
    state.dataset.status = run?.status ?? 'idle';
    say(what, run ? `${run.request.stage} · ${run.request.scenario}` : '');
    numbers(box, run, samples);
    picture.draw(samples, run?.plan.stock ?? 100);
    shares(share, run, samples.at(-1));
  };
  return { node, update };
}

function stateOf(run) {
  if (!run) return t('live.idle');
  if (runs.current.lost) return t('live.lost');
  if (runs.current.cancelling && !runs.ended(run)) return t('live.cancelling');
  const more = run.attempt > 1 ? ` (${t('live.attempt', { n: run.attempt })})` : '';
  if (run.status === 'running') return t(`live.${run.phase || 'starting'}`, run.plan) + more;
  return t(`live.${run.status}`, { place: run.place, message: run.problem }) + (run.status === 'done' ? more : '');
}

/** numbers are the samples' while the run goes on, and the audit's once there is one. */
function numbers(box, run, samples) {
  const row = run?.result?.row, last = samples.at(-1), stock = run?.plan.stock;
  const now = row?.status === 'n/a' ? null : row ?? last;
  const orders = now?.orders ?? 0, over = row ? row.oversold : Math.max(0, orders - (stock ?? 0));
  const by = row?.rejected ?? last?.rejected_by;
  const set = (name, text, note = '') => {
    say(box[name].value, now ? text : '–');
    say(box[name].note, note);
  };
  set('orders', number(orders), run ? t('tile.of', { n: number(stock) }) : '');
  set('oversold', number(over));
  set('left', number(now?.stock_left ?? 0));
  set('soldout', number(by?.sold_out ?? 0));
  set('busy', number((by?.busy ?? 0) + (by?.gave_up ?? 0) + (by?.lost ?? 0)));
  set('latency', row ? `${number(Math.round(row.latency_ms.accepted.p95))}` : number(Math.round(last?.latency_ms ?? 0)), row ? 'p95' : last ? '∅' : '');
  box.oversold.node.classList.toggle('bad', Boolean(now) && over > 0);
  box.orders.node.classList.toggle('bad', Boolean(now) && over > 0);
}

function shares(node, run, last) {
  const counts = last?.processes ?? Array(run?.plan.processes ?? 2).fill(0), all = counts.reduce((a, b) => a + b, 0);
  while (node.children.length > counts.length) node.lastChild.remove();
  counts.forEach((n, i) => {
    const bar = node.children[i] ?? node.appendChild(h('div', { className: 'proc' }, h('b'), h('progress', { max: 1 }), h('span')));
    say(bar.children[0], `p${i + 1}`);
    bar.children[1].value = all ? n / all : 0;
    bar.children[1].setAttribute('aria-label', `p${i + 1}`);
    say(bar.children[2], number(n));
  });
  node.setAttribute('aria-label', counts.map((n, i) => `p${i + 1}: ${number(n)}`).join(', '));
}
