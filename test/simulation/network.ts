/** The simulated network: requests and answers that are late, lost, duplicated, or rejected by a proxy. */
import { REQUEST_ID_HEADER } from '../../src/contract/headers.js';
import type { Random } from '../fuzz/random.js';
import type { Fault } from './faults.js';
import {
  failure,
  type HttpAnswer,
  type HttpFailure,
  type HttpRequest,
  type Terms,
  type Transport,
} from './ports.js';
import type { SimProcess } from './process.js';

/** Resolves to `undefined` if the service dies during the request. */
export interface Reachable {
  readonly alive: boolean;
  serve(client: SimProcess, request: HttpRequest): Promise<HttpAnswer | undefined>;
}

interface Net {
  readonly random: Random;
  /** The server that receives the next request. */
  service(): Reachable | undefined;
}

const noAnswer = (reason: string, maybeSent: boolean): HttpFailure => ({
  kind: 'failure',
  maybeSent,
  retryable: true,
  reason,
  cause: undefined,
});

const broken = noAnswer('the connection broke', true);

/** Answers of a proxy that does not know idempotency keys. */
const DOORS: readonly (readonly [number, string])[] = [
  [401, 'ERR_UNAUTHORIZED'],
  [403, 'ERR_KEY_SCOPES_UNAUTHORIZED'],
  [404, 'ERR_NOT_FOUND'],
  [413, 'ERR_PAYLOAD_TOO_LARGE'],
  [429, 'ERR_RATE_LIMIT_EXCEEDED'],
  [500, 'ERR_INTERNAL'],
  [502, 'bad gateway'],
  [503, 'ERR_UNAVAILABLE'],
];

export const DOOR_WORDS = 'The door says no.';

/** A page of any proxy, or an answer in the name of the service: that has the request's id. */
function turnedAway(random: Random, { headers }: HttpRequest): HttpAnswer {
  const [status, error] = random.pick(DOORS);
  const asPage = error.includes(' ') || random.oneIn(3);
  const answer = { kind: 'answer', status } as const;
  if (asPage) return { ...answer, headers: { 'content-type': 'text/html' }, text: `<html>${status}</html>` };
  const id = { [REQUEST_ID_HEADER]: headers[REQUEST_ID_HEADER] ?? '' };
  const text = JSON.stringify({ error, message: DOOR_WORDS });
  return { ...answer, headers: { 'content-type': 'application/json; charset=utf-8', ...id }, text };
}

function onTheWay(
  random: Random,
  fault: Fault | undefined,
  request: HttpRequest,
): HttpAnswer | HttpFailure | undefined {
  if (fault === 'door') return turnedAway(random, request);
  return fault === 'refuse' ? noAnswer('no connection', false) : undefined;
}

const interrupted = (): Error => failure('ERR_INTERRUPTED', 'Interrupted.');

export function simTransport(client: SimProcess, net: Net): Transport {
  /** A proxy that repeats requests may return either answer. */
  const deliver = async (
    service: Reachable,
    request: HttpRequest,
    times: number,
  ): Promise<HttpAnswer | undefined> => {
    // A repeat may reach another server.
    const tries = Array.from({ length: times }, (_, at) =>
      (at === 0 ? service : (net.service() ?? service)).serve(client, request),
    );
    const answers = await Promise.all(tries);
    return net.random.pick(answers.map((answer) => answer ?? null)) ?? undefined;
  };
  const carry = async (request: HttpRequest): Promise<HttpAnswer | HttpFailure> => {
    await client.reach(`${request.method} ${request.url.pathname} …`);
    const fault = await client.suffer(['door', 'refuse', 'lose', 'twice']);
    const turned = onTheWay(net.random, fault, request);
    if (turned !== undefined) return turned;
    const service = net.service();
    if (service?.alive !== true) return noAnswer('connection refused', false);
    if (fault === 'lose' && net.random.oneIn(3)) return broken;
    const answer = await deliver(service, request, fault === 'twice' ? 2 : 1);
    await client.reach(`… ${answer?.status ?? 'no answer'}`);
    const later = await client.suffer(['lose']);
    return fault === 'lose' || later === 'lose' ? broken : (answer ?? broken);
  };
  return {
    close: async () => undefined,
    exchange: async (request: HttpRequest, { timeoutMs, signal }: Terms) => {
      if (signal?.aborted === true) throw interrupted();
      const timer = client.sleep(timeoutMs, true);
      const aborted = new Promise<never>((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(interrupted()), { once: true });
      });
      const late = timer.over.then((isOver) => (isOver ? noAnswer('no answer in time', true) : aborted));
      try {
        return await Promise.race([carry(request), late, aborted]);
      } finally {
        timer.cancel();
      }
    },
  };
}
