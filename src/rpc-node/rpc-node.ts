/** A node of a cluster on this machine: puts ledger, slots, faults, methods and subscriptions together, and listens. */
import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { Address } from '../values/address.js';
import type { Clock } from '../values/time.js';
import { Cluster } from './cluster.js';
import type { FaultRule } from './faults/fault-rules.js';
import { Faults } from './faults/faults.js';
import { seededRandom } from './faults/random.js';
import { HttpFront } from './http-front.js';
import { JsonRpc } from './json-rpc.js';
import type { NodeLedger } from './node-ledger.js';
import { invalidParams } from './rpc-error.js';
import { ShownSlot } from './shown-slot.js';
import { SocketFront } from './socket-front.js';
import { Subscriptions } from './subscriptions.js';
import { openTimeline, type Timeline } from './timeline.js';

/** What a node is made of. */
export interface RpcNodeOptions {
  /** Closed with the node. */
  readonly ledger: NodeLedger;
  readonly clock: Clock;
  /** @default 400 */
  readonly slotMs?: number;
  /** Does a slot go by only when a transaction comes or {@link RpcNode.advance} is called? @default false */
  readonly onDemand?: boolean;
  /** Slots until a block is confirmed. @default 2, on demand 0 */
  readonly confirmedAfter?: number;
  /** Slots until it is final. @default 31, on demand 0 */
  readonly finalizedAfter?: number;
  readonly faults?: readonly FaultRule[];
  /** Of the faults. @default 1 */
  readonly seed?: number;
  /** Signs a transfer of what `requestAirdrop` gives. @default it gives nothing */
  readonly airdrop?: (to: Address, lamports: bigint, blockhash: string) => Uint8Array;
  /** Hears of failures that are no caller's fault. */
  readonly onFailure?: (error: unknown) => void;
}

/** A node that runs; its own methods are for who tests with it. */
export interface RpcNode {
  readonly cluster: Cluster;
  readonly faults: Faults;
  /** Addresses to be dialled. */
  readonly url: string;
  readonly webSocketUrl: string;
  /** Subscriptions that are held. */
  readonly subscriptionCount: number;
  /** Time at the newest slot, in ms since the Unix epoch. */
  nowMs(): number;
  /** Lets slots with a block go by, on demand. */
  advance(slots?: number): void;
  /** Lets slots go by until nothing waits and all is final; on demand. */
  settle(): void;
  /** Stops listening, answers what was received, and closes the ledger. @param graceMs - @default 1,000 */
  close(graceMs?: number): Promise<void>;
}

const DEFAULT_SLOT_MS = 400;
const DEFAULT_TERMS = { confirmedAfter: 2, finalizedAfter: 31 } as const;
const ON_DEMAND_TERMS = { confirmedAfter: 0, finalizedAfter: 0 } as const;
/**
 * Slots by which the newest may be ahead of the clock and the node waits for it, so that all nodes and all starts agree: the block
 * of a command is in the slot after its own time, which may have none.
 */
const WAITED_SLOTS = 2;
const MAX_CONNECTIONS = 1_024;
const GRACE_MS = 1_000;
/** How often is looked whether anything waits, at the end. */
const STOP_LOOK_MS = 10;
/**
 * Where two ports in a row are looked for when any will do, and how often: below those that systems give to connections, of
 * which a busy machine has no two free in a row.
 */
const ANY_PORTS = [10_240, 32_000] as const;
const PORT_TRIES = 100;
/** Slots that {@link RpcNode.settle} lets go by at most. */
const MAX_SETTLE_SLOTS = 2_000;

const noAirdrop = (): never => {
  throw invalidParams('This node gives no airdrops');
};

/** Where a node listens. */
export interface NodeAddress {
  readonly host: string;
  /** 0 takes a free one; subscriptions are served there and at the next one. */
  readonly port: number;
}

