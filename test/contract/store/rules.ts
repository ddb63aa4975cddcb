/** Store contract: reports on rows that break a rule no constraint can express. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Address } from '../../../src/values/address.js';
import { sha256 } from '../../../src/values/digest.js';
import type { StoreUnderTest } from '../../support/store.js';
import {
  aBatch,
  aBundle,
  aBurn,
  anApiKey,
  anotherProject,
  aRequest,
  aVote,
  DAY,
  LATER,
  RESULT,
  success,
} from './records.js';

const u64 = (amount: number): string => `'${String(amount).padStart(20, '0')}'`;

/** The damage that breaks each rule, and other rules only where unavoidable. */
const DAMAGES: Readonly<Record<string, { readonly by: string; readonly breaks?: readonly string[] }>> = {
  caps: { by: `update projects set daily_burn_cap = ${u64(1)}` },
  days: { by: "update daily_usage set day = '2026-01-30' where kind = 'burn'" },
  sums: { by: `update daily_usage set landed = ${u64(0)} where kind = 'airdrop'` },
  counters: { by: `update daily_usage set landed = ${u64(900)} where kind = 'airdrop'` },
  'burn actions': { by: `update pipeline_actions set amount = ${u64(9)} where kind = 'BURN'` },
  'airdrop actions': { by: "delete from pipeline_actions where kind = 'AIRDROP'" },
  'one project': { by: "update requests set token_id = 'token-2', key_id = 'key-2'" },
  signatures: { by: "update gap_transactions set signature = 'signature 1'" },
  landings: { by: "update pipelines set signature = 'approval/0' where signature is not null" },
  'kept requests': { by: 'delete from requests' },
  answers: { by: "update requests set status = 'done', reply = '{}'" },
  executed: {
    by: 'update pipelines set signature = null, date_landed = null',
    breaks: ['counters', 'executed'],
  },
  holds: { by: `update batches set held_from = '${DAY}' where id = 'batch-1'` },
};

export function rules(under: () => StoreUnderTest): void {
  describe('rules', () => {
    const broken = async () => {
      const found = await under().store.read((tx) => tx.rules.check());
      return found.flatMap(({ name, wrong }) => (wrong > 0 ? name : []));
    };
    beforeEach(() =>
      under().store.transaction(async (tx) => {
        const counter = { tokenId: 'token-1', day: DAY, kind: 'burn' } as const;
        await tx.projects.insert(anotherProject());
        await tx.apiKeys.insert(anApiKey({ id: 'key-2', tokenId: 'token-2', hash: sha256('key-2') }));
        const burns = [1, 2, 3].map((sequence) => aBurn(sequence, { amount: 7n }));
        await tx.burns.insertMany(aRequest(), burns);
        await tx.burns.settleMany([success(1), success(2)]);
        await tx.usage.addLanded(counter, 14n);
        const [pipeline] = aBatch().pipelines;
        const pipelines = [{ ...pipeline, burn: 5n, airdrop: 3n } as NonNullable<typeof pipeline>];
        const recipient = 'recipient' as Address;
        for (const id of ['batch-1', 'batch-2'])
          await tx.batches.insert(aRequest(), aBatch({ id, pipelines }), [
            [
              { kind: 'BURN', amount: 5n, recipient: null },
              { kind: 'AIRDROP', amount: 1n, recipient },
              { kind: 'AIRDROP', amount: 2n, recipient },
              { kind: 'MEMO', amount: null, recipient: null },
            ],
          ]);
        await tx.batches.change('batch-2', { burnLeft: 5n, airdropLeft: 0n, heldFrom: DAY });
        await tx.batches.addVote(aVote('approval/0'));
        const sent = [
          aBundle('approval', { phase: 'OWNER_APPROVAL' }),
          aBundle('run', { phase: 'EXECUTE' }),
        ] as const;
        await tx.bundles.insertMany(sent);
        await tx.bundles.settle(sent.map((bundle) => ({ ...bundle, status: 'LANDED' })));
        await tx.pipelines.land('batch-1', [{ position: 0, signature: 'run/0', dateLanded: LATER }]);
        await tx.usage.addLanded(counter, 5n);
        await tx.usage.addLanded({ ...counter, kind: 'airdrop' }, 3n);
        await tx.batches.transition('batch-1', 'FINALIZED', {}, LATER);
        await tx.batches.transition('batch-1', 'EXECUTED', { executeResult: RESULT }, LATER);
        const lost = { signature: 'lost', burned: 2n, airdropped: 0n, memo: null, dateLanded: null };
        await tx.gaps.add({ tokenId: 'token-1', dateFound: LATER }, [lost]);
        await tx.gaps.accept('token-1', LATER);
        await tx.usage.addLanded(counter, 2n);
      }),
    );

    it('are kept by what the repositories write, and each has a damage here', async () => {
      expect(await broken()).toEqual([]);
      const checked = await under().store.read((tx) => tx.rules.check());
      const ofFile = ['file', 'references'];
      expect(checked.map(({ name }) => name).filter((name) => !ofFile.includes(name))).toEqual(
        Object.keys(DAMAGES),
      );
    });

    it('count what is part of a gap once, where a batch has it as well', async () => {
      await under().store.transaction((tx) =>
        tx.pipelines.land('batch-2', [{ position: 0, signature: 'lost', dateLanded: LATER }]),
      );
      expect(await broken()).toEqual([]);
    });

    it.each(Object.entries(DAMAGES))('tell that %s is broken', async (name, { by, breaks = [name] }) => {
      await under().raw(by);
      expect(await broken()).toEqual(breaks);
    });

    it('know how much was burned, exactly beyond 64 bits', async () => {
      const most = 18_446_744_073_709_551_615n;
      await under().store.transaction(async (tx) => {
        for (const day of ['2026-03-01', '2026-03-02'] as (typeof DAY)[])
          await tx.usage.addLanded({ tokenId: 'token-2', day, kind: 'burn' }, most);
      });
      const burned = (id: string) => under().store.read((tx) => tx.rules.burned(id));
      expect([await burned('token-1'), await burned('token-2'), await burned('token-3')]).toEqual([
        21n,
        2n * most,
        0n,
      ]);
    });
  });
}
