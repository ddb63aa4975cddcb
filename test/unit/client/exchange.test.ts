/** One request and its answer, as the connection brings it in pieces. */
import { getEventListeners } from 'node:events';
import type { Dispatcher } from 'undici';
import { describe, expect, it } from 'vitest';
import { Exchange } from '../../../src/client/exchange.js';

/** What the connection is told: whether it is to be cut. */
function begun(signal?: AbortSignal) {
  const exchange = new Exchange('api.test', { timeoutMs: 10_000, maxBytes: 4, signal, era: 0 });
  const cuts: unknown[] = [];
  const controller = { abort: (reason: unknown) => cuts.push(reason) };
  exchange.onRequestStart(controller as unknown as Dispatcher.DispatchController);
  const on = controller as unknown as Dispatcher.DispatchController;
  return { exchange, on, cuts };
}

describe('Exchange', () => {
  it('reads an answer as large as it may be, and nothing of a larger one', async () => {
    for (const [text, expected] of [
      ['1234', { text: '1234' }],
      ['12345', { text: '', unread: 'more than 4 bytes' }],
    ] as const) {
      const { exchange, on } = begun();
      exchange.onResponseStart(on, 200, {});
      for (const letter of text) exchange.onResponseData(on, Buffer.from(letter));
      exchange.onResponseEnd();
      expect(await exchange.outcome).toEqual({ kind: 'answer', status: 200, headers: {}, ...expected });
      expect(exchange.complete).toBe(text.length === 4);
    }
  });

  it('waits through eight interim answers, and gives up at the ninth', async () => {
    for (const interim of [8, 9]) {
      const { exchange, on, cuts } = begun();
      for (let count = 0; count < interim; count += 1) exchange.onResponseStart(on, 103, {});
      expect(cuts.length).toBe(interim - 8);
      exchange.onResponseStart(on, 204, {});
      exchange.onResponseEnd();
      expect(await exchange.outcome).toMatchObject(
        interim === 8
          ? { kind: 'answer', status: 204 }
          : { kind: 'failure', maybeSent: true, reason: 'api.test sends too many interim responses' },
      );
    }
  });

  it('has sent nothing before the request begins', async () => {
    const exchange = new Exchange('api.test', { timeoutMs: 1, maxBytes: 4, signal: undefined, era: 0 });
    expect(await exchange.outcome).toMatchObject({
      maybeSent: false,
      reason: 'no connection to api.test within 0.001 s',
    });
  });

  it('sends nothing, and cuts the connection, when it was interrupted before', async () => {
    const { exchange, cuts } = begun(AbortSignal.abort());
    await expect(exchange.outcome).rejects.toMatchObject({ code: 'ERR_INTERRUPTED' });
    expect(cuts).toHaveLength(1);
  });

  it('leaves nothing at the signal once it is over', async () => {
    const { signal } = new AbortController();
    const { exchange, on } = begun(signal);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    exchange.onResponseStart(on, 204, {});
    exchange.onResponseEnd();
    await exchange.outcome;
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('cuts the connection when it is interrupted while the answer comes', async () => {
    const controller = new AbortController();
    const { exchange, on, cuts } = begun(controller.signal);
    exchange.onResponseStart(on, 200, {});
    controller.abort();
    await expect(exchange.outcome).rejects.toMatchObject({ code: 'ERR_INTERRUPTED' });
    expect([cuts.length, exchange.complete]).toEqual([1, false]);
  });
});
