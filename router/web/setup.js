// What to run, and what one expects of it.
import { h, fresh, say, remembered } from './dom.js';
import { server, claimOf } from './api.js';
import { t, number } from './i18n.js';
import * as runs from './runs.js';
import { messageOf } from './messages.js';

const fields = ['processes', 'stock', 'users', 'clicks', 'work_ms', 'ttl_ms', 'workers'];
const ways = ['oversold', 'duplicates', 'undersold', 'stuck', 'foreign_release'];

/** choice is what the form holds; it outlives a change of language or view. */
export const choice = { stage: 'mutex', scenario: 'multi', values: {}, verdict: '', how: new Set(), open: false };

/** pick fills the form in and forgets the prediction. */
export function pick(stage, scenario) {
  Object.assign(choice, { stage, scenario: scenario ?? choice.scenario, values: {}, verdict: '', how: new Set() });
}

const preset = () => server.info.presets[choice.stage]?.[choice.scenario];

function selection(name, options, labelOf, onchange) {
  const id = fresh(name);
  return h('div', { className: 'field' }, h('label', { for: id }, t(name)),
    h('select', { id, name, onchange: (e) => onchange(e.target.value) },
      options.map((o) => h('option', { value: o, selected: o === choice[name] }, labelOf(o)))));
}

function settings() {
  const inputs = fields.map((name) => {
    const id = fresh(name), limit = server.info.limits[name], given = preset()?.[name];
    const useless = (name === 'ttl_ms' && given === 0) || (name === 'processes' && choice.scenario === 'single');
    return h('div', { className: 'field' }, h('label', { for: id }, t(name)),
      h('input', {
        id, name, type: 'number', inputMode: 'numeric', min: limit.min, max: limit.max, step: 1, disabled: useless,
        placeholder: useless && name === 'ttl_ms' ? '–' : String(given ?? ''), value: useless ? '' : choice.values[name] ?? '',
        oninput: (e) => { choice.values[name] = e.target.value; },
      }));
  });
  return h('details', { className: 'settings', open: choice.open, ontoggle: (e) => { choice.open = e.target.open; } },
    h('summary', {}, t('settings')), h('p', { className: 'small' }, t('settings.note')), h('div', { className: 'grid' }, inputs));
}

function prediction() {
  const radio = (value) => h('label', { className: 'pick' },
    h('input', { type: 'radio', name: 'verdict', value, checked: choice.verdict === value, onchange: () => {
      choice.verdict = value;
      how.hidden = value !== 'breaks';
    } }), h('span', {}, t(`predict.${value}`)));
  const how = h('fieldset', { className: 'how', hidden: choice.verdict !== 'breaks' }, h('legend', {}, t('predict.how')),
    ways.map((w) => h('label', { className: 'pick' },
      h('input', { type: 'checkbox', name: 'how', value: w, checked: choice.how.has(w), onchange: (e) => {
        choice.how[e.target.checked ? 'add' : 'delete'](w);
      } }), h('span', {}, h('b', {}, t(`outcome.${w}`)), ' ', h('small', {}, t(`means.${w}`))))));
  return h('fieldset', { className: 'predict' }, h('legend', {}, t('predict.legend')),
    ['ok', 'breaks', 'unsure'].map(radio), how);
}

/** request reads the form; a message instead of one that can't be sent. */
function request() {
  const q = { stage: choice.stage, scenario: choice.scenario };
  for (const name of fields) {
    const text = String(choice.values[name] ?? '').trim();
    if (text === '') continue;
    const n = Number(text), { min, max } = server.info.limits[name];
    if (!Number.isInteger(n) || n < min || n > max) return { problem: t('range', { name: t(name), min, max: number(max) }), at: name };
    q[name] = n;
  }
  if (choice.verdict === '') return { problem: t('predict.missing'), at: 'verdict' };
  if (choice.verdict === 'breaks' && choice.how.size === 0) return { problem: t('predict.how.missing'), at: 'how' };
  if (choice.verdict !== 'unsure') q.prediction = choice.verdict === 'ok' ? [] : ways.filter((w) => choice.how.has(w));
  return { q };
}

/** setup is the form. redraw is called when another stage or scenario is chosen. */
export function setup(redraw) {
  const notice = h('p', { className: 'notice', role: 'alert' });
  const na = claimOf(choice.stage, choice.scenario).na;
  const button = h('button', { type: 'submit', className: 'primary', id: 'run', disabled: Boolean(na) }, t('run.button'));
  const change = (name) => (value) => {
    pick(name === 'stage' ? value : choice.stage, name === 'scenario' ? value : choice.scenario);
    redraw(name);
  };
  const form = h('form', { className: 'card setup', noValidate: true, 'aria-label': t('step.choose'), onsubmit: async (e) => {
    e.preventDefault();
    const { q, problem, at } = request();
    say(notice, problem ?? '');
    if (problem) {
      if (fields.includes(at)) form.querySelector('details').open = true;
      form.querySelector(`[name=${at}]`).focus();
      return;
    }
    button.disabled = true;
    remembered.set('met', 'yes');
    try {
      await runs.start(q);
    } catch (error) {
      say(notice, error.code === 'rate_limited' ? t('run.full') : error.code === 'invalid' ? t('run.refused', error) : messageOf(error));
    }
    button.disabled = false;
  } },
  h('h2', {}, h('span', { className: 'step' }, '1'), t('step.choose')),
  h('div', { className: 'pair' },
    selection('stage', server.stages.map((s) => s.name), (s) => s, change('stage')),
    selection('scenario', server.info.scenarios, (s) => t(`scenario.${s}`), change('scenario'))),
  h('p', { className: 'small about' }, t(`about.${choice.scenario}`)),
  na ? h('p', { className: 'notice warn' }, t('run.na', { reason: na })) : null,
  settings(),
  h('h2', {}, h('span', { className: 'step' }, '2'), t('step.predict')),
  prediction(),
  h('h2', {}, h('span', { className: 'step' }, '3'), t('step.run')),
  notice, h('div', { className: 'actions' }, button));
  return { node: form, button };
}
