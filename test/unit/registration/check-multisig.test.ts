/** Requirements on an existing multisig for a project. */
import { describe, expect, it } from 'vitest';
import { type Multisig, NO_AUTHORITY } from '../../../src/chain/squads/accounts.js';
import { multisigWarnings, requireUsableMultisig } from '../../../src/compose/registration/plan.js';
import { namedAddress } from '../../support/oracle.js';

const members = { owner: namedAddress('owner'), operator: namedAddress('operator') };
const stranger = namedAddress('stranger');

const multisig = (more: Partial<Multisig> = {}): Multisig => ({
  createKey: namedAddress('create key'),
  configAuthority: NO_AUTHORITY,
  threshold: 2,
  timeLockSeconds: 0,
  transactionIndex: 7n,
  staleTransactionIndex: 0n,
  rentCollector: members.operator,
  bump: 255,
  members: [
    { key: members.owner, permissions: 7 },
    { key: members.operator, permissions: 7 },
  ],
  ...more,
});
const withRights = (owner: number, operator: number): Partial<Multisig> => ({
  members: [
    { key: members.owner, permissions: owner },
    { key: members.operator, permissions: operator },
  ],
});

describe('a multisig that is there', () => {
  it('may serve as `register` makes one, and where the owner can only vote', () => {
    requireUsableMultisig(stranger, multisig(), members);
    requireUsableMultisig(stranger, multisig(withRights(2, 7)), members);
    expect(multisigWarnings(multisig(), members)).toEqual([]);
  });

  it.each<[string, Partial<Multisig>]>([
    ['the threshold is 1', { threshold: 1 }],
    ['the owner lacks the right to vote', withRights(5, 7)],
    ['the operator lacks the right to initiate, vote or execute', withRights(7, 3)],
    [`the config authority ${stranger} alone can change members and rules`, { configAuthority: stranger }],
    [
      `${stranger} is a third member`,
      { members: [...multisig().members, { key: stranger, permissions: 1 }] },
    ],
    [`${members.owner} is not a member`, { members: multisig().members.slice(1) }],
  ])('is refused where %s', (text, more) => {
    expect(() => requireUsableMultisig(stranger, multisig(more), members)).toThrow(
      expect.objectContaining({ code: 'ERR_NOT_VERIFIED', message: expect.stringContaining(text) }),
    );
  });

  it('is used with a word where the rent goes elsewhere, or a time lock is waited out', () => {
    requireUsableMultisig(stranger, multisig({ timeLockSeconds: 60 }), members);
    expect(multisigWarnings(multisig({ timeLockSeconds: 60 }), members)[0]).toContain('60 s after both');
    expect(multisigWarnings(multisig({ rentCollector: stranger }), members)[0]).toContain(stranger);
    expect(multisigWarnings(multisig({ rentCollector: null }), members)[0]).toContain('does not return');
  });
});
