// The run that the page follows, by server-sent events, and what became of it.
import { get, post } from './api.js';

export const ended = (run) => !['queued', 'running'].includes(run.status);

/** current is what is shown: a run, its samples, whether the connection is lost, and whether the run was told to end. */
export const current = { run: null, samples: [], lost: false, cancelling: false };

/** gone are runs of which a restarted server knows nothing any more. */
export const gone = [];

const listeners = [];
/** onRun calls back when something about the current run has changed, at most once a frame. */
export const onRun = (f) => listeners.push(f);

let due = false;
function changed() {
  if (due) return;
  due = true;
  const tell = () => {
    due = false;
    [...listeners].forEach((f) => f()); // one of them may take itself out
  };
  // A hidden page gets no frames, and shall still notice the end.
  if (document.hidden) setTimeout(tell, 250);
  else requestAnimationFrame(tell);
}

let source = null;
let asking = 0;

/** show follows a run to its end, or shows one that has ended. */
export function show(run) {
  source?.close();
  clearTimeout(asking);
  const cancelling = current.cancelling && current.run?.id === run.id;
  Object.assign(current, { run, samples: run.result?.row?.series ?? [], lost: false, cancelling });
  changed();
  if (ended(run)) return;
  source = new EventSource(`api/v1/lab/runs/${run.id}/events`);
  source.addEventListener('run', (e) => take(JSON.parse(e.data)));
  source.addEventListener('error', () => {
    current.lost = true;
    changed();
    if (source.readyState === EventSource.CLOSED) ask(run);
  });
}

function take(run) {
  if (run.from === 0) current.samples = [];
  current.samples.push(...(run.samples ?? []));
  current.run = run;
  current.lost = false;
  if (ended(run)) source.close();
  changed();
}

/** ask finds out what became of a run whose stream was refused. */
async function ask(run) {
  try {
    show(await get(`api/v1/lab/runs/${run.id}`));
  } catch (e) {
    if (current.run?.id !== run.id) return;
    if (e.status === 404) {
      current.run = { ...current.run, status: 'interrupted' };
      current.lost = false;
      gone.unshift(current.run);
      changed();
      return;
    }
    asking = setTimeout(() => ask(run), 1000);
  }
}

/** start queues a run and follows it, unless another one is being followed. */
export async function start(request) {
  const run = await post('api/v1/lab/runs', request);
  if (!current.run || ended(current.run)) show(run);
  else waitFor(run);
  return run;
}

/** waitFor follows a queued run when its turn has come. */
function waitFor(run) {
  const turn = () => {
    if (!ended(current.run)) return;
    listeners.splice(listeners.indexOf(turn), 1);
    get(`api/v1/lab/runs/${run.id}`).then(show, () => {});
  };
  listeners.push(turn);
}

/** cancel ends the current run; its end comes with the stream, when its servers have stopped. */
export async function cancel() {
  const { id } = current.run;
  const tell = (cancelling) => {
    if (current.run?.id !== id) return;
    current.cancelling = cancelling;
    changed();
  };
  tell(true);
  try {
    await post(`api/v1/lab/runs/${id}/cancel`);
  } catch (e) {
    tell(false);
    throw e;
  }
}

/** open shows a run of the history. */
export const open = async (id) => show(await get(`api/v1/lab/runs/${id}`));

/** resume follows what the server is running already, after a reload of the page. */
export async function resume() {
  const all = await get('api/v1/lab/runs');
  const live = all.find((r) => r.status === 'running') ?? all.findLast((r) => r.status === 'queued');
  if (live) show(live);
}

/** score compares a prediction with what was measured: right, partly, wrong, or null where there is nothing to compare. */
export function score(run) {
  const expected = run.request.prediction;
  if (!expected || run.status !== 'done' || run.row_status !== 'ran') return null;
  const happened = run.outcome ?? [];
  if (expected.length === 0 || happened.length === 0) return expected.length === happened.length ? 'right' : 'wrong';
  const hits = expected.filter((o) => happened.includes(o)).length;
  return hits === expected.length ? 'right' : hits > 0 ? 'partly' : 'wrong';
}
