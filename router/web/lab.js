// Predict, run, see, explain.
import { h, remembered } from './dom.js';
import { t, number } from './i18n.js';
import { server } from './api.js';
import * as runs from './runs.js';
import { setup, choice, pick } from './setup.js';
import { live } from './live.js';
import { verdict } from './verdict.js';
import { timeline } from './timeline.js';

let page = null;
let explained = null; // the id of the run whose verdict was brought into view

function hint() {
  if (remembered.get('met')) return null;
  const plan = server.info.presets[choice.stage][choice.scenario];
  return h('aside', { className: 'card hint', 'aria-label': t('hint.title') }, h('strong', {}, t('hint.title')),
    h('p', {}, t('hint.text', { processes: plan.processes, stock: number(plan.stock), users: number(plan.users) })));
}

function go(stage, scenario) {
  pick(stage, scenario);
  page.redraw();
  page.form.node.scrollIntoView({ block: 'nearest' });
  page.form.node.querySelector('input[name=verdict]').focus();
}

function build() {
  const left = h('div', { className: 'left' }), sale = live(), result = h('div', { className: 'result' });
  const self = {
    form: null,
    result: null, // the run that result shows
    redraw(name) {
      self.form = setup(self.redraw);
      left.replaceChildren(self.form.node);
      if (name) left.querySelector(`select[name=${name}]`).focus();
      label();
    },
    update() {
      sale.update();
      label();
      const { run } = runs.current, done = run?.status === 'done' ? run : null;
      if (done?.id === self.result) return;
      self.result = done?.id;
      result.replaceChildren(...(done ? [verdict(done, go), timeline(done)].filter(Boolean) : []));
      if (done && explained !== done.id && choice.stage === done.request.stage) {
        explained = done.id;
        result.firstChild.scrollIntoView({ block: 'nearest', behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth' });
      }
    },
    node: null,
  };
  const label = () => {
    const busy = runs.current.run && !runs.ended(runs.current.run);
    self.form.button.textContent = t(busy ? 'run.queue' : 'run.button');
  };
  self.redraw();
  self.node = h('div', { className: 'lab' },
    h('div', { className: 'intro' }, h('h1', {}, t('lab.title')), h('p', { className: 'lead' }, t('lab.lead')), hint()),
    h('div', { className: 'columns' }, left, h('div', { className: 'right' }, sale.node, result)));
  return self;
}

runs.onRun(() => page?.update());
addEventListener('resize', () => page?.update());

export const lab = {
  enter(detail) {
    if (server.info.presets[detail]) {
      pick(detail);
      history.replaceState(null, '', '#lab');
    }
    page = build();
    requestAnimationFrame(() => page?.update());
    return page.node;
  },
  leave() {
    page = null;
  },
};
