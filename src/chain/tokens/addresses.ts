/** Which addresses wallets and their token accounts have; the derivation itself is shared with the multisig's addresses. */
import { type Address, addressBytes } from '../../values/address.js';
import { isOnCurve as isCurvePoint } from '../squads/curve.js';

/** The associated token account of a wallet, for the token program that owns the mint. */
export { associatedTokenAddress } from '../squads/addresses.js';

const CACHE_LIMIT = 4_096;
/** Those asked about last: a list of airdrops is looked at more than once, and often names the same few. */
const answers = new Map<Address, boolean>();

/** Can somebody hold a key to this address? Those of programs, vaults and token accounts made by derivation lie off the curve. */
export function isOnCurve(address: Address): boolean {
  const known = answers.get(address);
  if (known !== undefined) return known;
  if (answers.size >= CACHE_LIMIT) answers.clear();
  const answer = isCurvePoint(addressBytes(address));
  answers.set(address, answer);
  return answer;
}
