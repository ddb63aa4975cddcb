/** Secrets: revealed on request, never printed. */
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../../src/values/secret.js';

describe('Secret', () => {
  const secret = new Secret('fwk_s3cr3t');

  it('reveals itself to who asks', () => {
    expect(secret.reveal()).toBe('fwk_s3cr3t');
  });

  it('shows in no ordinary way of printing it', () => {
    const printed = [
      String(secret),
      `${secret}`,
      `${secret}!`,
      inspect(secret),
      inspect({ deep: { list: [secret] } }, { depth: 9, showHidden: true }),
      JSON.stringify({ secret }),
      JSON.stringify(secret),
      inspect(new Error('x', { cause: secret })),
      Object.entries(secret).join(),
      JSON.stringify(structuredClone({ ...secret })),
    ];
    for (const text of printed) expect(text).not.toContain('s3cr3t');
    expect(printed.slice(0, 4)).toEqual(['***', '***', '***!', '***']);
  });
});
