/**
 * The built command line with keys outside its data directory: signing programs, correct and faulty, and environment variables.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { flywheelHere } from '../support/flywheel-here.js';
import { itLong } from '../support/long.js';
import { LOOP, ONCE, signingProgram } from '../support/signing-program.js';
import { pipelinesOf } from './deeds.js';
import { anOperator, type Operator, problemOf } from './operator.js';

/** An operator without the key of this wallet in its data directory. */
async function without(wallet: 'burnWallet' | 'operator') {
  const operator = await anOperator('embedded');
  const { [wallet]: address } = operator.template.made;
  const file = join(operator.dataDir, 'keys', `${address}.json`);
  const text = readFileSync(file, 'utf8');
  rmSync(file);
  return { operator, address, keypair: Uint8Array.from(JSON.parse(text)), text };
}

const BURN = ['burn', '--amount', '2', '--type', 'PRODUCT_BUY', '--proof', '{"order":1}', '--yes', '--json'];

const burns = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    type: 'PRODUCT_BUY',
    proof: { order: index },
    burnAmount: 1,
    persistOnchain: false,
  }));

describe('a burn wallet that a program keeps', () => {
  it.each([
    ['many', LOOP, 30],
    ['one signature and ends', ONCE, 4],
  ])('burns, when it gives %s', async (_, code, count) => {
    const { operator, keypair } = await without('burnWallet');
    const program = signingProgram(code, keypair);
    const file = operator.write('burns.json', burns(count));
    const done = await operator.run('burn-batch', file, '--burn-signer', program.command, '--yes', '--json');
    expect(done).toMatchObject({ exit: 0, stderr: '' });
    expect(await operator.happened()).toMatchObject({ burned: String(count) });
    await program.gone();
  });

  it('burns nothing with a wrong signature, and then everything once', async () => {
    const { operator, keypair } = await without('burnWallet');
    const program = signingProgram('for await (const line of lines) console.log(sign("AAAA"));', keypair);
    const file = operator.write('burns.json', burns(5));
    const words = ['burn-batch', file, '--burn-signer', program.command, '--yes', '--json'];
    const refused = await operator.run(...words);
    expect(refused.exit).toBe(1);
    expect(problemOf(refused)).toMatchObject({ error: 'ERR_SIGNATURE_WRONG' });
    expect(await operator.happened()).toMatchObject({ burned: '0', usedToday: { burn: '0' } });
    program.become(LOOP);
    expect(await operator.run(...words)).toMatchObject({ exit: 0 });
    expect(await operator.happened()).toMatchObject({ burned: '5' });
  });

  itLong('that dies half way leaves the rest to the next run', async () => {
    const { operator, keypair } = await without('burnWallet');
    const dying =
      'for await (const line of lines) { note("asked"); if (readFileSync(log, "utf8").split("asked").length > 130) { console.error("AccessDenied"); process.exit(1); } console.log(sign(line)); }';
    const program = signingProgram(dying, keypair);
    const file = operator.write('burns.json', burns(140));
    const words = ['burn-batch', file, '--burn-signer', program.command, '--yes', '--json'];
    const failed = await operator.run(...words);
    expect(problemOf(failed)).toMatchObject({
      error: 'ERR_SIGNER_FAILED',
      message: expect.stringContaining('it exited with status 1, and printed “AccessDenied”'),
    });
    const { burned } = await operator.happened();
    // Everything signed by then may have landed.
    expect(problemOf(failed).message).not.toContain('Nothing was sent');
    expect(Number(burned) % 128).toBe(0);
    program.become(LOOP);
    expect(await operator.run(...words)).toMatchObject({ exit: 0 });
    expect(await operator.happened()).toMatchObject({ burned: '140' });
  });
});

describe('an operator that a program keeps', () => {
  it('runs a batch from its set-up to its end', async () => {
    const { operator, keypair } = await without('operator');
    const program = signingProgram(LOOP, keypair);
    const file = operator.write('pipelines.json', pipelinesOf('first'));
    const words = ['batch', 'run', file, '--keypair', operator.owner, '--yes', '--json'];
    expect(await operator.run(...words, '--operator-signer', program.command)).toMatchObject({ exit: 0 });
    expect(await operator.happened()).toMatchObject({ burned: '3', batches: ['EXECUTED'] });
    await program.gone();
  });
});

describe('a keypair in the environment', () => {
  const burnWith = (operator: Operator, env: Record<string, string>) =>
    flywheelHere({ home: operator.directory, env }, ...BURN);

  it('signs', async () => {
    const { operator, text } = await without('burnWallet');
    expect(await burnWith(operator, { FLYWHEEL_BURN_KEYPAIR: text })).toMatchObject({ exit: 0, stderr: '' });
    expect(await operator.happened()).toMatchObject({ burned: '2' });
  });

  it('of another address is refused, and not shown', async () => {
    const { address, text } = await without('operator');
    const operator = await anOperator('embedded');
    const refused = await burnWith(operator, { FLYWHEEL_BURN_KEYPAIR: text });
    expect(problemOf(refused)).toMatchObject({
      error: 'ERR_KEYPAIR_INVALID',
      message: expect.stringContaining(`FLYWHEEL_BURN_KEYPAIR is the key of ${address}, `),
    });
    expect(refused.stderr).not.toContain(text.trim().slice(0, 40));
    expect(await operator.happened()).toMatchObject({ burned: '0' });
  });

  it('and a program cannot be combined', async () => {
    const operator = await anOperator('embedded');
    const env = { FLYWHEEL_BURN_KEYPAIR: 'a.json', FLYWHEEL_BURN_SIGNER: 'sign' };
    expect(problemOf(await burnWith(operator, env))).toMatchObject({ error: 'ERR_CONFIG_INVALID' });
  });
});
