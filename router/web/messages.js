import { t } from './i18n.js';
import { words } from './words.js';

/** messageOf says in the page's language what a refusal means. */
export function messageOf(refusal) {
  const key = `code.${refusal.code}`;
  return t(key in words ? key : 'code.internal', { message: refusal.message });
}
