/** Servers that stall, disconnect, flood or send wrong headers: the client ends in time with a correct error. */
import type { Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RemoteServiceDeps } from '../../../src/client/remote-service.js';
import type { Call } from '../../../src/contract/call.js';
import type { BurnRequest } from '../../../src/contract/schemas/burn.js';
import type { Service } from '../../../src/contract/service.js';
import { Secret } from '../../../src/values/secret.js';
import { EXAMPLES } from '../../support/fake-service.js';
import {
  answers,
  type Behaviour,
  closes,
  drip,
  resets,
  silent,
  startHostile,
} from '../../support/hostile.js';
import { remoteClient } from '../../support/http.js';
import {
  EARLY_CERTIFICATE,
  EXPIRED_CERTIFICATE,
  ISSUED_CERTIFICATE,
  OTHER_NAME_CERTIFICATE,
  startTlsServer,
  TEST_AUTHORITY,
} from '../../support/http-tls.js';
import { sampleOf } from '../../support/long.js';
import { failureOf } from '../../support/service.js';

const KEY = 'secret-api-key-1234567890';
const call: Call = { credential: new Secret(KEY), idempotencyKey: '6f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f12' };
const burn = EXAMPLES.burn.request as BurnRequest;

/** Timeout of one attempt; there are at most three. */
const TIMEOUT_MS = 100;
/** No test waits for it. */
const LONG_MS = 600_000;

function client(url: string, deps: Partial<RemoteServiceDeps> = {}): Service {
  const { service } = remoteClient(url, { requestTimeoutMs: TIMEOUT_MS, ...deps });
  onTestFinished(() => service.close());
  return service;
}

const head = (more = ''): string => `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${more}`;
/** Answers with these header lines and this body. */
const whole = (lines: string, body = '', then?: (socket: Socket) => void): Behaviour =>
  answers(head(`${lines}\r\n\r\n${body}`), then);
const ends = (socket: Socket): void => void socket.end();
const cuts = (socket: Socket): void => void socket.resetAndDestroy();
const HALF = ['content-length: 100', '{"a"'] as const;
const chunked = (body: string, then?: (socket: Socket) => void): Behaviour =>
  whole('transfer-encoding: chunked', body, then);
const interim = (socket: Socket): void => drip(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n', 5);

/** The server's behaviour, and the error of a read. */
const STALLS: readonly (readonly [string, Behaviour, RegExp])[] = [
  ['is silent', silent, /^No answer from 127\.0\.0\.1:\d+ within 0\.1 s/],
  ['sends half a status line', answers('HTTP/1.1 20'), /^No answer/],
  ['stops in the headers', answers(head('x-a: 1')), /^No answer/],
  ['stops in the body', whole(...HALF), /^No (?:complete )?answer/],
  ['drips headers', answers(head(), (socket) => drip(socket, 'x-more: 1\r\n', 10)), /^No answer/],
  [
    'drips the body',
    whole('content-length: 100000', '', (one) => drip(one, ' ', 10)),
    /^No (?:complete )?answer/,
  ],
  ['drips chunks', chunked('', (socket) => drip(socket, '1\r\n \r\n', 10)), /^No (?:complete )?answer/],
];

const NOT_HTTP = /did not answer with HTTP|wrong length/;
const BREAKS: readonly (readonly [string, Behaviour, RegExp])[] = [
  ['closes at once', closes, /connection to .* broke/],
  ['closes when asked', answers('', ends), /broke/],
  ['resets when asked', answers('', cuts), /broke/],
  ['closes in the headers', answers(head('x-a: 1'), ends), /broke/],
  ['resets in the body', whole(...HALF, cuts), /broke|not as long/],
  ['answers garbage', answers('hello, how are you?\r\n\r\n'), /did not answer with HTTP/],
  ['gives two lengths', whole('content-length: 4\r\ncontent-length: 5', 'null'), NOT_HTTP],
  ['breaks its chunks', chunked('4\r\nnull\r\nzz\r\n'), /did not answer with HTTP/],
  ['sends huge headers', whole(`x-huge: ${'h'.repeat(1_000_000)}`), /header lines .* too long/],
  [
    'floods with interim answers',
    answers('', (socket) => socket.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(10_000))),
    /too many interim responses/,
  ],
  ['goes on for ever before the answer', answers('', interim), /interim|No answer/],
];

