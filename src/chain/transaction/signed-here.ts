/**
 * Wire bytes that this process has signed itself, with keys of its own: to check their signatures would take longer than all else
 * that is done to run them. What is meant are these very bytes; a copy, and all that was read from anywhere, is checked.
 */
import type { ReadonlyBytes } from '../../values/bytes.js';

const signedHere = new WeakSet<ReadonlyBytes>();

export const noteSignedHere = (wire: ReadonlyBytes): void => void signedHere.add(wire);

export const isSignedHere = (wire: ReadonlyBytes): boolean => signedHere.has(wire);
