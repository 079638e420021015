// The sale as a buyer sees it.
import { h, say, fresh, remembered } from './dom.js';
import { server, get, post, now, setClock, stageNamed } from './api.js';
import { t, number, money, clock } from './i18n.js';
import { messageOf } from './messages.js';

/** state outlives a change of language or view. */
const state = { vouchers: [], id: null, voucher: null, order: null, message: null, busy: false, token: '', user: null };
let page = null;
let timers = [];

const headers = () => (server.about.lab ? { 'X-User-ID': user() } : state.token ? { Authorization: `Bearer ${state.token}` } : {});

/** user is the buyer's number, as text: a browser's numbers lose digits. */
function user() {
  state.user ??= remembered.get('user') ?? String(1000 + Math.floor(Math.random() * 9000));
  remembered.set('user', state.user);
  return state.user;
}

const orderKey = () => `order.${state.id}.${server.about.lab ? user() : 'token'}`;

/** ofARun tells vouchers that a run of the lab has sold: their names are a stage and a scenario. */
function ofARun(v) {
  const [stage, scenario, more] = v.title.split(' ');
  return more === undefined && scenario && stageNamed(stage) && ['single', 'multi', 'slow', 'late', 'crash', 'nested'].includes(scenario);
}

async function list() {
  state.vouchers = (await get('api/v1/vouchers')).filter((v) => !ofARun(v));
  if (!state.vouchers.some((v) => v.id === state.id)) choose(state.vouchers[0]?.id ?? null);
}

function choose(id) {
  Object.assign(state, { id, voucher: state.vouchers.find((v) => v.id === id) ?? null, order: null, message: null });
}

/** refresh reads the stock, and the buyer's order. */
async function refresh() {
  const id = state.id;
  if (!id) return;
  try {
    const voucher = await get(`api/v1/vouchers/${id}`);
    const kept = remembered.get(orderKey());
    const order = kept ? await get(`api/v1/orders/${kept}`, headers()).catch(() => null) : null;
    if (state.id !== id) return;
    Object.assign(state, { voucher, order: order ?? (kept ? state.order : null) });
    if (state.message?.code === 'offline') state.message = null;
  } catch (e) {
    tell('bad', e);
  }
  page?.update();
}

function tell(kind, what) {
  state.message = { kind, code: what.code ?? '', text: typeof what === 'string' ? () => t(what) : () => messageOf(what) };
}

/**
 * key makes a click one order however often it is sent: without an answer the next click sends the same key, and gets the
 * order that was placed, if one was.
 */
const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('');

async function act(what, done) {
  state.busy = true;
  state.message = null;
  page?.update();
  try {
    tell('good', done(await what()));
  } catch (e) {
    tell(['sold_out', 'already_ordered', 'order_in_progress', 'busy', 'gave_up', 'lock_lost', 'not_started'].includes(e.code) ? 'warn' : 'bad', e);
  }
  state.busy = false;
  await refresh();
  page?.update();
}

let unanswered = { order: '', key: '' };

async function place() {
  if (unanswered.order !== orderKey()) unanswered = { order: orderKey(), key: newKey() };
  try {
    const placed = await post(`api/v1/vouchers/${state.id}/orders`, undefined, { ...headers(), 'Idempotency-Key': unanswered.key });
    unanswered.order = '';
    return placed;
  } catch (e) {
    if (e.status && e.status < 500) unanswered.order = '';
    throw e;
  }
}

const buy = () => act(place, (placed) => {
  remembered.set(orderKey(), placed.order_id);
  return placed.status === 'pending' ? 'told.pending' : 'told.placed';
});

const step = (name, done) => act(() => post(`api/v1/orders/${state.order.id}/${name}`, undefined, headers()), () => done);

