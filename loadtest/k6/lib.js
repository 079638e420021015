// The parts of the kit that need nothing of k6: what is to be sent, what an answer means, and the row of the report.
// The Go tests run this file as it is.

// codes are the refusals that are part of the service's business, and where a row counts them.
const codes = {
  sold_out: 'sold_out',
  already_ordered: 'already_ordered',
  busy: 'busy',
  order_in_progress: 'busy', // the user's own lock was busy
  gave_up: 'gave_up',
  lock_lost: 'lost',
};

export const refusals = ['sold_out', 'already_ordered', 'busy', 'gave_up', 'lost'];

// expected are the statuses that answer a buyer. All others, and no answer at all, are errors.
export const expected = [201, 202, 409, 503];

// classify names what the client was told: accepted, one of refusals, or error.
export function classify(status, body) {
  if (status === 201 || status === 202) {
    return 'accepted';
  }
  try {
    return codes[JSON.parse(body).error.code] || 'error';
  } catch (_) {
    return 'error';
  }
}

function positive(env, name, fallback) {
  const value = env[name] === undefined || env[name] === '' ? fallback : Number(env[name]);
  if (!(value > 0) || !Number.isFinite(value)) {
    throw new Error(`${name} is ${env[name]}: a positive number is needed`);
  }
  return value;
}

// plan decides the arrival rate. Arrivals do not wait for answers (an open model), so a slow service can't slow its
// own load down; what k6 could not start in time is counted as dropped.
export function plan(env, kit, users) {
  const shape = env.SCENARIO || 'burst';
  const rate = positive(env, 'RATE', users.length);
  let arrivals;
  let seconds;
  switch (shape) {
    case 'burst':
    case 'duplicates':
      seconds = positive(env, 'DURATION', users.length / rate);
      arrivals = Math.floor(rate * seconds + 1e-9);
      break;
    case 'ramp': // the rate grows from 0 to RATE, so half as many arrive
      seconds = positive(env, 'DURATION', (2 * users.length) / rate);
      arrivals = Math.floor((rate * seconds) / 2 + 1e-9);
      break;
    default:
      throw new Error(`SCENARIO is ${shape}: there are burst, ramp and duplicates`);
  }
  const clicks = shape === 'duplicates' ? Math.max(2, kit.clicks) : 1;
  const p = { shape, rate, seconds, arrivals, clicks };
  preflight(p, kit, users);
  return p;
}

// preflight refuses the usual mistakes, before anything is sent.
export function preflight(p, kit, users) {
  if (p.arrivals > users.length) {
    throw new Error(`${p.arrivals} arrivals but ${users.length} users: a user would come twice. ` +
      'Make a larger kit, or lower RATE or DURATION.');
  }
  const distinct = new Set(users.slice(0, p.arrivals).map((u) => JSON.stringify(u))).size;
  if (p.arrivals > 1 && distinct === 1) {
    throw new Error('every request carries the same user: all but one would be refused as a second order');
  }
  if (distinct <= kit.initial_stock) {
    throw new Error(`${distinct} distinct users for ${kit.initial_stock} units: an oversell could not show. ` +
      'There must be more users than stock.');
  }
}

// unused refuses a voucher that has been sold already.
export function unused(audit) {
  if (audit.orders !== 0 || audit.in_flight !== 0) {
    throw new Error(`the voucher already has ${audit.orders} orders: make a new kit, or reset it`);
  }
}

// options are k6's options of a plan. k6 refuses to run for less than a second; whoever comes after the plan's last
// arrival is sent away by the script.
export function options(p, vus) {
  const common = { preAllocatedVUs: vus, maxVUs: vus };
  // k6 wants whole arrivals per time unit; a minute leaves room for slow rates.
  const perMinute = Math.max(1, Math.round(p.rate * 60));
  const duration = `${Math.max(1000, Math.ceil(p.seconds * 1000))}ms`;
  const scenario = p.shape === 'ramp'
    ? { executor: 'ramping-arrival-rate', startRate: 0, timeUnit: '1m', stages: [{ target: perMinute, duration }], ...common }
    : { executor: 'constant-arrival-rate', rate: perMinute, timeUnit: '1m', duration, ...common };
  return {
    scenarios: { [p.shape]: { ...scenario, gracefulStop: '60s' } },
    summaryTrendStats: ['min', 'med', 'p(95)', 'p(99)', 'max'],
    thresholds: {
      oversold: ['value==0'],
      duplicates: ['value==0'],
      accepted: ['count>0'],
      http_req_failed: ['rate<0.01'],
    },
  };
}

// url is where click number n of a user goes: the clicks of one user go to different processes.
export function url(kit, arrival, n) {
  const base = kit.targets[(arrival + n) % kit.targets.length];
  const stage = kit.stage ? `&stage=${encodeURIComponent(kit.stage)}` : '';
  return `${base}/api/v1/vouchers/${kit.voucher}/orders?click=${arrival + 1}.${n + 1}${stage}`;
}

