/** Batches, approvals and answers that differ from honest ones by one malicious change: none of them is signed. */
import { describe, expect, it } from 'vitest';
import { multisigFacts } from '../../src/approval/flywheel-facts.js';
import { type BatchState, batchState, multisig, operator, owner } from '../support/batch-on-chain.js';
import { ACCOUNT_ATTACKS } from './accounts.js';
import type { Attack } from './attack.js';
import { CONTENT_ATTACKS } from './contents.js';
import { VOTE_ATTACKS } from './votes.js';
import { approve, honestWorld, problemIn, TOKEN_KINDS, type TokenKind, type World } from './world.js';

const REFUSED = 9;
const DECLINED = 130;
/** Rights of a member of a multisig (squads-v4.md): all but to vote. */
const INITIATE_AND_EXECUTE = 5;

const ATTACKS: readonly Attack[] = [...VOTE_ATTACKS, ...ACCOUNT_ATTACKS, ...CONTENT_ATTACKS];
const EACH = ATTACKS.flatMap((attack) => TOKEN_KINDS.map((kind) => [kind, attack.name, attack] as const));

function attacked(kind: TokenKind, { change }: Attack): World {
  const world = honestWorld(kind);
  change(world);
  return world;
}

describe('an honest approval', () => {
  it.each(TOKEN_KINDS)('of a %s flywheel is signed, in a script and on a terminal', async (kind) => {
    const script = await approve(honestWorld(kind));
    expect(script).toMatchObject({ exit: 0, questions: [] });
    const person = await approve(honestWorld(kind), { answer: 'y' });
    expect([person.exit, person.questions.length]).toEqual([0, 1]);
    expect(person.stdout).toContain(JSON.parse(script.stdout).signedTx);
    expect((await approve(honestWorld(kind), { answer: 'n' })).exit).toBe(DECLINED);
  });
});

describe('with --expect', () => {
  it('there are at least 300 of them', () => expect(EACH.length).toBeGreaterThanOrEqual(300));

  it.each(EACH)('%s: %s', async (kind, _name, attack) => {
    const { exit, stdout, message } = await approve(attacked(kind, attack));
    expect({ exit, stdout, message }).toEqual({
      exit: REFUSED,
      stdout: '',
      message: expect.stringContaining(attack.reason),
    });
  });
});

describe('a multisig in which one of the two cannot vote', () => {
  it.each([
    ['the operator', operator],
    ['the owner', owner],
  ])('is refused though it was pinned like that: %s', async (_name, silent) => {
    const world = honestWorld('token');
    const withoutVote = ({ multisig }: BatchState) => ({
      ...multisig,
      members: multisig.members.map((member) =>
        member.key === silent ? { ...member, permissions: INITIATE_AND_EXECUTE } : member,
      ),
    });
    world.state = (state) => {
      state.multisig = withoutVote(state);
    };
    world.pinned = (pins) => ({
      ...pins,
      facts: { ...pins.facts, ...multisigFacts(withoutVote(batchState())) },
    });
    const { exit, stdout, message } = await approve(world);
    expect([exit, stdout]).toEqual([REFUSED, '']);
    expect(message).toContain(`${silent} may not vote in the multisig ${multisig}`);
    expect(await problemIn(world)).toBe(message);
  });
});

describe('inspect', () => {
  it('finds nothing to say of an honest one', async () => {
    for (const kind of TOKEN_KINDS) expect(await problemIn(honestWorld(kind))).toBe(null);
  });

  // Where there is no batch there is nothing to inspect, which is not a danger.
  const NO_BATCH = 'has no accounts on chain';

  it.each(EACH.filter(([kind, , { shown }]) => kind === 'token' && shown === undefined))(
    'says the same as the refusal: %s: %s',
    async (kind, _name, attack) => {
      const problem = await problemIn(attacked(kind, attack));
      if (problem?.includes(NO_BATCH) !== true) expect(problem).toContain(attack.reason);
    },
  );
});

describe('on a terminal, without a pipelines file', () => {
  it.each(EACH.filter(([, , { shown }]) => shown === undefined))(
    'refuses: %s: %s',
    async (kind, _name, attack) => {
      const { exit, questions, said } = await approve(attacked(kind, attack), { answer: 'y' });
      expect({ exit, questions }).toEqual({ exit: REFUSED, questions: [] });
      expect(said).toContain(attack.reason);
    },
  );

  it.each(EACH.filter(([, , { shown }]) => shown !== undefined))(
    'shows before it asks: %s: %s',
    async (kind, _name, attack) => {
      const { exit, questions, stderr } = await approve(attacked(kind, attack), { answer: 'n' });
      expect([exit, questions.length]).toEqual([DECLINED, 1]);
      // Amounts are shown in groups of three digits, with their unit.
      const plain = stderr.replaceAll(/(?<=\d),(?=\d{3})| tokens?(?= to )/g, '');
      expect(plain).toContain(attack.shown);
    },
  );
});
