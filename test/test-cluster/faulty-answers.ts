/** The HTTP front of a test cluster, which applies its faults to answers. */
import { answersOf, readAsked, toJson } from '../../src/rpc-node/json-rpc.js';
import type { startRpcNode } from '../../src/rpc-node/rpc-node.js';
import type { FaultRule, Faults, WrongAnswer } from './faults.js';
import type { TestCluster } from './test-cluster.js';

type BodyHandler = NonNullable<Parameters<typeof startRpcNode>[3]>;

/** A node this many slots behind still reports itself healthy (agave, `DELINQUENT_VALIDATOR_SLOT_DISTANCE`). */
const HEALTHY_LAG_SLOTS = 128;

const wrongAnswers: Readonly<Record<WrongAnswer, (text: string) => readonly [type: string, text: string]>> = {
  html: () => ['text/html', '<!doctype html><html><body><h1>Checking your browser</h1></body></html>'],
  id: (text) => ['application/json', text.replace(/"id":(?:"[^"]*"|[^,}]*)\}$/, '"id":987654321}')],
};

const isSentUnchecked = (params: unknown): boolean =>
  Array.isArray(params) && (params[1] as { skipPreflight?: boolean } | undefined)?.skipPreflight === true;

/** One call a body; no batches. */
export const faultyAnswers =
  (cluster: TestCluster, faults: Faults, onFailure: (error: unknown) => void): BodyHandler =>
  async (text, reply) => {
    const asked = readAsked(text);
    const [request] = asked.requests;
    const call =
      request !== undefined && 'method' in request ? request : { id: null, method: '', params: [] };
    const { lagSlots, answer: fault } = faults.forCall(call.method);
    const answered = async (): Promise<string> => {
      const isAsked =
        call.method === 'getHealth' || (call.method === 'sendTransaction' && !isSentUnchecked(call.params));
      if (lagSlots <= HEALTHY_LAG_SLOTS || !isAsked)
        return cluster.behind(lagSlots, () => answersOf(cluster, asked, onFailure));
      const data = { numSlotsBehind: lagSlots };
      return toJson({
        error: { code: -32_005, message: `Node is behind by ${lagSlots} slots`, data },
        id: call.id,
      });
    };
    switch (fault?.fault) {
      case 'hang':
        return void reply.hijack();
      case 'hangup':
        reply.hijack();
        return void reply.raw.destroy();
      case 'busy': {
        const busy = '{"jsonrpc":"2.0","error":{"code":429,"message":"Too many requests"},"id":null}';
        const headers = { 'retry-after': String(fault.seconds ?? 1) };
        return void (await reply.code(429).headers(headers).type('application/json').send(busy));
      }
      case 'unavailable':
        return void (await reply.code(503).type('text/plain').send('Service unavailable'));
      case 'unanswered':
        await answered();
        return void reply.hijack();
      default:
        return void (await send(reply, await answered(), fault));
    }
  };

async function send(reply: Parameters<BodyHandler>[1], answer: string, fault: FaultRule | undefined) {
  const [type, text] =
    fault?.fault === 'wrong' ? wrongAnswers[fault.as ?? 'html'](answer) : ['application/json', answer];
  await (text === '' && fault === undefined ? reply.code(204).send() : reply.type(type).send(text));
}
