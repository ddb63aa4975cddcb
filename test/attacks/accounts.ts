/** Attacks on accounts of projects and batches: they differ from the pins, or are inconsistent. */
import { TOKEN_PROGRAM_ID } from '@solana/spl-token';
import { type PublicKey, SystemProgram } from '@solana/web3.js';
import { getVaultPda } from '@sqds/multisig';
import {
  type Account,
  type Accounts,
  type Attack,
  accountOf,
  attack,
  compiled,
  type Facts,
  FILE,
  honestWorld,
  KEYS,
  key,
  type Limits,
  type MintParts,
  PLACES,
  PROGRAMS,
  type State,
  tokenAccount,
  type VaultParts,
  type World,
} from './world.js';

const { alice, mint, multisig, operator, owner, stranger } = KEYS;
const at = (one: PublicKey): string => one.toBase58();

const changed =
  <Part extends 'multisig' | 'batch' | 'proposal'>(part: Part) =>
  (
    name: string,
    facts: Facts,
    change: Partial<State[Part]> | ((old: State[Part]) => Partial<State[Part]>),
  ): Attack =>
    attack(`${part}: ${name}`, facts, (world) => {
      world.state = (state) =>
        Object.assign(state[part], typeof change === 'function' ? change(state[part]) : change);
    });
const [rules, batch, proposal] = [changed('multisig'), changed('batch'), changed('proposal')];

const members = (...list: readonly (readonly [PublicKey, number])[]): Partial<State['multisig']> => ({
  members: list.map(([one, mask]) => ({ key: one, permissions: { mask } })),
});
/** Each permission is a bit: 1 initiate, 2 vote, 4 execute. */
const RIGHTS = [0, 1, 2, 3, 4, 5, 6];

/** The pins have the same permissions: the member already had them when the owner pinned. */
const silent = (who: 'owner' | 'operator', mask: number, text: string): Attack =>
  attack(
    `multisig: pinned with an ${who} of rights ${mask}`,
    ['vote', { owner, operator }[who], multisig],
    (world) => {
      world.state = ({ multisig: one }) =>
        Object.assign(
          one,
          who === 'owner' ? members([owner, mask], [operator, 7]) : members([owner, 7], [operator, mask]),
        );
      Object.assign(world.pins.facts ?? {}, { [`member ${{ owner, operator }[who]}`]: text });
    },
  );

const MULTISIG: readonly Attack[] = [
  rules('a configuration authority', ['configAuthority', stranger], { configAuthority: stranger }),
  rules('the operator decides over it', ['configAuthority', operator], { configAuthority: operator }),
  rules('a threshold of one', ['threshold', '2', '1'], { threshold: 1 }),
  rules('a threshold out of reach', ['threshold', '2', '3'], { threshold: 3 }),
  rules('a time lock', ['timeLock', '1'], { timeLock: 1 }),
  rules('a long time lock', ['timeLock', '7776000'], { timeLock: 7_776_000 }),
  rules('another rent collector', ['rentCollector', stranger], { rentCollector: stranger }),
  rules('no rent collector', ['rentCollector', 'none'], { rentCollector: null }),
  rules('the owner as rent collector', ['rentCollector', owner], { rentCollector: owner }),
  ...RIGHTS.flatMap((mask) => [
    rules(`a third member of rights ${mask}`, [`member ${stranger}`], ({ members: old }) => ({
      members: [...old, { key: stranger, permissions: { mask } }],
    })),
    rules(`an operator of rights ${mask}`, [`member ${operator}`], members([owner, 7], [operator, mask])),
    rules(`an owner of rights ${mask}`, [`member ${owner}`], members([owner, mask], [operator, 7])),
  ]),
  rules('another operator', [`member ${stranger}`], members([owner, 7], [stranger, 7])),
  rules('no owner', [`member ${owner}`], members([operator, 7])),
  rules('no operator', [`member ${operator}`], members([owner, 7])),
  rules('another create key', ['address', multisig], { createKey: stranger }),
  rules('another bump', ['address', multisig], ({ bump }) => ({ bump: bump - 1 })),
  rules('a batch that settings have overtaken', ['stale', '7'], { staleTransactionIndex: 7 }),
  attack('multisig: a batch that settings have overtaken after its approval', ['stale', '7'], (world) => {
    world.state = ({ multisig: one, proposal: votes }) => {
      Object.assign(one, { staleTransactionIndex: 7 });
      Object.assign(votes, { approved: [owner] });
    };
  }),
  silent('owner', 5, 'initiate, execute'),
  silent('operator', 5, 'initiate, execute'),
  attack('pins: without facts', 'pinned', (world) => {
    delete world.pins.facts;
  }),
];

