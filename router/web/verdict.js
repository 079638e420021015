// What a run showed, beside what was predicted, and why.
import { h, prose } from './dom.js';
import { stageNamed, server, claimOf } from './api.js';
import { t, of, told, number, listed } from './i18n.js';
import { score } from './runs.js';

/** path is the order in which the lesson is best met. */
const path = [
  ['mutex', 'multi'], ['mutex', 'single'], ['setnx', 'multi'], ['setnx', 'crash'], ['expire', 'crash'], ['expire', 'slow'],
  ['lua', 'slow'], ['lua', 'nested'], ['reentrant', 'nested'], ['watchdog', 'slow'], ['watchdog', 'late'], ['fenced', 'late'],
  ['conditional', 'multi'], ['stream', 'multi'],
];

/** next is the step after a run. */
export function next(stage, scenario) {
  const i = path.findIndex(([s, c]) => s === stage && c === scenario);
  if (i >= 0) return path[i + 1] ?? null;
  const lesson = server.stages.filter((s) => s.tracks.includes('lesson')).map((s) => s.name);
  const after = server.stages.slice(server.stages.findIndex((s) => s.name === stage) + 1).find((s) => lesson.includes(s.name));
  return after && !claimOf(after.name, scenario).na ? [after.name, scenario] : null;
}

const amounts = {
  oversold: 'oversold', duplicates: 'duplicates', undersold: 'undersold', drift: 'drift', unanswered: 'unanswered',
  foreign_release: 'foreign_releases', errors: 'errors',
};

const good = (row) => row.status === 'ran' && row.outcome.length === 0;

function headline(row) {
  if (row.status === 'ran') {
    return row.outcome.length === 0 ? [t('verdict.ok')]
      : row.outcome.map((o) => t(`verdict.${o}`, { n: number(Math.abs(row[amounts[o]] ?? 0)) }));
  }
  return [t(`verdict.${{ 'n/a': 'na' }[row.status] ?? row.status}`)];
}

/** outcomes are words for a list of outcomes. */
export const outcomes = (all) => (all.length ? listed(all.map((o) => t(`outcome.${o}`))) : t('outcome.ok'));

function compared(run, row) {
  const expected = run.request.prediction, s = score(run);
  const side = (title, text, kind) => h('div', { className: `side ${kind}` }, h('span', { className: 'name' }, title), h('b', {}, text));
  return h('div', { className: 'compared' },
    side(t('predicted.title'), expected ? outcomes(expected) : t('predicted.none'), ''),
    side(t('measured.title'), row.status === 'ran' ? outcomes(row.outcome) : headline(row)[0], good(row) ? 'good' : row.status === 'ran' ? 'bad' : ''),
    h('p', { className: `score ${s ?? ''}`, id: 'score' }, s ? t(`predicted.${s}`) : row.status === 'ran' ? t('predicted.unsure') : told(row.verdict, run.result.verdict_zh)));
}

function facts(row) {
  const ms = (p) => (p.max ? `${number(Math.round(p.p50))} / ${number(Math.round(p.p95))}` : '–');
  const list = [
    ['initial_stock', row.initial_stock], ['orders', row.orders], ['stock_left', row.stock_left], ['oversold', row.oversold, row.oversold > 0],
    ['duplicates', row.duplicates, row.duplicates > 0], ['undersold', row.undersold, row.undersold > 0], ['drift', row.drift, row.drift !== 0],
    ['unanswered', row.unanswered, row.unanswered > 0], ['max_holders', row.max_holders], ['foreign_releases', row.foreign_releases, row.foreign_releases > 0],
    ['requests', row.requests], ['accepted', row.accepted], ...Object.entries(row.rejected), ['errors', row.errors, row.errors > 0],
    ['rps', row.rps], ['sold_ms', ms(row.latency_ms.accepted)], ['refused_ms', ms(row.latency_ms.rejected)],
  ];
  return h('dl', { className: 'facts' }, list.map(([name, value, bad]) => h('div', { className: bad ? 'bad' : '', 'data-fact': name },
    h('dt', {}, t(`fact.${name}`)), h('dd', {}, typeof value === 'number' ? number(value) : value))));
}

function why(row) {
  const stage = stageNamed(row.stage);
  if (!stage) return null;
  const text = of(stage), broke = row.outcome.length > 0;
  const part = (key, words) => [h('h4', {}, t(key)), prose(words)];
  const told = broke ? [part('why.breaks', text.still_breaks), part('why.fixes', text.fixes)]
    : [part('why.fixes', text.fixes), part('why.breaks', text.still_breaks)];
  return h('div', { className: 'why', id: 'why' }, h('h3', {}, t('why.title')),
    broke ? h('ul', { className: 'meanings' }, row.outcome.map((o) => h('li', {}, h('b', {}, t(`outcome.${o}`)), ': ', t(`means.${o}`)))) : null,
    told, h('h4', {}, t('why.question')), prose(text.question),
    h('details', {}, h('summary', {}, t('why.answer')), prose(text.answer)),
    h('p', {}, h('a', { href: `#ladder/${row.stage}` }, t('why.source'))));
}

function onward(row, go) {
  const step = next(row.stage, row.scenario);
  if (!step) return null;
  const [stage, scenario] = step;
  return h('div', { className: 'next' }, h('h3', {}, t('next.title')), h('p', {}, t(stage === row.stage ? 'next.same' : 'next.step')),
    h('button', { type: 'button', id: 'next', onclick: () => go(stage, scenario) }, t('next.button', { stage, scenario })));
}

/** verdict is the card of a run that is done. go(stage, scenario) is called for the next step. */
export function verdict(run, go) {
  const row = run.result.row;
  const kind = row.status === 'n/a' ? '' : good(row) ? 'good' : row.status === 'ran' ? 'bad' : 'warn';
  return h('section', { className: `card verdict ${kind}`, 'aria-labelledby': 'verdict-title', id: 'verdict' },
    h('h2', { id: 'verdict-title', tabIndex: -1 }, t('verdict.title')),
    h('div', { className: 'headline' }, headline(row).map((text, i) => h('strong', { className: i ? 'also' : '' }, text))),
    row.status === 'n/a' ? h('p', {}, told(row.verdict, run.result.verdict_zh)) : [
      h('p', { className: 'sold' }, t('verdict.sold', { orders: number(row.orders), stock: number(row.initial_stock) }), ' · ',
        h('span', { className: row.as_claimed ? 'chip good' : 'chip bad' }, t(row.as_claimed ? 'claim.met' : 'claim.unmet'))),
      compared(run, row), row.note ? h('p', { className: 'small', id: 'note' }, told(row.note, run.result.note_zh)) : null],
    why(row), onward(row, go),
    row.status === 'n/a' ? null : h('details', { className: 'counted', open: true }, h('summary', {}, t('facts.title')), facts(row)));
}
