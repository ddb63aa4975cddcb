/** Our decoder and the Squads SDK read the same from every account that the program writes. */
import { accounts as squads } from '@sqds/multisig';
import { describe, expect, it } from 'vitest';
import type { AccountState } from '../../../../src/chain/account.js';
import type { Commitment } from '../../../../src/chain/chain.js';
import { withSecondDecoder } from '../../../../src/chain/rpc/second-decoder.js';
import type { Address } from '../../../../src/values/address.js';
import { namedAddress } from '../../../support/oracle.js';
import { accountsOf, type BatchState, batchState, readerOf } from '../../batch-on-chain.js';

const read = (change: (state: BatchState) => void = () => undefined) => {
  const state = batchState();
  change(state);
  const accounts = accountsOf(state);
  return withSecondDecoder(readerOf(accounts)).getAccounts([...accounts.keys(), namedAddress('nothing')]);
};

describe('two decoders', () => {
  it('agree on a batch, its multisig, proposal and transactions', async () => {
    expect(await read()).toHaveLength(7);
  });

  it.each<[string, (state: BatchState) => void]>([
    ['without a rent collector', (state) => Object.assign(state.multisig, { rentCollector: null })],
    [
      'with votes of every kind',
      ({ proposal }) => {
        Object.assign(proposal, { approved: [namedAddress('a')], rejected: [namedAddress('b')] });
        Object.assign(proposal, {
          cancelled: [namedAddress('c')],
          status: { kind: 'Cancelled', timestamp: -1n },
        });
      },
    ],
    [
      'with numbers as large as they get',
      ({ multisig, batch }) => {
        Object.assign(multisig, {
          transactionIndex: 2n ** 64n - 1n,
          timeLockSeconds: 2 ** 32 - 1,
          threshold: 65_535,
        });
        Object.assign(batch, { size: 2 ** 32 - 1, executedTransactionIndex: 2 ** 32 - 1 });
      },
    ],
    [
      'with lookup tables and ephemeral signers',
      ({ transactions }) => {
        const [first] = transactions;
        if (first === undefined) return;
        const lookup = {
          table: namedAddress('t'),
          writableIndexes: Uint8Array.of(1, 255),
          readonlyIndexes: Uint8Array.of(0),
        };
        transactions[0] = {
          ...first,
          ephemeralSignerBumps: Uint8Array.of(255, 254),
          message: { ...first.message, lookups: [lookup] },
        };
      },
    ],
  ])('agree on one %s', async (_name, change) => {
    expect(await read(change)).toHaveLength(7);
  });

  it('agree that what is cut short is nothing, and disagree where only one reads something', async () => {
    const accounts = accountsOf(batchState());
    const [[at, account]] = [...accounts] as [[Address, AccountState]];
    const reader = readerOf(accounts);
    accounts.set(at, { ...account, data: Buffer.from(account.data as Uint8Array).subarray(0, 20) });
    expect(await withSecondDecoder(reader).getAccounts([at])).toHaveLength(1);
  });

  it('disagree where one reads a member less, or nothing at all', async () => {
    const accounts = accountsOf(batchState());
    const { Multisig } = squads;
    const [at] = [...accounts.keys()] as [Address];
    for (const deserialize of [
      (data: Buffer) => {
        const [found, length] = Multisig.deserialize(data);
        return [{ ...found, members: found.members.slice(1) }, length];
      },
      () => {
        throw new TypeError('not read');
      },
    ]) {
      const sdk = { ...squads, Multisig: { deserialize } } as unknown as typeof squads;
      const reading = withSecondDecoder(readerOf(accounts), async () => sdk).getAccounts([at]);
      await expect(reading).rejects.toMatchObject({ code: 'ERR_APPROVAL_REFUSED' });
    }
  });

  it('leaves all else of a reader as it is', async () => {
    const accounts = accountsOf(batchState());
    const asked: unknown[] = [];
    const reader = {
      ...readerOf(accounts),
      isBlockhashValid: async (_blockhash: string) => true,
      getAccounts: async (addresses: readonly Address[], commitment?: Commitment) => {
        asked.push(commitment);
        return addresses.map((address) => accounts.get(address) ?? null);
      },
    };
    expect(await withSecondDecoder(reader).isBlockhashValid('any')).toBe(true);
    await withSecondDecoder(reader).getAccounts([...accounts.keys()], 'finalized');
    expect(asked).toEqual(['finalized']);
  });
});
