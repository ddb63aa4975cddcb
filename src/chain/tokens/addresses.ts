/** Which addresses wallets and their token accounts have; the derivation itself is shared with the multisig's addresses. */
import { type Address, addressBytes } from '../../values/address.js';
import { isOnCurve as isCurvePoint } from '../squads/layouts/curve.js';

/** The associated token account of a wallet, for the token program that owns the mint. */
export { associatedTokenAddress } from '../squads/layouts/addresses.js';

/** Can somebody hold a key to this address? Those of programs, vaults and token accounts made by derivation lie off the curve. */
export const isOnCurve = (address: Address): boolean => isCurvePoint(addressBytes(address));
