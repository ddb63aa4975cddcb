/**
 * Batches and approvals that differ from honest ones in one thing: none is signed, and the screen shows everything that cannot be
 * refused.
 */
import { sign as signBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ACCOUNT_ATTACKS, ALLOWED, CHANGES, worldWithFee } from './accounts.js';
import { CONTENT_ATTACKS, OTHER_PARTS } from './contents.js';
import {
  isUnchanged,
  judge,
  judgeMember,
  judgeMessage,
  judgeVote,
  judgeWallet,
  type Refused,
  type Shown,
  sign,
} from './judge.js';
import { FAIR_VOTES, FAIR_WALLETS, VOTE_ATTACKS, WALLET_ATTACKS } from './votes.js';
import {
  type Attack,
  accountOf,
  accountsOf,
  blockhash,
  type Fact,
  FILE,
  hashOf,
  honestWorld,
  KEYS,
  KINDS,
  keypair,
  missing,
  OWNER,
  type Pipeline,
  type TokenKind,
  tokenAccount,
  units,
  type World,
} from './world.js';

const { multisig, operator, owner, stranger } = KEYS;
const ON_CHAIN: readonly Attack[] = [...ACCOUNT_ATTACKS, ...CONTENT_ATTACKS];
const EACH = [...VOTE_ATTACKS, ...ON_CHAIN].flatMap((one) =>
  KINDS.map((kind) => [kind, one.name, one] as const),
);

function attacked(kind: TokenKind, { change }: Attack): World {
  const world = honestWorld(kind);
  change(world);
  return world;
}

function expectRefused(found: object, facts: readonly Fact[]): void {
  expect(found).toHaveProperty('refused');
  const { code, message } = (found as Refused).refused;
  expect(code).toBe('ERR_APPROVAL_REFUSED');
  expect([message, missing(message, facts)]).toEqual([message, []]);
}

const onChain = (pipelines: readonly Pipeline[]): Shown['pipelines'] =>
  pipelines.map(({ type, payload, actions }) => ({
    ...{ type, hash: hashOf(JSON.stringify(payload)) },
    actions: actions.map((one) => ('amount' in one ? { ...one, amount: units(one.amount) } : one)),
  }));

/** The screen shows every type, hash, amount, recipient and memo, in this order. */
function expectShown(found: object, pipelines: readonly Pipeline[]): void {
  expect(found).not.toHaveProperty('refused');
  const shown = found as Shown;
  expect(shown.pipelines).toEqual(onChain(pipelines));
  let place = 0;
  const texts = pipelines.flatMap(({ type, payload, actions }) => [
    ...[type, hashOf(JSON.stringify(payload))],
    ...actions.flatMap((one) => [
      ...('amount' in one ? [one.amount.toLocaleString('en-US', { maximumFractionDigits: 6 })] : []),
      ...('toAddress' in one ? [one.toAddress] : []),
      ...('message' in one ? [one.message] : []),
    ]),
  ]);
  for (const text of texts) {
    place = shown.screen.indexOf(text, place);
    expect([text, place < 0]).toEqual([text, false]);
    place += text.length;
  }
}

describe('an honest batch', () => {
  it.each(KINDS)('of a %s flywheel is shown, with what it changes', async (kind) => {
    const world = { ...honestWorld(kind), limits: ALLOWED };
    for (const file of [FILE, null]) {
      const found = await judge(accountsOf(world), world, file);
      expectShown(found, FILE);
      expect(found).toMatchObject({
        changes: {
          supply: { before: 1_000_000_000_000_000n, after: 987_654_320_500_000n },
          vaultTokens: { before: 100_000_000_000_000n, after: 87_654_318_499_999n },
          vaultLamports: { before: 10_000_000_000n },
        },
      });
    }
  });

  it('may have been set up by its owner', async () => {
    const world = honestWorld();
    world.state = ({ batch }) => Object.assign(batch, { creator: owner });
    expectShown(await judge(accountsOf(world), world, FILE), FILE);
  });

  it('may withhold a fee that was pinned', async () => {
    const world = worldWithFee();
    const shown = await judge(accountsOf(world), world, FILE);
    expectShown(shown, FILE);
    // One percent of each airdrop, of 2,000,000 and of 1 base unit, is rounded up by the token program.
    expect(shown).toMatchObject({ changes: { withheld: 20_001n } });
  });

  it('may go to an account whose withheld fee is cut short: none of it counts', async () => {
    const world = honestWorld('token-2022');
    const cut = { ...world.vaultAccount, owner: KEYS.alice, amount: 0n };
    const extensions = [...cut.extensions, { type: 2, data: new Uint8Array(4) }];
    world.accounts = (accounts) =>
      accounts.set(accountOf(world.token, KEYS.alice).toBase58(), tokenAccount({ ...cut, extensions }));
    const shown = await judge(accountsOf(world), world, FILE);
    expectShown(shown, FILE);
    expect(shown).toMatchObject({ changes: { withheld: 0n } });
  });

  it.each(FAIR_VOTES)('may be approved by a vote %s', (_name, wire, payer, priorityFeeLamports, version) =>
    expect(judgeVote({ ...honestWorld(), wire })).resolves.toMatchObject({
      ...{ feePayer: payer.toBase58(), priorityFeeLamports, version },
      missingSignatures: expect.arrayContaining([owner.toBase58()]),
    }),
  );
});

