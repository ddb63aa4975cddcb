/** Batches whose transactions are not the pipelines that were sent, or not pipelines at all. */
import {
  createApproveInstruction,
  createBurnInstruction,
  createCloseAccountInstruction,
  createTransferInstruction,
} from '@solana/spl-token';
import type { SourcePipeline } from '../../src/actions/pipelines.js';
import type { SourceAction } from '../../src/actions/registry.js';
import { memo } from '../../src/chain/memo.js';
import type { InnerMessage } from '../../src/chain/squads/layouts/message.js';
import { createAccount, transfer } from '../../src/chain/system.js';
import {
  burnChecked,
  createAssociatedTokenAccountIdempotent,
  mintToChecked,
  setAuthority,
  transferChecked,
} from '../../src/chain/tokens/instructions.js';
import type { Instruction } from '../../src/chain/transaction/instruction.js';
import type { Address } from '../../src/values/address.js';
import { sha256 } from '../../src/values/digest.js';
import { fromWeb3, namedAddress, publicKey } from '../support/oracle.js';
import { type Attack, attack } from './attack.js';
import { alice, bob, compiled, HONEST, mint, stranger, type World } from './world.js';

type Pipelines = readonly SourcePipeline[];

/** Other pipelines than those that were sent; all of them could be done. */
const other = (
  name: string,
  reason: string,
  shown: string,
  change: (pipelines: Pipelines) => Pipelines,
): Attack =>
  attack(
    `content: ${name}`,
    reason,
    (world) => {
      world.instructions = compiled(change(HONEST), world.flywheel);
    },
    shown,
  );

const withPipeline = (at: number, change: Partial<SourcePipeline>) => (pipelines: Pipelines) =>
  pipelines.map((pipeline, index) => (index === at ? { ...pipeline, ...change } : pipeline));

const withAction = (at: number, place: number, action: SourceAction) => (pipelines: Pipelines) =>
  pipelines.map((pipeline, index) =>
    index === at
      ? { ...pipeline, actions: pipeline.actions.map((old, n) => (n === place ? action : old)) }
      : pipeline,
  );

/** Ends like alice's address, as a user who looks at both ends would see it. */
const lookAlike = namedAddress('a look-alike');

const OTHER: readonly Attack[] = [
  ...[1.500001, 1.499999, 15, 150_000, 1_500_000].map((amount) =>
    other(
      `burns ${amount} for 1.5`,
      'pipelines[0].actions[0]',
      `burn ${amount}`,
      withAction(0, 0, { action: 'BURN', amount }),
    ),
  ),
  ...[2.000001, 20, 1_999_999].map((amount) =>
    other(
      `sends alice ${amount} for 2`,
      'pipelines[1].actions[0]',
      `airdrop ${amount} to ${alice}`,
      withAction(1, 0, { action: 'AIRDROP', toAddress: alice, amount }),
    ),
  ),
  ...[stranger, bob, lookAlike].map((toAddress) =>
    other(
      `sends to ${toAddress} what is alice's`,
      'pipelines[1].actions[0]',
      `airdrop 2 to ${toAddress}`,
      withAction(1, 0, { action: 'AIRDROP', toAddress, amount: 2 }),
    ),
  ),
  other(
    'sends what should be burned',
    'pipelines[0].actions[0]',
    `airdrop 1.5 to ${stranger}`,
    withAction(0, 0, { action: 'AIRDROP', toAddress: stranger, amount: 1.5 }),
  ),
  other(
    'burns what should be sent',
    'pipelines[1].actions[0]',
    'burn 2',
    withAction(1, 0, { action: 'BURN', amount: 2 }),
  ),
  other(
    'writes another memo',
    'pipelines[1].actions[1]',
    'memo "no thanks"',
    withAction(1, 1, { action: 'MEMO', message: 'no thanks' }),
  ),
  other(
    'states the hash of another proof',
    'pipelines[0] proof hash',
    sha256('x'),
    withPipeline(0, { proofHash: sha256('x') }),
  ),
  other('swaps two hashes', 'pipelines[0] proof hash', 'PRODUCT_BUY', (all) =>
    all.map((one, at) => ({ ...one, proofHash: (all[2 - at] as SourcePipeline).proofHash })),
  ),
  other('states another type', 'pipelines[0].type', 'WATCH_ADS', withPipeline(0, { type: 'WATCH_ADS' })),
  other('reverses the order', 'pipelines[0]', 'burn 12345678', (all) => [...all].reverse()),
  other('swaps the first two', 'pipelines[0].type', 'WATCH_AD', ([a, b, c]) => [b, a, c] as SourcePipeline[]),
  other('does one twice', 'has 4 pipelines, expected 3', 'total burn', (all) => [
    ...all,
    all[0] as SourcePipeline,
  ]),
  other('leaves the last out', 'has 2 pipelines, expected 3', 'total burn', (all) => all.slice(0, 2)),
  other('leaves the first out', 'pipelines[0].type', 'total burn', (all) => all.slice(1)),
  other('does another one first', 'pipelines[0].type', 'burn 999', (all) => [
    { type: 'X', proofHash: sha256('x'), actions: [{ action: 'BURN', amount: 999 }] },
    ...all,
  ]),
  other(
    'does one action twice',
    'pipelines[0].actions[1]',
    'burn 1.5',
    withPipeline(0, {
      actions: [
        { action: 'BURN', amount: 1.5 },
        { action: 'BURN', amount: 1.5 },
      ],
    }),
  ),
  other(
    'leaves an action out',
    'pipelines[1].actions[2]',
    `airdrop 2 to ${alice}`,
    withPipeline(1, { actions: (HONEST[1] as SourcePipeline).actions.slice(0, 2) }),
  ),
  other(
    'swaps two actions',
    'pipelines[1].actions[0]',
    `airdrop 2 to ${alice}`,
    withPipeline(1, { actions: [...(HONEST[1] as SourcePipeline).actions].reverse() }),
  ),
  other(
    'adds an airdrop',
    'pipelines[2].actions[1]',
    `airdrop 5000000 to ${stranger}`,
    withPipeline(2, {
      actions: [
        ...(HONEST[2] as SourcePipeline).actions,
        { action: 'AIRDROP', toAddress: stranger, amount: 5_000_000 },
      ],
    }),
  ),
];

