/** An external signing program: accepted only if its signature verifies, and always terminated. */
import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { createKeypairSigner, generateKeypair, verifySignature } from '../../src/chain/transaction/sign.js';
import { commandWords, ProgramSigner } from '../../src/signing/program-signer.js';
import { itLong, sampleOf } from '../support/long.js';
import { LOOP, ONCE, signingProgram, type TestProgram } from '../support/signing-program.js';

const keypair = generateKeypair();
const { address } = createKeypairSigner(keypair);
const messages = (count: number) => Array.from({ length: count }, (_, at) => Buffer.from(`message ${at}`));
const [message = Buffer.from('')] = messages(1);

const signers: ProgramSigner[] = [];
afterEach(async () => {
  await Promise.all(signers.splice(0).map((signer) => signer.close()));
});

type SignerOptions = ConstructorParameters<typeof ProgramSigner>[0];

function signerOf(program: TestProgram, more: Partial<SignerOptions> = {}): ProgramSigner {
  const words = commandWords(program.command, '--operator-signer');
  const env = { PATH: process.env['PATH'], FLYWHEEL_API_KEY: 'fw_secret' };
  const signer = new ProgramSigner({ address, role: 'operator', words, env, ...more });
  signers.push(signer);
  return signer;
}

describe('a program that signs', () => {
  it.each(
    sampleOf<readonly [string, string]>(
      [
        ['every line until its input ends', LOOP],
        ['one line, and ends', ONCE],
        [
          'one line without its end',
          'lines.once("line", (line) => { process.stdout.write(sign(line)); process.exit(0); });',
        ],
        [
          'in pieces, between empty lines',
          'for await (const line of lines) { const text = sign(line); process.stdout.write("\\n" + text.slice(0, 9)); await new Promise((done) => setTimeout(done, 5)); console.log(text.slice(9) + "\\r\\n"); }',
        ],
      ],
      2,
    ),
  )('signs %s', async (_, code) => {
    const all = messages(20);
    const signatures = await signerOf(signingProgram(code, keypair)).signAll(all);
    expect(signatures.map((signature, at) => verifySignature(address, all[at] as Buffer, signature))).toEqual(
      all.map(() => true),
    );
  });

  itLong('is started once for a few, and eight times for many', async () => {
    const program = signingProgram(LOOP, keypair);
    const signer = signerOf(program);
    await signer.signAll(messages(8));
    expect(program.pids()).toHaveLength(1);
    await signer.signAll(messages(100));
    expect(program.pids()).toHaveLength(9);
  });

  it('learns whose signature is wanted, and none of the settings of this program', async () => {
    const code =
      'note(JSON.stringify(Object.keys(process.env).filter((name) => /FLYWHEEL/.test(name)))); note(process.env.FLYWHEEL_SIGNER_ADDRESS);';
    const program = signingProgram(`${code}${LOOP}`, keypair);
    await signerOf(program).signAll([message]);
    expect(program.notes().slice(1)).toEqual(['["FLYWHEEL_SIGNER_ADDRESS"]', address]);
  });

  it('is gone when the signer is closed, with what it has started', async () => {
    const code = `import('node:child_process').then(({ spawn }) => {
      note('start ' + spawn('sleep', ['600'], { stdio: 'ignore' }).pid);
      ${LOOP.replace('for await (const line of lines)', 'lines.on("line", (line) =>').replace(/;$/, ');')}
      lines.on('close', () => setTimeout(() => {}, 600_000));
    });`;
    const program = signingProgram(code, keypair);
    const signer = signerOf(program);
    await signer.signAll([message]);
    await signer.close();
    expect(program.pids()).toHaveLength(2);
    await program.gone();
  });

  itLong('ends, and is not waited for because of what it has left running', async () => {
    const code = `import('node:child_process').then(({ spawn }) => {
      note('start ' + spawn('sleep', ['600'], { stdio: 'inherit' }).pid);
      lines.once('line', (line) => process.stdout.write(sign(line) + '\\n', () => process.exit(0)));
    });`;
    const program = signingProgram(code, keypair);
    const signer = signerOf(program);
    for (const one of messages(2)) await signer.signAll([one]);
    await signer.close();
    expect(program.pids()).toHaveLength(4);
    await program.gone();
  });
});

