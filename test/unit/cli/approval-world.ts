/** An honest batch for the commands that read or approve it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  pipelineContent,
  pipelineInstructions,
  type SourcePipeline,
} from '../../../src/actions/pipelines.js';
import { multisigFacts, tokenFacts } from '../../../src/approval/flywheel-facts.js';
import type { Limits } from '../../../src/approval/limits.js';
import type { Pins } from '../../../src/approval/pins.js';
import type { ChainReader } from '../../../src/chain/chain.js';
import type { Flywheel } from '../../../src/chain/flywheel.js';
import { createSimulator } from '../../../src/chain/local/simulator.js';
import { associatedTokenAddress } from '../../../src/chain/squads/addresses.js';
import { proposalApprove } from '../../../src/chain/squads/builders.js';
import { decodeMint, decodeTokenAccount, type Mint } from '../../../src/chain/tokens/accounts.js';
import type { Instruction } from '../../../src/chain/transaction/message.js';
import { compileV0Message } from '../../../src/chain/transaction/wire.js';
import type { OpenedService } from '../../../src/cli/context.js';
import type { Service } from '../../../src/contract/service.js';
import type { Address } from '../../../src/values/address.js';
import { sha256 } from '../../../src/values/digest.js';
import {
  type Accounts,
  accountsOf,
  type BatchState,
  batchIndex,
  batchState,
  multisig,
  operator,
  owner,
  ownerKeypair,
  vaultAt,
} from '../../support/batch-on-chain.js';
import { type TestCliOptions, testCli } from '../../support/in-process.js';
import { namedAddress } from '../../support/oracle.js';
import { partiallySign } from '../../support/sign.js';
import {
  type MintParts,
  mintAccount,
  TOKEN_PROGRAMS,
  type TokenAccountParts,
  tokenAccount,
  wallet,
} from '../../support/token-accounts.js';

export type TokenKind = keyof typeof TOKEN_PROGRAMS;

const DECIMALS = 6;
export const mint = namedAddress('mint');
const BATCH_ID = '5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11';
const blockhash = namedAddress('blockhash');

export const [alice, bob] = [namedAddress('alice'), namedAddress('bob')];

export const FILE = [
  { type: 'PRODUCT_BUY', payload: { orderId: 'A-1' }, actions: [{ action: 'BURN', amount: 1.5 }] },
  {
    type: 'WATCH_AD',
    payload: { viewId: 7 },
    actions: [
      { action: 'AIRDROP', toAddress: alice, amount: 2 },
      { action: 'MEMO', message: 'thank you' },
      { action: 'AIRDROP', toAddress: bob, amount: 0.000001 },
    ],
  },
  { type: 'PRODUCT_BUY', payload: { orderId: 'A-2' }, actions: [{ action: 'BURN', amount: 12_345_678 }] },
] as const;

export const HONEST: readonly SourcePipeline[] = FILE.map(({ type, payload, actions }) => ({
  type,
  proofHash: sha256(JSON.stringify(payload)),
  actions: [...actions],
}));

export const compiled = (pipelines: readonly SourcePipeline[], flywheel: Flywheel): Instruction[][] =>
  pipelines.map((pipeline) => [...pipelineInstructions(pipelineContent(pipeline, DECIMALS), flywheel)]);

export interface World {
  readonly kind: TokenKind;
  readonly flywheel: Flywheel;
  instructions: Instruction[][];
  /** Changes the Squads accounts before they are written. */
  state: (state: BatchState) => void;
  mint: MintParts;
  vaultAccount: TokenAccountParts;
  vaultLamports: bigint;
  wire: Uint8Array;
  /** As the approval file names it. */
  batch: { id: string; multisig: string; batchIndex: string };
}

export function honestWorld(kind: TokenKind): World {
  const tokenProgram = TOKEN_PROGRAMS[kind];
  const vault = vaultAt.address;
  const vaultTokenAccount = associatedTokenAddress(vault, mint, tokenProgram);
  const flywheel: Flywheel = {
    ...{ multisig, owner, operator, vaultIndex: 0, vault, vaultTokenAccount, mint, tokenProgram },
    decimals: DECIMALS,
  };
  const immutableOwner = kind === 'token' ? [] : [{ type: 7, data: new Uint8Array() }];
  return {
    kind,
    flywheel,
    instructions: compiled(HONEST, flywheel),
    state: () => undefined,
    mint: {
      ...{ tokenProgram, decimals: DECIMALS, mintAuthority: null, freezeAuthority: null },
      ...{ supply: 1_000_000_000_000_000n, extensions: [] },
    },
    vaultAccount: {
      ...{ tokenProgram, mint, owner: vault, amount: 100_000_000_000_000n, delegate: null },
      ...{ delegatedAmount: 0n, state: 1, closeAuthority: null, extensions: immutableOwner },
    },
    vaultLamports: 10_000_000_000n,
    wire: partiallySign(
      compileV0Message({
        ...{ payer: operator, blockhash },
        instructions: [proposalApprove({ multisig, batchIndex, member: owner })],
      }),
      [],
    ),
    batch: { id: BATCH_ID, multisig, batchIndex: String(batchIndex) },
  };
}

