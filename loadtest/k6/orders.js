// Buyers of one voucher, at an arrival rate. See README.md beside this file.
//
//   k6 run -e KIT="$PWD/kit" [-e SCENARIO=burst|ramp|duplicates] [-e RATE=per second] [-e DURATION=seconds] loadtest/k6/orders.js
import { SharedArray } from 'k6/data';
import exec from 'k6/execution';
import http from 'k6/http';
import { Counter, Gauge, Trend } from 'k6/metrics';
import { sleep } from 'k6';
import * as lib from './lib.js';

const dir = __ENV.KIT;
if (!dir || !dir.startsWith('/')) {
  // k6 opens files relative to this script, not to where it was started.
  throw new Error('KIT must be the absolute path of what `seckill users --out` wrote: -e KIT="$PWD/kit"');
}
const kit = JSON.parse(open(`${dir}/kit.json`));
const users = new SharedArray('users', () => JSON.parse(open(`${dir}/users.json`)));
const plan = lib.plan(__ENV, kit, Array.from(users));

export const options = lib.options(plan, Number(__ENV.VUS || Math.min(users.length, 1000)));

// A refusal is an answer: it must not count as a failed request.
http.setResponseCallback(http.expectedStatuses(...lib.expected));

const arrived = new Counter('arrived');
const sent = new Counter('sent');
const accepted = new Counter('accepted');
const errors = new Counter('errors');
const rejected = {};
lib.refusals.forEach((name) => { rejected[name] = new Counter(`rejected_${name}`); });
const acceptedTime = new Trend('accepted_ms', true);
const rejectedTime = new Trend('rejected_ms', true);
const answeredAt = new Trend('answered_at');
const audits = {};
lib.audits.forEach((name) => { audits[name] = new Gauge(name); });

function audit() {
  const answer = http.get(`${kit.targets[0]}/api/v1/vouchers/${kit.voucher}/audit`, {
    headers: kit.admin, responseCallback: http.expectedStatuses(200),
  });
  if (answer.status !== 200) {
    throw new Error(`no audit: status ${answer.status} ${answer.body}`);
  }
  return answer.json();
}

export function setup() {
  lib.unused(audit());
}

export default function () {
  const arrival = exec.scenario.iterationInTest;
  if (arrival >= plan.arrivals) {
    return; // k6 runs for at least a second, and rounds at its end: some may come too many
  }
  arrived.add(1);
  const requests = [];
  for (let n = 0; n < plan.clicks; n++) {
    requests.push(['POST', lib.url(kit, arrival, n), null, { headers: users[arrival] }]);
  }
  // The clicks of one user go out at the same moment.
  http.batch(requests).forEach(count);
}

function count(answer) {
  sent.add(1);
  answeredAt.add(Date.now());
  const told = lib.classify(answer.status, answer.body);
  if (told === 'accepted') {
    accepted.add(1);
    acceptedTime.add(answer.timings.duration);
  } else if (told === 'error') {
    errors.add(1);
    console.error(`status ${answer.status}: ${answer.error || answer.body}`);
  } else {
    rejected[told].add(1);
    rejectedTime.add(answer.timings.duration);
  }
}

// teardown waits for orders in flight, and leaves the service's own count behind for the thresholds.
export function teardown() {
  let count = audit();
  for (let n = 0; n < 60 && count.in_flight !== 0; n++) {
    sleep(0.5);
    count = audit();
  }
  lib.audits.forEach((name) => audits[name].add(count[name]));
}

export function handleSummary(data) {
  const row = lib.row(plan, kit, data.metrics);
  const report = { env: { go: '', cpus: 0, redis: { kind: 'address', version: '' }, db: { kind: 'address', version: '' } }, config: {}, seed: 0, rows: [row] };
  return { stdout: lib.text(row), [`${dir}/k6-${plan.shape}.json`]: `${JSON.stringify(report, null, 2)}\n` };
}