const more = (text: string) => (socket: Socket) => drip(socket, text, 1);
const REFUSED_BODIES: readonly (readonly [string, Behaviour, RegExp])[] = [
  [
    'packs its answer',
    whole('content-encoding: gzip\r\ncontent-length: 4', '\u001f\u008b\u0008\u0000'),
    /a body with the encoding "gzip", which was not requested/,
  ],
  [
    'never ends',
    answers(head('\r\n'), more(' '.repeat(4_000_000))),
    /with more than \d+ bytes|No complete answer/,
  ],
  ['gives a length that is too short', whole('content-length: 2', 'null'), /broken JSON/],
];

describe.each([
  ...sampleOf(STALLS, 3).map((row) => [...row, TIMEOUT_MS] as const),
  ...BREAKS.map((row) => [...row, 2_000] as const),
])('a server that %s', (_name, behave, message, requestTimeoutMs) => {
  it('is given up in time; a read is unavailable, what acts is unknown', async () => {
    const server = await startHostile(behave);
    const url = `http://127.0.0.1:${server.port}`;
    const [read, acted] = await Promise.all([
      failureOf(client(url, { requestTimeoutMs }).currentBatch(call)),
      failureOf(client(url, { requestTimeoutMs }).burn(burn, call)),
    ]);
    expect([read.code, read.exitCode]).toEqual(['ERR_UNAVAILABLE', 6]);
    expect(read.message).toMatch(message);
    expect([acted.code, acted.exitCode, acted.options.idempotencyKey]).toEqual([
      'ERR_OUTCOME_UNKNOWN',
      7,
      call.idempotencyKey,
    ]);
    // Three attempts each.
    expect(server.connections).toBeLessThanOrEqual(6);
  });
});

describe.each(REFUSED_BODIES)('a server that %s', (_name, behave, message) => {
  it('is not believed; a read is invalid, what acts is unknown', async () => {
    const server = await startHostile(behave);
    const service = client(`http://127.0.0.1:${server.port}`, { requestTimeoutMs: 2_000 });
    const read = await failureOf(service.currentBatch(call));
    expect(read.message).toMatch(message);
    expect([
      ['ERR_RESPONSE_INVALID', 1],
      ['ERR_UNAVAILABLE', 6],
    ]).toContainEqual([read.code, read.exitCode]);
    const acted = await failureOf(service.burn(burn, call));
    expect([acted.code, acted.exitCode]).toEqual(['ERR_OUTCOME_UNKNOWN', 7]);
    expect(server.connections).toBeLessThanOrEqual(6);
  });
});

describe('a server that resets at once', () => {
  it('leaves the outcome open only where the request may have left', async () => {
    const server = await startHostile(resets);
    const error = await failureOf(client(`http://127.0.0.1:${server.port}`).burn(burn, call));
    const unsent = error.message.endsWith('Nothing was sent.');
    expect([error.code, error.exitCode]).toEqual(
      unsent ? ['ERR_UNAVAILABLE', 6] : ['ERR_OUTCOME_UNKNOWN', 7],
    );
    expect(server.connections).toBeLessThanOrEqual(6);
  });
});

describe('a server that does not read', () => {
  it('is given up in time, however much there is to send', async () => {
    const server = await startHostile((socket) => void socket.pause());
    const large = { ...burn, proof: { text: 'x'.repeat(20_000_000) } };
    // Time to connect, however long this process writes the body.
    const patient = client(`http://127.0.0.1:${server.port}`, { requestTimeoutMs: 1_000 });
    const error = await failureOf(patient.burn(large, call));
    expect([error.code, error.exitCode]).toEqual(['ERR_OUTCOME_UNKNOWN', 7]);
  });
});