/** The owner's pins of the honest world. */
export function pinsOf({ flywheel, mint: rules, vaultAccount }: World): Pins {
  const { vaultTokenAccount } = flywheel;
  const state = batchState();
  return {
    ...{ multisig, owner, operator, vaultIndex: 0, mint },
    facts: {
      ...multisigFacts(state.multisig),
      ...tokenFacts(
        vaultTokenAccount,
        decodeMint(mintAccount(rules)) as Mint,
        decodeTokenAccount(tokenAccount(vaultAccount)) ?? null,
      ),
    },
  };
}

function accountsOfWorld(world: World): Accounts {
  const state = batchState(world.instructions);
  world.state(state);
  const accounts = accountsOf(state);
  accounts.set(mint, mintAccount(world.mint));
  accounts.set(world.flywheel.vaultTokenAccount, tokenAccount(world.vaultAccount));
  accounts.set(world.flywheel.vault, wallet(world.vaultLamports));
  return accounts;
}

const unplanned = (): never => {
  throw new TypeError('not planned in this test');
};

function readerOf(accounts: Accounts): ChainReader {
  return {
    getAccounts: async (addresses: readonly Address[]) =>
      addresses.map((address) => accounts.get(address) ?? null),
    isBlockhashValid: async () => true,
    latestBlockhash: async () => ({ blockhash: namedAddress('newer'), lastValidBlockHeight: 1n }),
    lookUp: unplanned,
    history: async () => [],
  };
}

/** Approving calls no service. */
const closedService = new Proxy({} as Service, { get: unplanned });

/** Shared: a run leaves no state in the machine. */
const simulator = createSimulator();

export interface Approved {
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
  /** The output with each sentence on one line, however the terminal wraps it. */
  readonly said: string;
  readonly questions: readonly string[];
  /** The error, if it was refused. */
  readonly message: string;
}

interface ApproveOptions {
  readonly answer?: string;
  /** Directory with the record of earlier approvals. */
  readonly home?: string;
  readonly limits?: Limits;
}

export const chainIn = (world: World): ChainReader => readerOf(accountsOfWorld(world));

export const openedIn = (world: World): Partial<OpenedService> => ({
  kind: 'remote',
  chain: chainIn(world),
  service: closedService,
  pins: pinsOf(honestWorld(world.kind)),
  simulator: async () => simulator,
});

/** @returns the path of the approval file. */
export function approvalIn(home: string, world: World): string {
  const approval = join(home, 'approval.json');
  const proposalApproveTx = Buffer.from(world.wire).toString('base64');
  writeFileSync(approval, JSON.stringify({ batch: world.batch, proposalApproveTx }));
  return approval;
}

/** Runs `batch approve` in a world: as a script with `expecting`, otherwise on a terminal with this answer. */
export async function approve(
  world: World,
  { answer, home, limits }: ApproveOptions = {},
): Promise<Approved> {
  const isTerminal = answer !== undefined;
  const cli = testCli({
    ...(home === undefined ? {} : { home }),
    ...(isTerminal ? { tty: { stdin: true, stdout: true, stderr: true }, answers: [answer] } : {}),
    opened: openedIn(world),
  });
  if (limits !== undefined) writeProfile(cli.home, limits);
  const owned = join(cli.home, 'owner.json');
  writeFileSync(owned, JSON.stringify([...ownerKeypair]), { mode: 0o600 });
  const expected = join(cli.home, 'pipelines.json');
  writeFileSync(expected, JSON.stringify(FILE));
  const words = ['batch', 'approve', approvalIn(cli.home, world), '--keypair', owned];
  const script = ['--expect', expected, '--yes', '--json'];
  const ended = await cli.run(...words, ...(isTerminal ? [] : script));
  return { ...ended, said: ended.stderr.replaceAll('\n   ', ' '), message: messageOf(ended.stderr) };
}

function writeProfile(home: string, limits: Limits): void {
  const directory = join(home, '.config', 'flywheel');
  mkdirSync(directory, { recursive: true });
  const profiles = { main: { limits } };
  writeFileSync(join(directory, 'profiles.json'), JSON.stringify({ current: 'main', profiles }));
}

/** Runs `batch inspect` in a world, in text output. */
export async function inspect(
  world: World,
  opened: Partial<OpenedService> = {},
  options: TestCliOptions = {},
): Promise<{ readonly exit: number; readonly stdout: string; readonly stderr: string }> {
  const cli = testCli({
    tty: { stdin: true, stdout: true, stderr: true },
    env: { NO_COLOR: '1' },
    opened: { ...openedIn(world), ...opened },
    ...options,
  });
  return cli.run('batch', 'inspect', approvalIn(cli.home, world));
}

function messageOf(stderr: string): string {
  const line = stderr.split('\n').find((text) => text.startsWith('{"error"'));
  return line === undefined ? stderr : String((JSON.parse(line) as { message: string }).message);
}