describe('a program that does not sign', () => {
  const failing = (code: string, more: Partial<SignerOptions> = {}) => {
    const program = signingProgram(code, keypair);
    return {
      program,
      failure: signerOf(program, more)
        .signAll([message])
        .catch((error: unknown) => error),
    };
  };

  it.each(
    sampleOf<readonly [string, string, RegExp]>(
      [
        [
          'garbage',
          'for await (const line of lines) console.log("hello");',
          /not a signature \(5 characters\)/,
        ],
        ['the message', 'for await (const line of lines) console.log(line);', /not a signature/],
        ['without an end', 'for (;;) process.stdout.write("x".repeat(5_000));', /not a signature/],
        [
          'a signature over another message',
          'for await (const line of lines) console.log(sign("AAAA"));',
          /signature that is not/,
        ],
        [
          'a key',
          'for await (const line of lines) console.log(seed.toString("base64"));',
          /not a signature \(44 characters\)/,
        ],
      ],
      2,
    ),
  )('answers %s: nothing of it is used, or shown', async (_, code, message_) => {
    const { failure } = failing(code);
    const error = (await failure) as Error;
    expect(error).toMatchObject({ code: 'ERR_SIGNATURE_WRONG', message: expect.stringMatching(message_) });
    expect(error.message).not.toContain(Buffer.from(keypair.subarray(0, 32)).toString('base64'));
  });

  it.each(
    sampleOf<readonly [string, string, RegExp]>(
      [
        ['ends with a status', 'console.error("AccessDenied: no"); process.exit(3);', /status 3/],
        ['ends without an answer', 'process.exit(0);', /without an answer/],
        ['is killed', 'process.kill(process.pid, "SIGKILL");', /SIGKILL killed it/],
      ],
      3,
    ),
  )('%s', async (_, code, reason) => {
    const { failure } = failing(code);
    expect(await failure).toMatchObject({
      code: 'ERR_SIGNER_FAILED',
      message: expect.stringMatching(reason),
    });
  });

  itLong('is not there', async () => {
    const signer = new ProgramSigner({ address, role: 'operator', words: ['/no/such/program'], env: {} });
    await expect(signer.signAll([message])).rejects.toMatchObject({
      code: 'ERR_SIGNER_FAILED',
      message: expect.stringContaining('cannot be started (ENOENT)'),
    });
  });

  it('says why, and its keys are hidden', async () => {
    const code =
      'console.error("denied for " + seed.toString("base64")); setTimeout(() => process.exit(1), 20);';
    expect(await failing(code).failure).toMatchObject({
      message: expect.stringContaining(
        'status 1, and printed “denied for ***”. That transaction was not sent.',
      ),
    });
  });

  it('hangs, and is ended with what it has started', async () => {
    const code = `const { spawn } = await import('node:child_process');
      note('start ' + spawn('sleep', ['600'], { stdio: 'ignore' }).pid);`;
    const { program, failure } = failing(code, { timeoutMs: 400 });
    expect(await failure).toMatchObject({
      code: 'ERR_SIGNER_FAILED',
      message: expect.stringContaining('did not answer within 0.4 s'),
    });
    await program.gone();
  });

  it('is ended by an interrupt', async () => {
    const interrupt = new AbortController();
    const program = signingProgram('', keypair);
    const failure = signerOf(program, { signal: interrupt.signal }).signAll(messages(3));
    while (program.pids().length < 1) await setTimeout(5);
    interrupt.abort();
    await expect(failure).rejects.toMatchObject({ code: 'ERR_INTERRUPTED' });
    await program.gone();
  });

  it('is swapped for one with another key during the run: that one is not believed', async () => {
    const program = signingProgram(ONCE, keypair);
    const signer = signerOf(program);
    await signer.signAll([message]);
    program.become(`seed.reverse(); const other = createPrivateKey({ key: Buffer.concat([der.subarray(0, 16), seed]), format: 'der', type: 'pkcs8' });
      for await (const line of lines) console.log(ed25519(null, Buffer.from(line, 'base64'), other).toString('base64'));`);
    await expect(signer.signAll([message])).rejects.toMatchObject({ code: 'ERR_SIGNATURE_WRONG' });
  });
});
