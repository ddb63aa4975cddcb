/** Counters of the program, which stop it where they would overflow. */
import { panic } from './errors.js';

const U64_MAX = 2n ** 64n - 1n;
const U32_MAX = 2 ** 32 - 1;

/** The index after this one. */
export const nextIndex = (index: bigint): bigint => (index < U64_MAX ? index + 1n : panic());

/** The number after this one. */
export const nextNumber = (number: number): number => (number < U32_MAX ? number + 1 : panic());