/** By how much a slot is ahead of a time; 0 where that is so little that it is waited for. */
function farAheadMs(timeline: Timeline, slot: number, nowMs: number): number {
  const aheadMs = timeline.startMs(slot) - nowMs;
  return aheadMs > WAITED_SLOTS * timeline.slotMs ? aheadMs : 0;
}

/** Everything behind the sockets. */
class Node {
  readonly cluster: Cluster;
  readonly faults: Faults;
  readonly http: HttpFront;
  readonly sockets: SocketFront;
  readonly subscriptions: Subscriptions;
  readonly #isOnDemand: boolean;
  readonly #shown: ShownSlot;
  readonly onFailure: (error: unknown) => void;
  readonly #clock: Clock;
  /** By which the slots are ahead of the clock, which was set back or is behind a node on demand. */
  #aheadMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: RpcNodeOptions) {
    const { ledger, clock, slotMs = DEFAULT_SLOT_MS, onDemand = false, seed = 1 } = options;
    this.#isOnDemand = onDemand;
    this.onFailure = options.onFailure ?? (() => undefined);
    this.faults = new Faults(options.faults ?? [], seed);
    this.#shown = new ShownSlot(ledger);
    const newestMs = ledger.snapshot().timeMs;
    const nowMs = onDemand ? newestMs : clock.nowMs();
    const timeline = openTimeline(ledger, slotMs, nowMs, this.#shown.latest);
    const shown = timeline.atOrAfter(this.#shown.latest);
    const slot = Math.max(timeline.slotAt(nowMs), timeline.slotOfBlock(newestMs), shown);
    const lags = onDemand ? ON_DEMAND_TERMS : DEFAULT_TERMS;
    const terms = {
      confirmedAfter: options.confirmedAfter ?? lags.confirmedAfter,
      finalizedAfter: options.finalizedAfter ?? lags.finalizedAfter,
      random: seededRandom(seed, 'order'),
    };
    this.#clock = clock;
    if (!onDemand) this.#aheadMs = farAheadMs(timeline, slot, nowMs);
    if (!this.#isByClock) this.#shown.reserve(slot);
    this.cluster = new Cluster(ledger, timeline, terms, {
      slot,
      announce: (advance) => this.subscriptions.hear(advance),
    });
    const { cluster, faults } = this;
    const subscriptions = new Subscriptions(cluster, faults, this.onFailure);
    this.subscriptions = subscriptions;
    const parts = {
      cluster,
      faults,
      airdrop: options.airdrop ?? noAirdrop,
      wake: () => {
        if (onDemand) this.advance(1);
      },
    };
    this.http = new HttpFront(new JsonRpc(parts, this.onFailure));
    this.sockets = new SocketFront(subscriptions, this.onFailure);
  }

  /** Lets slots go by with the clock. */
  run(): void {
    if (this.#isOnDemand) return;
    const { timeline } = this.cluster;
    this.#aheadMs += farAheadMs(timeline, this.cluster.slotOf('processed'), this.#nowMs());
    const nowMs = this.#nowMs();
    const next = timeline.next(timeline.slotAt(nowMs));
    this.#timer = setTimeout(
      () => {
        this.#attempt(() => this.#goTo(timeline.slotAt(this.#nowMs())));
        this.run();
      },
      Math.max(1, timeline.startMs(next) - nowMs),
    );
  }

  advance(slots: number): void {
    for (let passed = 0; passed < slots; passed += 1) {
      const { timeline } = this.cluster;
      this.#goTo(timeline.next(this.cluster.slotOf('processed')));
    }
  }

  /** What waits gets into one more block, where there is time for it; then no more slots go by. */
  async stop(graceMs: number): Promise<void> {
    const latestMs = performance.now() + graceMs;
    while (!this.#isOnDemand && this.cluster.isBusy && performance.now() < latestMs)
      await new Promise((resolve) => void setTimeout(resolve, STOP_LOOK_MS));
    clearTimeout(this.#timer);
  }

  /** Once nobody asks any more. */
  end(): void {
    this.#attempt(() => this.#shown.end(this.cluster.slotOf('processed')));
  }

  /** Does the clock tell where a later start goes on? */
  get #isByClock(): boolean {
    return !this.#isOnDemand && this.#aheadMs === 0;
  }

  #nowMs(): number {
    return this.#clock.nowMs() + this.#aheadMs;
  }

  #goTo(slot: number): void {
    if (!this.#isByClock) this.#shown.reserve(slot);
    this.cluster.advanceTo(slot);
  }

  /** A slot that went wrong is followed by others. */
  #attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.onFailure(error);
    }
  }
}