const status = (
  kind: 'Draft' | 'Rejected' | 'Approved' | 'Executed' | 'Cancelled',
  more: object = {},
): Attack =>
  proposal(`${kind} ${Object.keys(more)}`, kind, { status: { __kind: kind, timestamp: 1 }, ...more });

const [, second] = getVaultPda({ multisigPda: multisig, index: 1 });
const file = (name: string, facts: Facts, change: Partial<World['batch']>): Attack =>
  attack(`approval file: ${name}`, facts, (world) => Object.assign(world.batch, change));

const BATCH: readonly Attack[] = [
  batch('of another multisig', ['number 7', stranger], { multisig: stranger }),
  batch('of another number', ['number 8', multisig], { index: 8 }),
  batch('of another bump', ['number 7', multisig], ({ bump }) => ({ bump: bump - 1 })),
  batch('set up by a stranger', [stranger, operator], { creator: stranger }),
  batch('of another vault', 'vault', { vaultIndex: 1, vaultBump: second }),
  batch('of another vault bump', 'vault', ({ vaultBump }) => ({ vaultBump: vaultBump - 1 })),
  batch('of no transactions', 'no transaction', { size: 0 }),
  { ...batch('of fewer transactions than there are', 'pipelines', { size: 2 }), shown: FILE.slice(0, 2) },
  batch('of more transactions than there are', ['VaultBatchTransaction', 'exist'], { size: 4 }),
  batch('of 1,000 transactions', ['VaultBatchTransaction', 'exist'], { size: 1_000 }),
  ...[1_001, 4_294_967_295].map((size) => batch(`of ${size}`, [String(size), '1000'], { size })),
  batch('that has begun to run', ['1 transaction', 'executed'], { executedTransactionIndex: 1 }),
  proposal('of another multisig', ['number 7', stranger], { multisig: stranger }),
  proposal('of another number', ['number 8', multisig], { transactionIndex: 8 }),
  proposal('of another bump', ['number 7', multisig], { bump: 1 }),
  ...(['Draft', 'Rejected', 'Approved', 'Executed', 'Cancelled'] as const).map((kind) => status(kind)),
  // The owner's vote has no effect if the proposal is in another status, or has another member's vote.
  ...(['Rejected', 'Executed', 'Cancelled'] as const).map((kind) => ({
    ...status(kind, { approved: [owner] }),
    facts: ['already approved', owner],
  })),
  file('of another multisig', [stranger, multisig], { multisig: at(stranger) }),
  file('of another batch', ['proposal', 'batch 8'], { batchIndex: '8' }),
  ...['0', '18446744073709551616', '99999999999999999999'].map((batchIndex) =>
    file(`of batch ${batchIndex}`, ['index', batchIndex], { batchIndex }),
  ),
];

/** Replaces an account; `null` removes it. */
const placed = (
  name: string,
  facts: Facts,
  place: string,
  change: (old: Account, all: Accounts) => Account | null,
): Attack =>
  attack(name, facts, (world) => {
    world.accounts = (accounts) => {
      const found = change(accounts.get(place) as Account, accounts);
      return found === null ? accounts.delete(place) : accounts.set(place, found);
    };
  });

const mints = (name: string, facts: Facts, change: Partial<MintParts>): Attack =>
  attack(`mint: ${name}`, facts, (world) => Object.assign(world.mint, change));

/** Extensions of a mint: name, number, bytes (spl-token-2022). The second list makes a batch do something else than it shows. */
const PLAIN = `
  transferFeeConfig 1 108, mintCloseAuthority 3 32, confidentialTransferMint 4 65, defaultAccountState 6 1,
  interestBearingConfig 10 52, permanentDelegate 12 32, confidentialTransferFeeConfig 16 129, metadataPointer 18 64,
  tokenMetadata 19 80, groupPointer 20 64, tokenGroup 21 80, groupMemberPointer 22 64, tokenGroupMember 23 72,
  scaledUiAmount 25 56`;
const UNFORESEEN = `
  nonTransferable 9 0, transferHook 14 64, confidentialMintBurn 24 100, pausable 26 33, permissionedBurn 28 32,
  29 29 8, 99 99 1`;
const extensions = (table: string, facts: (name: string) => Facts): readonly Attack[] =>
  table.split(',').map((row) => {
    const [name = '', type, bytes] = row.trim().split(' ');
    const extension = { type: Number(type), data: Buffer.alloc(Number(bytes), 1) };
    const change = { program: PROGRAMS['token-2022'], extensions: [extension] };
    return mints(`extension ${name}`, facts(name), change);
  });

