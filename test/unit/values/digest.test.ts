/** Digests: SHA-256 of bytes, of proofs, of request bodies. */
import { describe, expect, it } from 'vitest';
import { fingerprint, isSha256, proofHash, sha256 } from '../../../src/values/digest.js';

describe('digests', () => {
  it('are lowercase hex of UTF-8', () => {
    expect(sha256('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    expect(sha256('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(sha256('é')).toBe(sha256(Buffer.from([0xc3, 0xa9])));
    expect(isSha256(sha256('x'))).toBe(true);
    expect([sha256('x').toUpperCase(), sha256('x').slice(1), `${sha256('x')}0`, ''].some(isSha256)).toBe(
      false,
    );
  });

  it('of a proof are of its canonical text', () => {
    expect(proofHash({ b: 1.0, a: 'x' })).toBe(sha256('{"a":"x","b":1}'));
    expect(proofHash({})).toBe(sha256('{}'));
  });

  it('of a body do not depend on the order of keys, and exist for every body', () => {
    expect(fingerprint({ a: 1, b: [2] })).toBe(fingerprint({ b: [2], a: 1 }));
    expect(fingerprint({ a: 1, b: [2] })).not.toBe(fingerprint({ a: 1, b: ['2'] }));
    expect(fingerprint(['\ud800'])).not.toBe(fingerprint(['\udc00']));
  });
});
