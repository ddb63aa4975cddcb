/** Honest batches over the owner's limits, and look-alike recipients. */
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { pipelinesDigest, type SourcePipeline } from '../../../src/actions/pipelines.js';
import type { Limits } from '../../../src/approval/limits.js';
import type { Look } from '../../../src/cli/batch/review.js';
import { plainStyle } from '../../../src/cli/output/color.js';
import { viewRows } from '../../../src/cli/views/approval.js';
import { type Address, isAddress } from '../../../src/values/address.js';
import { sha256 } from '../../../src/values/digest.js';
import { honestWorld, type World } from '../../attacks/world.js';
import { namedAddress, toWeb3 } from '../../support/oracle.js';
import { emptyDirectory } from '../../support/spawn.js';
import { pipelines as HONEST, instructionsOf, operator } from '../batch-on-chain.js';
import { type Approved, approve, inspect } from './approval-world.js';

const DECLINED = 130;
const alice = namedAddress('alice');

/** Burned and airdropped tokens of the honest batch, of a supply of 1,000,000,000. */
const TOTAL = '12345681.500001';
const DIGEST = pipelinesDigest(HONEST);

/** The honest batch with another airdrop in place of alice's. */
const airdropTo = (toAddress: Address, amount = 2): readonly SourcePipeline[] =>
  HONEST.map((pipeline, at) =>
    at === 1 ? { ...pipeline, actions: [{ action: 'AIRDROP', toAddress, amount }] } : pipeline,
  );

/** An address with the first and last characters of another. */
function lookAlikeOf(known: Address): Address {
  for (const letter of 'ABCDEFGH') {
    const text = `${known.slice(0, 20)}${letter}${known.slice(21)}`;
    if (text !== known && isAddress(text)) return text;
  }
  throw new TypeError(`${known} has no look-alike`);
}

const worldOf = (pipelines: readonly SourcePipeline[]): World => ({
  ...honestWorld(),
  instructions: instructionsOf(pipelines).map((instructions) => instructions.map(toWeb3)),
});

/** On a terminal that answers no: the output before the prompt, with `said` on one line and without colours. */
async function asked(pipelines: readonly SourcePipeline[], home: string) {
  const ended = await approve(worldOf(pipelines), { answer: 'n', home });
  return { ...ended, said: stripVTControlCharacters(ended.said).replaceAll(/\s+/g, ' ') };
}

const approveHonest = (options: { home?: string; limits?: Limits; answer?: string }): Promise<Approved> =>
  approve(honestWorld(), options);

describe('above the amount for which the digest is asked', () => {
  const limits = { digestAbove: '12345681.5' };

  it.each(['y', 'yes', DIGEST.slice(0, 7), `${DIGEST.slice(0, 7)}g`, ''])(
    '%j is no consent',
    async (answer) => {
      const { exit, questions, stderr } = await approveHonest({ limits, answer });
      expect([exit, questions]).toEqual([
        DECLINED,
        [expect.stringContaining('the 8 characters that follow')],
      ]);
      expect(stderr).toContain(answer === '' ? 'Declined.' : 'The typed text does not match.');
      expect(questions.join()).not.toContain(DIGEST.slice(0, 8));
    },
  );

  it('its first eight characters are', async () => {
    expect((await approveHonest({ limits, answer: DIGEST.slice(0, 8).toUpperCase() })).exit).toBe(0);
  });

  it('a script has named it with --expect', async () => {
    expect((await approveHonest({ limits })).exit).toBe(0);
  });

  it('y is enough up to that amount', async () => {
    expect((await approveHonest({ limits: { digestAbove: TOTAL }, answer: 'y' })).exit).toBe(0);
  });
});

describe('a recipient that looks like', () => {
  const warning = (recipient: Address, like: Address): string =>
    `LOOK-ALIKE the recipient ${recipient} of pipeline 2 resembles ${like}`;

  it.each([
    ['the mint', namedAddress('mint')],
    ['the operator', operator],
  ])('%s is loud', async (_name, known) => {
    const { said, exit } = await asked(airdropTo(lookAlikeOf(known)), emptyDirectory());
    expect([exit, said]).toEqual([DECLINED, expect.stringContaining(warning(lookAlikeOf(known), known))]);
  });

  it('another of the same batch is loud', async () => {
    const fake = lookAlikeOf(alice);
    const { said } = await asked([...airdropTo(fake), ...airdropTo(alice)], emptyDirectory());
    for (const [wallet, other] of [
      [fake, 5],
      [alice, 2],
    ])
      expect(said).toContain(`to ${wallet} [LOOK-ALIKE of the wallet of pipeline ${other}]`);
    expect(said).toContain(`LOOK-ALIKE the recipient ${alice} of pipeline 5 resembles ${fake}`);
  });

  it('one of an earlier batch is loud, also where the letters differ in case', async () => {
    const home = emptyDirectory();
    expect((await approveHonest({ home })).exit).toBe(0);
    const swapped = alice.slice(0, 1) + swapCase(alice.slice(1, 4)) + lookAlikeOf(alice).slice(4);
    for (const fake of [lookAlikeOf(alice), swapped].filter(isAddress)) {
      const { said } = await asked(airdropTo(fake), home);
      expect(said).toContain(warning(fake, alice));
    }
  });
});

