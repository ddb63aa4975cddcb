/** Addresses of the programs and sysvars that this project calls or allows. */
import type { Address } from '../values/address.js';

const known = (text: string): Address => text as Address;

export const SYSTEM_PROGRAM = known('11111111111111111111111111111111');
export const TOKEN_PROGRAM = known('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
export const TOKEN_2022_PROGRAM = known('TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb');
export const ASSOCIATED_TOKEN_PROGRAM = known('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL');
export const MEMO_PROGRAM = known('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr');
export const COMPUTE_BUDGET_PROGRAM = known('ComputeBudget111111111111111111111111111111');
export const ADDRESS_LOOKUP_TABLE_PROGRAM = known('AddressLookupTab1e1111111111111111111111111');
/** Wallets add Lighthouse assertions, which fail a transaction if the accounts differ from those shown to the user. */
export const LIGHTHOUSE_PROGRAM = known('L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95');
export const CLOCK_SYSVAR = known('SysvarC1ock11111111111111111111111111111111');
export const UPGRADEABLE_LOADER = known('BPFLoaderUpgradeab1e11111111111111111111111');
export const METADATA_PROGRAM = known('metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s');
/** Squads v4 on mainnet (squads-v4.md, head). */
export const SQUADS_PROGRAM = known('SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf');

export const tokenProgramAddress = (name: 'token' | 'token-2022'): Address =>
  name === 'token' ? TOKEN_PROGRAM : TOKEN_2022_PROGRAM;