describe('an attack', () => {
  it('is one of at least 600', () => expect(EACH.length).toBeGreaterThanOrEqual(600));

  it.each(EACH)('is not signed: %s: %s', async (kind, _name, one) => {
    const world = attacked(kind, one);
    const accounts = accountsOf(world);
    const alone = await judge(accounts, world);
    if (one.shown === undefined) expectRefused(alone, one.facts);
    else expectShown(alone, one.shown);
    // A file adds refusal reasons and removes none; this is independent of the token.
    if (kind === 'token' || one.shown !== undefined)
      expectRefused(await judge(accounts, world, FILE), one.facts);
  });
});

describe('the message of a pipeline', () => {
  it('is what its instructions become', async () => {
    const world = honestWorld();
    expect(await judgeMessage(accountsOf(world), world, FILE, 1)).toBeUndefined();
  });

  it.each(OTHER_PARTS)('has not %s', async (_name, facts, change) => {
    const world = honestWorld();
    world.instructions[1] = [...change(world.instructions[1] ?? [])];
    const problem = (await judgeMessage(accountsOf(world), world, FILE, 1)) ?? 'nothing';
    expect([problem, missing(problem, facts)]).toEqual([problem, []]);
  });
});

describe('a member', () => {
  const world = honestWorld();
  world.state = ({ multisig: one }) =>
    Object.assign(one, { members: one.members.map((found) => ({ ...found, permissions: { mask: 5 } })) });

  it('approves only who is one', async () => {
    const honest = accountsOf(honestWorld());
    expect(await judgeMember(honest, world, owner.toBase58())).not.toHaveProperty('refused');
    expectRefused(await judgeMember(honest, world, stranger.toBase58()), [stranger, 'member']);
  });

  it('approves only with the right to vote', async () =>
    expectRefused(await judgeMember(accountsOf(world), world, owner.toBase58()), [owner, 'vote']));
});

/** Attacks of every kind, and all attacks without a refusal of their own. */
const WAVERING = ON_CHAIN.filter(
  ({ name, shown }, place) =>
    shown !== undefined || (place % 6 === 0 && !/^(?:approval file|limit|trial|pins)/.test(name)),
);

describe('a node that says something else each time it is asked', () => {
  const honest = accountsOf(honestWorld());

  it.each(WAVERING.map((one) => [one.name, one] as const))(
    'has nothing else signed: %s',
    async (_name, one) => {
      const world = attacked('token', one);
      const lies = accountsOf(world);
      const found: (Shown | Refused)[] = [];
      let readings = 1;
      for (let lie = 1; lie <= readings; lie += 1) {
        let asked = 0;
        found.push(
          await judge(
            (reading) => {
              asked = reading;
              return reading === lie ? lies : honest;
            },
            world,
            FILE,
          ),
        );
        readings = Math.max(readings, asked);
        expect(asked).toBeGreaterThanOrEqual(lie);
      }
      for (const each of found) {
        if ('refused' in each) expectRefused(each, []);
        else expectShown(each, FILE);
      }
      expect(found.some((each) => 'refused' in each)).toBe(true);
    },
  );
});

describe('what a wallet gives back', () => {
  const given = { multisig: multisig.toBase58(), owner: owner.toBase58(), blockhash };

  it.each(FAIR_WALLETS)('may hold %s more', (_name, wire, priorityFeeLamports, assertions) =>
    expect(judgeWallet(wire, given)).resolves.toEqual({
      ...{ signature: expect.any(String), priorityFeeLamports, assertions },
    }),
  );

  it.each(WALLET_ATTACKS)('is not sent with %s', async (_name, facts, wire) =>
    expectRefused(await judgeWallet(wire, given), facts),
  );
});

describe('a signature', () => {
  it.each([
    ['first', FAIR_VOTES[1]?.[1] as Uint8Array, 1],
    ['second', FAIR_VOTES[0]?.[1] as Uint8Array, 65],
  ])('is put into its place and changes nothing else: the %s', async (_name, wire, place) => {
    const messageBytes = wire.slice(1 + 64 * (wire[0] ?? 0));
    const pkcs8 = Buffer.concat([
      Buffer.from('302e020100300506032b657004220420', 'hex'),
      OWNER.secretKey.slice(0, 32),
    ]);
    const signature = signBytes(null, messageBytes, { key: pkcs8, format: 'der', type: 'pkcs8' });
    const expected = Buffer.concat([wire.slice(0, place), signature, wire.slice(place + 64)]);
    const found = (await sign(wire, OWNER.secretKey)) as { wire: Uint8Array };
    expect(Buffer.from(found.wire).toString('hex')).toBe(expected.toString('hex'));
  });

  it('is not put where nobody asks for it', async () => {
    const [[, paid]] = FAIR_VOTES as [(typeof FAIR_VOTES)[number]];
    const oneSigner = Buffer.from(paid);
    oneSigner[1 + 2 * 64 + 1] = 1;
    for (const [wire, signer] of [
      [paid, keypair('nobody')],
      [oneSigner, OWNER],
    ] as const)
      expect(await sign(wire, signer.secretKey)).toMatchObject({ refused: { code: 'ERR_INVALID_REQUEST' } });
  });
});

describe('what was judged', () => {
  const before = accountsOf(honestWorld());
  const { pins } = honestWorld();

  it('is still there whatever has become of its proposal', async () => {
    const world = honestWorld();
    world.state = ({ proposal }) => Object.assign(proposal, { approved: [operator] });
    expect(await isUnchanged(before, accountsOf(world), pins)).toBe(true);
  });

  it.each(CHANGES)('is not when %s', async (_name, change) => {
    const world = honestWorld();
    change(world);
    expect(await isUnchanged(before, accountsOf(world), pins)).toBe(false);
  });
});