describe('what was certainly not sent', () => {
  it.each([
    ['is silent before TLS', silent, /took too long to connect|No connection to/],
    ['closes before TLS', closes, /closed the connection during the handshake|cannot be reached/],
    ['resets before TLS', resets, /cannot be reached \(ECONNRESET\)|closed the connection/],
    [
      'speaks garbage for TLS',
      (socket) => void socket.write('SSH-2.0-OpenSSH_9.6\r\n'),
      /does not speak TLS/,
    ],
  ] as [string, Behaviour, RegExp][])(
    'is unavailable, also for a POST: %s',
    async (_name, behave, message) => {
      const server = await startHostile(behave);
      // Only silence is ended by the timeout, however busy the machine is.
      const requestTimeoutMs = behave === silent ? TIMEOUT_MS : 2_000;
      const service = client(`https://127.0.0.1:${server.port}`, { requestTimeoutMs });
      const error = await failureOf(service.burn(burn, call));
      expect([error.code, error.exitCode]).toEqual(['ERR_UNAVAILABLE', 6]);
      expect(error.message).toMatch(message);
      expect(error.message).toMatch(/Nothing was sent\.$/);
      expect(server.connections).toBeLessThanOrEqual(3);
    },
  );

  it('is unavailable when nobody listens', async () => {
    const server = await startHostile(silent);
    await server.close();
    for (const scheme of ['http', 'https']) {
      const error = await failureOf(client(`${scheme}://127.0.0.1:${server.port}`).burn(burn, call));
      expect([error.code, error.exitCode]).toEqual(['ERR_UNAVAILABLE', 6]);
      expect(error.message).toMatch(/cannot be reached \(ECONNREFUSED\)\. Nothing was sent\.$/);
      expect(error.hint).toContain('Start one with `flywheel serve`');
    }
  });

  it('is not forgotten over a later try that failed to connect', async () => {
    const server = await startHostile((socket, asked) =>
      asked(() => {
        void server.close();
        socket.destroy();
      }),
    );
    const error = await failureOf(client(`http://127.0.0.1:${server.port}`).burn(burn, call));
    expect([error.code, error.exitCode]).toEqual(['ERR_OUTCOME_UNKNOWN', 7]);
    expect(error.message).not.toContain('Nothing was sent');
  });
});

describe('TLS that does not hold', () => {
  const OWN = /NODE_EXTRA_CA_CERTS/;
  it.each([
    ['expired', EXPIRED_CERTIFICATE, true, /it has expired \(CERT_HAS_EXPIRED\)/, /clock/],
    ['not valid yet', EARLY_CERTIFICATE, true, /is not valid yet/, /clock/],
    [
      ...(['for another name', OTHER_NAME_CERTIFICATE, true] as const),
      ...[/is for another name \(DNS:other\.flywheel\.test\)/, /a name that the certificate is for/],
    ],
    ['signed by itself', undefined, false, /unknown authority/, OWN],
    ['of an unknown authority', ISSUED_CERTIFICATE, false, /an unknown authority/, OWN],
  ] as [string, string | undefined, boolean, RegExp, RegExp][])(
    'says what is wrong when the certificate is %s, and sends nothing',
    async (_name, cert, isKnown, message, hint) => {
      const server = await startTlsServer(cert === undefined ? {} : { cert });
      const extraCa = isKnown ? cert : undefined;
      const deps = { requestTimeoutMs: LONG_MS, ...(extraCa !== undefined && { extraCa }) };
      const service = client(`https://127.0.0.1:${server.port}`, deps);
      const error = await failureOf(service.burn(burn, call));
      expect([error.code, error.exitCode]).toEqual(['ERR_UNAVAILABLE', 6]);
      expect(error.message).toMatch(message);
      expect(error.message).toMatch(/Nothing was sent\.$/);
      expect(error.hint).toMatch(hint);
      expect(server.asked).toEqual([]);
    },
  );

  it('believes what a named authority has signed', async () => {
    const server = await startTlsServer({ cert: ISSUED_CERTIFICATE });
    const deps = { extraCa: TEST_AUTHORITY, requestTimeoutMs: LONG_MS };
    const service = client(`https://127.0.0.1:${server.port}`, deps);
    expect((await service.currentBatch(call)).value).toBeNull();
  });

  it.each(['', 'no certificate', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'])(
    'refuses authorities that cannot be read: %j',
    (extraCa) => {
      expect(() => remoteClient('https://127.0.0.1', { extraCa })).toThrow(
        expect.objectContaining({ code: 'ERR_CONFIG_INVALID', exitCode: 2 }),
      );
    },
  );

  it('tells plain http behind an https address', async () => {
    const server = await startHostile(
      (socket) => void socket.on('data', () => socket.end('HTTP/1.1 400 Bad\r\n\r\n')),
    );
    const error = await failureOf(client(`https://127.0.0.1:${server.port}`).burn(burn, call));
    expect([error.code, error.exitCode]).toEqual(['ERR_UNAVAILABLE', 6]);
    expect(error.message).toMatch(/does not speak TLS as expected .*Nothing was sent\.$/);
    expect(error.hint).toContain('http address');
    expect(server.connections).toBe(1);
  });
});

/** An unref'd timer, as in the program. */
const realSleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
  const { setTimeout: sleep } = await import('node:timers/promises');
  await sleep(ms, undefined, signal === undefined ? {} : { signal });
};

