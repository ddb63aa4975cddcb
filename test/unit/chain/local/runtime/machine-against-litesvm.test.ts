import { describe, expect, it } from 'vitest';
import type { ExecutionResult } from '../../../../../src/chain/local/runtime/execution.js';
import { Runtime } from '../../../../../src/chain/local/runtime/runtime.js';
import { SQUADS_PROGRAM, TOKEN_PROGRAM } from '../../../../../src/chain/programs.js';
import { memo, setComputeUnitLimit, transfer } from '../../../../../src/chain/small-programs.js';
import { associatedTokenAddress } from '../../../../../src/chain/squads/addresses.js';
import {
  burnChecked,
  createAssociatedTokenAccountIdempotent,
} from '../../../../../src/chain/tokens/instructions.js';
import type { Instruction } from '../../../../../src/chain/transaction/message.js';
import { Random } from '../../../../fuzz/random.js';
import { sign } from '../../../../fuzz/transaction.js';
import { World } from '../../../../fuzz/world.js';
import { sampleOf } from '../../../../support/long.js';
import { callNative } from './stage.js';

const TRANSACTIONS = 150;

function anyInstruction(world: World): Instruction {
  const { random, mint } = world;
  const from = world.wallet().address;
  switch (random.below(5)) {
    case 0:
      return memo(`memo ${random.below(100)}`, random.oneIn(2) ? [from] : []);
    case 1:
      return burnChecked({
        tokenProgram: TOKEN_PROGRAM,
        account: associatedTokenAddress(from, mint, TOKEN_PROGRAM),
        mint,
        owner: from,
        amount: BigInt(random.below(random.oneIn(4) ? 10_000_000 : 1_000)),
        decimals: 6,
      });
    case 2:
      return createAssociatedTokenAccountIdempotent({
        payer: from,
        owner: world.anyAddress(),
        mint,
        tokenProgram: TOKEN_PROGRAM,
      });
    default: {
      const held = world.get(from)?.lamports ?? 0n;
      const rest = BigInt(random.below(1_000_000));
      const lamports = random.oneIn(4) && held > rest ? held - rest : BigInt(random.below(2_000_000));
      return transfer({ from, to: random.oneIn(3) ? world.anyAddress() : world.wallet().address, lamports });
    }
  }
}

const seen = ({ error, landed, changes, feeLamports, logs }: ExecutionResult) => ({
  error,
  landed,
  feeLamports,
  changes: [...changes].sort(([left], [right]) => (left < right ? -1 : 1)),
  logs: logs.filter((line) => !line.includes(SQUADS_PROGRAM) && !line.includes(' consumed ')),
});

describe('running piece by piece', () => {
  it.each(sampleOf([1, 2, 3], 1))(
    'leaves what LiteSVM leaves when it runs the whole transaction (seed %i)',
    (seed) => {
      const random = new Random(seed);
      const world = new World(random, 10n);
      const runtime = new Runtime({ nativePrograms: new Map([[SQUADS_PROGRAM, () => {}]]) });
      let succeeded = 0;
      for (let count = 0; count < TRANSACTIONS; count += 1) {
        const some = Array.from({ length: 1 + random.below(4) }, () => anyInstruction(world));
        const instructions = [
          setComputeUnitLimit(900_000),
          ...some.filter(({ accounts }) => accounts.every(({ address }) => address !== SQUADS_PROGRAM)),
        ];
        const at = random.below(instructions.length + 1);
        const payer = world.wallet().address;
        const plan = { payer, versioned: random.oneIn(2), table: null, spoiled: null };
        const plain = sign(world, { ...plan, instructions });
        const mixed = sign(world, { ...plan, instructions: instructions.toSpliced(at, 0, callNative()) });
        if (plain === undefined || mixed === undefined) continue;
        const whole = seen(runtime.execute(plain, world, world.clock));
        const pieces = runtime.execute(mixed, world, world.clock);
        const inPieces = seen(pieces);
        const { error } = inPieces;
        const shifted =
          error?.kind === 'instruction' && error.index > at ? { ...error, index: error.index - 1 } : error;
        expect({ ...inPieces, error: shifted }).toEqual(whole);
        if (error === null) {
          succeeded += 1;
          world.commit(pieces);
        }
      }
      expect(succeeded).toBeGreaterThan(TRANSACTIONS / 10);
    },
  );
});
