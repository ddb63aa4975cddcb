/** A simulated server: the production server over its engine, with the virtual network in place of a socket. */
import type { ServerResponse } from 'node:http';
import { type DispatchFunc, inject } from 'light-my-request';
import type { Context } from './command-line.js';
import type { Reachable } from './network.js';
import { type OpenServer, openSimServer } from './opening.js';
import { running } from './platform.js';
import { type ChainWatch, type HttpAnswer, type HttpRequest, isFailure } from './ports.js';
import type { SimProcess } from './process.js';

/** Stands in for a socket, with no bytes received. */
const answerWith =
  (server: OpenServer['server']): DispatchFunc =>
  (request, response) => {
    Object.assign(request.socket, { bytesRead: 0 });
    server.answer(request, response as unknown as ServerResponse);
  };

export class SimServer implements Reachable {
  private constructor(
    private readonly process: SimProcess,
    private readonly opened: OpenServer,
  ) {}

  /** @returns `undefined` if the server died, or could not open its files, before it listened. */
  static async start(
    context: Context,
    process: SimProcess,
    dataDir: string,
    watch: ChainWatch,
  ): Promise<SimServer | undefined> {
    const opening = running.run(process, () => openSimServer(process, context, dataDir, watch));
    const opened = await Promise.race([
      opening.catch((error: unknown) => {
        if (process.alive && !isFailure(error)) throw error;
        return undefined;
      }),
      process.death.then(() => undefined),
    ]);
    if (opened === undefined) {
      process.end();
      return undefined;
    }
    // What waits for work of the dead process never ends; its files close by themselves.
    process.onEnd(() => void opened.close());
    return new SimServer(process, opened);
  }

  get alive(): boolean {
    return this.process.alive;
  }

  /** Stops without a grace period. */
  kill(): void {
    this.process.kill();
  }

  async serve(
    client: SimProcess,
    { method, url, headers, body }: HttpRequest,
  ): Promise<HttpAnswer | undefined> {
    const { server } = this.opened;
    const answered = running.run(client, () =>
      inject(answerWith(server), {
        method,
        url: url.pathname + url.search,
        headers: { ...headers },
        ...(body === undefined ? {} : { payload: body }),
      }),
    );
    const response = await Promise.race([answered, this.process.death.then(() => undefined)]);
    if (response === undefined) return undefined;
    const plain = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as const);
    return {
      kind: 'answer',
      status: response.statusCode,
      headers: Object.fromEntries(plain),
      text: response.payload,
    };
  }
}
