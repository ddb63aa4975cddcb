/** Instructions of the native program, and its errors for missing ones. */
import { readFileSync } from 'node:fs';
import { generated } from '@sqds/multisig';
import { describe, expect, it } from 'vitest';
import { openLocalChain } from '../../../../../src/chain/local/local-chain.js';
import { Runtime } from '../../../../../src/chain/local/runtime/runtime.js';
import { SQUADS_PROGRAM } from '../../../../../src/chain/programs.js';
import { INSTRUCTIONS, instructionName } from '../../../../../src/chain/squads/instructions.js';
import { compileLegacyMessage } from '../../../../../src/chain/transaction/wire.js';
import { chainOptions, namedSigner, signed, signTransaction, treasury } from '../../../../support/chain.js';
import { emptyDirectory } from '../../../../support/spawn.js';
import { CLOCK, NO_BLOCKHASH, wallet } from '../runtime/stage.js';

const SUFFIX = 'InstructionDiscriminator';
/** Every instruction of the public client, with its discriminator. */
const known = Object.entries(generated).flatMap(([name, value]) =>
  name.endsWith(SUFFIX) ? [[name.slice(0, -SUFFIX.length), Uint8Array.from(value as number[])] as const] : [],
);
const missing = known.filter(([name]) => !(name in INSTRUCTIONS));
const present = known.filter(([name]) => name in INSTRUCTIONS);

const runtime = new Runtime();
const payer = namedSigner('payer');

function call(data: Uint8Array) {
  const message = compileLegacyMessage({
    payer: payer.address,
    instructions: [{ program: SQUADS_PROGRAM, accounts: [], data }],
    blockhash: NO_BLOCKHASH,
  });
  const accounts = new Map([[payer.address, wallet(1_000_000_000n)]]);
  const source = { get: (address: typeof payer.address) => accounts.get(address) ?? null };
  return runtime.execute(signTransaction(message, [payer]).bytes, source, CLOCK);
}

describe('the native Squads program', () => {
  it('has 16 of the 36 instructions, and knows the rest by name', () => {
    expect([present.length, missing.length]).toEqual([16, 20]);
  });

  it.each(present)('takes %s', (name, identifier) => {
    expect(instructionName(identifier)).toBe(name);
    const { logs } = call(identifier);
    expect(logs[1]).toBe(`Program log: Instruction: ${name.charAt(0).toUpperCase()}${name.slice(1)}`);
    expect(logs.join('\n')).not.toContain('--squads-program');
  });

  it.each(missing)('says that it does not have %s', (name, identifier) => {
    const { error, logs } = call(identifier);
    expect(error).toEqual({ kind: 'instruction', index: 0, error: 'UnsupportedInstruction' });
    const logName = `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
    expect(logs).toEqual([
      `Program ${SQUADS_PROGRAM} invoke [1]`,
      `Program log: Instruction: ${logName}`,
      `Program log: The embedded Squads program does not support ${logName}; flywheel local init --squads-program FILE runs the program itself.`,
      `Program ${SQUADS_PROGRAM} failed: instruction not supported by the embedded program`,
    ]);
  });

  it('has those that it does not have listed in docs/squads-v4.md, and no other', () => {
    const [, list = ''] = /Not native: ([^.]+)\./.exec(readFileSync('docs/squads-v4.md', 'utf8')) ?? [];
    const listed = [...list.matchAll(/`(\w+)`/g)].map(([, name]) => name);
    expect(listed.sort()).toEqual(missing.map(([name]) => name).sort());
  });

  it('says so where the transaction is looked up, and of a bundle at once', async () => {
    const chain = await openLocalChain(chainOptions(emptyDirectory()));
    const [[name, data] = expect.unreachable()] = missing;
    const instructions = [{ program: SQUADS_PROGRAM, accounts: [], data }];
    const { bytes, signature } = await signed(chain, [treasury], instructions);
    const error = { kind: 'instruction', index: 0, error: 'UnsupportedInstruction' };
    expect(await chain.submitBundles([[bytes]])).toMatchObject([{ index: 0, error }]);
    expect(await chain.submit([bytes])).toEqual([null]);
    const [record] = await chain.lookUp([signature]);
    expect(record?.error).toEqual(error);
    expect(record?.logs.join('\n').toLowerCase()).toContain(`does not support ${name.toLowerCase()};`);
    await chain.close();
  });

  it('knows nothing of any other identifier', () => {
    const { error, logs } = call(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8));
    expect(error).toEqual({ kind: 'instruction', index: 0, custom: 101 });
    expect(logs.join('\n')).toContain('InstructionFallbackNotFound');
  });
});
