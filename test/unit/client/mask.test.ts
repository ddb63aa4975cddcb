/** The API key is masked in a service's answers and in printed errors. */
import { describe, expect, it } from 'vitest';
import { createMask, maskError } from '../../../src/client/mask.js';
import { FlywheelError } from '../../../src/errors/flywheel-error.js';

const KEY = 'fk_"secret"/1';
const mask = createMask(KEY);

describe('createMask', () => {
  it('masks the key as it is, in a URL and in JSON text, and leaves all else', () => {
    expect(mask(`a ${KEY} b`)).toBe('a *** b');
    expect(mask(`https://a.example/?k=${encodeURIComponent(KEY)}`)).toBe('https://a.example/?k=***');
    expect(mask(`{"k":${JSON.stringify(KEY)}}`)).toBe('{"k":"***"}');
    expect(mask(`{"k":"say ${JSON.stringify(KEY).slice(1, -1)}"}`)).toBe('{"k":"say ***"}');
    expect(mask('fk_secret')).toBe('fk_secret');
  });

  it('leaves nothing of a form that begins with another', () => {
    const percent = 'fk_secret_of_100%';
    expect(createMask(percent)(`k=${encodeURIComponent(percent)};`)).toBe('k=***;');
  });
});

describe('maskError', () => {
  it('masks the causes, however deep, and keeps one that holds no key', () => {
    const inner = new Error(`inner ${KEY}`);
    const outer = new Error('outer', { cause: inner });
    const { cause } = maskError(new FlywheelError('ERR_INTERNAL', 'Failed.', { cause: outer }), mask);
    expect(cause).toMatchObject({ message: 'outer', cause: { message: 'inner ***' } });
    expect(`${(cause as Error).stack} ${((cause as Error).cause as Error).stack}`).not.toContain(KEY);
    const plain = new Error('plain');
    expect(maskError(new FlywheelError('ERR_INTERNAL', 'Failed.', { cause: plain }), mask).cause).toBe(plain);
    const direct = maskError(new FlywheelError('ERR_INTERNAL', 'Failed.', { cause: inner }), mask);
    expect(direct.cause).toMatchObject({ message: 'inner ***' });
  });
});