function serverOf(node: Node): Server {
  const server = createServer({ requestTimeout: 30_000, headersTimeout: 10_000, keepAliveTimeout: 65_000 });
  server.maxConnections = MAX_CONNECTIONS;
  server.on('request', (request, response) => {
    node.http.handle(request, response).catch((error: unknown) => {
      node.onFailure(error);
      response.destroy();
    });
  });
  server.on('upgrade', (request, socket, head) => node.sockets.upgrade(request, socket, head));
  server.on('clientError', (_error, socket) => void socket.destroy());
  return server;
}

const listen = (server: Server, { host, port }: NodeAddress): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve();
    });
  });

const isInUse = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'EADDRINUSE';

/** Takes a port and the one after it; any two for port 0. @throws `ERR_CONFIG_INVALID` when they cannot be had. */
async function listenOnBoth(
  node: Node,
  { host, port: wanted }: NodeAddress,
): Promise<{ servers: Server[]; port: number }> {
  for (let tries = 1; ; tries += 1) {
    const servers = [serverOf(node), serverOf(node)] as const;
    const port = wanted === 0 ? randomInt(...ANY_PORTS) : wanted;
    try {
      await listen(servers[0], { host, port });
      await listen(servers[1], { host, port: port + 1 });
      return { servers: [...servers], port };
    } catch (error) {
      for (const server of servers) server.close();
      if (wanted === 0 && isInUse(error) && tries < PORT_TRIES) continue;
      const why = isInUse(error) ? 'one of them is in use' : (error as Error).message;
      throw new FlywheelError(
        'ERR_CONFIG_INVALID',
        `Cannot listen on ${host}, ports ${port} and ${port + 1}: ${why}.`,
        { cause: error, hint: 'Give another --port; subscriptions take the port after it.' },
      );
    }
  }
}

const closed = (servers: readonly Server[]): Promise<unknown> =>
  Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));

async function shutDown(node: Node, servers: readonly Server[], graceMs: number): Promise<void> {
  const ended = closed(servers);
  for (const server of servers) server.closeIdleConnections();
  await node.stop(graceMs);
  node.sockets.close();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, graceMs);
  });
  await Promise.race([ended, late]);
  clearTimeout(timer);
  node.sockets.terminate();
  for (const server of servers) server.closeAllConnections();
  await ended;
}

/** Starts a node. @throws `ERR_CONFIG_INVALID` when it cannot listen. */
export async function startRpcNode(options: RpcNodeOptions, address: NodeAddress): Promise<RpcNode> {
  const node = new Node(options);
  const { servers, port } = await listenOnBoth(node, address);
  node.run();
  const { cluster, faults } = node;
  const host = address.host.includes(':') ? `[${address.host}]` : address.host;
  return {
    cluster,
    faults,
    url: `http://${host}:${port}`,
    webSocketUrl: `ws://${host}:${port + 1}`,
    get subscriptionCount() {
      return node.subscriptions.size;
    },
    nowMs: () => cluster.timeline.startMs(cluster.slotOf('processed')),
    advance: (slots = 1) => node.advance(slots),
    settle() {
      for (let slots = 0; slots < MAX_SETTLE_SLOTS && (cluster.isBusy || slots === 0); slots += 1)
        node.advance(1);
      node.advance(cluster.terms.finalizedAfter);
    },
    async close(graceMs = GRACE_MS) {
      await shutDown(node, servers, graceMs);
      node.end();
      options.ledger.close();
    },
  };
}
