/** An engine behind HTTP or on a cluster, with access to its store and ledger. */
import { PublicKey, VersionedTransaction } from '@solana/web3.js';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../src/chain/programs.js';
import { associatedTokenAddress } from '../../src/chain/squads/addresses.js';
import { decodeMint, decodeTokenAccount } from '../../src/chain/tokens/accounts.js';
import type { KeypairSigner } from '../../src/chain/transaction/sign.js';
import type { Service } from '../../src/contract/service.js';
import { createEngine, type Engine } from '../../src/engine/engine.js';
import { type FlywheelError, isFlywheelError } from '../../src/errors/flywheel-error.js';
import type { HttpServerDeps, HttpServerOptions } from '../../src/http/options.js';
import { type Address, address } from '../../src/values/address.js';
import { openTestEngine, type TestEngine, type TestProject } from './engine.js';
import { startServer } from './http.js';
import { type ClusterTerms, openCluster } from './open-cluster.js';

interface Behind {
  readonly test: TestEngine;
}

export async function serveEngine(
  engine: Engine,
  options: HttpServerOptions,
  deps: Partial<HttpServerDeps> = {},
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = await startServer({ engine, ...deps }, options);
  return {
    url: server.url,
    async close() {
      await server.closeGracefully(5_000);
    },
  };
}

/** The engine on a test node over the ledger of its own directory, reached by RPC. */
export async function openOnCluster(terms: ClusterTerms = {}) {
  const test = await openTestEngine();
  const cluster = await openCluster(test, terms);
  const engine = createEngine({ ...test.deps, chain: cluster.chain });
  return {
    ...cluster,
    ...{ service: engine as Service, engine, test },
    async dispose(): Promise<void> {
      await cluster.close();
      await test.destroy();
    },
  };
}

const programOf = (project: TestProject): Address =>
  project.registration.tokenProgram === 'token' ? TOKEN_PROGRAM : TOKEN_2022_PROGRAM;

export async function supplyOf({ test }: Behind, { registration }: TestProject): Promise<bigint> {
  const [account] = await test.chain.getAccounts([address(registration.mintAddress)]);
  return decodeMint(account ?? null)?.supply ?? 0n;
}

/** Base units of the project's mint in a wallet; 0 without a token account. */
export async function balanceOf({ test }: Behind, project: TestProject, wallet: string): Promise<bigint> {
  const at = associatedTokenAddress(
    address(wallet),
    address(project.registration.mintAddress),
    programOf(project),
  );
  const [account] = await test.chain.getAccounts([at]);
  return decodeTokenAccount(account ?? null)?.amount ?? 0n;
}

/** Adds a signature to the approval transaction, as a wallet does. */
export function signApproval(approval: string, signer: KeypairSigner): string {
  const transaction = VersionedTransaction.deserialize(Buffer.from(approval, 'base64'));
  const signature = signer.signNow(transaction.message.serialize());
  transaction.addSignature(new PublicKey(signer.address), signature);
  return Buffer.from(transaction.serialize()).toString('base64');
}

export async function failureOf(promise: Promise<unknown>): Promise<FlywheelError> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('error' in outcome && isFlywheelError(outcome.error)) return outcome.error;
  throw new TypeError(`Expected a FlywheelError, got ${JSON.stringify(outcome)}`, { cause: outcome });
}
