/** Builds the accounts of a batch byte by byte, so that tests can change any part. */

import { pipelineContent, pipelineInstructions, type SourcePipeline } from '../../src/actions/pipelines.js';
import type { AccountState } from '../../src/chain/account.js';
import type { ChainReader, Flywheel, VaultToken } from '../../src/chain/chain.js';
import { SQUADS_PROGRAM, TOKEN_PROGRAM } from '../../src/chain/programs.js';
import {
  type AccountLayout,
  BATCH,
  type Batch,
  decodeAccount,
  encodeAccount,
  MULTISIG,
  type Multisig,
  PROPOSAL,
  type Proposal,
  VAULT_BATCH_TRANSACTION,
  type VaultBatchTransaction,
} from '../../src/chain/squads/accounts.js';
import {
  associatedTokenAddress,
  batchTransactionAddress,
  multisigAddress,
  proposalAddress,
  transactionAddress,
  vaultAddress,
} from '../../src/chain/squads/addresses.js';
import type { Instruction } from '../../src/chain/transaction/message.js';
import { type Address, address } from '../../src/values/address.js';
import { sha256 } from '../../src/values/digest.js';
import { accountsOf as accountsIn, FILE, honestWorld, INDEX, KEYS, OWNER } from '../attacks/world.js';
import { only } from '../support/doubles.js';
import { namedAddress, toWeb3 } from '../support/oracle.js';

export const multisig = multisigAddress(namedAddress('create key')).address;
export const vaultAt = vaultAddress(multisig, 0);
/** The same keypair in every run; it owns nothing of value. */
export const ownerKeypair = OWNER.secretKey;
export const owner = address(KEYS.owner.toBase58());
export const operator = address(KEYS.operator.toBase58());
const mint = address(KEYS.mint.toBase58());
export const batchIndex = INDEX;

export const vaultToken: VaultToken = {
  mint,
  decimals: 6,
  tokenProgram: TOKEN_PROGRAM,
  vault: vaultAt.address,
  vaultTokenAccount: associatedTokenAddress(vaultAt.address, mint, TOKEN_PROGRAM),
};

export const flywheel: Flywheel = { ...vaultToken, multisig, owner, operator, vaultIndex: 0 };

/** Those of the owner's file. */
export const pipelines: readonly SourcePipeline[] = FILE.map(({ type, payload, actions }) => ({
  ...{ type, proofHash: sha256(JSON.stringify(payload)), actions: actions as SourcePipeline['actions'] },
}));

export interface BatchState {
  multisig: Multisig;
  batch: Batch;
  proposal: Proposal;
  transactions: VaultBatchTransaction[];
}

export const instructionsOf = (all: readonly SourcePipeline[] = pipelines): Instruction[][] =>
  all.map((pipeline) => [...pipelineInstructions(pipelineContent(pipeline, 6), vaultToken)]);

/** Read from the accounts of the honest world, which the Squads SDK writes. */
export function batchState(instructions: readonly (readonly Instruction[])[] = instructionsOf()): BatchState {
  const made = instructions.map((all) => all.map(toWeb3));
  const written = accountsIn({ ...honestWorld(), instructions: made });
  const read = <Content>(kind: AccountLayout<Content>, at: Address): Content => {
    const content = decodeAccount(kind, written.get(at)?.data ?? new Uint8Array());
    if (content === undefined) throw new TypeError(`The world has no account at ${at}.`);
    return content;
  };
  return {
    multisig: read(MULTISIG, multisig),
    batch: read(BATCH, transactionAddress(multisig, batchIndex).address),
    proposal: read(PROPOSAL, proposalAddress(multisig, batchIndex).address),
    transactions: instructions.map((_, index) =>
      read(VAULT_BATCH_TRANSACTION, batchTransactionAddress(multisig, batchIndex, index + 1).address),
    ),
  };
}

export type Accounts = Map<Address, AccountState>;

const account = (data: Uint8Array): AccountState => ({
  lamports: 2_000_000n,
  owner: SQUADS_PROGRAM,
  data,
  executable: false,
});

export const accountsOf = (state: BatchState): Accounts =>
  new Map([
    [multisig, account(encodeAccount(MULTISIG, state.multisig))],
    [transactionAddress(multisig, batchIndex).address, account(encodeAccount(BATCH, state.batch))],
    [proposalAddress(multisig, batchIndex).address, account(encodeAccount(PROPOSAL, state.proposal))],
    ...state.transactions.map(
      (transaction, index) =>
        [
          batchTransactionAddress(multisig, batchIndex, index + 1).address,
          account(encodeAccount(VAULT_BATCH_TRANSACTION, transaction)),
        ] as const,
    ),
  ]);

/** Reads accounts from a map and counts the calls. Any other call fails. */
export const readerOf = (accounts: Accounts) =>
  only<ChainReader & { calls: number }>({
    calls: 0,
    async getAccounts(addresses) {
      (this as { calls: number }).calls += 1;
      return addresses.map((address) => accounts.get(address) ?? null);
    },
  });