// audits are the numbers that the audit at the end leaves behind, as one gauge each.
export const audits = ['orders', 'stock_left', 'oversold', 'duplicates', 'drift', 'in_flight'];

const value = (metrics, name, field) =>
  metrics[name] && metrics[name].values[field] !== undefined ? metrics[name].values[field] : 0;

function percentiles(metrics, name) {
  const round = (field) => Math.round(value(metrics, name, field) * 1000) / 1000;
  return { p50: round('med'), p95: round('p(95)'), p99: round('p(99)'), max: round('max') };
}

// row is one row of the report, with the same fields as a row of `seckill compare`. It judges by the audit alone; what
// the clients were told is in accepted and rejected.
export function row(p, kit, metrics) {
  const audit = {};
  audits.forEach((name) => { audit[name] = value(metrics, name, 'value'); });
  const arrived = value(metrics, 'arrived', 'count');
  const dropped = value(metrics, 'dropped_iterations', 'count');
  const requests = value(metrics, 'sent', 'count');
  const errors = value(metrics, 'errors', 'count');
  const rejected = {};
  refusals.forEach((name) => { rejected[name] = value(metrics, `rejected_${name}`, 'count'); });
  const undersold = Math.max(0, Math.min(kit.initial_stock, arrived) - audit.orders);
  const span = (value(metrics, 'answered_at', 'max') - value(metrics, 'answered_at', 'min')) / 1000;

  const judged = [];
  if (arrived > kit.initial_stock) { judged.push('oversold'); }
  if (p.clicks > 1) { judged.push('duplicates'); }
  judged.push('undersold', 'drift');
  const counts = { oversold: audit.oversold, duplicates: audit.duplicates, undersold, drift: audit.drift };
  const outcome = judged.filter((name) => counts[name] !== 0);
  if (errors > requests / 100) { outcome.push('errors'); }

  const result = {
    stage: kit.stage || '', scenario: `k6 ${p.shape}`, processes: kit.targets.length, repeat: 1, order: 1,
    users: arrived, clicks: p.clicks, work_ms: 0, ttl_ms: 0, wait_ms: 0,
    requests, accepted: value(metrics, 'accepted', 'count'), rejected, errors, dropped: dropped * p.clicks,
    initial_stock: kit.initial_stock, stock_left: audit.stock_left, orders: audit.orders,
    oversold: audit.oversold, duplicates: audit.duplicates, undersold, drift: audit.drift, unanswered: 0,
    stuck: false, max_holders: 0, foreign_releases: 0,
    status: 'ran', judged, rps: span > 0 ? Math.round((10 * requests) / span) / 10 : 0,
    latency_ms: { accepted: percentiles(metrics, 'accepted_ms'), rejected: percentiles(metrics, 'rejected_ms') },
    outcome, claim: { must: [], may: [] }, as_claimed: outcome.length === 0,
    verdict: outcome.length === 0 ? 'ok' : outcome.map((o) => `${o.toUpperCase()} ${o === 'errors' ? errors : counts[o]}`).join(', '),
    note: dropped > 0 ? `${dropped} arrivals dropped: k6 had no free virtual user in time` : '',
  };
  const reason = invalid(metrics, result, audit, p);
  if (reason) {
    result.status = 'invalid';
    result.verdict = `INVALID: ${reason}`;
    result.as_claimed = false;
  }
  return result;
}

// invalid is why the row says nothing about the service, or empty.
function invalid(metrics, r, audit, p) {
  if (!metrics.orders) { return 'there is no audit'; }
  if (audit.in_flight !== 0) { return `${audit.in_flight} orders were still in flight`; }
  if (r.orders === 0) { return 'nothing was sold'; }
  if (r.outcome.includes('errors')) { return `${r.errors} of ${r.requests} requests failed`; }
  if (r.users < p.arrivals * 0.99 - 1) { return `${r.users} of ${p.arrivals} users arrived`; }
  return '';
}

// text is the row for a person.
export function text(r) {
  const refused = refusals.filter((name) => r.rejected[name] > 0).map((name) => `${name} ${r.rejected[name]}`);
  const sum = refusals.reduce((n, name) => n + r.rejected[name], 0);
  const ms = (l) => `p50 ${l.p50} ms, p95 ${l.p95} ms, p99 ${l.p99} ms, max ${l.max} ms`;
  return [
    `accepted  ${r.accepted}   (${ms(r.latency_ms.accepted)})`,
    `rejected  ${sum}   ${refused.join(', ')}   (${ms(r.latency_ms.rejected)})`,
    `errors    ${r.errors}`,
    `audit     stock ${r.initial_stock}, left ${r.stock_left}, orders ${r.orders}`,
    `verdict   ${r.verdict}${r.note ? `   (${r.note})` : ''}`,
    '',
  ].join('\n');
}
