/** A node that says something else each time it is asked: what is signed was read, judged and shown as one. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { ChainReader } from '../../src/chain/chain.js';
import { ACCOUNT_ATTACKS } from './accounts.js';
import type { Attack } from './attack.js';
import { CONTENT_ATTACKS } from './contents.js';
import { type Approved, approve, honestWorld, nodeIn, type World } from './world.js';

const REFUSED = 9;
/** What is wrong in the approval file is in none of its answers. */
const ATTACKS = [...ACCOUNT_ATTACKS, ...CONTENT_ATTACKS]
  .filter(({ name }) => !name.startsWith('approval file:'))
  .map((attack) => [attack.name, attack] as const);

/** The honest world, but for one reading, which is of the attacked one. */
function wavering({ change }: Attack, chosen: number): World {
  const [world, attacked] = [honestWorld('token'), honestWorld('token')];
  change(attacked);
  const liar = nodeIn(attacked);
  let readings = 0;
  world.reader = (truth): ChainReader => ({
    ...truth,
    getAccounts: (addresses) => {
      readings += 1;
      return (readings === chosen ? liar : truth).getAccounts(addresses);
    },
  });
  return world;
}

/** How often an honest approval reads accounts. */
async function countReadings(): Promise<number> {
  let readings = 0;
  const world = honestWorld('token');
  world.reader = (truth) => ({
    ...truth,
    getAccounts: (addresses) => {
      readings += 1;
      return truth.getAccounts(addresses);
    },
  });
  expect((await approve(world)).exit).toBe(0);
  return readings;
}

const signedTx = ({ stdout }: Approved): string => JSON.parse(stdout).signedTx;

let count: number;
let honest: string;
beforeAll(async () => {
  count = await countReadings();
  honest = signedTx(await approve(honestWorld('token')));
});

describe('an attack that stands in some readings only', () => {
  it.each(ATTACKS)('is refused, or changes nothing of what is signed: %s', async (_name, attack) => {
    const exits = new Set<number>();
    for (let from = 1; from <= count; from += 1) {
      const ended = await approve(wavering(attack, from));
      exits.add(ended.exit);
      expect([REFUSED, 0]).toContain(ended.exit);
      if (ended.exit === 0) expect(signedTx(ended)).toBe(honest);
    }
    expect([...exits]).toContain(REFUSED);
  });

  it.each(ATTACKS.filter(([, { shown }]) => shown !== undefined))(
    'is in plain sight where the question is put at all: %s',
    async (_name, attack) => {
      const pipelines = (text: string) => /^1\. .*?(?=^proposal)/ms.exec(text)?.[0];
      const usual = pipelines((await approve(honestWorld('token'), { answer: 'n' })).stderr);
      for (let from = 1; from <= count; from += 1) {
        const { questions, stderr } = await approve(wavering(attack, from), { answer: 'n' });
        if (questions.length > 0 && pipelines(stderr) !== usual) expect(stderr).toContain(attack.shown);
      }
    },
  );
});