const swapCase = (text: string): string =>
  [...text].map((one) => (one === one.toLowerCase() ? one.toUpperCase() : one.toLowerCase())).join('');

describe('what has not been seen before', () => {
  it('is said: no approval yet', async () => {
    const home = emptyDirectory();
    const first = await asked(HONEST, home);
    expect(first.said).toContain('This is the first approval of this project on this machine.');
    expect((await approveHonest({ home })).exit).toBe(0);
    const same = await asked(HONEST, home);
    expect(same.said).not.toMatch(/approved before|approved here/);
    expect((await asked(airdropTo(alice, 3), home)).said).not.toContain('the first approval');
  });
});

describe('the screen one signs by', () => {
  /** 60 pipelines with an airdrop each; the last but one is a hundred thousand times the others. */
  const PLANTED = Array.from(
    { length: 60 },
    (_, at): SourcePipeline => ({
      ...(HONEST[0] as SourcePipeline),
      proofHash: sha256(String(at)),
      actions: [
        { action: 'AIRDROP', toAddress: namedAddress(`wallet ${at}`), amount: at === 58 ? 250_000 : 2.5 },
      ],
    }),
  );

  it('marks what is unusual where it stands, ends with the summary, and asks with amounts', async () => {
    const { said, questions, stderr } = await asked(PLANTED, emptyDirectory());
    expect(questions.join()).toContain(
      'Airdrop 250,147.5 tokens to 60 wallets (0.2 % of the vault), 250,000 tokens of it in pipeline 59?',
    );
    const lines = stripVTControlCharacters(stderr).trimEnd().split('\n');
    expect(lines.filter((line) => line.includes('[UNUSUAL:'))).toHaveLength(1);
    expect(said).toContain(
      `airdrop 250,000 tokens to ${namedAddress('wallet 58')} [UNUSUAL: 100,000 times the median]`,
    );
    const end = lines.findIndex((line) => line.startsWith('signs as'));
    const summary = lines.slice(
      lines.findIndex((line) => line.startsWith('digest')),
      end + 1,
    );
    expect(summary.flatMap((line) => /^\w+/.exec(line)?.[0] ?? [])).toEqual([
      ...['digest', 'batch', 'mint', 'UNUSUAL', 'airdrops', 'vault', 'vault', 'operator', 'signs'],
    ]);
    expect(said.match(/UNUSUAL pipeline/g)).toHaveLength(1);
    const planted = `airdrop 250,000 tokens to ${namedAddress('wallet 58')}, 100,000 times the median of 2.5 tokens`;
    expect(said).toContain(
      `UNUSUAL pipeline 59: ${planted} airdrops 250,147.5 tokens to 60 wallets, all new`,
    );
    expect(said).not.toContain('new recipient');
    const world = worldOf(PLANTED);
    const script = await inspect(world, {}, { tty: { stdin: false, stdout: false, stderr: false } });
    expect(JSON.parse(script.stdout).warnings).toEqual([`UNUSUAL: pipeline 59: ${planted}.`]);
    const unpinned = await inspect(world, { pins: null, trusted: async () => null });
    expect(unpinned.stdout).toMatch(/\[UNUSUAL[\s\S]*^UNUSUAL {3}[\s\S]*^airdrops [\s\S]*Do not approve/m);
  });

  it('shows and names an invisible character of a memo, and none in an emoji', async () => {
    const memo = (message: string): readonly SourcePipeline[] =>
      HONEST.map((pipeline) => ({ ...pipeline, actions: [{ action: 'MEMO', message }] }));
    const { said } = await asked(memo('safe \u202egnp.exe'), emptyDirectory());
    expect(said).toContain('memo "safe \\u202egnp.exe"');
    expect(said).toContain('HIDDEN the text of pipeline 1 has the invisible character U+202E; 2 more');
    expect((await asked(memo('thanks \u2764\ufe0f'), emptyDirectory())).said).not.toContain('HIDDEN');
  });

  it.each([
    [1, ['new recipient']],
    [2, []],
  ])('marks new recipients where they are the exception (%i of 3)', (count, marks) => {
    const wallets = [alice, namedAddress('bob'), namedAddress('carol')];
    const pipelines = wallets.map((toAddress) => ({
      ...{ type: 'T', proofHash: sha256(toAddress) },
      actions: [{ action: 'AIRDROP', toAddress, amount: 1n } as const],
    }));
    const description = { pipelines, transactions: [] } as unknown as Look['description'];
    const earlier = { strangers: new Set(wallets.slice(0, count)), alike: [] };
    const rows = viewRows({ description }, earlier, { decimals: 0, symbol: null }, plainStyle(200));
    expect(rows.flatMap((row) => /\[(.*)\]/.exec(row)?.[1] ?? [])).toEqual(marks);
  });
});
