// The server's interface. All addresses are relative, so that the page works behind a proxy under any name and path.
import { told } from './i18n.js';

/** Refusal is an answer that is none of success, or no answer (code offline). */
export class Refusal extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** call asks the server and returns its JSON. */
export async function call(method, path, { body, headers } = {}) {
  let response;
  try {
    response = await fetch(path, {
      method,
      headers: { Accept: 'application/json', ...(body ? { 'Content-Type': 'application/json' } : {}), ...headers },
      body: body ? JSON.stringify(body) : undefined,
      cache: 'no-store',
    });
  } catch {
    throw new Refusal(0, 'offline', '');
  }
  const answer = await response.json().catch(() => null);
  if (!response.ok) {
    throw new Refusal(response.status, answer?.error?.code ?? 'internal', answer?.error?.message ?? String(response.status));
  }
  return answer;
}

export const get = (path, headers) => call('GET', path, { headers });
export const post = (path, body, headers) => call('POST', path, { body, headers });

/** server is what is known of it, and its clock. */
export const server = { about: { lab: false, runs: false, stage: '' }, info: null, stages: [], ahead: 0 };

/** now is the time by the server's clock, in ms. */
export const now = () => Date.now() + server.ahead;

/** setClock reads the server's clock; half of the way there and back is taken off. */
export async function setClock() {
  const sent = Date.now();
  server.about = await get('api/v1/about');
  server.ahead = Date.parse(server.about.now) - (sent + Date.now()) / 2;
}

/** load reads what every view needs. */
export async function load() {
  await setClock();
  server.stages = await get('api/v1/stages');
  server.info = server.about.runs ? await get('api/v1/lab/runs/info') : null;
}

export const stageNamed = (name) => server.stages.find((s) => s.name === name);

/** claimOf is what a stage claims in a scenario, on the engine that runs here where that is known. */
export function claimOf(name, scenario) {
  const own = server.info?.presets?.[name]?.[scenario];
  if (own) return { must: own.must, may: own.may, na: told(own.na ?? '', own.na_zh) };
  const on = stageNamed(name)?.claims?.on?.[scenario] ?? {};
  return { must: on.must ?? [], may: on.may ?? [], na: told(on.na ?? '', on.na_zh) };
}
