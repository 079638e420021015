// Nodes are built by calls, never from text: what a server or a person wrote can't become markup.

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name in node && !(node instanceof SVGElement) && name !== 'list' && name !== 'form') node[name] = value;
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat(Infinity).filter((c) => c !== undefined && c !== null && c !== false));
  return node;
}

/** h makes an HTML element. Props are DOM properties, attributes, or on… listeners. */
export const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);

/** svg makes an SVG element. */
export const svg = (tag, props, ...children) => fill(document.createElementNS('http://www.w3.org/2000/svg', tag), props, children);

/** prose is a text whose words between backquotes are code. */
export function prose(text, props) {
  const parts = (text ?? '').split('`').map((part, i) => (i % 2 ? h('code', {}, part) : part));
  return h('p', props ?? {}, parts);
}

/** say changes a node's text only when it is another one, so that screen readers and the layout are left in peace. */
export function say(node, text) {
  if (node.textContent !== String(text)) node.textContent = text;
}

let ids = 0;
/** fresh is an id that no other element has. */
export const fresh = (name) => `${name}-${++ids}`;

/** remembered keeps a value in the browser; where that is forbidden, for as long as the page lives. */
const here = new Map();
export const remembered = {
  get(key) {
    try {
      return localStorage.getItem('seckill.' + key) ?? here.get(key) ?? null;
    } catch {
      return here.get(key) ?? null;
    }
  },
  set(key, value) {
    here.set(key, String(value));
    try {
      localStorage.setItem('seckill.' + key, value);
    } catch { /* private mode */ }
  },
};
