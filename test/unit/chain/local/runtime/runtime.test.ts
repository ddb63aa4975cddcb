import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { MEMO_PROGRAM, TOKEN_PROGRAM } from '../../../../../src/chain/programs.js';
import {
  feeOf,
  memo,
  setComputeUnitLimit,
  setComputeUnitPrice,
  transfer,
} from '../../../../../src/chain/small-programs.js';
import {
  type Instruction,
  readonlyAccount,
  writableAccount,
  writableSigner,
} from '../../../../../src/chain/transaction/message.js';
import { decodeTransaction } from '../../../../../src/chain/transaction/wire.js';
import { type Address, addressFromBytes } from '../../../../../src/values/address.js';
import { readBuffer } from '../../../../../src/values/bytes.js';
import { callNative, Stage, wallet } from './stage.js';

const RENT_OF_WALLET = 890_880n;
let stage: Stage;

beforeEach(() => {
  stage = new Stage();
});

describe('a transaction without native instructions', () => {
  it('forgets changes to a bundled program that were not committed', () => {
    const pay = stage.sign([transfer({ from: stage.payer.address, to: TOKEN_PROGRAM, lamports: 7n })]);
    const first = stage.execute(pay).changes.get(TOKEN_PROGRAM)?.lamports;
    expect(first).toBeGreaterThan(7n);
    expect(stage.execute(pay).changes.get(TOKEN_PROGRAM)?.lamports).toBe(first);
  });

  it('costs what its budget says, whatever bytes follow the numbers in it', () => {
    const followed = ({ data, ...rest }: Instruction): Instruction => ({
      ...{ ...rest, data: Buffer.concat([readBuffer(data), Buffer.of(7)]) },
    });
    const pay = transfer({
      from: stage.payer.address,
      to: stage.signer(RENT_OF_WALLET).address,
      lamports: 1n,
    });
    for (const asked of [
      [setComputeUnitPrice(3_000_000n)],
      [setComputeUnitLimit(777), setComputeUnitPrice(5_555n)],
    ])
      for (const budget of [asked, asked.map(followed)]) {
        const wire = stage.sign([...budget, pay]);
        const fee = stage.execute(wire).feeLamports;
        expect(fee).toBeGreaterThan(5_000n);
        expect(fee).toBe(feeOf(decodeTransaction(wire).message));
      }
  });

  it('gives back accounts untouched after thousands of others were loaded', () => {
    const to = stage.signer(RENT_OF_WALLET);
    const pay = [transfer({ from: stage.payer.address, to: to.address, lamports: 7n })];
    stage.land(pay);
    for (let round = 0; round < 220; round += 1) {
      const others = Array.from({ length: 20 }, () => addressFromBytes(randomBytes(32)));
      for (const other of others) stage.accounts.set(other, wallet(RENT_OF_WALLET));
      stage.execute(
        stage.sign(others.map((other) => transfer({ from: stage.payer.address, to: other, lamports: 1n }))),
      );
    }
    stage.land(pay);
    expect(stage.lamports(to.address)).toBe(RENT_OF_WALLET + 14n);
  });
});

describe('a transaction with native instructions', () => {
  it('does not swallow a fault of its own', () => {
    stage.program = () => {
      throw new RangeError('a bug');
    };
    expect(() => stage.execute(stage.sign([callNative()]))).toThrow('a bug');
  });

  it('logs what a cluster would and cuts it off where it would', () => {
    const long = Array.from({ length: 14 }, () => memo('x'.repeat(60), []));
    stage.program = ({ log }) => {
      for (let line = 0; line < 200; line += 1) log('y'.repeat(60));
    };
    const { logs } = stage.execute(stage.sign([callNative(), ...long]));
    expect(logs.filter((line) => line === 'Log truncated')).toHaveLength(1);
    expect(logs.join('').length).toBeLessThan(10_100);
  });
});

describe('calls of a native program', () => {
  const invoking = (calls: readonly Instruction[], derived: readonly Address[] = []): void => {
    stage.program = ({ invoke }) => invoke(calls, derived);
  };

  it('cannot sign or write beyond what the caller may', () => {
    const other = stage.signer(5_000_000n).address;
    invoking([transfer({ from: other, to: stage.payer.address, lamports: 1n })]);
    const noSignature = callNative([writableAccount(other), writableSigner(stage.payer.address)]);
    const unsigned = stage.execute(stage.sign([noSignature]));
    expect(unsigned.error).toMatchObject({ error: 'PrivilegeEscalation' });
    expect(unsigned.logs).toContain(`${other}'s signer privilege escalated`);
    invoking([transfer({ from: stage.payer.address, to: other, lamports: 1n })]);
    const unwritable = stage.execute(
      stage.sign([callNative([readonlyAccount(other), writableSigner(stage.payer.address)])]),
    );
    expect(unwritable.logs).toContain(`${other}'s writable privilege escalated`);
  });

  it.each([
    ['a program that is not there', 'Ba5ePro8ram11111111111111111111111111111111'],
    ['a wallet', null],
  ])('fail for %s after those before it have run', (_, program) => {
    const missing = (program ?? stage.signer(RENT_OF_WALLET).address) as Address;
    invoking([memo('before', []), { program: missing, accounts: [], data: new Uint8Array(0) }]);
    const result = stage.execute(stage.sign([callNative([readonlyAccount(missing)])]));
    expect(result.error).toEqual({ kind: 'instruction', index: 0, error: 'UnsupportedProgramId' });
    expect(result.logs).toContain('Program log: before');
  });

  it('of itself nest up to five levels', () => {
    const nest = (levels: number): unknown => {
      stage.program = ({ data, invoke }) => {
        const left = data[0] ?? 0;
        if (left > 1) invoke([callNative([], Uint8Array.of(left - 1))], []);
      };
      return stage.execute(stage.sign([callNative([], Uint8Array.of(levels))])).error;
    };
    expect(nest(5)).toBeNull();
    expect(nest(6)).toMatchObject({ error: 'CallDepth' });
  });

  it('count against the limit of 64 in a transaction', () => {
    const calls = (count: number) => {
      invoking(Array.from({ length: count }, () => memo('x', [])));
      return stage.execute(
        stage.sign([setComputeUnitLimit(1_400_000), callNative([readonlyAccount(MEMO_PROGRAM)])]),
      ).error;
    };
    expect(calls(62)).toBeNull();
    expect(calls(63)).toMatchObject({ index: 1, error: 'MaxInstructionTraceLengthExceeded' });
  });
});