function span(ms) {
  const s = Math.max(0, Math.ceil(ms / 1000)), two = (n) => String(n).padStart(2, '0');
  const days = Math.floor(s / 86400);
  return `${days ? `${t('shop.days', { n: number(days) })} ` : ''}${two(Math.floor(s / 3600) % 24)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
}

/** phase is where the sale stands by the server's clock. */
function phase(v) {
  const at = now();
  return at < Date.parse(v.begin_at) ? 'soon' : at >= Date.parse(v.end_at) ? 'over' : v.stock_left === 0 ? 'soldout' : 'buy';
}

function counter() {
  const title = h('h2', { id: 'voucher' }), price = h('p', { className: 'price' }), left = h('p', { className: 'left-text' });
  const bar = h('progress', { max: 1, 'aria-hidden': 'true' }), what = h('span', { className: 'name' }), time = h('output', { className: 'count', id: 'countdown', 'aria-live': 'off' });
  const button = h('button', { type: 'button', className: 'primary big', id: 'buy', onclick: buy });
  const told = h('p', { className: 'notice', role: 'status', 'aria-live': 'polite', id: 'told' });
  const node = h('section', { className: 'card offer', 'aria-labelledby': 'voucher' }, title, price,
    h('div', { className: 'timer' }, what, time, h('small', {}, t('shop.clock'))), bar, left, button, told);
  const update = () => {
    const v = state.voucher;
    node.hidden = !v;
    if (!v) return;
    const p = phase(v), begins = p === 'soon';
    say(title, v.title);
    say(price, money(v.price_cents));
    say(what, p === 'over' ? t('shop.ended') : t(begins ? 'shop.begins' : 'shop.ends'));
    say(time, p === 'over' ? '00:00:00' : span(Date.parse(begins ? v.begin_at : v.end_at) - now()));
    say(left, v.stock_left === undefined ? ' ' : t('shop.left', { left: number(v.stock_left), stock: number(v.stock) }));
    bar.value = v.stock ? (v.stock_left ?? v.stock) / v.stock : 0;
    say(button, state.busy ? t('shop.buying') : t(`shop.${p}`));
    button.disabled = state.busy || p === 'soon' || p === 'over' || p === 'soldout';
    say(told, state.message ? state.message.text() : ' ');
    told.className = `notice ${state.message?.kind ?? ''}`;
  };
  return { node, update };
}

function receipt() {
  const node = h('section', { className: 'card receipt', 'aria-labelledby': 'order-title' });
  let shown = '';
  const update = () => {
    const o = state.order, is = JSON.stringify([o, state.busy]);
    node.hidden = !o;
    if (!o || is === shown) return;
    shown = is;
    const line = (k, v, props) => h('div', {}, h('dt', {}, t(`shop.order.${k}`)), h('dd', props ?? {}, v));
    node.replaceChildren(h('h2', { id: 'order-title' }, t('shop.order')), h('dl', { className: 'facts' },
      line('id', h('code', {}, o.id)), line('status', t(`status.${o.status}`), { id: 'status', 'data-status': o.status }),
      line('price', money(o.price_cents)), line('at', clock(o.created_at))),
    h('div', { className: 'actions' }, o.status === 'created'
      ? [h('button', { type: 'button', className: 'primary', id: 'pay', disabled: state.busy, onclick: () => step('pay', 'told.paid') }, t('shop.pay')),
        h('button', { type: 'button', id: 'cancel-order', disabled: state.busy, onclick: () => step('cancel', 'told.cancelled') }, t('shop.cancel'))] : null));
  };
  return { node, update };
}

function who(redraw) {
  const id = fresh('who'), lab = server.about.lab;
  return h('div', { className: 'field who' }, h('label', { for: id }, t(lab ? 'shop.user' : 'shop.token')),
    h('input', lab ? { id, inputMode: 'numeric', value: user(), pattern: '[1-9][0-9]*', maxLength: 19, autocomplete: 'off', onchange: (e) => {
      if (!/^[1-9]\d{0,18}$/.test(e.target.value.trim())) {
        e.target.value = user();
        return;
      }
      state.user = e.target.value.trim();
      remembered.set('user', state.user);
      Object.assign(state, { order: null, message: null });
      redraw();
    } } : { id, type: 'password', value: state.token, autocomplete: 'off', onchange: (e) => {
      state.token = e.target.value.trim();
      redraw();
    } }), h('small', {}, t(lab ? 'shop.user.help' : 'shop.token.help')));
}

function creation(redraw) {
  const notice = h('p', { className: 'notice', role: 'alert' });
  const field = (name, value, props = {}) => {
    const id = fresh(name);
    return h('div', { className: 'field' }, h('label', { for: id }, t(`shop.create.${name}`)), h('input', { id, name, value, required: true, type: 'number', min: 0, ...props }));
  };
  const form = h('form', { className: 'grid', noValidate: true, onsubmit: async (e) => {
    e.preventDefault();
    const of = (name) => form.querySelector(`[name=${name}]`).value, begin = now() + 1000 * Number(of('delay'));
    try {
      const v = await post('api/v1/vouchers', {
        title: of('title'), stock: Number(of('stock')), price_cents: Number(of('price')),
        begin_at: new Date(begin).toISOString(), end_at: new Date(begin + 60000 * Number(of('for'))).toISOString(),
      }, headers());
      await list();
      choose(v.id);
      redraw();
    } catch (error) {
      say(notice, messageOf(error));
    }
  } }, field('title', t('shop.create.default'), { type: 'text', maxLength: 200 }), field('stock', '5'), field('price', '990'),
  field('delay', '10'), field('for', '30', { min: 1 }), h('div', { className: 'actions' }, h('button', { type: 'submit', id: 'create' }, t('shop.create.button'))));
  return h('details', { className: 'card', open: !state.vouchers.length }, h('summary', {}, t('shop.create')), form, notice);
}

function build(node) {
  const offer = counter(), order = receipt(), redraw = () => build(node);
  const picker = state.vouchers.length ? h('div', { className: 'field' }, h('label', { for: 'vouchers' }, t('shop.voucher')),
    h('select', { id: 'vouchers', onchange: (e) => {
      choose(e.target.value);
      redraw();
    } }, state.vouchers.map((v) => h('option', { value: v.id, selected: v.id === state.id }, v.title)))) : h('p', {}, t('shop.none'));
  node.replaceChildren(h('div', { className: 'card pickers' }, picker, who(redraw)), h('div', { className: 'counter' }, offer.node, order.node),
    server.about.lab ? creation(redraw) : '');
  page = { update() { offer.update(); order.update(); } };
  page.update();
  refresh();
}

export const shop = {
  enter() {
    const node = h('div', { className: 'shop-body' }, h('p', {}, t('loading')));
    list().then(() => build(node), (e) => node.replaceChildren(h('p', { className: 'notice bad', role: 'alert' }, messageOf(e))));
    timers = [setInterval(() => page?.update(), 250), setInterval(() => !document.hidden && !state.busy && refresh(), 2000),
      setInterval(() => setClock().catch(() => {}), 30000)];
    return h('div', { className: 'shop' }, h('h1', {}, t('shop.title')), h('p', { className: 'lead' }, t('shop.lead', { stage: server.about.stage })), node);
  },
  leave() {
    timers.forEach(clearInterval);
    page = null;
  },
};
