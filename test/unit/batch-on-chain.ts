/** Builds the accounts of a batch byte by byte, so that tests can change any part. */

import { pipelineContent, pipelineInstructions, type SourcePipeline } from '../../src/actions/pipelines.js';
import type { AccountState } from '../../src/chain/account.js';
import type { ChainReader } from '../../src/chain/chain.js';
import type { Flywheel, VaultToken } from '../../src/chain/flywheel.js';
import { SQUADS_PROGRAM, TOKEN_PROGRAM } from '../../src/chain/programs.js';
import {
  BATCH,
  type Batch,
  encodeAccount,
  MULTISIG,
  type Multisig,
  NO_AUTHORITY,
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
import { compile } from '../../src/chain/transaction/message.js';
import { type Address, address } from '../../src/values/address.js';
import { sha256 } from '../../src/values/digest.js';
import { FILE, INDEX, KEYS, OWNER } from '../attacks/world.js';
import { only } from '../support/doubles.js';
import { namedAddress } from '../support/oracle.js';

const createKey = namedAddress('create key');
const multisigAt = multisigAddress(createKey);
export const multisig = multisigAt.address;
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

const transactionState = (number: number, instructions: readonly Instruction[]): VaultBatchTransaction => ({
  bump: batchTransactionAddress(multisig, batchIndex, number).bump,
  ephemeralSignerBumps: new Uint8Array(),
  message: compile(vaultToken.vault, instructions),
});

export const instructionsOf = (all: readonly SourcePipeline[] = pipelines): Instruction[][] =>
  all.map((pipeline) => [...pipelineInstructions(pipelineContent(pipeline, 6), vaultToken)]);

export const batchState = (
  instructions: readonly (readonly Instruction[])[] = instructionsOf(),
): BatchState => ({
  multisig: {
    createKey,
    configAuthority: NO_AUTHORITY,
    threshold: 2,
    timeLockSeconds: 0,
    transactionIndex: batchIndex,
    staleTransactionIndex: 0n,
    rentCollector: operator,
    bump: multisigAt.bump,
    members: [
      { key: owner, permissions: 7 },
      { key: operator, permissions: 7 },
    ],
  },
  batch: {
    multisig,
    creator: operator,
    index: batchIndex,
    bump: transactionAddress(multisig, batchIndex).bump,
    vaultIndex: 0,
    vaultBump: vaultAt.bump,
    size: instructions.length,
    executedTransactionIndex: 0,
  },
  proposal: {
    multisig,
    transactionIndex: batchIndex,
    status: { kind: 'Active', timestamp: 1_700_000_000n },
    bump: proposalAddress(multisig, batchIndex).bump,
    approved: [],
    rejected: [],
    cancelled: [],
  },
  transactions: instructions.map((inner, index) => transactionState(index + 1, inner)),
});

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
