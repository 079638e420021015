// What was run, and its reports to keep.
import { h, say } from './dom.js';
import { get } from './api.js';
import { t, told, clock, number } from './i18n.js';
import * as runs from './runs.js';
import { outcomes } from './verdict.js';
import { messageOf } from './messages.js';

const formats = ['json', 'markdown', 'html'];

function result(run) {
  if (run.status !== 'done') return h('span', { className: 'chip' }, t(`history.${run.status}`));
  if (run.row_status !== 'ran') return h('span', { className: 'chip' }, told(run.verdict, run.verdict_zh));
  return [h('span', { className: `chip ${run.outcome?.length ? 'bad' : 'good'}` }, outcomes(run.outcome ?? [])), h('small', { className: 'raw' }, told(run.verdict, run.verdict_zh))];
}

function row(run) {
  const p = run.plan, known = !runs.gone.includes(run), { stage, scenario } = run.request;
  const s = runs.score(run), expected = run.request.prediction;
  return h('tr', { 'data-run': run.id },
    h('td', { className: 'when' }, clock(run.queued_at)),
    h('td', {}, h('b', {}, stage), ' ', h('span', { className: 'muted' }, scenario), h('small', {},
      t(p.processes === 1 ? 'history.load.one' : 'history.load.text', { processes: p.processes, users: number(p.users), clicks: p.clicks, stock: number(p.stock) }))),
    h('td', {}, expected ? outcomes(expected) : t('predicted.none'), s ? h('span', { className: `mark ${s}`, role: 'img', title: t(`predicted.${s}`), 'aria-label': t(`predicted.${s}`) }, { right: ' ✓', partly: ' ~', wrong: ' ✗' }[s]) : null),
    h('td', {}, result(run)),
    h('td', { className: 'files' }, known ? h('button', { type: 'button', onclick: () => open(run.id) }, t('history.open')) : null,
    run.status === 'done' ? formats.map((f) => h('a', {
      href: `api/v1/lab/runs/${run.id}/report?format=${f}`, download: '', 'aria-label': t('history.as', { stage, scenario, format: f }),
    }, { json: 'JSON', markdown: 'Markdown', html: 'HTML' }[f])) : null));
}

/** open shows a run in the lab. A run that the server has forgotten meanwhile, or a server that is gone, is told here. */
async function open(id) {
  try {
    await runs.open(id);
    location.hash = '#lab';
  } catch (e) {
    say(notice, messageOf(e));
  }
}

async function fillIn(node) {
  try {
    const all = [...runs.gone, ...await get('api/v1/lab/runs')];
    if (!all.length) {
      node.replaceChildren(h('p', {}, t('history.none')));
      return;
    }
    const scores = all.map(runs.score).filter(Boolean);
    node.replaceChildren(
      scores.length ? h('p', { className: 'tally' }, t('history.score', { right: scores.filter((s) => s === 'right').length, all: scores.length })) : '',
      h('div', { className: 'scroll card', tabIndex: 0, role: 'region', 'aria-label': t('history.title') }, h('table', { className: 'runs' },
        h('thead', {}, h('tr', {}, ['history.when', 'stage', 'predicted.title', 'history.result', 'history.files'].map((k) => h('th', { scope: 'col' }, t(k))))),
        h('tbody', {}, all.map(row)))));
  } catch (e) {
    node.replaceChildren(h('p', { className: 'notice bad', role: 'alert' }, messageOf(e)));
  }
}

let page = null;
let notice = null;
let last = '';
runs.onRun(() => {
  const now = `${runs.current.run?.id} ${runs.current.run?.status}`;
  if (page && now !== last) fillIn(page);
  last = now;
});

export const history = {
  enter() {
    page = h('div', { className: 'list' }, h('p', {}, t('loading')));
    notice = h('p', { className: 'notice bad', role: 'alert', id: 'history-notice' });
    fillIn(page);
    return h('div', { className: 'history' }, h('h1', {}, t('history.title')), h('p', { className: 'lead' }, t('history.lead')), notice, page);
  },
  leave() {
    page = null;
  },
};