/** Adds an instruction behind those of each transaction in turn. */
const added = (name: string, reason: string, instruction: (world: World) => Instruction): readonly Attack[] =>
  [0, 1, 2].map((at) =>
    attack(`transaction ${at + 1}: ${name}`, reason, (world) => {
      world.instructions[at] = [...(world.instructions[at] as Instruction[]), instruction(world)];
    }),
  );

const amount = { amount: 1n, decimals: 6 };
const unchecked =
  (build: (account: Address, vault: Address, program: Address) => unknown) => (world: World) =>
    fromWeb3(
      build(world.flywheel.vaultTokenAccount, world.flywheel.vault, world.flywheel.tokenProgram) as never,
    );

const FOREIGN: readonly Attack[] = [
  ...added('sends SOL', 'is not one that a batch may call', ({ flywheel }) =>
    transfer({ from: flywheel.vault, to: stranger, lamports: 1n }),
  ),
  ...added('makes an account', 'signature of', ({ flywheel }) =>
    createAccount({
      from: flywheel.vault,
      account: stranger,
      lamports: 1n,
      sizeBytes: 0,
      owner: flywheel.vault,
    }),
  ),
  ...added(
    'burns unchecked',
    'Burn (unchecked)',
    unchecked((account, vault, program) =>
      createBurnInstruction(publicKey(account), publicKey(mint), publicKey(vault), 1, [], publicKey(program)),
    ),
  ),
  ...added(
    'transfers unchecked',
    'Transfer (unchecked)',
    unchecked((account, vault, program) =>
      createTransferInstruction(
        publicKey(account),
        publicKey(stranger),
        publicKey(vault),
        1,
        [],
        publicKey(program),
      ),
    ),
  ),
  ...added(
    'delegates',
    'Approve',
    unchecked((account, vault, program) =>
      createApproveInstruction(
        publicKey(account),
        publicKey(stranger),
        publicKey(vault),
        1,
        [],
        publicKey(program),
      ),
    ),
  ),
  ...added(
    'closes the account',
    'CloseAccount',
    unchecked((account, vault, program) =>
      createCloseAccountInstruction(
        publicKey(account),
        publicKey(stranger),
        publicKey(vault),
        [],
        publicKey(program),
      ),
    ),
  ),
  ...added('gives the account away', 'SetAuthority', ({ flywheel }) =>
    setAuthority({
      ...flywheel,
      account: flywheel.vaultTokenAccount,
      currentAuthority: flywheel.vault,
      type: 'accountOwner',
      newAuthority: stranger,
    }),
  ),
  ...added('lets somebody close the account', 'SetAuthority', ({ flywheel }) =>
    setAuthority({
      ...flywheel,
      account: flywheel.vaultTokenAccount,
      currentAuthority: flywheel.vault,
      type: 'closeAccount',
      newAuthority: stranger,
    }),
  ),
  ...added('mints', 'MintToChecked', ({ flywheel }) =>
    mintToChecked({ ...flywheel, to: stranger, authority: flywheel.vault, ...amount }),
  ),
  ...added('transfers without saying to whom', 'does not say whose token account', ({ flywheel }) =>
    transferChecked({
      ...flywheel,
      from: flywheel.vaultTokenAccount,
      to: stranger,
      owner: flywheel.vault,
      ...amount,
    }),
  ),
  ...added('opens an account and sends nothing', 'is not followed by a transfer', ({ flywheel }) =>
    createAssociatedTokenAccountIdempotent({ ...flywheel, payer: flywheel.vault, owner: stranger }),
  ),
  ...added('burns of another mint', 'the mint is', ({ flywheel }) =>
    burnChecked({
      ...flywheel,
      account: flywheel.vaultTokenAccount,
      owner: flywheel.vault,
      ...amount,
      mint: namedAddress('other mint'),
    }),
  ),
  ...added('burns from another account', 'from the account', ({ flywheel }) =>
    burnChecked({ ...flywheel, account: stranger, owner: flywheel.vault, ...amount }),
  ),
  ...added('states other decimals', 'decimals', ({ flywheel }) =>
    burnChecked({
      ...flywheel,
      account: flywheel.vaultTokenAccount,
      owner: flywheel.vault,
      amount: 1n,
      decimals: 9,
    }),
  ),
  ...added('asks a stranger to sign a memo', 'signature of', () => memo('x', [stranger])),
  ...added('writes a memo that nobody signs', 'not signed by the vault alone', () => memo('x', [])),
  ...added('calls an unknown program', 'is not one that a batch may call', () => ({
    program: stranger,
    accounts: [],
    data: new Uint8Array(),
  })),
];

