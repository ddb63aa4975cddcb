/** Waiting for what was sent: as long as it takes without a word, less with one, and never because of one that is missing. */
import { afterEach, describe, expect, it } from 'vitest';
import { nodeAddress } from '../../../../src/chain/node-address.js';
import type { ChannelEvents, RpcNode } from '../../../../src/chain/rpc/exchange.js';
import { LandingNews } from '../../../../src/chain/rpc/landing-news.js';

/** Longer than any test waits. */
const LONG_MS = 60_000;
const opened: LandingNews[] = [];
afterEach(() => {
  for (const news of opened.splice(0)) news.close();
});

interface Asked {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** A node whose channel a test speaks for. */
class Speaker {
  readonly asked: Asked[] = [];
  events: ChannelEvents | undefined;
  opened = 0;
  isClosed = false;
  readonly node: RpcNode;

  constructor() {
    this.node = {
      address: nodeAddress('http://127.0.0.1:1', 'the test'),
      post: () => Promise.reject(new TypeError('Nothing is asked here.')),
      openChannel: (events) => {
        this.events = events;
        this.opened += 1;
        return {
          send: (text) => void this.asked.push(JSON.parse(text)),
          close: () => {
            this.isClosed = true;
          },
        };
      },
    };
  }

  say(message: object): void {
    this.events?.onMessage(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }

  /** Answers the last request, and tells of it. */
  tell(subscription: number): void {
    this.say({ id: this.asked.at(-1)?.id, result: subscription });
    this.say({ method: 'signatureNotification', params: { subscription, result: {} } });
  }
}

function listen(...speakers: Speaker[]) {
  let nowMs = 0;
  const nodes = speakers.map(({ node }) => node);
  const news = new LandingNews(nodes, { nowMs: () => nowMs }, 'confirmed');
  opened.push(news);
  const goOn = (ms: number): void => {
    nowMs += ms;
  };
  return { news, goOn };
}

describe('waiting for a landing', () => {
  it('takes as long as it takes where no node speaks', async () => {
    const { news } = listen();
    const startedMs = performance.now();
    await news.wait(['one'], 20);
    expect(performance.now() - startedMs).toBeGreaterThan(15);
  });

  it('ends when the node tells of the last one', async () => {
    const speaker = new Speaker();
    const { news } = listen(speaker);
    const wait = news.wait(['one', 'two'], LONG_MS);
    speaker.events?.onOpen();
    expect(speaker.asked).toMatchObject([
      { method: 'signatureSubscribe', params: ['two', { commitment: 'confirmed' }] },
    ]);
    speaker.tell(7);
    await wait;
    expect(speaker.asked).toHaveLength(1);
  });

  it('is asked for once: what was told already is looked for as if nobody spoke', async () => {
    const speaker = new Speaker();
    const { news } = listen(speaker);
    const first = news.wait(['one'], LONG_MS);
    speaker.events?.onOpen();
    speaker.tell(7);
    await first;
    await news.wait(['one'], 1);
    expect(speaker.asked).toHaveLength(1);
  });

  it('ends when the node breaks off, and the next one is tried after a while', async () => {
    const [first, second] = [new Speaker(), new Speaker()];
    const { news, goOn } = listen(first, second);
    const wait = news.wait(['one'], LONG_MS);
    first.events?.onOpen();
    first.events?.onClose();
    await wait;
    await news.wait(['one'], 1);
    expect([first.opened, second.opened]).toEqual([1, 0]);
    goOn(30_000);
    await news.wait(['one'], 1);
    expect([first.opened, second.opened]).toEqual([1, 1]);
  });

  it('takes back what it need not hear any more, also what is answered late', async () => {
    const speaker = new Speaker();
    const { news } = listen(speaker);
    const first = news.wait(['one'], 1);
    speaker.events?.onOpen();
    speaker.say({ id: speaker.asked[0]?.id, result: 7 });
    await first;
    expect(speaker.asked.at(-1)).toMatchObject({ method: 'signatureUnsubscribe', params: [7] });
    await news.wait(['two'], 1);
    speaker.say({ id: speaker.asked.at(-1)?.id, result: 8 });
    expect(speaker.asked.at(-1)).toMatchObject({ method: 'signatureUnsubscribe', params: [8] });
  });

  it('does not mind nonsense', async () => {
    const speaker = new Speaker();
    const { news } = listen(speaker);
    const wait = news.wait(['one'], 5);
    speaker.events?.onOpen();
    for (const text of [
      '',
      'null',
      '[]',
      '{"params":null,"method":"signatureNotification"}',
      '{"id":1}',
      '7',
    ])
      speaker.events?.onMessage(text);
    await wait;
  });

  it('ends at once when it is aborted, and when all is closed', async () => {
    const speaker = new Speaker();
    const { news } = listen(speaker);
    const controller = new AbortController();
    const aborted = news.wait(['one'], LONG_MS, controller.signal);
    const closed = news.wait(['two'], LONG_MS);
    controller.abort();
    await aborted;
    news.close();
    await closed;
    expect(speaker.isClosed).toBe(true);
  });
});
