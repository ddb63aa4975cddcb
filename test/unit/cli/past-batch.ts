/** The transaction history of a batch with closed accounts: contents, votes and executions. */

import type { ChainReader, Signature, TokenChange, TransactionRecord } from '../../../src/chain/chain.js';
import {
  batchAddTransaction,
  batchCreate,
  batchExecuteTransaction,
  proposalApprove,
} from '../../../src/chain/squads/builders.js';
import { encodeVaultMessage } from '../../../src/chain/squads/message.js';
import { compile, type Instruction } from '../../../src/chain/transaction/message.js';
import { compileLegacyMessage } from '../../../src/chain/transaction/wire.js';
import type { Address } from '../../../src/values/address.js';
import { partiallySign } from '../../support/chain.js';
import { namedAddress } from '../../support/oracle.js';
import { batchIndex, multisig, operator, owner, vaultAt } from '../batch-on-chain.js';

const ref = { multisig, batchIndex };
const vault = vaultAt.address;
const paid = { rentPayer: operator, creator: operator, member: operator };

/** Transactions by name, in landing order; `null`: pruned by the node. */
export type Past = Map<string, readonly Instruction[] | null>;

/** A batch that was set up, approved and executed up to `executed`. */
export function pastOf(inner: readonly (readonly Instruction[])[], executed: number): Past {
  const past: Past = new Map([['made', [batchCreate({ ...ref, ...paid, vaultIndex: 0 })]]]);
  inner.forEach((instructions, at) => {
    const message = encodeVaultMessage(compile(vault, instructions));
    past.set(`added${at + 1}`, [batchAddTransaction({ ...ref, ...paid, number: at + 1, message })]);
  });
  for (const member of [owner, operator])
    past.set(`approved by ${member.slice(0, 4)}`, [proposalApprove({ ...ref, member })]);
  inner.slice(0, executed).forEach((instructions, at) => {
    const message = compile(vault, instructions);
    past.set(`executed${at + 1}`, [
      batchExecuteTransaction({ ...ref, ...paid, number: at + 1, vault, message }),
    ]);
  });
  return past;
}

/** A node with this history and no accounts; token balances by transaction. */
export function nodeOf(
  past: Past,
  {
    balances = {},
    failed = [],
    kept = {},
  }: {
    balances?: Record<string, TokenChange[]>;
    failed?: readonly string[];
    kept?: Record<string, Partial<TransactionRecord>>;
  } = {},
): ChainReader {
  const wireOf = (signature: Signature): Uint8Array | null => {
    const instructions = past.get(signature);
    if (instructions == null) return null;
    const blockhash = namedAddress(`blockhash ${signature}`);
    return partiallySign(compileLegacyMessage({ payer: operator, instructions, blockhash }), []);
  };
  const record = (signature: Signature): TransactionRecord => ({
    ...{ signature, wire: wireOf(signature) },
    ...{ slot: 1n, blockTimeMs: Date.parse('2026-01-31T12:00:00.000Z'), logs: ['Program log: all'] },
    error: failed.includes(signature) ? { kind: 'transaction', error: 'AccountInUse' } : null,
    ...{ feeLamports: 5_000n, computeUnits: 1n },
    ...(balances[signature] === undefined ? {} : { tokenChanges: balances[signature] }),
    ...kept[signature],
  });
  const names = (account: Address, instructions: readonly Instruction[] | null): boolean =>
    instructions === null ||
    instructions.some(({ accounts }) => accounts.some(({ address }) => address === account));
  return {
    getAccounts: async (addresses: readonly Address[]) => addresses.map(() => null),
    lookUp: async (signatures: readonly Signature[]) => signatures.map(record),
    history: async (account: Address) =>
      [...past]
        .filter(([, instructions]) => names(account, instructions))
        .map(([signature]) => ({ signature, slot: 1, failed: false, memo: null, blockTimeMs: null }))
        .reverse(),
  } as unknown as ChainReader;
}
