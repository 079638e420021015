// Two languages: the browser's own at first, then the one that was chosen.
import { remembered } from './dom.js';
import { words } from './words.js';

export const languages = { en: 'English', zh: '中文' };

function preferred() {
  const kept = remembered.get('language');
  if (kept in languages) return kept;
  const wanted = (navigator.languages ?? [navigator.language]).map((l) => l.slice(0, 2).toLowerCase());
  return wanted.find((l) => l in languages) ?? 'en';
}

let language = preferred();
const listeners = [];

export const lang = () => language;

/** onLanguage calls back when another language is chosen. */
export const onLanguage = (f) => listeners.push(f);

/** choose changes the language and remembers it. */
export function choose(l) {
  language = l;
  remembered.set('language', l);
  apply();
  listeners.forEach((f) => f());
}

/** apply tells the browser and screen readers which language the page is in. */
export function apply() {
  document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en';
  document.title = t('title');
}

/** t is a text in the language, with {names} filled in. A key without a text shows itself: a test looks for those. */
export function t(key, values = {}) {
  const pair = words[key];
  if (!pair) {
    console.error('no text for', key);
    return key;
  }
  return pair[language === 'zh' ? 1 : 0].replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '');
}

/** told is what the server said, in the language where it said it in both. */
export const told = (english, chinese) => (language === 'zh' && chinese ? chinese : english);

/** of is a stage's text. */
export const of = (stage) => stage.text[language];

export const number = (n) => new Intl.NumberFormat(language === 'zh' ? 'zh-CN' : 'en', { maximumFractionDigits: 1 }).format(n);

export const clock = (iso) => new Intl.DateTimeFormat(language === 'zh' ? 'zh-CN' : 'en', {
  month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit',
}).format(new Date(iso));

/** money of integer cents: no floating point decides a price. */
export const money = (cents) => `¥${Math.trunc(cents / 100)}.${String(cents % 100).padStart(2, '0')}`;

/** listed joins words as the language does. */
export const listed = (all) => all.join(language === 'zh' ? '、' : ', ');
