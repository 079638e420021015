// The frame of the page: header, views by the address's hash, language and colours.
import { h, say, remembered } from './dom.js';
import { load } from './api.js';
import { t, lang, languages, choose, apply, onLanguage } from './i18n.js';
import { server } from './api.js';
import * as runs from './runs.js';
import { lab } from './lab.js';
import { ladder } from './ladder.js';
import { shop } from './shop.js';
import { history } from './history.js';

const views = { lab, ladder, shop, history };
const main = document.getElementById('main');
let shown = null;

const available = () => (server.about.runs ? ['lab', 'ladder', 'shop', 'history'] : ['ladder', 'shop']);

/** place reads the hash: #view/detail. */
function place() {
  const [name, detail = ''] = location.hash.slice(1).split('/');
  const names = available();
  return { name: names.includes(name) ? name : names[0], detail: decoded(detail) };
}

/** decoded is the text, or nothing when somebody typed what no link says. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

function header() {
  const { name } = place();
  const tabs = available().map((v) => h('a', { href: `#${v}`, 'aria-current': v === name ? 'page' : null }, t(`view.${v}`)));
  const tongues = Object.entries(languages).map(([code, text]) => h('button', {
    type: 'button', lang: code, 'aria-pressed': String(code === lang()), id: `lang-${code}`, onclick: () => choose(code),
  }, text));
  const colours = h('select', { 'aria-label': t('theme'), id: 'theme', onchange: (e) => paint(e.target.value) },
    ['auto', 'light', 'dark'].map((v) => h('option', { value: v, selected: v === (remembered.get('theme') ?? 'auto') }, t(`theme.${v}`))));
  document.getElementById('top').replaceChildren(h('div', { className: 'bar' },
    h('a', { href: `#${available()[0]}`, className: 'brand' }, h('img', { src: 'web/icon.svg', alt: '', width: 26, height: 26 }),
      h('strong', {}, 'seckill'), h('span', {}, t('tagline'))),
    h('nav', { 'aria-label': t('views') }, tabs),
    h('div', { className: 'tools' }, h('div', { className: 'switch', role: 'group', 'aria-label': t('language') }, tongues), colours)));
  say(document.getElementById('skip'), t('skip'));
}

function paint(theme) {
  remembered.set('theme', theme);
  if (theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

function render({ focus = false } = {}) {
  const { name, detail } = place();
  shown?.leave?.();
  header();
  shown = views[name];
  main.replaceChildren(shown.enter(detail));
  main.dataset.view = name;
  if (focus) main.focus({ preventScroll: true });
  if (focus) scrollTo(0, 0);
}

async function begin() {
  apply();
  paint(remembered.get('theme') ?? 'auto');
  try {
    await load();
  } catch {
    main.replaceChildren(h('p', { className: 'notice bad', role: 'alert' }, t('load.failed'), ' ',
      h('button', { type: 'button', onclick: begin }, t('retry'))));
    return;
  }
  if (server.about.runs) runs.resume().catch(() => {});
  render();
  document.body.dataset.ready = 'yes';
}

document.getElementById('skip').addEventListener('click', (e) => {
  e.preventDefault();
  main.focus();
});
addEventListener('hashchange', () => render({ focus: true }));
onLanguage(() => {
  render();
  document.getElementById(`lang-${lang()}`)?.focus();
});
begin();