const refusal = (status: string, more: string): Behaviour =>
  answers(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\n${more}content-length: 41\r\n\r\n{"error":"ERR_UNAVAILABLE","message":"-"}`,
  );

describe('an interruption', () => {
  it.each([
    ['TLS', 'https', silent],
    ['the headers', 'http', silent],
    ['the body', 'http', whole(...HALF)],
    ['the next try', 'http', refusal('503 No', 'retry-after: 30\r\n')],
  ] as [string, string, Behaviour][])('ends waiting for %s at once', async (name, scheme, behave) => {
    const server = await startHostile(behave);
    const controller = new AbortController();
    let rest = (): void => undefined;
    const resting = new Promise<void>((resolve) => {
      rest = resolve;
    });
    const service = client(`${scheme}://127.0.0.1:${server.port}`, {
      requestTimeoutMs: LONG_MS,
      sleep: (ms, signal) => {
        rest();
        return realSleep(ms, signal);
      },
    });
    const burning = service.burn(burn, { ...call, signal: controller.signal });
    const failure = failureOf(burning);
    await (name === 'the next try' ? resting : server.reached);
    controller.abort();
    expect(await failure).toMatchObject({
      code: 'ERR_INTERRUPTED',
      exitCode: 130,
      options: { idempotencyKey: call.idempotencyKey },
    });
  });

  it('ends waiting for a rate limit', async () => {
    const server = await startHostile(whole('ratelimit: "x";r=0;t=30\r\ncontent-length: 4', 'null'));
    const controller = new AbortController();
    const service = client(`http://127.0.0.1:${server.port}`, { sleep: realSleep });
    await service.currentBatch(call);
    const failure = failureOf(service.currentBatch({ ...call, signal: controller.signal }));
    controller.abort();
    expect((await failure).code).toBe('ERR_INTERRUPTED');
  });

  it('before the call keeps it from being sent', async () => {
    const server = await startHostile(silent);
    const service = client(`http://127.0.0.1:${server.port}`);
    const error = await failureOf(service.burn(burn, { ...call, signal: AbortSignal.abort() }));
    expect(error.code).toBe('ERR_INTERRUPTED');
    expect(server.connections).toBe(0);
  });
});

describe('closing', () => {
  it.each([
    ['TLS', 'https', silent],
    ['an answer', 'http', silent],
  ] as [string, string, Behaviour][])(
    'ends what waits for %s, at once and for good',
    async (_name, scheme, behave) => {
      const server = await startHostile(behave);
      const service = client(`${scheme}://127.0.0.1:${server.port}`, { requestTimeoutMs: LONG_MS });
      const failure = failureOf(service.burn(burn, call));
      await server.reached;
      await service.close();
      expect((await failure).code).toBe(scheme === 'https' ? 'ERR_UNAVAILABLE' : 'ERR_OUTCOME_UNKNOWN');
      expect(server.connections).toBe(1);
    },
  );
});

describe('the time for all of a call', () => {
  it('ends it in the middle of a try', async () => {
    const server = await startHostile(silent);
    const deps = { requestTimeoutMs: LONG_MS, totalTimeoutMs: 300 };
    const service = client(`http://127.0.0.1:${server.port}`, deps);
    const error = await failureOf(service.burn(burn, call));
    expect([error.code, error.exitCode]).toEqual(['ERR_OUTCOME_UNKNOWN', 7]);
    expect(error.message).toMatch(/The total time limit of 0\.3 s is over\.$/);
    const read = await failureOf(service.currentBatch(call));
    expect([read.code, read.exitCode, read.hint]).toEqual([
      'ERR_UNAVAILABLE',
      6,
      'Allow more time with --wait.',
    ]);
  });

  it('may be none at all', async () => {
    const server = await startHostile(silent);
    const error = await failureOf(
      client(`http://127.0.0.1:${server.port}`, { totalTimeoutMs: 0 }).burn(burn, call),
    );
    expect([error.code, error.exitCode]).toEqual(['ERR_UNAVAILABLE', 6]);
    expect(error.message).toMatch(/Nothing was sent\.$/);
    expect(server.connections).toBe(0);
  });
});
