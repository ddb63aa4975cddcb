/** An RPC node on loopback that answers from the ledger of a data directory, as a user's own node would. */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openLocalChain } from '../../src/chain/local/local-chain.js';
import { SQUADS_PROGRAM } from '../../src/chain/programs.js';
import { dataFiles } from '../../src/compose/local-config.js';

import { type Address, address } from '../../src/values/address.js';
import { base58Encode } from '../../src/values/base58.js';
import { type Clock, systemClock } from '../../src/values/time.js';
import { signaturesFor, statusesOf, transactionOf } from './rpc-history.js';

export interface RpcNode {
  readonly url: string;
  close(): Promise<void>;
}

/** The ledger keeps no account for the program that runs natively; a cluster does. */
const PROGRAM_ACCOUNT = {
  lamports: 1_141_440,
  owner: address('BPFLoaderUpgradeab1e11111111111111111111111'),
  data: ['', 'base64'],
  executable: true,
  rentEpoch: 0,
  space: 0,
};

export async function startRpcNode(dataDir: string, clock: Clock = systemClock): Promise<RpcNode> {
  // The ledger is there already, so the genesis is not used.
  const path = dataFiles(dataDir).ledger;
  const chain = await openLocalChain({ path, clock, genesis: { accounts: [] } });
  const accounts = async (addresses: readonly Address[]) =>
    (await chain.getAccounts(addresses)).map((state, index) =>
      state === null && addresses[index] === SQUADS_PROGRAM
        ? PROGRAM_ACCOUNT
        : state && {
            lamports: Number(state.lamports),
            owner: state.owner,
            data: [Buffer.from(state.data).toString('base64'), 'base64'],
            executable: state.executable,
            rentEpoch: 0,
            space: state.data.length,
          },
    );
  const answer = async (method: string, [first]: readonly unknown[]): Promise<unknown> => {
    const height = Number((await chain.latestBlockhash()).lastValidBlockHeight) - 150;
    const inContext = (value: unknown) => ({ context: { slot: height, apiVersion: '2.0.0' }, value });
    switch (method) {
      case 'getMultipleAccounts':
        return inContext(await accounts((first as readonly string[]).map(address)));
      case 'isBlockhashValid':
        return inContext(await chain.isBlockhashValid(String(first)));
      case 'getLatestBlockhash': {
        const { blockhash, lastValidBlockHeight } = await chain.latestBlockhash();
        return inContext({ blockhash, lastValidBlockHeight: Number(lastValidBlockHeight) });
      }
      case 'getGenesisHash':
        return base58Encode(createHash('sha256').update(path).digest());
      case 'getVersion':
        return { 'solana-core': '2.3.1', 'feature-set': 1 };
      case 'getHealth':
        return 'ok';
      case 'getSlot':
      case 'getBlockHeight':
        return height;
      case 'getSignatureStatuses':
        return inContext(await statusesOf(chain, first as readonly string[]));
      case 'getSignaturesForAddress':
        return signaturesFor(chain, String(first));
      case 'getTransaction':
        return transactionOf(chain, String(first));
      default:
        return undefined;
    }
  };
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { id, method, params } = JSON.parse(Buffer.concat(parts).toString());
    const result = await answer(method, params);
    const outcome =
      result === undefined ? { error: { code: -32601, message: 'Method not found' } } : { result };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      await chain.close();
    },
  };
}
