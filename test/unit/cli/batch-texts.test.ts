/** What `batch inspect` and `batch approve` print, word for word: the text that an owner decides by. */
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { memo } from '../../../src/chain/memo.js';
import type { Instruction } from '../../../src/chain/transaction/instruction.js';
import { changeField } from '../../../src/cli/foresight.js';
import {
  approve,
  honestWorld,
  inspect,
  TOKEN_KINDS,
  type TokenKind,
  type World,
} from '../../support/approval-world.js';
import { batchIndex } from '../../support/batch-on-chain.js';
import { exampleReply } from '../../support/fake-service.js';
import { testCli } from '../../support/in-process.js';
import { namedAddress } from '../../support/oracle.js';
import { nodeOf, pastOf } from '../../support/past-batch.js';
import { unwrapped } from '../../support/spawn.js';

describe('batch show', () => {
  it('gathers the pipelines of all pages', async () => {
    const cli = testCli();
    const items = (exampleReply('batchPipelines').value as { items: readonly object[] }).items;
    const pages: unknown[] = [];
    cli.service.answer('batchPipelines', ({ input }) => {
      const { cursor } = input as { cursor?: string };
      pages.push(cursor);
      if (pages.length > 2) throw new TypeError('There are two pages.');
      return {
        value: { items: items.slice(0, 1), nextCursor: cursor === undefined ? 'second' : null },
        meta: { replayed: false },
      };
    });
    const { exit, stdout } = await cli.run('batch', 'show', '5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11');
    expect([exit, pages]).toEqual([0, [undefined, 'second']]);
    expect(JSON.parse(stdout).pipelines).toEqual([items[0], items[0]]);
  });
});

describe('a change of a dry run', () => {
  it('is told as before and after, where there is one', () => {
    const left = (before: string, after: string) => changeField('left', { before, after }, 'FLY');
    expect(left('2000', '1')).toEqual(['left', '2,000 → 1 FLY']);
    expect(left('2', '2')).toEqual(['left', '2 FLY']);
  });
});

const golden = (name: string): string => `./golden/${name}.txt`;

function worldOf(kind: TokenKind, change: (world: World) => void): World {
  const world = honestWorld(kind);
  change(world);
  return world;
}

const strange: Instruction = { program: namedAddress('a program'), accounts: [], data: Uint8Array.of(1) };

const WORLDS: Readonly<Record<string, (world: World) => void>> = {
  honest: () => undefined,
  'not-understood': (world) => {
    world.instructions[1] = [...(world.instructions[1] ?? []), strange];
  },
  'other-hash': (world) => {
    world.instructions[0] = [
      memo('hello', [world.flywheel.vault]),
      ...(world.instructions[0] ?? []).slice(1),
    ];
  },
  stale: (world) => {
    world.state = (state) => {
      state.multisig = { ...state.multisig, staleTransactionIndex: batchIndex };
    };
  },
  draft: (world) => {
    world.state = (state) => {
      state.proposal = { ...state.proposal, status: { kind: 'Draft', timestamp: 1n } };
    };
  },
  approved: (world) => {
    world.state = (state) => {
      const { owner, operator } = world.flywheel;
      state.proposal = {
        ...state.proposal,
        ...{ approved: [owner, operator], status: { kind: 'Approved', timestamp: 1n } },
      };
    };
  },
  drifted: (world) => {
    world.state = (state) => {
      state.multisig = { ...state.multisig, threshold: 1 };
    };
  },
};
const EACH = TOKEN_KINDS.flatMap((kind) => Object.keys(WORLDS).map((name) => [name, kind] as const));

describe('what inspect prints', () => {
  it.each(EACH)('of a batch that is %s, of a %s flywheel', async (name, kind) => {
    const ended = await inspect(worldOf(kind, WORLDS[name] ?? (() => undefined)));
    expect([ended.exit, ended.stderr]).toEqual([0, '']);
    await expect(ended.stdout).toMatchFileSnapshot(golden(`inspect-${name}-${kind}`));
  });

  it.each([
    ['executed', 3],
    ['executed-in-part', 2],
  ] as const)('of a batch that is closed, %s', async (name, executed) => {
    const world = honestWorld('token');
    const { chain, history } = nodeOf(pastOf(world.instructions, executed));
    const ended = await inspect(world, { chain, history, trusted: async () => world.flywheel });
    expect([ended.exit, ended.stderr]).toEqual([0, '']);
    await expect(ended.stdout).toMatchFileSnapshot(golden(`inspect-${name}`));
  });

  it('of a batch whose past is forgotten', async () => {
    const world = honestWorld('token');
    const past = pastOf(world.instructions, 3);
    past.set('added2', null);
    const { exit, stdout, stderr } = await inspect(world, {
      ...nodeOf(past),
      trusted: async () => world.flywheel,
    });
    expect([exit, stdout, unwrapped(stderr)]).toEqual([
      5,
      '',
      expect.stringContaining('does not know all of its past'),
    ]);
  });
});

describe('what approve prints before it asks', () => {
  it.each(TOKEN_KINDS)('of an honest batch of a %s flywheel', async (kind) => {
    const { exit, stderr } = await approve(honestWorld(kind), { answer: 'n' });
    expect(exit).toBe(130);
    await expect(stripVTControlCharacters(stderr)).toMatchFileSnapshot(golden(`approve-${kind}`));
  });
});