/** A mint of Token-2022 before its first extension. */
const withType = (data: Uint8Array): Buffer =>
  Buffer.concat([data.subarray(0, 82), Buffer.alloc(83), Buffer.of(1)]);

const MINT: readonly Attack[] = [
  mints('somebody can mint', ['mint.mintAuthority', stranger], { mintAuthority: stranger }),
  mints('somebody can freeze', ['mint.freezeAuthority', stranger], { freezeAuthority: stranger }),
  ...[0, 5, 7, 9, 255].map((decimals) =>
    mints(`${decimals} decimals`, ['mint.decimals', '6', String(decimals)], { decimals }),
  ),
  mints('a supply of nothing', [], { supply: 0n }),
  mints('less than is burned', [], { supply: 12_345_679_499_999n }),
  placed('mint: is gone', ['mint', mint], at(mint), () => null),
  placed('mint: is a token account', ['mint', mint], at(mint), () =>
    tokenAccount(honestWorld().vaultAccount),
  ),
  placed('mint: belongs to another program', ['mint', mint], at(mint), (old) => ({
    ...old,
    owner: at(SystemProgram.programId),
  })),
  ...(
    [
      [
        'is not initialized',
        (data) => Buffer.concat([data.subarray(0, 45), Buffer.of(0), data.subarray(46)]),
      ],
      ['is cut', (data) => data.subarray(0, 81)],
      ['is longer', (data) => Buffer.concat([data.subarray(0, 82)], 170)],
      ['has the size of a multisig', (data) => Buffer.concat([withType(data)], 355)],
      [
        'has an extension that is cut',
        (data) => Buffer.concat([withType(data), Buffer.of(12, 0, 32, 0)], 180),
      ],
    ] as const satisfies readonly (readonly [string, (data: Uint8Array) => Buffer | Uint8Array])[]
  ).map(([name, change]) =>
    placed(`mint: ${name}`, ['mint', mint], at(mint), ({ data, ...old }) => ({ ...old, data: change(data) })),
  ),
  attack('mint: belongs to the other token program', 'mint.tokenProgram', ({ token, mint: one }) => {
    one.program = token.program === PROGRAMS.token ? PROGRAMS['token-2022'] : PROGRAMS.token;
  }),
  ...extensions(PLAIN, (name) => `mint.${name}`),
  ...extensions(UNFORESEEN, (name) => ['mint', mint, name]),
];

const vaults = (name: string, facts: Facts, change: Partial<VaultParts>): Attack =>
  attack(`vault account: ${name}`, facts, (world) => Object.assign(world.vaultAccount, change));

const VAULT: readonly Attack[] = [
  vaults('a delegate', ['vaultAccount.delegate', stranger], { delegate: stranger, delegatedAmount: 1n }),
  vaults('a delegate of nothing yet', ['vaultAccount.delegate', stranger], { delegate: stranger }),
  vaults('the operator as delegate', ['vaultAccount.delegate', operator], { delegate: operator }),
  vaults('somebody can close it', ['vaultAccount.closeAuthority', stranger], { closeAuthority: stranger }),
  vaults('frozen', ['vaultAccount.state', 'frozen'], { state: 2 }),
  vaults('not initialized', ['token account', mint], { state: 0 }),
  vaults('of another owner', ['vaultAccount.owner', stranger], { owner: stranger }),
  vaults('of another mint', ['token account', mint], { mint: key('other mint') }),
  attack('vault account: of the other token program', ['token account', mint], ({ token, vaultAccount }) => {
    vaultAccount.program = token.program === PROGRAMS.token ? PROGRAMS['token-2022'] : PROGRAMS.token;
  }),
  vaults('empty', ['Transaction 1', 'fail'], { amount: 0n }),
  vaults('one base unit short', ['Transaction 3', 'fail'], { amount: 12_345_681_500_000n }),
  ...([8, 11, 13, 15, 27] as const).map((type) =>
    // The older program has no extensions: there the whole token is another.
    attack(`vault account: extension ${type}`, 'vaultAccount.', ({ mint: one, vaultAccount }) => {
      one.program = PROGRAMS['token-2022'];
      const data = Buffer.alloc(type === 13 || type === 27 ? 0 : 1, 1);
      Object.assign(vaultAccount, { program: one.program, extensions: [{ type, data }] });
    }),
  ),
  attack('vault account: is gone', 'vaultAccount.address', (world) => {
    world.accounts = (accounts) => accounts.delete(at(world.token.account));
  }),
  attack('vault: cannot pay for the accounts', ['Transaction 2', 'fail'], (world) => {
    world.vaultLamports = 1_000_000n;
  }),
];

