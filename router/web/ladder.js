// Every stage: what it fixes, what still breaks, what it claims, and the source that runs.
import { h, prose } from './dom.js';
import { server, get, stageNamed, claimOf } from './api.js';
import { t, of, listed } from './i18n.js';
import { messageOf } from './messages.js';

const scenarios = ['single', 'multi', 'slow', 'late', 'crash', 'nested'];
const sources = new Map();
let track = 'all';

function cell(claim) {
  if (claim.na) return h('td', { className: 'na' }, h('b', {}, t('ladder.na')), h('small', {}, claim.na));
  const must = claim.must.map((o) => t(`outcome.${o}`)), may = claim.may.map((o) => t(`outcome.${o}`));
  return h('td', { className: must.length ? 'bad' : may.length ? 'warn' : 'good' },
    h('b', {}, must.length ? listed(must) : t('outcome.ok')), may.length ? h('small', {}, t('ladder.may', { list: listed(may) })) : null);
}

function claims(name) {
  return h('div', { className: 'scroll', tabIndex: 0, role: 'region', 'aria-label': t('ladder.claims') }, h('table', { className: 'claims' },
    h('thead', {}, h('tr', {}, scenarios.map((s) => h('th', { scope: 'col' }, t(`scenario.${s}`), h('small', {}, t(`about.${s}`)))))),
    h('tbody', {}, h('tr', {}, scenarios.map((s) => cell(claimOf(name, s)))))));
}

function parts(stage) {
  const p = stage.parts;
  const shown = [['lock', p.lock], ['lock-key', p.lock_key], ['lock-span', p.lock_span], ['on-loss', p.on_loss], ['stock-update', p.stock_update],
    ['unique', p.unique ? 'on' : 'off'], ['path', p.path]];
  return h('ul', { className: 'parts' }, shown.map(([k, v]) => h('li', {}, h('code', {}, `--${k} ${v}`))));
}

/** light tells in a sign and a word, not by its colour alone, what a stage claims with several processes. */
function light(name) {
  const claim = claimOf(name, 'multi'), kind = claim.na ? 'na' : claim.must.length ? 'bad' : 'good';
  return sign(kind, { role: 'img', 'aria-label': t(`ladder.${kind}`) });
}

const sign = (kind, props) => h('span', { className: `light ${kind}`, ...props }, { good: '✓', bad: '✗', na: '–' }[kind]);

/** listing is a file with its numbers; the marked lines say so to a screen reader, too. */
function listing(file) {
  const marked = new Set(file.marks), comment = file.name.endsWith('.lua') ? '--' : '//';
  return h('figure', { className: 'listing' }, h('figcaption', {}, h('code', {}, file.name)),
    h('pre', { tabIndex: 0, role: 'region', 'aria-label': file.name }, h('code', {}, file.text.split('\n').map((line, i) => {
      const kind = line.trim().startsWith(comment) ? 'remark' : '';
      return h(marked.has(i + 1) ? 'mark' : 'span', { className: `line ${kind}` }, h('i', { 'aria-hidden': 'true', 'data-n': i + 1 }), line + '\n');
    }))));
}

async function source(name, into) {
  try {
    if (!sources.has(name)) sources.set(name, await get(`api/v1/stages/${encodeURIComponent(name)}/source`));
    into.replaceChildren(...sources.get(name).map(listing));
  } catch (e) {
    into.replaceChildren(h('p', { className: 'notice bad' }, messageOf(e)));
  }
}

function article(stage) {
  const text = of(stage), files = h('div', { className: 'files' }, h('p', {}, t('loading')));
  source(stage.name, files);
  return h('article', { className: 'card stage', id: 'stage' },
    h('div', { className: 'head' }, h('h2', { tabIndex: -1 }, stage.name), stage.tracks.map((tr) => h('span', { className: 'chip' }, t(`track.${tr}`))),
      server.about.runs ? h('a', { className: 'button', href: `#lab/${stage.name}` }, t('ladder.run')) : null),
    h('div', { className: 'two' }, h('section', { className: 'fixes' }, h('h3', {}, t('why.fixes')), prose(text.fixes)),
      h('section', { className: 'breaks' }, h('h3', {}, t('why.breaks')), prose(text.still_breaks))),
    h('h3', {}, t('ladder.claims')), claims(stage.name),
    h('h3', {}, t('why.question')), prose(text.question), h('details', {}, h('summary', {}, t('ladder.show')), prose(text.answer)),
    h('h3', {}, t('ladder.parts')), parts(stage),
    h('h3', {}, t('ladder.source')), h('p', { className: 'small' }, t('ladder.marked')), files);
}

function rungs(current) {
  return server.stages.filter((s) => track === 'all' || s.tracks.includes(track)).map((s, i) => h('li', {},
    h('a', { href: `#ladder/${s.name}`, 'aria-current': s.name === current ? 'true' : null },
      h('span', { className: 'n' }, String(i + 1)), h('span', {}, s.name), light(s.name))));
}

/** show brings an entry of a list into view without moving the page. */
function show(list, entry) {
  if (entry) list.scrollTop = Math.max(0, entry.offsetTop - list.clientHeight / 2);
}

export const ladder = {
  enter(detail) {
    const stage = stageNamed(detail) ?? stageNamed('none'), list = h('ol', { className: 'rungs' }, rungs(stage.name));
    const filter = h('select', { id: 'track', onchange: (e) => {
      track = e.target.value;
      list.replaceChildren(...rungs(stage.name));
    } }, ['all', 'lesson', 'mistakes', 'database', 'production'].map((tr) => h('option', { value: tr, selected: tr === track }, t(`track.${tr}`))));
    const node = h('div', { className: 'ladder' }, h('h1', {}, t('ladder.title')), h('p', { className: 'lead' }, t('ladder.lead')),
      h('div', { className: 'columns' },
        h('nav', { className: 'card side', 'aria-label': t('ladder.list') },
          h('div', { className: 'field' }, h('label', { for: 'track' }, t('ladder.track')), filter),
          h('ul', { className: 'small legend' }, ['good', 'bad', ...(server.stages.some((s) => claimOf(s.name, 'multi').na) ? ['na'] : [])]
            .map((kind) => h('li', {}, sign(kind, { 'aria-hidden': 'true' }), t(`ladder.${kind}`)))), list),
        article(stage)));
    if (detail) requestAnimationFrame(() => {
      if (matchMedia('(max-width: 899px)').matches) node.querySelector('#stage').scrollIntoView();
      else show(node.querySelector('.side'), list.querySelector('[aria-current]'));
    });
    return node;
  },
};
