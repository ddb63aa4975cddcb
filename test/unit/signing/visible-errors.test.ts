/** Errors of a signing program are shown without keys. */
import { describe, expect, it } from 'vitest';
import { createKeypairSigner, generateKeypair } from '../../../src/chain/transaction/sign.js';
import { visibleErrors } from '../../../src/signing/run-program.js';
import { base58Encode } from '../../../src/values/bytes.js';

describe('visibleErrors', () => {
  it('shows a sentence on one line, without what a terminal would obey', () => {
    expect(visibleErrors('AccessDenied\n  \u001b[31mnot allowed\u001b[0m\n')).toBe(
      'AccessDenied | [31mnot allowed[0m',
    );
  });

  it('hides keys as numbers, base58, base64 and hex', () => {
    const keypair = generateKeypair();
    const forms = [
      JSON.stringify([...keypair]),
      [...keypair].join(', '),
      base58Encode(keypair),
      Buffer.from(keypair).toString('base64'),
      Buffer.from(keypair).toString('hex'),
    ];
    for (const form of forms) {
      const shown = visibleErrors(`cannot use ${form} as a key`);
      expect(shown).toBe('cannot use *** as a key');
      expect(shown).not.toContain(createKeypairSigner(keypair).address);
    }
  });

  it('hides what is named as a secret', () => {
    expect(visibleErrors('token=abc password: "x y" Authorization: Bearer q.w')).toBe(
      'token=*** password: *** Authorization: ***',
    );
  });

  it('shows the end of what is long', () => {
    const shown = visibleErrors(`${'a '.repeat(4_000)}the end`);
    expect(shown).toMatch(/^….* the end$/);
    expect(shown.length).toBeLessThan(310);
  });
});