const FORGED: readonly Attack[] = PLACES.flatMap(([name, place], n) => {
  const forged = (what: string, facts: Facts, change: (old: Account, all: Accounts) => Account | null) =>
    placed(`${name} ${n}: ${what}`, [name, place, ...[facts].flat()], place, change);
  return [
    forged('is gone', 'exist', () => null),
    ...[SystemProgram.programId, TOKEN_PROGRAM_ID, stranger].map((program) =>
      forged(`belongs to ${program}`, program, (old) => ({ ...old, owner: at(program) })),
    ),
    forged('of another type', 'hold', (old) => ({
      ...old,
      data: Buffer.concat([Buffer.of((old.data[0] ?? 0) ^ 1), old.data.slice(1)]),
    })),
    ...[0, 7, 8, 40].map((length) =>
      forged(`cut to ${length} bytes`, 'hold', (old) => ({ ...old, data: old.data.slice(0, length) })),
    ),
    forged(
      'another account of the batch',
      'hold',
      (_, all) => all.get(PLACES[n === 1 ? 2 : 1]?.[1] ?? '') ?? null,
    ),
  ];
});

/** Honest accounts, but the virtual machine moves one base unit to an unnamed account. */
const machine = (name: string, facts: Facts, account: (world: World) => PublicKey, offset: number): Attack =>
  attack(`trial: ${name}`, facts, (world) => {
    world.machine = { account: account(world), offset };
  });
/** Offsets of a mint's supply and a token account's amount. */
const [SUPPLY, AMOUNT] = [36, 64];

const limit = (name: string, facts: Facts, limits: Limits): Attack =>
  attack(`limit: ${name}`, facts, (world) => {
    world.limits = limits;
  });
const TOTAL = '12345681.500001';

/** Refusals that also stop honest batches, so nothing is shown. */
const OWN: readonly Attack[] = [
  machine('the supply loses more', ['supply', '12345679500001', '12345679500000'], () => mint, SUPPLY),
  machine('the vault loses more', '12345681500002', ({ token }) => token.account, AMOUNT),
  machine('alice gets less', ['1999999', '2000000'], ({ token }) => accountOf(token, alice), AMOUNT),
  limit('tokens a batch', ['12345681.5', TOTAL], { batchTokens: '12345681.5' }),
  limit('no tokens', ['0', TOTAL], { batchTokens: '0' }),
  limit('tokens a day', ['12345681.500000999', TOTAL], { dayTokens: '12345681.500000999' }),
];

/** Exactly at all limits. */
export const ALLOWED: Limits = { batchTokens: TOTAL, dayTokens: TOTAL };

/** A fee of one percent, withheld at the recipient: two authorities, the sum, then twice epoch, maximum and rate. */
export function worldWithFee(): World {
  const world = honestWorld('token-2022');
  const rate = Buffer.alloc(18);
  rate.writeBigUInt64LE(1n << 60n, 8);
  rate.writeUInt16LE(100, 16);
  world.mint.extensions = [{ type: 1, data: Buffer.concat([Buffer.alloc(72), rate, rate]) }];
  const fee = `100 basis points up to ${1n << 60n} from epoch 0`;
  Object.assign(world.pins.facts ?? {}, {
    'mint.transferFeeConfig': `changed by none, withdrawn by none, ${fee}, then ${fee}`,
  });
  return world;
}

type Change = readonly [name: string, change: (world: World) => unknown];
const state = (name: string, change: World['state']): Change => [
  name,
  (world) => {
    world.state = change;
  },
];
/** Changes between judgement and execution that must be detected. */
export const CHANGES: readonly Change[] = [
  [
    'another holds as many',
    (world) => {
      world.instructions = compiled([...FILE].reverse(), world.token);
    },
  ],
  ['a byte of an instruction is another', ({ instructions: [first] }) => first?.[1]?.data.writeUInt8(9, 1)],
  state(
    'an account may be written',
    ({ transactions: [first] }) => (first as State['transactions'][number]).message.numWritableNonSigners++,
  ),
  state('the program would sign for one more', ({ transactions: [first] }) =>
    Object.assign(first ?? {}, { ephemeralSignerBumps: Uint8Array.of(1) }),
  ),
  state('somebody else has set it up', ({ batch: one }) => Object.assign(one, { creator: stranger })),
  state('it holds fewer', ({ batch: one }) => Object.assign(one, { size: 2 })),
  state('it acts for another vault', ({ batch: one }) => Object.assign(one, { vaultIndex: 1 })),
  ['a transaction is gone', placed('', [], PLACES[4]?.[1] ?? '', () => null).change],
];

export const ACCOUNT_ATTACKS: readonly Attack[] = [
  ...MULTISIG,
  ...BATCH,
  ...MINT,
  ...VAULT,
  ...FORGED,
  ...OWN,
];