/** Changes the stored message of each transaction in turn. */
const stored = (
  name: string,
  reason: string,
  change: (message: InnerMessage) => InnerMessage,
): readonly Attack[] =>
  [0, 1, 2].map((at) =>
    attack(`message ${at + 1}: ${name}`, reason, (world) => {
      world.state = (state) => {
        const transaction = state.transactions[at];
        if (transaction !== undefined)
          state.transactions[at] = { ...transaction, message: change(transaction.message) };
      };
    }),
  );

const last = <Value>(values: readonly Value[]): Value => values[values.length - 1] as Value;

const MESSAGES: readonly Attack[] = [
  ...stored('lets a read-only account be written', 'in a pipeline it', (message) => ({
    ...message,
    writableNonSigners: message.writableNonSigners + 1,
  })),
  ...stored('lets nothing be written', 'in a pipeline it', (message) => ({
    ...message,
    writableNonSigners: 0,
  })),
  ...stored('asks another account to sign', 'needs a signature of', (message) => ({
    ...message,
    signers: message.signers + 1,
  })),
  ...stored('asks nobody to sign', 'in a pipeline it', (message) => ({
    ...message,
    signers: 0,
    writableSigners: 0,
    writableNonSigners: message.writableNonSigners + 1,
  })),
  ...stored('only reads the vault', 'in a pipeline it', (message) => ({ ...message, writableSigners: 0 })),
  ...stored('names an account more', 'which no part of a pipeline needs', (message) => ({
    ...message,
    keys: [...message.keys, stranger],
  })),
  ...stored('names an account twice', 'lists an account twice', (message) => ({
    ...message,
    keys: [...message.keys, last(message.keys)],
  })),
  ...stored('takes accounts from a table', 'lookup table', (message) => ({
    ...message,
    lookups: [{ table: stranger, writableIndexes: Uint8Array.of(0), readonlyIndexes: new Uint8Array() }],
  })),
  ...stored('names a program beyond its list', 'malformed', (message) => ({
    ...message,
    instructions: message.instructions.map((one) => ({ ...one, programIndex: 200 })),
  })),
  ...stored('has no instruction', 'it does nothing', (message) => ({ ...message, instructions: [] })),
  ...stored('begins with its action', 'does not begin with the memo of a proof', (message) => ({
    ...message,
    instructions: [...message.instructions].reverse(),
  })),
  ...stored('states more signers than keys', 'malformed', (message) => ({ ...message, signers: 99 })),
  ...[0, 1, 2].map((at) =>
    attack(`message ${at + 1}: uses ephemeral signers`, 'ephemeral signers', (world) => {
      world.state = (state) => {
        const transaction = state.transactions[at];
        if (transaction !== undefined)
          state.transactions[at] = { ...transaction, ephemeralSignerBumps: Uint8Array.of(255) };
      };
    }),
  ),
  ...[0, 1, 2].map((at) =>
    attack(`message ${at + 1}: states another bump`, 'states another bump', (world) => {
      world.state = (state) => {
        const transaction = state.transactions[at];
        if (transaction !== undefined) state.transactions[at] = { ...transaction, bump: 1 };
      };
    }),
  ),
];

export const CONTENT_ATTACKS: readonly Attack[] = [...OTHER, ...FOREIGN, ...MESSAGES];
