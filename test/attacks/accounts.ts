/** Flywheels and batches whose accounts are not as they were pinned, or not what they say. */
import type { AccountState } from '../../src/chain/account.js';
import {
  SQUADS_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from '../../src/chain/programs.js';
import type { Batch, Multisig, Proposal } from '../../src/chain/squads/layouts/accounts.js';
import {
  batchTransactionAddress,
  proposalAddress,
  transactionAddress,
  vaultAddress,
} from '../../src/chain/squads/layouts/addresses.js';
import { extensionName } from '../../src/chain/tokens/extensions.js';
import type { Address } from '../../src/values/address.js';
import { batchIndex, multisig, operator, owner } from '../support/batch-on-chain.js';
import { namedAddress } from '../support/oracle.js';
import { type MintParts, type TokenAccountParts, tokenAccount } from '../support/token-accounts.js';
import { type Attack, attack } from './attack.js';
import { mint, stranger, type World } from './world.js';

const rules = (name: string, reason: string, change: (multisig: Multisig) => Partial<Multisig>): Attack =>
  attack(`multisig: ${name}`, reason, (world) => {
    world.state = (state) => {
      state.multisig = { ...state.multisig, ...change(state.multisig) };
    };
  });

const members = (...list: readonly (readonly [Address, number])[]): Partial<Multisig> => ({
  members: list.map(([key, permissions]) => ({ key, permissions })),
});

const RIGHTS = [0, 1, 2, 3, 4, 5, 6];

const MULTISIG_ATTACKS: readonly Attack[] = [
  rules('a configuration authority', `configAuthority was none and is ${stranger}`, () => ({
    configAuthority: stranger,
  })),
  rules('the operator as configuration authority', `configAuthority was none and is ${operator}`, () => ({
    configAuthority: operator,
  })),
  rules('a threshold of one', 'threshold was 2 and is 1', () => ({ threshold: 1 })),
  rules('a threshold that cannot be reached', 'threshold was 2 and is 3', () => ({ threshold: 3 })),
  rules('a time lock', 'timeLockSeconds was 0 and is 1', () => ({ timeLockSeconds: 1 })),
  rules('a long time lock', 'timeLockSeconds was 0 and is 7776000', () => ({ timeLockSeconds: 7_776_000 })),
  rules('another rent collector', 'rentCollector was', () => ({ rentCollector: stranger })),
  rules('no rent collector', 'rentCollector was', () => ({ rentCollector: null })),
  rules('the owner as rent collector', 'rentCollector was', () => ({ rentCollector: owner })),
  ...RIGHTS.map((permissions) =>
    rules(
      `a third member with rights ${permissions}`,
      `member ${stranger} was none and is`,
      ({ members: old }) => ({
        members: [...old, { key: stranger, permissions }],
      }),
    ),
  ),
  ...RIGHTS.map((permissions) =>
    rules(`an operator with rights ${permissions}`, `member ${operator} was`, () =>
      members([owner, 7], [operator, permissions]),
    ),
  ),
  ...RIGHTS.map((permissions) =>
    rules(`an owner with rights ${permissions}`, `member ${owner} was`, () =>
      members([owner, permissions], [operator, 7]),
    ),
  ),
  rules('another operator', `member ${stranger} was none`, () => members([owner, 7], [stranger, 7])),
  rules('no owner', `member ${owner} was`, () => members([operator, 7])),
  rules('no operator', `member ${operator} was`, () => members([owner, 7])),
  rules('another create key', 'is not at the address of a multisig', () => ({ createKey: stranger })),
  rules('another bump', 'is not at the address of a multisig', ({ bump }) => ({ bump: bump - 1 })),
  rules('a batch that is stale', 'is stale', () => ({ staleTransactionIndex: batchIndex })),
];

const batch = (name: string, reason: string, change: (batch: Batch) => Partial<Batch>): Attack =>
  attack(`batch: ${name}`, reason, (world) => {
    world.state = (state) => {
      state.batch = { ...state.batch, ...change(state.batch) };
    };
  });

const proposal = (name: string, reason: string, change: Partial<Proposal>): Attack =>
  attack(`proposal: ${name}`, reason, (world) => {
    world.state = (state) => {
      state.proposal = { ...state.proposal, ...change };
    };
  });

const status = (kind: 'Draft' | 'Rejected' | 'Approved' | 'Executed' | 'Cancelled'): Attack =>
  proposal(kind, `is ${kind}`, { status: { kind, timestamp: 1n } });

const BATCH_ATTACKS: readonly Attack[] = [
  batch('of another multisig', 'says it is number', () => ({ multisig: stranger })),
  batch('of another number', 'says it is number', () => ({ index: batchIndex + 1n })),
  batch('of another bump', 'says it is number', ({ bump }) => ({ bump: bump - 1 })),
  batch('set up by a stranger', 'was set up by', () => ({ creator: stranger })),
  batch('of another vault', 'acts for the vault', () => ({
    vaultIndex: 1,
    vaultBump: vaultAddress(multisig, 1).bump,
  })),
  batch('of another vault bump', 'acts for another address', ({ vaultBump }) => ({
    vaultBump: vaultBump - 1,
  })),
  batch('of no transactions', 'holds no transaction', () => ({ size: 0 })),
  attack(
    'batch: of fewer transactions than there are',
    'not what was expected',
    (world) => {
      world.state = (state) => {
        state.batch = { ...state.batch, size: 2 };
      };
    },
    'airdrop 2 to',
  ),
  batch('of more transactions than there are', 'does not exist', () => ({ size: 4 })),
  batch('of 1,000 transactions, of which three are there', 'does not exist', () => ({ size: 1_000 })),
  batch('of 1,001 transactions', 'the limit is 1000', () => ({ size: 1_001 })),
  batch('of 4,294,967,295 transactions', 'the limit is 1000', () => ({ size: 4_294_967_295 })),
  batch('that has begun to run', 'have already run', () => ({ executedTransactionIndex: 1 })),
  proposal('of another multisig', 'says it is for number', { multisig: stranger }),
  proposal('of another number', 'says it is for number', { transactionIndex: 8n }),
  proposal('of another bump', 'says it is for number', { bump: 1 }),
  status('Draft'),
  status('Rejected'),
  status('Executed'),
  status('Cancelled'),
  attack('approval file: of another multisig', 'The batch is of the multisig', (world) => {
    world.batch.multisig = stranger;
  }),
  attack('approval file: of another batch', 'is for the proposal', (world) => {
    world.batch.batchIndex = '8';
  }),
  ...['0', '18446744073709551616', '99999999999999999999'].map((index) =>
    attack(`approval file: of batch ${index}`, 'No batch can have the index', (world) => {
      world.batch.batchIndex = index;
    }),
  ),
];

const mints = (name: string, reason: string, change: Partial<MintParts>): Attack =>
  attack(`mint: ${name}`, reason, (world) => {
    Object.assign(world.mint, change);
  });

/** Sizes of what each extension of a mint holds (spl-token-2022). */
const MINT_EXTENSIONS: readonly (readonly [type: number, bytes: number])[] = [
  ...([
    [1, 108],
    [3, 32],
    [4, 65],
    [6, 1],
    [9, 0],
    [10, 52],
    [12, 32],
    [14, 64],
    [16, 129],
    [18, 64],
  ] as const),
  ...([
    [19, 80],
    [20, 64],
    [21, 80],
    [22, 64],
    [23, 72],
    [24, 100],
    [25, 56],
    [26, 33],
    [28, 32],
    [29, 8],
    [99, 1],
  ] as const),
];
/** Those with which a batch could do other than it says; all others are only new. */
const REFUSED = new Set([9, 14, 24, 26, 28, 29, 99]);

const extended = (type: number, bytes: number): Attack =>
  attack(
    `mint: extension ${extensionName(type)}`,
    REFUSED.has(type)
      ? `has the extension ${extensionName(type)}`
      : `mint.${extensionName(type)} was none and is`,
    (world) => {
      world.mint.tokenProgram = TOKEN_2022_PROGRAM;
      world.mint.extensions = [{ type, data: Buffer.alloc(bytes, 1) }];
    },
  );

const MINT_ATTACKS: readonly Attack[] = [
  mints('somebody can mint', `mint.mintAuthority was none and is ${stranger}`, { mintAuthority: stranger }),
  mints('somebody can freeze', `mint.freezeAuthority was none and is ${stranger}`, {
    freezeAuthority: stranger,
  }),
  ...[0, 5, 7, 9, 255].map((decimals) =>
    mints(`${decimals} decimals`, `mint.decimals was 6 and is ${decimals}`, { decimals }),
  ),
  ...[0, 1, 12_345_679_499_999].map((supply) =>
    mints(`a supply of ${supply}`, 'would ', { supply: BigInt(supply) }),
  ),
  attack('mint: is gone', 'is not a mint', (world) => {
    world.accounts = (accounts) => accounts.delete(mint);
  }),
  attack('mint: is no mint', 'is not a mint', (world) => {
    world.accounts = (accounts) => accounts.set(mint, tokenAccount(world.vaultAccount));
  }),
  attack('mint: belongs to another program', 'is not a mint', (world) => {
    world.accounts = (accounts) =>
      accounts.set(mint, { ...(accounts.get(mint) as AccountState), owner: SYSTEM_PROGRAM });
  }),
  attack('mint: belongs to the other token program', 'mint.tokenProgram was', (world) => {
    world.mint.tokenProgram = world.kind === 'token' ? TOKEN_2022_PROGRAM : TOKEN_PROGRAM;
  }),
  ...MINT_EXTENSIONS.map(([type, bytes]) => extended(type, bytes)),
];

const vaults = (name: string, reason: string, change: Partial<TokenAccountParts>): Attack =>
  attack(`vault account: ${name}`, reason, (world) => {
    Object.assign(world.vaultAccount, change);
  });

const VAULT_ATTACKS: readonly Attack[] = [
  vaults('a delegate', `vaultAccount.delegate was none and is ${stranger}`, {
    delegate: stranger,
    delegatedAmount: 1n,
  }),
  vaults('a delegate of nothing yet', `vaultAccount.delegate was none and is ${stranger}`, {
    delegate: stranger,
  }),
  vaults('the operator as delegate', `vaultAccount.delegate was none and is ${operator}`, {
    delegate: operator,
    delegatedAmount: 1n,
  }),
  vaults('somebody can close it', `vaultAccount.closeAuthority was none and is ${stranger}`, {
    closeAuthority: stranger,
  }),
  vaults('frozen', 'vaultAccount.state was initialized and is frozen', { state: 2 }),
  vaults('not initialized', 'is not a token account of the mint', { state: 0 }),
  vaults('of another owner', 'vaultAccount.owner was', { owner: stranger }),
  vaults('of another mint', 'is not a token account of the mint', { mint: namedAddress('other mint') }),
  vaults('empty', 'would fail', { amount: 0n }),
  vaults('one base unit short', 'would fail', { amount: 12_345_681_500_000n }),
  ...(
    [
      [8, 1],
      [11, 1],
      [13, 0],
      [15, 1],
      [27, 0],
    ] as const
  ).map(([type, bytes]) =>
    attack(
      `vault account: extension ${extensionName(type)}`,
      // One of the older program cannot have any: there the whole token is another.
      'vaultAccount.',
      (world) => {
        Object.assign(world.vaultAccount, { tokenProgram: TOKEN_2022_PROGRAM });
        world.mint.tokenProgram = TOKEN_2022_PROGRAM;
        world.vaultAccount.extensions = [{ type, data: Buffer.alloc(bytes, 1) }];
      },
    ),
  ),
  attack('vault account: is gone', 'vaultAccount.address was', (world) => {
    world.accounts = (accounts) => accounts.delete(world.flywheel.vaultTokenAccount);
  }),
  attack('vault: cannot pay for the accounts', 'would fail', (world) => {
    world.vaultLamports = 1_000_000n;
  }),
];

/** The accounts of Squads, by what the reader calls them. */
const PLACES: readonly (readonly [string, Address])[] = [
  ['Multisig', multisig],
  ['Batch', transactionAddress(multisig, batchIndex).address],
  ['Proposal', proposalAddress(multisig, batchIndex).address],
  ...[1, 2, 3].map(
    (number) =>
      [`VaultBatchTransaction`, batchTransactionAddress(multisig, batchIndex, number).address] as const,
  ),
];

const replaced = (world: World, at: Address, change: (account: AccountState) => AccountState): void => {
  world.accounts = (accounts) => accounts.set(at, change(accounts.get(at) as AccountState));
};

const FORGED: readonly Attack[] = PLACES.flatMap(([name, at], index) => [
  attack(`${name} ${index}: is gone`, `The ${name} account ${at} does not exist`, (world) => {
    world.accounts = (accounts) => accounts.delete(at);
  }),
  ...[SYSTEM_PROGRAM, TOKEN_PROGRAM, stranger].map((program) =>
    attack(`${name} ${index}: belongs to ${program}`, `belongs to ${program}`, (world) =>
      replaced(world, at, (account) => ({ ...account, owner: program })),
    ),
  ),
  attack(`${name} ${index}: of another type`, `does not hold a ${name}`, (world) =>
    replaced(world, at, (account) => {
      const data = Buffer.from(account.data as Uint8Array);
      data[0] = (data[0] ?? 0) ^ 1;
      return { ...account, owner: SQUADS_PROGRAM, data };
    }),
  ),
  ...[0, 7, 8, 40].map((length) =>
    attack(`${name} ${index}: cut to ${length} bytes`, `does not hold a ${name}`, (world) =>
      replaced(world, at, (account) => ({
        ...account,
        data: Buffer.from(account.data as Uint8Array).subarray(0, length),
      })),
    ),
  ),
]);

export const ACCOUNT_ATTACKS: readonly Attack[] = [
  ...MULTISIG_ATTACKS,
  ...BATCH_ATTACKS,
  ...MINT_ATTACKS,
  ...VAULT_ATTACKS,
  ...FORGED,
];
